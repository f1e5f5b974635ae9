"""A text without what no outline is interested in: bodies of functions that define nothing.

They are most of a file, and to parse them takes most of the time.  A body is cut where two
witnesses agree on its end: the indentation of the line that closes it, and the brackets in
it, which are even.  Where what is left does not parse, the text is parsed whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.outline.syntax import Bodies, Grammar

_Part: TypeAlias = "tuple[int, int, bytes]"
"""From here to there, and what is put in its place."""

_LEAST_SHARE = 10
"""A part so small of a text is not worth a second form of it."""

_LOOKED = 4
"""Times the bytes of a text that are looked through in all, for bodies in bodies."""

_LEAST_BODY = 16
"""Bytes of a body that are worth the look."""

_MOST_HEAD = 400
"""Bytes of the line that begins a body: others are no line that somebody wrote."""

_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"/*", b"*/"))


class CutText(Struct, frozen=True):
    """What is left of a text, and the numbers of its lines in the whole of it."""

    source: bytes
    lines: Sequence[int]


def whole(source: bytes) -> CutText:
    """The text as it is."""
    return CutText(source, range(1, source.count(b"\n") + 2))


def without_bodies(source: bytes, grammar: Grammar, deadline: Deadline) -> CutText | None:
    """What is left of a text without the bodies that define nothing; None where that is nearly all of it.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    bodies = grammar.bodies
    if bodies is None:
        return None
    if bodies.inner is None:
        bodies = replace(bodies, inner=grammar.inner)
    parts = list((_indented if bodies.indented else _braced)(source, bodies, deadline))
    size = sum(end - start for start, end, _ in parts)
    return _cut(source, parts) if size * _LEAST_SHARE > len(source) else None


def _cut(source: bytes, parts: Sequence[_Part]) -> CutText:
    """A text with a line in place of each of these parts, which counts as the last line of the part."""
    kept, lines, behind, line = list[bytes](), [1], 0, 1
    for start, end, put in parts:
        kept += (source[behind:start], put)
        last = line + source.count(b"\n", behind, start)
        lines += range(line + 1, last + 1)
        line, behind = last + source.count(b"\n", start, end), end
        lines[-1] = line
    kept.append(source[behind:])
    lines += range(line + 1, line + kept[-1].count(b"\n") + 1)
    return CutText(b"".join(kept), lines)


def _is_even(source: bytes, start: int, end: int, quotes: Sequence[bytes]) -> bool:
    """Whether brackets, comments and quotes that begin in a part of a text end there, by their counts."""
    return not any(source.count(quote, start, end) % 2 for quote in quotes) and all(
        source.count(one, start, end) == source.count(other, start, end) for one, other in _PAIRS
    )


def _is_plain(source: bytes, start: int, end: int, bodies: Bodies) -> bool:
    """Whether a body is worth to be cut, ends where it seems to, and holds nothing like a definition."""
    return (
        end - start >= _LEAST_BODY
        and not any(source.find(word, start, end) >= 0 for word in bodies.words)
        and _is_even(source, start, end, bodies.quotes)
        and (bodies.inner is None or bodies.inner.search(source, start - 1, end) is None)
    )


def _braced(source: bytes, bodies: Bodies, deadline: Deadline) -> Iterator[_Part]:
    """Bodies between a brace that ends a line and one that begins a line, as far in as the first of these."""
    opening = b"{\r\n" if b"{\r\n" in source else b"{\n"
    left = _LOOKED * len(source)
    at = source.find(opening)
    while at >= 0 and left > 0:
        deadline.check()
        start = behind = at + len(opening)
        begin = source.rfind(b"\n", max(0, at - _MOST_HEAD), at) + 1
        if _begins(source, begin, at, bodies):
            end = source.find(_closing(source, begin), start - 1)
            left -= (len(source) if end < 0 else end) - start
            if _is_plain(source, start, end, bodies) and _is_closed(source[start:end]):
                yield start, end, bodies.put
                behind = end
        at = source.find(opening, behind)


_NO_BRACE = bytes(set(range(256)) - set(b"{}"))
_MOST_NESTED = 20


def _is_closed(body: bytes) -> bool:
    """Whether each brace in a body closes one in it: some ends of bodies stand too far in."""
    braces = body.translate(None, _NO_BRACE)
    for _ in range(_MOST_NESTED):
        if not braces:
            break
        braces = braces.replace(b"{}", b"")
    return not braces


def _begins(source: bytes, begin: int, at: int, bodies: Bodies) -> bool:
    """Whether a line up to its brace, or the one before a brace alone, begins a body."""
    if begin and not source[begin:at].strip():
        at = begin - 1 - (source[begin - 2 : begin - 1] == b"\r")
        begin = source.rfind(b"\n", max(0, at - _MOST_HEAD), at) + 1
    return bodies.head.match(source, begin, at) is not None


_BLANKS = re.compile(rb"[ \t]*+")


def _closing(source: bytes, begin: int) -> bytes:
    """How a line begins that closes what a line has opened."""
    found = _BLANKS.match(source, begin)
    return b"\n" + (b"" if found is None else found[0]) + b"}"


_FIRST = re.compile(rb"(?:[ \t\f]*\r?\n)*+([ \t]+)")


def _indented(source: bytes, bodies: Bodies, deadline: Deadline) -> Iterator[_Part]:
    """Bodies of lines that stand further in than those that begin them."""
    left = _LOOKED * len(source)
    at = 0
    while left > 0 and (head := bodies.head.search(source, at)) is not None:
        deadline.check()
        start, at = head.end(), head.end() - 1
        run = _further_in(head[1]).match(source, start)
        first = _FIRST.match(source, start)
        end = start if run is None else run.end()
        left -= end - start
        if first is not None and _is_plain(source, start, end, bodies):
            end = _last_code(source, start, end)
            if end > first.end() + _LEAST_BODY and source[end - 1 : end] != b"\\":
                yield start, end, first[1] + bodies.put
                at = end - 1


@cache
def _further_in(indent: bytes) -> re.Pattern[bytes]:
    """Lines that stand further in, and empty ones."""
    return re.compile(rb"(?:[ \t\f]*\r?\n|" + indent + rb"[ \t][^\n]*\n)*+")


def _last_code(source: bytes, start: int, end: int) -> int:
    """Where the last of some lines ends that holds more than a comment; `start` where none does."""
    while end > start:
        begin = source.rfind(b"\n", start, end - 1) + 1 or start
        line = source[begin:end].strip()
        if line and not line.startswith(b"#"):
            return begin + len(source[begin:end].rstrip(b"\r\n"))
        end = begin
    return start
