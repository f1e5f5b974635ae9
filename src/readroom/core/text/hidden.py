"""Find hidden characters in a text, and tags that clients obey: which they are and where.

They can make a line look different from what it says (bidirectional controls), or carry text that only a
program sees (tags, variation selectors, zero-width characters).  Tags of clients (`client_tags`) make a
model take content for words of its client.  All are reported next to the text and never removed from it.
Only what is certain is reported; the meaning of a text is not guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import stringzilla

from readroom.core.text import client_tags
from readroom.core.text.encodings import BROKEN_UNIT, NUL_SIGN
from readroom.core.values import Warn

CODES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "bidi_control": (
            "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
            "changes the order in which text is shown",
        ),
        "zero_width": ("\u00ad\u180e\u200b-\u200d\u2060-\u2064\ufeff", "has no width"),
        "invisible": (
            "\u034f\u115f\u1160\u17b4\u17b5\u206a-\u206f\u3164\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a",
            "is invisible or a gap",
        ),
        "tag_character": ("\U000e0000-\U000e007f", "carries hidden ASCII"),
        "variation_selector": ("\U000e0100-\U000e01ef", "can carry hidden bytes"),
        "undecodable": (
            "\ud800-\udfff",
            "bytes that are not a character in the file's encoding, shown as U+FFFD",
        ),
        "line_break": (
            "\x0b\f\r\x85\u2028\u2029",
            "ends a line in other programs and where this reply is displayed, but not in the file",
        ),
        "control_character": (
            "\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f",
            "a control character other than tab and line ends",
        ),
    }
)
"""By code: the characters, as in a regex class, and what they do.

U+00AD, the soft hyphen, is zero-width wherever no line is broken at it.  The
common variation selectors U+FE00-FE0F are not reported: every other emoji has one.
A form feed at the beginning or end of a line is not either: it parts pages of
older sources and stands on lines of its own.
"""

MORE = "more_warnings"
"""The code of the last warning, which counts those that are not listed."""

NAMES: Mapping[int, str] = MappingProxyType(
    {
        0: f"NULL, shown as {NUL_SIGN}",
        7: "BELL",
        8: "BACKSPACE",
        0x0B: "LINE TABULATION",
        0x0C: "FORM FEED",
        0x0D: "CARRIAGE RETURN",
        0x1B: "ESCAPE",
        0x7F: "DELETE",
        0x85: "NEXT LINE",
    }
)
"""Names of controls found in files; Unicode gives them none."""

# One class is several times faster than a group for each code. Compiled for the first non-ASCII text.
_HIDDEN = "[" + "".join(chars for chars, _ in CODES.values()) + "]"
_SIGNS = re.compile("(?:\x7f[A-Z]){2,}\x7f?")
"""Signs of secrets, which become labels (`secrets.view`)."""

_CONTROLS = bytes([*range(9), *range(0x0B, 0x20), 0x7F])
_ASCII = bytes(range(0x80))


def scan(lines: Sequence[str], first_line: int, *, limit: int, first_column: int = 1) -> list[Warn]:
    """Warnings about `lines`, which begin with line `first_line` of their file.

    One warning for each code on each line, in order, tags before characters, at most `limit` of them;
    then one that counts the rest.  `first_column` is where the first line starts, when
    its beginning is not among the characters given.
    """
    if not lines or is_clean("".join(lines)):
        return []
    return first_told(_warnings(lines, first_line, first_column), limit)


def first_told(warnings: Iterable[Warn], limit: int) -> list[Warn]:
    """At most `limit` of them, and one that counts the rest; no crowd of characters hides a tag."""
    told = sorted(warnings, key=lambda warn: warn.code != client_tags.CODE)
    return told if len(told) <= limit else [*told[:limit], more_of(len(told) - limit)]


def in_names(names: Iterable[str], *, limit: int) -> list[Warn]:
    """Warnings about names, and other single lines of strangers, that hold tags of clients.

    Hidden characters in a name are seen without one: it is quoted.
    """
    warnings: list[Warn] = []
    for name in names:
        if "<" not in name and name.isascii():
            continue
        if len(warnings) < limit and (tags := [*client_tags.found_in(name)]):
            warn = Warn(client_tags.CODE, client_tags.said(tags[0], len(tags) - 1))
            warnings += [] if warn in warnings else [warn]
    return warnings


def more_of(rest: int) -> Warn:
    """The warning that counts those that are not listed."""
    return Warn(MORE, f"{rest} more about hidden characters or tags in the lines shown")


def is_clean(text: str) -> bool:
    """Whether there is nothing to warn of; takes 20 us for 20 kB of source code, 50 us if it is not ASCII."""
    if client_tags.has_any(text):
        return False
    data = text.encode("utf-8", "surrogatepass")
    if stringzilla.find_first_of(data, _CONTROLS) >= 0:
        return False
    if text.isascii():
        return True
    # ASCII, usually most of the text, is removed first, so that the slower regex sees only the rest.
    return not re.search(_HIDDEN, data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))


def _warnings(lines: Sequence[str], first_line: int, first_column: int) -> Iterator[Warn]:
    for at, line in enumerate(lines):
        shift = first_column if at == 0 else 1
        if "<" in line or not line.isascii():
            yield from _tags(line, first_line + at, shift)
        if line.isascii() and line.isprintable():
            continue
        hits: dict[str, list[int]] = {}
        if "\x7f" in line:
            line = _SIGNS.sub(lambda sign: " " * len(sign.group()), line)
        for hit in re.finditer(_HIDDEN, line):
            if hit.group() == "\f" and hit.start() in (0, len(line) - 1):
                continue
            hits.setdefault(_code(hit.group()), []).append(hit.start())
        for code, places in hits.items():
            more = f"; {len(places) - 1} more on this line" if len(places) > 1 else ""
            yield Warn(code, _name(line[places[0]]) + more, first_line + at, places[0] + shift)


def _tags(line: str, number: int, shift: int) -> Iterator[Warn]:
    tags = [*client_tags.found_in(line)]
    if tags:
        said = client_tags.said(tags[0], len(tags) - 1)
        yield Warn(client_tags.CODE, said, number, tags[0].column - 1 + shift)


@lru_cache(maxsize=1024)
def _code(char: str) -> str:
    return next(code for code, (chars, _) in CODES.items() if re.match(f"[{chars}]", char))


@lru_cache(maxsize=1024)
def _name(char: str) -> str:
    """The name of a character, such as `U+202E RIGHT-TO-LEFT OVERRIDE`; for an invalid byte, the byte."""
    point = ord(char)
    if 0xDC00 <= point <= 0xDCFF:
        return f"byte 0x{point - 0xDC00:02X}"
    if char == BROKEN_UNIT:
        return "a broken UTF-16 or UTF-32 unit"
    if 0xD800 <= point <= 0xDFFF:
        return f"lone surrogate U+{point:04X}"
    return f"U+{point:04X} {NAMES.get(point) or unicodedata.name(char, 'CONTROL')}"
