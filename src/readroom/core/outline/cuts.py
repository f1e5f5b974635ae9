"""Cut bodies of functions that define nothing out of a text before it is parsed.

They are most of a file, and parsing them takes most of the time.  A body is cut if two sources agree on its
end: the indentation of the line that closes it, and the brackets in it, which must be balanced.  If the rest
does not parse, the whole text is parsed.

Without a quote that can span lines, what a body leaves open is the same whether it is code, or is itself in a
string or comment.  With such a quote it is cut only if each is closed in a way that nothing can hide, and if
the tree shows that the body was code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.outline.syntax import Bodies, Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

_Part: TypeAlias = "tuple[int, int, bytes, bool]"
"""The start and end of a part, its replacement, and whether it must be code."""

_LEAST_SHARE = 10
"""If all cuts together are less than one part in this many of the text, they are not worth a second form."""

_LOOKED = 4
"""Maximum bytes that are searched, as a multiple of the text's size, because bodies contain bodies."""

_LEAST_BODY = 16
"""The smallest body in bytes that is worth cutting."""

_HEREDOC = b"<<<"
"""Begins a text that any word may end, which may be all that a body seems to hold."""

_MAX_HEAD = 400
"""Maximum bytes of a line that begins a body: longer lines are not written by people."""

_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))


class CutText(Struct, frozen=True):
    """A text with cuts, and the numbers that its lines have in the whole text."""

    source: bytes
    lines: Sequence[int]
    code: Sequence[tuple[int, int]] = ()
    """Replacements that must be nodes of their own: in a string or comment, they are parts of one."""

    def is_code(self, root: Node) -> bool:
        """Whether the parser took all of these for code."""
        found = (root.descendant_for_byte_range(start, end) for start, end in self.code)
        spans = ((node.start_byte, node.end_byte) for node in found if node is not None)
        return all(map(tuple.__eq__, spans, self.code))


def whole(source: bytes) -> CutText:
    """The text without cuts."""
    return CutText(source, range(1, source.count(b"\n") + 2))


def without_bodies(source: bytes, grammar: Grammar, deadline: Deadline) -> CutText | None:
    """A text without the bodies that define nothing; None if they are too small a share of it.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    bodies = grammar.bodies
    if bodies is None or (_HEREDOC in bodies.words and _HEREDOC in source):
        return None
    if bodies.inner is None:
        bodies = replace(bodies, inner=grammar.inner)
    parts = list((_indented if bodies.indented else _braced)(source, bodies, deadline))
    size = sum(end - start for start, end, *_ in parts)
    return _cut(source, parts) if size * _LEAST_SHARE > len(source) else None


def _cut(source: bytes, parts: Sequence[_Part]) -> CutText:
    """A text with each part replaced by a line, which gets the number of the part's last line."""
    kept, lines, done, line = list[bytes](), [1], 0, 1
    size, code = 0, list[tuple[int, int]]()
    for start, end, put, must_be_code in parts:
        kept += (source[done:start], put)
        size += start - done + len(put)
        if must_be_code:
            code.append((size - len(put.lstrip()), size))
        last = line + source.count(b"\n", done, start)
        lines += range(line + 1, last + 1)
        line, done = last + source.count(b"\n", start, end), end
        lines[-1] = line
    kept.append(source[done:])
    lines += range(line + 1, line + kept[-1].count(b"\n") + 1)
    return CutText(b"".join(kept), lines, code)


_TOKENS = re.compile(
    rb"//[^\n]*+|#[^\n]*+|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*\"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'|/[^\n]*+|`[^`\n]*+`"
)
"""Strings and comments of one line, and lines from any other slash on: it may begin a pattern."""


def _is_neutral(body: bytes, pairs: Sequence[tuple[bytes, bytes]], quotes: bytes) -> bool:
    """Whether each string and comment has both brackets of each pair or none, and no string is open."""
    rest = _TOKENS.sub(b"", body)
    return not any(quote in rest for quote in quotes) and all(
        token.count(one) == token.count(other) and token.find(one) <= token.find(other)
        for token in (found[0] for found in _TOKENS.finditer(body))
        for one, other in pairs
    )


@cache
def _marks(quotes: Sequence[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, quotes)))


_CODE = rb"[^\"'`/\\#\n]|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\[^'\n]{1,9})'"
_LONG_CODE = _CODE + rb"|'(?:[^'\\\n]|\\.)*'"
"""Parts of a line in which nothing can hide a quote: strings are complete, and there is no other slash.
With single quotes for strings, not only for characters, as long as backticks also have a meaning.
"""


