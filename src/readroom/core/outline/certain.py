"""Decide which ends of definitions are certain in a text with parse errors.

After an error a parser continues somewhere, and what it takes for the end of a body may be that of an inner
block, or of the next body. The indentation is a second source. An end is certain if both agree and no error
touches it; any other is marked as uncertain, and placed where the indentation ends the definition, or else
before the next certain one, since too much is better than too little.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.values.files import Item

if TYPE_CHECKING:
    from tree_sitter import Node

_CLOSES = re.compile(r"[})\]]|(?:end|fi|done|esac)\b")
"""The beginning of a last line that closes a definition."""

_END = re.compile(r"[})\]]+[;,\s]*(?:\w+\s*;?|while\b.*|//.*|/\*.*|--.*|#.*|[.()\[\]].*)?\Z|[a-z]+\b")
"""Everything that such a line may contain."""

_ASIDE = re.compile(r"#|//|/?\*|--|[A-Za-z_]\w*\s*:(?!:)")
"""Beginnings of lines that may be indented less than the block they are in: directives, comments, labels."""

_COMMENT = re.compile(r"\s*(?://.*|/\*[^*]*\*/)\Z")
_SIGNATURE = re.compile(r"[\w:<>,*&\s]+\(|[)\w]")
"""The beginning of a line that continues a signature at the same indentation."""

_UNBRACED = frozenset({"python", "ruby", "lua"})
"""Languages in which braces do not open bodies."""

_MAX_LINE = 1_000
"""Characters of a line that are read, half of them at its end: each line is read for every item in it."""

_MAX_DECLARED = 8
"""Maximum lines of a declaration that ends with a semicolon; a function's type may be on its own line."""

_BODY = "compound_statement"

_TAB = 8


class Damage(Struct, frozen=True):
    """Errors of a parser and tokens that it found missing, as ranges of lines, in order.

    `wide` are those of the `errors` around which more of the text may have been misread.
    """

    errors: Sequence[tuple[int, int]] = ()
    wide: Sequence[tuple[int, int]] = ()


_NARROW_BYTES = 300
"""An error of at most this size did not swallow anything else: parsing it again would skip the same bytes."""


_SWALLOWED_ROWS = 10
"""A node with more rows that cannot contain definitions may have swallowed some, if there are errors around
it: a string that begins at the wrong quote extends to the next one."""


