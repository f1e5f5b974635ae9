"""Compile search patterns, and find the matching lines of a text.

RE2 searches the whole text at once and is told never to match a line feed, so a match stays in its line
whatever the pattern says; rg does the same by removing line feeds from sets.  Texts come from `with_lf`, so
that patterns that span lines find the same with any line terminators.

Patterns are regular expressions in the syntax of rg (Rust's regex crate).  For RE2, in this process, they are
translated to mean the same; those that cannot be translated are left to rg.  Both engines take time linear in
the text, and neither supports lookaround or backreferences.  `DIFFERENCES` lists what differs in a store
without files, which has only RE2.  Local files are not affected: rg decides there.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, final

import stringzilla
from msgspec import Struct

from readroom.core.formats.kinds import sniff
from readroom.core.limits import HEAD_BYTES
from readroom.core.text.encodings.detect import NUL_BYTES, is_mostly_text

DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        r"\b and \B next to letters that are not ASCII": r"for RE2 é is not a letter: \bcole finds école",
        r"\< \> \b{start} \b{end}": "refused",
        "[a-z&&[^aeiou]] [a--b] [a~~b] [[a]b]": "sets of sets are refused",
        r"[^\D] [\W\S]": "complements inside a set are refused",
        r"\p{Alphabetic} \p{sc=Greek} and properties other than categories and scripts": "refused",
        r"\p{...} without regard to case": "refused",
        "(?x) (?u) (?R) (?-m)": "refused",
        r"\A and \z when matches cannot span lines": "refused",
        "a** a{2}{3} and repetitions of more than 1,000": "refused",
        r"a lone \r inside a line": r"for rg $ matches before it and . does not match it",
        r"$ in a pattern that names \r and spans lines": r"\r[^x]$ may find the \r of a \r\n",
    }
)
"""Syntax, and how a store without files treats it, for the reference."""

# Rust: Alphabetic, Mark, Decimal_Number, Connector_Punctuation, Join_Control. RE2 knows only categories;
# the ranges are the circled and squared letters, which are alphabetic by another property.
_WORD_SET = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}"
    r"\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}"
)
_SPACE = r"\t\n\v\f\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_SETS = {"d": r"\p{Nd}", "w": _WORD_SET, "s": _SPACE}

_PLAIN_ESCAPES = frozenset("nrtfva")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;=?@[\\]^_`{|}~ ")
"""Characters that both engines take literally after a backslash; `<` and `>` are word boundaries for rg."""

_COUNT = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_GROUP = re.compile(r"\(\?(?:P?<[A-Za-z_][A-Za-z0-9_]*>|(?:[isU]*(?:-[isU]+)?)[:)])")
_PROPERTY = re.compile(r"[pP](?:[A-Z]|\{[A-Za-z_]+\})")
_CODE = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[xuU]\{[0-9A-Fa-f]{1,8}\}")
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_SET_OPERATORS = ("&&", "--", "~~")


class Untranslatable(ValueError):
    """Syntax that RE2 does not have or reads differently, or that is an error in both engines."""

    def __init__(self, what: str, at: int) -> None:
        """`at` is its 0-based position in characters."""
        super().__init__(f"{what} at character {at}")
        self.what = what
        self.at = at


class Translation(Struct, frozen=True):
    """A pattern for RE2.

    `ascii_borders` says that it has word boundaries, which RE2 finds only around ASCII letters.
    """

    text: str
    ascii_borders: bool


def translate(pattern: str, *, ignore_case: bool, multiline: bool, keeps_cr: bool = False) -> Translation:
    """The pattern for RE2, to be compiled with `(?m)`, that means the same as `pattern` in rg.

    `keeps_cr` says that lines of the text keep the CR of their CR LF. Raises Untranslatable.
    """
    return _Translator(pattern, ignore_case, multiline, keeps_cr).whole()


class _Translator:
    def __init__(self, pattern: str, ignore_case: bool, multiline: bool, keeps_cr: bool) -> None:
        self._text = pattern
        self._at = 0
        self._any_case = ignore_case
        self._multiline = multiline
        self._keeps_cr = keeps_cr
        self._open: list[int] = []
        self._borders = False
        self._property_at: int | None = None
        self._dot_all = False

    def whole(self) -> Translation:
        parts: list[str] = []
        while self._at < len(self._text):
            parts.append(self._next())
        if self._open:
            raise Untranslatable("unclosed group", self._open[-1])
        if self._any_case and self._property_at is not None:
            raise Untranslatable("a property without regard to case", self._property_at)
        return Translation("".join(parts), self._borders)

    def _next(self) -> str:
        char = self._text[self._at]
        match char:
            case "\\":
                return self._escape(inside=False)
            case "(":
                return self._group()
            case "[":
                return self._set()
            case "{":
                return self._take(_COUNT, "repetition")
            case ")":
                if not self._open:
                    raise Untranslatable("unopened group", self._at)
                self._open.pop()
            case "$" if self._keeps_cr:
                # The CR belongs to the line terminator.
                char = r"(?:\r?$)"
            case "." if self._keeps_cr and not self._dot_all:
                char = r"[^\r\n]"
            case "\n" | "\r" if not self._multiline:
                raise Untranslatable("a line end", self._at)
        self._at += 1
        return char

    def _take(self, form: re.Pattern[str], what: str) -> str:
        match = form.match(self._text, self._at)
        if match is None:
            raise Untranslatable(what, self._at)
        self._at = match.end()
        return match[0]

    def _group(self) -> str:
        at = self._at
        if not self._text.startswith("(?", at):
            self._at += 1
            self._open.append(at)
            return "("
        taken = self._take(_GROUP, "group")
        if "<" not in taken:
            on = taken.partition("-")[0]
            self._any_case = self._any_case or "i" in on
            self._dot_all = self._dot_all or "s" in on
        if not taken.endswith(")"):
            self._open.append(at)
        return taken

    # --- escapes and sets ---------------------------------------------------------------------

    def _escape(self, *, inside: bool) -> str:
        at = self._at
        self._at += 1
        char = self._text[self._at : self._at + 1]
        if char in _SETS or char.lower() in _SETS:
            self._at += 1
            return self._named_set(char, at, inside)
        if char in _PUNCTUATION or char in _PLAIN_ESCAPES:
            if char in "nr" and not self._multiline and not inside:
                raise Untranslatable("a line end", at)
            self._at += 1
            return "\\" + char if char != " " else " "
        if char in ("p", "P"):
            self._property_at = at
            return "\\" + self._take(_PROPERTY, "property")
        if char in ("x", "u", "U"):
            code = int(self._take(_CODE, "character code")[1:].strip("{}"), 16)
            if code in (0x0A, 0x0D) and not self._multiline:
                raise Untranslatable("a line end", at)
            if 0xD800 <= code < 0xE000:
                raise Untranslatable("half of a surrogate pair", at)
            return f"\\x{{{code:x}}}"
        if not inside:
            return self._border(char, at)
        raise Untranslatable("escape", at)

    def _border(self, char: str, at: int) -> str:
        self._at += 1
        if char in ("b", "B") and not self._text.startswith("{", self._at):
            self._borders = True
            return "\\" + char
        if char in ("A", "z") and self._multiline:
            return "\\" + char
        raise Untranslatable("escape", at)

    def _named_set(self, char: str, at: int, inside: bool) -> str:
        members = _SETS[char.lower()]
        if char.islower():
            return members if inside else f"[{members}]"
        if inside:
            if char == "D":
                return r"\P{Nd}"
            raise Untranslatable("a complement in a set", at)
        return f"[^{members}]"

    def _set(self) -> str:
        """A bracketed set, without nested sets."""
        start = self._at
        self._at += 1
        written = ["["]
        if self._text.startswith("^", self._at):
            written.append("^")
            self._at += 1
        if self._text.startswith("]", self._at):
            written.append(r"\]")
            self._at += 1
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "]":
                self._at += 1
                return "".join((*written, "]"))
            written.append(self._set_item(char))
        raise Untranslatable("unclosed set", start)

    def _set_item(self, char: str) -> str:
        if char == "\\":
            return self._escape(inside=True)
        if char == "[":
            return self._take(_POSIX, "a set in a set")
        if self._text.startswith(_SET_OPERATORS, self._at):
            raise Untranslatable("a set operator", self._at)
        self._at += 1
        return char


_CHECK_EVERY = 1024
"""Matches between two checks of the clock."""

_LINE_END = re.compile(r"[\r\n]")
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[\w :=,;/@%!\"'<>]+", re.ASCII)
"""A regular expression that matches only its own text."""

_NOWHERE = (-1, -1)
_ESCAPE = re.compile(r"\\(?:[pPxuU]\{[^}]*\}|[pP].|.)", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:[xuU]\{[^}]*\}|x..|u.{4}|U.{8}|.)|\r", re.DOTALL)
_CR_CODE = re.compile(r"\\(?:x0d|u000d|U0000000d|[xuU]\{0*d\})", re.IGNORECASE)


class Hit(Struct, frozen=True):
    """A matching line: its number from 1, its start, and the first match in it.

    `start` is a byte offset in the text, `column` and `length` are in bytes of the line; `column` is None if
    the position of the match in the line is unknown.
    """

    number: int
    start: int
    column: int | None = None
    length: int = 0


@final
class Pattern:
    """A pattern, compiled for RE2 if RE2 can give it the meaning it has for rg.

    Attributes:
        problem: Why it cannot be compiled here, as a predicate of RE2 ("does not have ..."); None if it can.
        problem_at: The 0-based position of the problem in characters, if known.
        keeps_cr: Whether searched texts keep the CR of their line terminators, because it asks for one.
    """

    def __init__(
        self, text: str, *, fixed: bool = False, ignore_case: bool = False, multiline: bool = False
    ) -> None:
        self._multiline = multiline
        self.keeps_cr = multiline and asks_for_cr(text, fixed=fixed)
        self._borders = False
        self._regex: Any = None
        self._plain = b""
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
            if not ignore_case and (fixed or _PLAIN.fullmatch(text)):
                self._plain = text.encode()
        except Untranslatable as error:
            self.problem = f"does not have {error.what}"
            self.problem_at = error.at
        except _Refused as error:
            self.problem = f"refuses it ({error})"

    def decides(self, text: bytes) -> bool:
        """Whether it finds exactly what rg finds in this text."""
        if self.problem is not None or (self._borders and not text.isascii()):
            return False
        # A remaining CR is inside a line, or the pattern asks for it: rg knows that no line ends between
        # CR and LF.
        return b"\r" not in text

    def hits(self, text: bytes, check: Callable[[], None]) -> Iterator[Hit]:
        """The matching lines in order; `check` is called now and then and may raise."""
        return self._across(text, check) if self._multiline else self._by_line(text, check)

    def first_in(self, piece: bytes) -> tuple[int, int] | None:
        """The span of the first match in a piece of one line."""
        match = None if self._regex is None else self._regex.search(piece)
        return None if match is None else match.span()

    def spans_in(self, piece: bytes) -> list[tuple[int, int]]:
        """The spans of all matches in a piece of one line, without empty ones."""
        spans = [] if self._regex is None else [match.span() for match in self._regex.finditer(piece)]
        return [(first, last) for first, last in spans if first < last]

    def _by_line(self, text: bytes, check: Callable[[], None]) -> Iterator[Hit]:
        size = len(text)
        at, number, counted = 0, 1, 0
        for turn in range(size + 1):
            if turn % _CHECK_EVERY == 0:
                check()
            begin, end = self._next(text, at) if at < size else _NOWHERE
            if begin < 0:
                return
            start = text.rfind(b"\n", at, begin) + 1 or at
            if start >= size:
                return  # there is no line after the last line feed
            number += stringzilla.count(text, "\n", counted, start)
            counted = start
            yield Hit(number, start, begin - start, end - begin)
            feed = text.find(b"\n", begin)
            if feed < 0:
                return
            at = feed + 1

    def _next(self, text: bytes, at: int) -> tuple[int, int]:
        """The span of the next match."""
        if self._plain:
            begin = stringzilla.find(text, self._plain, at)
            return begin, begin + len(self._plain)
        match = self._regex.search(text, at)
        return _NOWHERE if match is None else match.span()

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
    """RE2 does not accept a pattern: it is not valid, or it is too large."""


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


def with_lf(data: bytes, *, keep_cr: bool) -> bytes:
    """A whole UTF-8 file as text to search: without a BOM, and with LF line terminators unless `keep_cr`."""
    data = data.removeprefix(codecs.BOM_UTF8)
    # Finding one character is thirty times as fast as finding two.
    if not keep_cr and b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    return data


def asks_for_cr(pattern: str, *, fixed: bool) -> bool:
    """Whether a pattern names the carriage return, like that of a program that looks for line ends."""
    if fixed:
        return "\r" in pattern
    return any(token in ("\r", r"\r") or _CR_CODE.fullmatch(token) for token in _ESCAPED.findall(pattern))


def is_binary(text: bytes) -> bool:
    """Whether a text from `with_lf` counts as binary: it has a NUL in the part that a read also checks."""
    return text.find(b"\0", 0, NUL_BYTES) >= 0


def is_mixed(head: bytes) -> bool:
    """Whether a file that begins so is a text with some NULs, which rg and git take for binary."""
    return is_binary(head) and is_mostly_text(head, complete=len(head) < HEAD_BYTES) and sniff(head) is None


def words(pattern: str, *, fixed: bool) -> tuple[str, ...]:
    """The distinct words that a pattern spells out, in order."""
    plain = pattern if fixed else _ESCAPE.sub(" ", pattern)
    return tuple(dict.fromkeys(_WORD.findall(plain)))
