"""What stands around the line that matters: output that means nothing and sounds like failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

SIZE = 100_000


def _word(number: int) -> str:
    """Another one for each number, without digits."""
    letters, rest = "", number * 7919 + 13
    while rest:
        letters += chr(ord("a") + rest % 26)
        rest //= 26
    return letters


def _warning(number: int) -> str:
    name = _word(number)
    return (
        f"src/error_{name}.c:{number}:5: warning: unused variable 'error' [-Wunused-variable]",
        f"    {number} |   int error = {number};",
        "      |       ^~~~~",
    )[number % 3]


def _passed(number: int) -> str:
    return (
        f"test_error_{number} PASSED",
        f"  ✓ reports failure {number}",
        f"ok {number} - an exception is raised",
        f"test tests::panic_{number} ... ok",
        f"--- PASS: TestError{number} (0.00s)",
    )[number % 5]


def _retried(number: int) -> str:
    return (
        "Traceback (most recent call last):",
        f'  File "/srv/app/retry.py", line {number}, in attempt',
        "    return call()",
        f"ConnectionError: attempt {number} timed out",
        "INFO retrying",
    )[number % 5]


_MAKERS: Mapping[str, Callable[[int], str]] = {
    "log": lambda number: f"10:11:{number % 60:02} INFO request {number} done in {number % 97} ms, 0 errors",
    "build": lambda number: f"  CC      drivers/error/fail_{number}.o",
    "warnings": _warning,
    "tests": _passed,
    "words": lambda number: f"error budget {number} left after timeout, failed over to replica",
    "levels": lambda number: f"ERROR [{_word(number)}] {_word(number + 99)}: job will be tried again",
    "retries": _retried,
    "progress": lambda number: f"\rfetching {number} of 4000\x1b[K\rfetching {number}.5 of 4000\x1b[K",
}

KINDS = tuple(_MAKERS)


@cache
def noise(kind: str, size: int = SIZE) -> bytes:
    """Lines of one kind, together a little more than `size` bytes."""
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(_MAKERS[kind](len(lines)))
        length += len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()