@cache
def _plain_parts(quotes: Sequence[bytes]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns for a line up to a comment, and for a line with complete strings."""
    code = _LONG_CODE if b"`" in quotes else _CODE
    return re.compile(rb"(?:" + code + rb")*\Z"), re.compile(rb"(?:" + code + rb"|`[^`\\\n]*`)*\n")


def _are_quotes_closed(body: bytes, bodies: Bodies) -> bool:
    """Whether all quotes that can span lines are closed, as far as a look at single lines can tell."""
    marks, (before, whole_line), at = _marks(bodies.quotes), _plain_parts(bodies.quotes), 0
    while (found := marks.search(body, at)) is not None:
        begin = max(at, body.rfind(b"\n", 0, found.start()) + 1)
        if found[0] == b"/*":
            at = body.find(b"*/", found.end()) + 2
            # Comments nest in Rust, Kotlin, Swift, Scala and Dart.
            if at < 2 or b"/*" in body[found.end() : at] or before.match(body, begin, found.start()) is None:
                return False
        elif len(found[0]) == 1 and (line := whole_line.match(body, begin)) is not None:
            at = line.end()
        else:
            return False
    return True


def _is_plain(source: bytes, start: int, end: int, bodies: Bodies) -> bool:
    """Whether a body is worth cutting, ends where it seems to, and contains nothing like a definition."""
    return (
        end - start >= _LEAST_BODY
        and not any(source.find(word, start, end) >= 0 for word in bodies.words)
        and all(source.count(one, start, end) == source.count(other, start, end) for one, other in _PAIRS)
        and (bodies.inner is None or bodies.inner.search(source, start - 1, end) is None)
    )


def _braced(source: bytes, bodies: Bodies, deadline: Deadline) -> Iterator[_Part]:
    """Bodies between a brace at the end of a line and a line that begins with one, equally indented."""
    opening = b"{\r\n" if b"{\r\n" in source else b"{\n"
    left = _LOOKED * len(source)
    at = source.find(opening)
    while at >= 0 and left > 0:
        deadline.check()
        start = done = at + len(opening)
        begin = source.rfind(b"\n", max(0, at - _MAX_HEAD), at) + 1
        if _begins(source, begin, at, bodies):
            end = source.find(_closing(source, begin), start - 1)
            left -= (len(source) if end < 0 else end) - start
            if _is_plain(source, start, end, bodies) and _is_closed(body := source[start:end]):
                has_quotes = _marks(bodies.quotes).search(body) is not None
                if (
                    (not has_quotes or _are_quotes_closed(body + b"\n", bodies))
                    and _is_neutral(body, _PAIRS[2:], b'"')
                    and not body.endswith(b"\\")
                ):
                    yield start, end, bodies.put, has_quotes
                    done = end
        at = source.find(opening, done)


_NO_BRACE = bytes(set(range(256)) - set(b"{}"))
_MAX_NESTED = 20


def _is_closed(body: bytes) -> bool:
    """Whether the braces in a body are balanced: the ends of some bodies are indented too much."""
    braces = body.translate(None, _NO_BRACE)
    for _ in range(_MAX_NESTED):
        if not braces:
            break
        braces = braces.replace(b"{}", b"")
    return not braces


def _begins(source: bytes, begin: int, at: int, bodies: Bodies) -> bool:
    """Whether a line up to its brace begins a body, or the line before a brace that is alone on its line."""
    if begin and not source[begin:at].strip():
        at = begin - 1 - (source[begin - 2 : begin - 1] == b"\r")
        begin = source.rfind(b"\n", max(0, at - _MAX_HEAD), at) + 1
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
        if run is not None and (text := _DOCSTRING.match(source, start, run.end())) is not None:
            start = text.end()
        first = _FIRST.match(source, start)
        end = start if run is None else run.end()
        left -= end - start
        if first is not None and _is_plain(source, start, end, bodies):
            end = _last_code(source, start, end)
            if (
                end > first.end() + _LEAST_BODY
                and source[end - 1 : end] != b"\\"
                and _marks(bodies.quotes).search(source, start, end) is None
                and _is_neutral(source[start:end], _PAIRS, b"\"'")
            ):
                yield start, end, first[1] + bodies.put, False
                at = end - 1


_DOCSTRING = re.compile(
    rb"(?:[ \t\f]*+\r?\n)*[ \t]++[rRuUbB]{0,2}(?:\"{3}[^\"\\]*+(?:(?:\\.|\"{1,2}(?!\"))[^\"\\]*+)*\"{3}|"
    rb"'{3}[^'\\]*+(?:(?:\\.|'{1,2}(?!'))[^'\\]*+)*'{3})[ \t]*+\r?\n",
    re.DOTALL,
)
"""A string that begins a body: it is kept, and what follows it is cut."""


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
