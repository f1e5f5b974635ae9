"""Texts made to overflow or to stall a parser: each ends in time, in a process of its own, which survives."""

from __future__ import annotations

import subprocess
import sys

from tests.suites import daily

_CHILD = """
import sys
from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.outline import Unparsable, build
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
    ("c", "'a((' * 200 + 'b((x))' * 100_000"),
    ("c", "'AAAA ' * 200_000"),
    ("cpp", "'class A' * 140_000"),
    ("c", "') AAAA' * 140_000 + chr(10) * 1000"),
    ("c", "chr(10).join(f'#define a{n} static' for n in range(40_000))"),
    ("c", "('f(x)' + chr(10) * 50) * 20_000"),
    ("java", "'new ' * 250_000"),
    ("java", "'class A { void f() {' + 'new A() ' * 100_000 + '}}'"),
    ("c_sharp", "') where ' * 120_000"),
    ("javascript", "'import type ' * 1000 + ') : ' * 200_000"),
    ("python", "'def f():' + (chr(10) + ' def g(): pass') * 60_000"),
    ("bash", "('(' + chr(10) + '}' + chr(10)) * 200_000"),
    ("markdown", "'# a' + ' ' * 900_000 + 'x'"),
    ("toml", "'[a' + ' ' * 900_000 + 'x'"),
    ("yaml", "'a' + ' ' * 900_000 + 'x'"),
    ("javascript", "'function f(){return 1}' * 45_000"),
    ("html", "'<h1 id=a' * 120_000"),
    ("html", "'<h1>' * 200_000"),
    ("html", "('<!--' + '<script>') * 80_000"),
    ("css", "'.a b:hover>c{color:red}' * 40_000 + '.a{'"),
    ("rust", "('m! { fn f() {} }' + chr(10)) * 50_000"),
]


@daily(7, ("language", "text"), HOSTILE)
def test_a_hostile_text_ends_in_time_and_harms_nobody(language: str, text: str) -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD, language, text], timeout=60, check=False)
    assert done.returncode == 0
