"""Texts made to overflow or to stall a parser: each ends in time, in a process of its own, which survives."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CHILD = """
import sys
from readroom.deadline import Deadline
from readroom.errors import TimedOut
from readroom.outline import Unparsable, build
try:
    build(eval(sys.argv[2]), sys.argv[1], Deadline(1))
except (TimedOut, Unparsable):
    pass
"""

HOSTILE = [
    ("java", "'A<' * 100_000"),
    ("java", "'A<' * 100_000 + '>' * 100_000"),
    ("python", "'(' * 100_000"),
    ("javascript", "'function f(){' * 60_000"),
    ("scala", "'`' * 100_000"),
    ("lua", "'[' * 100_000"),
    ("json", "chr(123) * 100_000"),
    ("cpp", "'namespace a{' * 60_000"),
]


@pytest.mark.parametrize(("language", "text"), HOSTILE)
def test_a_hostile_text_ends_in_time_and_harms_nobody(language: str, text: str) -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD, language, text], timeout=60, check=False)
    assert done.returncode == 0
