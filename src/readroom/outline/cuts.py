"""Cut bodies of functions that define nothing out of a text before it is parsed.

They are most of a file, and parsing them takes most of the time.  A body is cut if two sources agree on its
end: the indentation of the line that closes it, and the brackets in it, which must be balanced.  If the rest
does not parse, the whole text is parsed.
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
"""The start and end of a part, and its replacement."""

_LEAST_SHARE = 10
"""If all cuts together are a smaller share of the text (one of so many), they are not worth a second form."""

_LOOKED = 4
"""The most bytes that are searched, as a multiple of the text's size, because bodies contain bodies."""

_LEAST_BODY = 16
"""The smallest body in bytes that is worth cutting."""

_MOST_HEAD = 400
"""The most bytes of a line that begins a body: longer lines are not written by people."""

_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"/*", b"*/"))


class CutText(Struct, frozen=True):
    """A text with cuts, and the numbers that its lines have in the whole text."""

    source: bytes
    lines: Sequence[int]


def whole(source: bytes) -> CutText:
    """The text without cuts."""
    return CutText(source, range(1, source.count(b"\n") + 2))


def without_bodies(source: bytes, grammar: Grammar, deadline: Deadline) -> CutText | None:
    """A text without the bodies that define nothing; None if they are too small a share of it.

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
    """A text with each part replaced by a line, which gets the number of the part's last line."""
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
    """Whether brackets, comments and quotes in a part of a text are balanced, by their counts."""
    return not any(source.count(quote, start, end) % 2 for quote in quotes) and all(
        source.count(one, start, end) == source.count(other, start, end) for one, other in _PAIRS
    )


def _is_plain(source: bytes, start: int, end: int, bodies: Bodies) -> bool:
    """Whether a body is worth cutting, ends where it seems to, and contains nothing like a definition."""
    return (
        end - start >= _LEAST_BODY
        and not any(source.find(word, start, end) >= 0 for word in bodies.words)
        and _is_even(source, start, end, bodies.quotes)
        and (bodies.inner is None or bodies.inner.search(source, start - 1, end) is None)
    )


def _braced(source: bytes, bodies: Bodies, deadline: Deadline) -> Iterator[_Part]:
    """Bodies between a brace at the end of a line and a line that begins with one, equally indented."""
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
    """Whether the braces in a body are balanced: the ends of some bodies are indented too much."""
    braces = body.translate(None, _NO_BRACE)
    for _ in range(_MOST_NESTED):
        if not braces:
            break
        braces = braces.replace(b"{}", b"")
    return not braces


def _begins(source: bytes, begin: int, at: int, bodies: Bodies) -> bool:
    """Whether a line up to its brace begins a body, or the line before a brace that is alone on its line."""
    if begin and not source[begin:at].strip():
        at = begin - 1 - (source[begin - 2 : begin - 1] == b"\r")
        begin = source.rfind(b"\n", max(0, at - _MOST_HEAD), at) + 1
    return bodies.head.match(source, begin, at) is not None


_BLANKS = re.compile(rb"[ \t]*+")


def _closing(source: bytes, begin: int) -> bytes:
    """The beginning of the line that closes a body, with the indentation of the line that opens it."""
    found = _BLANKS.match(source, begin)
    return b"\n" + (b"" if found is None else found[0]) + b"}"


_FIRST = re.compile(rb"(?:[ \t\f]*+\r?\n)*([ \t]++)(?![ \t\f]*+\r?\n)")


def _indented(source: bytes, bodies: Bodies, deadline: Deadline) -> Iterator[_Part]:
    """Bodies of lines that are indented more than the line that begins them."""
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
    """A pattern for lines that are indented more, and blank lines."""
    return re.compile(rb"(?:[ \t\f]*+\r?\n|" + indent + rb"[ \t][^\n]*+\n)*")


def _last_code(source: bytes, start: int, end: int) -> int:
    """The end of the last line that is more than a comment; `start` if there is none."""
    while end > start:
        begin = source.rfind(b"\n", start, end - 1) + 1 or start
        line = source[begin:end].strip()
        if line and not line.startswith(b"#"):
            return begin + len(source[begin:end].rstrip(b"\r\n"))
        end = begin
    return start
