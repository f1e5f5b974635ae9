r"""Write the pattern for rg so that no file with a match is skipped.

rg reads bytes as UTF-8. The final search is of text: decoded from other encodings, and with CR LF treated
like LF. So rg gets a pattern that finds at least all files in which the text matches; it finds some more,
which are searched without a result.

    é       or its bytes in any detectable encoding
    .       or a byte above 7F and the bytes that may follow it in one character
    \n      or CR LF

A pattern that can only match ASCII within a line is unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from readroom.core.text.encodings.legacy import CANDIDATES, MULTIBYTE

_TOKEN = re.compile(
    r"""
      (?P<property> \\[pP] (?: \{[^}]*\} | . ) )
    | (?P<code> \\ (?: x[0-9A-Fa-f]{2} | u[0-9A-Fa-f]{4} | U[0-9A-Fa-f]{8} | [xuU]\{[0-9A-Fa-f]+\} ) )
    | (?P<set> \\[wdsWDS] | \. )
    | (?P<border> \\[bB] )
    | (?P<escape> \\ . )
    | (?P<bracket> \[ \^? \]? (?: \[:\^?\w+:\] | \\. | [^\]\\] )* \] )
    | (?P<group> \( (?: \? (?: P?<\w+> | [A-Za-z-]* [:)] ) )? )
    | (?P<count> \{ [0-9,]+ \} | [*+?] )
    | (?P<sign> [|)^$] )
    | (?P<char> . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""The parts of a pattern that `pattern.translate` accepts; no others get here."""

_FOREIGN = r"(?-u:(?:[\x80-\xff][0-\xff]?){1,2})"
"""One character in an encoding other than UTF-8: one byte above 7F, or two to four bytes, alternately above
7F and above 2F."""

_FEED = r"(?:\r?\n)"

_BROKEN = (
    r"(?-u:[\xc0\xc1\xf5-\xff]|(?:^|[\x00-\x7f])[\x80-\xbf]|[\xc2-\xf4](?:[\x00-\x7f\xc0-\xff]|$)"
    r"|[\xe0-\xf4][\x80-\xbf](?:[\x00-\x7f\xc0-\xff]|$)|[\xf0-\xf4][\x80-\xbf]{2}(?:[\x00-\x7f\xc0-\xff]|$)"
    r"|[\xc2-\xdf][\x80-\xbf]{2}|[\xe0-\xef][\x80-\xbf]{3}|[\xf0-\xf4][\x80-\xbf]{4}"
    r"|\xe0[\x80-\x9f]|\xed[\xa0-\xbf]|\xf0[\x80-\x8f]|\xf4[\x90-\xbf])"
)
"""Byte sequences that are not valid UTF-8. Twice as slow as a search for words."""

_ASCII_BRACKET = re.compile(r"\[(?!\^)(?:[^\\[]|\[:\w+:\]|\\[^pPwdsWDSxuU])*\]", re.ASCII | re.DOTALL)
_WITHOUT_FEED = re.compile(r"\[[\w. -]*\]", re.ASCII)
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")

_KELVIN = "\u03a9\u2126\xc5\u212b"
"""Characters of East Asian encodings that equal other letters when case is ignored."""

_SWITCHED = re.compile(rb"\x1b\$B([^\x1b]+)\x1b\(B", re.DOTALL)
"""Kanji and kana in ISO-2022-JP, between its two escape sequences."""

_CODECS = (*sorted(CANDIDATES), "utf-16-le", "utf-16-be")


def anywhere(*, multiline: bool) -> tuple[str, ...]:
    """Patterns to add to one that cannot be translated: they find all files whose text is not their bytes."""
    return (_BROKEN, r"\r\n") if multiline else (_BROKEN,)


def superset(
    pattern: str, *, fixed: bool, ignore_case: bool, multiline: bool, foreign: bool = True
) -> str | None:
    """A pattern for rg that matches at least wherever the text does; None if `pattern` itself does.

    Args:
        pattern: A pattern that `pattern.translate` accepts, or any text with `fixed`.
        fixed: Take the pattern literally.
        ignore_case: Ignore case.
        multiline: Matches may span lines, which may end with CR LF.
        foreign: Files may have encodings other than UTF-8.
    """
    any_case = ignore_case or (not fixed and re.search(r"\(\?[A-Za-z]*i", pattern) is not None)
    writer = _Writer(any_case=any_case, multiline=multiline, foreign=foreign)
    wider = writer.literal(pattern) if fixed else writer.whole(pattern)
    return wider if writer.differs else None


class _Writer:
    """Writes one pattern. `differs` says whether the result differs from the input."""

    def __init__(self, *, any_case: bool, multiline: bool, foreign: bool) -> None:
        self._any_case = any_case
        self._multiline = multiline
        self._foreign = foreign
        self._out: list[str] = []
        self._run = ""
        self.differs = False

    def literal(self, text: str) -> str:
        for char in text:
            self._char(char, escaped(char))
        return self._ended()

    def whole(self, pattern: str) -> str:
        tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(pattern)]
        for at, (kind, token) in enumerate(tokens):
            match kind:
                case "char" | "escape" | "code":
                    char = _meant(kind, token)
                    # A repetition applies to the last character alone.
                    if at + 1 < len(tokens) and tokens[at + 1][0] == "count":
                        self._flush()
                    self._char(char, token)
                case "property" | "set" | "bracket":
                    self._flush()
                    self._out.append(self._one_of(token))
                case "border" if self._foreign:
                    self._border(token, tokens[at - 1] if at else None, tokens[at + 1 : at + 2])
                case _:
                    self._flush()
                    self._out.append(token)
        return self._ended()

    def _char(self, char: str, written: str) -> None:
        if char == "\n" and self._multiline:
            self._flush()
            self._out.append(_FEED)
            self.differs = True
        elif char.isascii() or not self._foreign:
            self._flush()
            self._out.append(written)
        else:
            self._run += char

    def _flush(self) -> None:
        if self._run:
            self._out.append(_in_any_encoding(self._run, any_case=self._any_case))
            self._run = ""
            self.differs = True

    def _ended(self) -> str:
        self._flush()
        return "".join(self._out)

    def _one_of(self, token: str) -> str:
        """Widen a token that matches one of several characters."""
        others = []
        may_hold_feed = token not in (r"\w", r"\d", r"\S") and _WITHOUT_FEED.fullmatch(token) is None
        if self._multiline and may_hold_feed:
            others.append(r"\r\n")
        if self._foreign and not (token.isascii() and _ASCII_BRACKET.fullmatch(token)):
            others.append(_FOREIGN)
        if not others:
            return token
        self.differs = True
        return f"(?:{'|'.join([token, *others])})"

    def _border(self, token: str, before: tuple[str, str] | None, after: list[tuple[str, str]]) -> None:
        """Widen a word boundary, because rg does not see letters of other encodings as letters.

        After an ASCII letter, either kind of boundary matches.  Before one, the last byte of a foreign
        character may look like a letter.  Elsewhere the boundary is dropped.
        """
        self._flush()
        self.differs = True
        if token == r"\b" and before is not None and _is_letter(before):
            self._out.append(r"(?:\b|(?-u:\b))")
        elif token == r"\b" and before is None and after and _is_letter(after[0]):
            self._out.append(r"(?:\b|(?-u:\b)|(?-u:[\x80-\xff][0-\xff]))")


def _is_letter(token: tuple[str, str]) -> bool:
    kind, text = token
    return kind == "char" and text.isascii() and (text.isalnum() or text == "_")


_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}


def _meant(kind: str, token: str) -> str:
    """The character that a token of a pattern stands for."""
    if kind == "code":
        return chr(int(token[2:].strip("{}"), 16))
    if kind == "escape":
        return _NAMED.get(token[1], token[1])
    return token


def escaped(text: str) -> str:
    """A pattern that matches a text literally."""
    return _META.sub(r"\\\g<0>", text)


def _in_any_encoding(text: str, *, any_case: bool) -> str:
    """A pattern for non-ASCII characters in files of any detectable encoding."""
    if any_case:
        return "".join(_forms(list(_cases(char))) for char in text)
    return _forms([text])


def _forms(texts: list[str]) -> str:
    """A pattern for any of several equivalent texts."""
    forms = {form: None for text in texts for form in (escaped(text), *_byte_forms(text))}
    if any("\ufffd" in text for text in texts):
        forms[_FOREIGN] = None
    return f"(?:{'|'.join(forms)})"


def _byte_forms(text: str) -> Iterator[str]:
    for codec in _CODECS:
        try:
            data = text.encode(codec)
        except UnicodeEncodeError:
            continue
        # Files with a NUL in these bytes are found by their beginning (`text.encodings.WIDE`).
        if 0 not in data:
            yield "(?-u:" + "".join(f"\\x{byte:02x}" for byte in data) + ")"

    match = _SWITCHED.fullmatch(text.encode("iso2022_jp", "replace"))
    if match is not None:
        inside = "".join(f"\\x{byte:02x}" for byte in match[1])
        yield rf"(?:\x1b\$[@B])?{inside}(?:\x1b\([BJ])?"


def _cases(char: str) -> set[str]:
    """All characters of detectable encodings that equal `char` when case is ignored."""
    folded = char.casefold()
    return {same for same in {*_repertoire(), char, char.lower(), char.upper()} if same.casefold() == folded}


@cache
def _repertoire() -> frozenset[str]:
    high = bytes(range(0x80, 0x100))
    alphabets = (high.decode(codec, "ignore") for codec in CANDIDATES - MULTIBYTE)
    return frozenset(_KELVIN).union(*alphabets)
