"""Values of cells as text, always the same: no noise of binary fractions, dates as ISO 8601.

A value never holds a tab or a line end: they would end it in the lines of a part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import TypeAlias

Value: TypeAlias = str | float | bool | date | time | timedelta
"""What a cell holds; an empty one an empty string, int as float."""

DIGITS = 15
"""Decimal digits of a number that office programs keep."""

_BREAKS = re.compile("\r\n|[\t\r\n]")
_ESCAPED = {"\t": "\\t", "\n": "\\n", "\r": "\\n", "\r\n": "\\n"}


def text(value: Value) -> str:
    """A cell's value in a line of a part."""
    if isinstance(value, str):
        return _BREAKS.sub(lambda found: _ESCAPED[found[0]], value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, datetime):
        return value.isoformat(" ", "milliseconds" if value.microsecond else "seconds").removesuffix(
            " 00:00:00"
        )
    if isinstance(value, timedelta):
        return _duration(value)
    return value.isoformat()


def number(value: float) -> str:
    """A number with as many digits as office programs keep; whole ones without a point."""
    written = format(value, f".{DIGITS}g")
    if "e" in written and abs(value) < 1e21 and float(written).is_integer():
        return str(int(float(written)))
    return "0" if written == "-0" else written


def broken(value: Value) -> bool:
    """Whether `text` has to write a tab or a line end of it differently."""
    return isinstance(value, str) and _BREAKS.search(value) is not None


def line(values: Sequence[Value], first: int, last: int | None) -> str:
    """Columns `first` to `last` of a row; empty cells at its end are left out."""
    return "\t".join(map(text, values[first - 1 : last])).rstrip("\t")


def _duration(value: timedelta) -> str:
    """Hours, minutes and seconds; more than a day as more than 24 hours."""
    seconds = abs(round(value.total_seconds()))
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
