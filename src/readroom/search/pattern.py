"""One search pattern, and the lines of a text that it finds.

RE2 searches the whole text at once and is told never to match a line feed, so a
match stays in its line whatever the pattern says; the same is done by rg, which
takes line feeds out of sets.  Text comes as `held` gives it: with LF where lines
end, so that patterns that span lines find the same however lines end.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any, final

from msgspec import Struct

from readroom.search.re2_syntax import Untranslatable, translate

BINARY_HEAD = 64 * 1024
"""Where a NUL makes a file binary: rg's first read."""

_CHECK_EVERY = 1024
"""Matches between two looks at the clock."""

_LINE_END = re.compile(r"[\r\n]")
_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\(?:[pPxuU]\{[^}]*\}|[pP].|.)", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:[xuU]\{[^}]*\}|x..|u.{4}|U.{8}|.)|\r", re.DOTALL)
_CR_CODE = re.compile(r"\\(?:x0d|u000d|U0000000d|[xuU]\{0*d\})", re.IGNORECASE)


class Hit(Struct, frozen=True):
    """A matching line: its number from 1, where it starts, and the first match in it.

    `start` is a byte offset in the text, `column` and `length` are bytes of the
    line; `column` is None when it is not known where in the line the match is.
    """

    number: int
    start: int
    column: int | None = None
    length: int = 0


@final
class Pattern:
    """A pattern, compiled for RE2 if that means the same as rg does.

    Attributes:
        problem: Why it cannot be compiled here, as what RE2 does; None when it can.
        problem_at: The 0-based character where the problem stands, if that is known.
        keeps_cr: Whether it is searched in texts that keep the CR of their line ends: it asks for one.
    """

    def __init__(
        self, text: str, *, fixed: bool = False, ignore_case: bool = False, multiline: bool = False
    ) -> None:
        self._multiline = multiline
        self.keeps_cr = multiline and asks_for_cr(text, fixed=fixed)
        self._borders = False
        self._regex: Any = None
        self.problem: str | None = None
        self.problem_at: int | None = None
        try:
            if fixed:
                if not multiline and (end := _LINE_END.search(text)):
                    raise Untranslatable("a line end", end.start())
                self._regex = _compiled(text, literal=True, ignore_case=ignore_case, multiline=multiline)
            else:
                translation = translate(
                    text, ignore_case=ignore_case, multiline=multiline, keeps_cr=self.keeps_cr
                )
                self._borders = translation.ascii_borders
                whole = f"(?m)(?:{translation.text})"
                self._regex = _compiled(whole, literal=False, ignore_case=ignore_case, multiline=multiline)
        except Untranslatable as error:
            self.problem = f"does not have {error.what}"
            self.problem_at = error.at
        except _Refused as error:
            self.problem = f"refuses it ({error})"

    def decides(self, text: bytes) -> bool:
        """Whether it finds in this text exactly what rg finds."""
        if self.problem is not None or (self._borders and not text.isascii()):
            return False
        # What is left of CR stands inside lines, or the pattern asks for it: rg knows that no line ends
        # between CR and LF.
        return b"\r" not in text

    def hits(self, text: bytes, check: Callable[[], None]) -> Iterator[Hit]:
        """The matching lines in order; `check` is called now and then and may raise."""
        return self._across(text, check) if self._multiline else self._by_line(text, check)

    def first_in(self, piece: bytes) -> tuple[int, int] | None:
        """Where a piece of one line matches first, from and to."""
        match = None if self._regex is None else self._regex.search(piece)
        return None if match is None else match.span()

    def spans_in(self, piece: bytes) -> list[tuple[int, int]]:
        """Where it matches in a piece of one line, without what matches nothing."""
        spans = [] if self._regex is None else [match.span() for match in self._regex.finditer(piece)]
        return [(first, last) for first, last in spans if first < last]

    def _by_line(self, text: bytes, check: Callable[[], None]) -> Iterator[Hit]:
        size = len(text)
        at, number, counted = 0, 1, 0
        for turn in range(size + 1):
            if turn % _CHECK_EVERY == 0:
                check()
            match = self._regex.search(text, at) if at < size else None
            if match is None:
                return
            begin = match.start()
            start = text.rfind(b"\n", at, begin) + 1 or at
            if start >= size:
                return  # behind the last line feed there is no line
            number += text.count(b"\n", counted, start)
            counted = start
            yield Hit(number, start, begin - start, match.end() - begin)
            end = text.find(b"\n", begin)
            if end < 0:
                return
            at = end + 1

    def _across(self, text: bytes, check: Callable[[], None]) -> Iterator[Hit]:
        """Every line that a match touches, once."""
        size = len(text)
        start, number = 0, 1
        reported = 0
        for turn, match in enumerate(self._regex.finditer(text)):
            if turn % _CHECK_EVERY == 0:
                check()
            begin, end = match.span()
            while (feed := text.find(b"\n", start, begin)) >= 0:
                start, number = feed + 1, number + 1
            if start >= size:
                return
            column, length = begin - start, end - begin
            while True:
                if number > reported:
                    reported = number
                    yield Hit(number, start, column, length)
                feed = text.find(b"\n", start, end - 1)
                if feed < 0:
                    break
                start, number, column, length = feed + 1, number + 1, 0, 0


class _Refused(ValueError):
    """RE2 does not take a pattern: it is not valid, or it is too large."""


def _compiled(text: str, *, literal: bool, ignore_case: bool, multiline: bool) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.literal = literal
    options.case_sensitive = not ignore_case
    options.never_nl = not multiline
    # Its cache would keep 128 patterns of up to 8 MB each.
    re2.purge()
    try:
        return re2.compile(text, options)
    except re2.error as error:
        problem = error.args[0] if error.args else "it is not valid"
        raise _Refused(
            problem.decode("utf-8", "replace") if isinstance(problem, bytes) else str(problem)
        ) from None


def held(data: bytes, *, keep_cr: bool) -> bytes:
    """A whole UTF-8 file as text to search: without its mark, lines ended by LF alone unless `keep_cr`."""
    data = data.removeprefix(codecs.BOM_UTF8)
    if not keep_cr and b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return data


def asks_for_cr(pattern: str, *, fixed: bool) -> bool:
    """Whether a pattern names the carriage return, as a program would that looks for line ends."""
    if fixed:
        return "\r" in pattern
    return any(token in ("\r", r"\r") or _CR_CODE.fullmatch(token) for token in _ESCAPED.findall(pattern))


def is_binary(text: bytes) -> bool:
    """Whether a text, as `held` gives it, counts as binary: it holds a NUL near its beginning."""
    return text.find(b"\0", 0, BINARY_HEAD) >= 0


def words(pattern: str, *, fixed: bool) -> tuple[str, ...]:
    """The different words that a pattern spells out, in order."""
    plain = pattern if fixed else _ESCAPE.sub(" ", pattern)
    return tuple(dict.fromkeys(_WORD.findall(plain)))