def damage_of(root: Node, deadline: Deadline, larger: Container[int] = ()) -> Damage:
    """The errors of a parser, without the parts of them that it did understand.

    `larger` are the kinds of nodes that may contain definitions.
    """
    spans, wide, waiting = set[tuple[int, int]](), set[tuple[int, int]](), [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        deadline.check()
        if node.is_error or node.is_missing:
            row = node.start_point[0] + 1
            leaves = [child for child in node.children if not child.child_count]
            lines = {(row, row), *((child.start_point[0] + 1, child.end_point[0] + 1) for child in leaves)}
            spans |= lines
            if node.is_missing or node.end_byte - node.start_byte > _NARROW_BYTES:
                wide |= lines
        for child in node.children:
            if child.has_error:
                waiting.append(child)
            if (
                larger
                and child.kind_id not in larger
                and child.end_point[0] - child.start_point[0] > _SWALLOWED_ROWS
            ):
                wide.add((child.start_point[0] + 1, child.end_point[0] + 1))
    return Damage(sorted(spans), sorted(wide))


def bare_bodies(root: Node) -> list[tuple[int, int]]:
    """The lines of C functions that the grammar split without an error into declarations and a bare body.

    It does so if parameters are declared after the parentheses, as in C before the standard.
    """
    if root.type != "translation_unit":
        return []
    return [(row, row) for row in (_head_of(child) for child in root.children if child.type == _BODY) if row]


def _head_of(body: Node) -> int | None:
    before = body.prev_sibling
    while before is not None and before.type in ("declaration", "comment"):
        if before.type == "declaration" and b"(" in (before.text or b""):
            return before.start_point[0] + 1
        before = before.prev_sibling
    return None


def with_ends(
    items: Sequence[Item], text: str, language: str, errors: Sequence[tuple[int, int]], deadline: Deadline
) -> tuple[Item, ...]:
    """The items of a text with errors in these lines, each with its end, and whether that is certain.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    judge = _Judge(text, errors, deadline, braces=language not in _UNBRACED)
    marked = [judge.marked(item) for item in items]
    starts = sorted(judge.certain_starts)
    return tuple(judge.ended(item, starts, len(judge.lines)) for item in marked)


def _ends_of(line: str) -> str:
    return f"{line[: _MAX_LINE // 2]} {line[-_MAX_LINE // 2 :]}"


@final
class _Judge:
    """Judges the ends in one text. `certain_starts`: lines and indents of definitions with certain ends."""

    def __init__(
        self, text: str, errors: Sequence[tuple[int, int]], deadline: Deadline, *, braces: bool
    ) -> None:
        self.lines = [line if len(line) <= _MAX_LINE else _ends_of(line) for line in text.split("\n")]
        if self.lines[-1] == "":
            self.lines.pop()
        self.certain_starts: list[tuple[int, int]] = []
        self._errors = errors
        self._deadline = deadline
        self._braces = braces
        self._firsts = [first for first, _ in errors]
        # Each line is used several times; lines are numbered from 1.
        self._texts = ["", *(line.strip() for line in self.lines), ""]
        self._indents = [0, *map(_indent, self.lines)]
        self._nexts = self._next_lines()

    def marked(self, item: Item) -> Item:
        """The item and its members, each marked as certain or not."""
        self._deadline.check()
        if item.minor and not item.members and self._is_one_line(item.line):
            item = replace(item, end=item.line)
        certain = self._is_certain(item)
        if certain and not item.minor:
            self.certain_starts.append((item.start, self._indents[item.line]))
        if certain and not item.members:
            return item
        members = tuple(self.marked(member) for member in item.members)
        return replace(item, members=members, certain=certain)

    def ended(self, item: Item, starts: Sequence[tuple[int, int]], last: int) -> Item:
        """The item, with its likely end, at most in line `last`, if the end is not certain."""
        if item.certain and not item.members:
            return item
        self._deadline.check()
        end = item.end
        if not item.certain:
            by_indent = self._by_indent(item)
            closed = (
                by_indent is not None
                and _CLOSES.match(self._text(by_indent))
                and self._is_end(item, by_indent)
            )
            end = by_indent if by_indent and closed else max(item.end, self._before_next(item, starts))
            end = min(max(end, item.line), max(last, item.end))
        members = tuple(self.ended(member, starts, end) for member in item.members)
        return replace(item, members=members, end=max([end, *(member.end for member in members)]))

    def _is_certain(self, item: Item) -> bool:
        if item.minor and item.line == item.end:
            return not self._touches(item.end, item.end) or self._is_one_line(item.line)
        following = self._next_line(item.end)
        text = self._text(following)
        if text.startswith("{") or self._touches(item.end, item.end):
            return False
        if _CLOSES.match(text) and self._touches(following, following):
            return False
        if not self._is_end(item, item.end):
            return False
        # If both sources agree, an error far inside does not make the end uncertain.
        return item.line == item.end or self._by_indent(item) == item.end or self._is_declared(item)

    def _is_declared(self, item: Item) -> bool:
        """Whether it is a declaration on lines of its own, without errors in them."""
        if not self._braces or item.end - item.line > _MAX_DECLARED or self._touches(item.line, item.end):
            return False
        *before, last = self._texts[item.line : item.end + 1]
        return last.endswith(";") and not any("{" in text or text.endswith(";") for text in before)

    def _is_one_line(self, line: int) -> bool:
        """Whether a declaration ends in this line."""
        text = self._texts[line]
        text = _COMMENT.sub("", text) if "/" in text else text
        return self._braces and text.endswith(";") and "{" not in text

    def _touches(self, first: int, last: int) -> bool:
        """Whether an error touches these lines."""
        at = bisect_left(self._firsts, first)
        before = at > 0 and any(end >= first for _, end in self._errors[max(0, at - 8) : at])
        return before or (at < len(self._firsts) and self._firsts[at] <= last)

    def _by_indent(self, item: Item) -> int | None:
        """The last line of the item by indentation; None if that does not show it."""
        own, last, opened = self._indents[item.line], item.line, self._opens(item)
        closes = _CLOSES.match(self._text(item.end))
        closed = opened is not None or (closes is not None and (self._braces or closes[0].isalpha()))
        number = self._nexts[opened or item.line]
        while number <= len(self.lines):
            text, indent = self._texts[number], self._indents[number]
            if indent > own:
                if closed or number <= item.end or not _ASIDE.match(text):
                    last = number
            elif not self._braces and text[0] in ")]}":
                last = number  # of a signature or a value; in these languages, words close bodies
            elif _CLOSES.match(text):
                ends = indent == own and _END.match(text) is not None
                return last if not closed else number if ends else None
            elif not (closed and _ASIDE.match(text)):
                return None if closed else last
            number = self._nexts[number]
        return None if closed else last

    def _opens(self, item: Item) -> int | None:
        """The line whose last character is the brace that opens the body; None if there is none."""
        own = self._indents[item.line]
        for number in range(item.line, len(self.lines) + 1) if self._braces else ():
            text = self._texts[number]
            if text.endswith("/") or "//" in text:
                text = _COMMENT.sub("", text)
            if text.endswith("{"):
                return number
            inside = not text or self._indents[number] > own
            if not inside and (text.endswith(";") or (number > item.line and not _SIGNATURE.match(text))):
                return None
        return None

    def _is_end(self, item: Item, end: int) -> bool:
        """Whether the next line after `end` is not indented more than the item."""
        following = self._next_line(end)
        return following > len(self.lines) or self._indents[following] <= self._indents[item.line]

    def _before_next(self, item: Item, starts: Sequence[tuple[int, int]]) -> int:
        """The line before the next certain definition with no more indentation; the last line without any."""
        own = self._indents[item.line]
        at = bisect_left(starts, (item.line + 1, 0))
        later = (start for start, indent in starts[at:] if indent <= own)
        return next(later, len(self.lines) + 1) - 1

    def _next_line(self, number: int) -> int:
        """The first line after a given one that is not blank; the number after the last if there is none."""
        return self._nexts[number] if number < len(self._nexts) else len(self.lines) + 1

    def _next_lines(self) -> list[int]:
        following = len(self.lines) + 1
        found = [following] * following
        for number in range(len(self.lines), 0, -1):
            found[number] = following
            if self._texts[number]:
                following = number
        found[0] = following
        return found

    def _text(self, number: int) -> str:
        return self._texts[number] if number < len(self._texts) else ""


def _indent(line: str) -> int:
    """The width of the indentation of a line."""
    if "\t" in line:
        line = line.expandtabs(_TAB)
    return len(line) - len(line.lstrip())
