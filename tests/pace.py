"""How many times slower this machine is than the one on which bounds of processor time were found."""

from __future__ import annotations

import json
import re
import time
from functools import cache

_USUAL_S = 0.1
"""Seconds that the calculation below takes on a current machine."""


@cache
def pace() -> float:
    """At least 1. A bound in seconds times this is a bound of work."""
    return max(1.0, min(_calculated_s() for _ in range(3)) / _USUAL_S)


def _calculated_s() -> float:
    """Work of the kinds that readroom does: objects, text and patterns."""
    begun = time.process_time()
    rows = [{"name": f"row {number}", "values": [number, str(number)]} for number in range(20_000)]
    text = json.dumps(rows)
    assert json.loads(text) == rows
    assert len(re.findall(r"row (\d+)", text)) == len(rows)
    sum(number * number for number in range(300_000))
    return time.process_time() - begun
