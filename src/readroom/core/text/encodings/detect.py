"""Detect the encoding of bytes without a byte order mark, or that they are not text.

From certain to likely: UTF-8, even with a few NULs or invalid bytes, which are then reported instead of
turning the whole file into other letters; UTF-16 or UTF-32, proved by the positions of NULs or by the
resulting letters; the legacy encoding that gives the most likely text (`legacy`), in which a NUL near the
beginning makes a file binary.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from typing import NamedTuple, TypeAlias

import stringzilla

from readroom.core.text.encodings.surrogates import without_surrogates

NUL_BYTES = 8192
"""The beginning whose NULs and controls are counted: that of the everruns contract; git looks at 8,000."""

CONTROLS = bytes([*range(7), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
"""Bytes that text does not use: C0 without the bell, backspace, tab, line, page and escape of logs."""

CONTROL_SHARE = 0.10
"""Share of control characters above which even valid UTF-8 is binary."""

NUL_SHARE = 0.34
"""Share of NULs above which a text is binary in which they stand alone and are the only controls: a third are
in "a\\0b" and in lists whose entries a NUL ends, a half in UTF-16. Of 145,000 files with a NUL on a machine,
1,300 of them texts by all other signs, no binary one without magic bytes is within these shares."""

LEGACY_CONTROL_SHARE = 0.02
"""The same for bytes that are not UTF-8: a tenth of random bytes are controls, none of legacy text."""

VALID_TO_BROKEN = 3
"""Multi-byte characters per invalid byte from which broken UTF-8 is still UTF-8; legacy text has below 1."""

WIDE: tuple[tuple[str, int], ...] = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))
"""Codecs with several bytes per unit, and how many; UTF-32 first, since only its own text is valid in it."""

WIDE_SAMPLE_BYTES = 4096
"""Enough characters to be sure of UTF-16; each is examined in Python."""

MIN_WIDE = 4
"""Fewer characters are UTF-16 only if one of them is ASCII, whose NUL shows."""

COHERENT = 0.9
"""Share of characters in one script or in none (ASCII, punctuation); noise has a third."""

COMMON_SHARE = 0.1
"""Share of ideographs that are common ones: a third or more in text, one in a hundred in pairs of ASCII."""

MOSTLY, VARIED, WORD_CHARS = 0.6, 5, 200
"""For wide text: the share of ASCII that proves it; else the number of different characters it must exceed,
and the size in which a blank, line end or punctuation must occur. Patterns such as 00 FF lack them."""

JOURNAL = b"__CURSOR="
"""The beginning of an export of journald: the place of its first entry."""

SWITCH_BYTES = 255
"""How far searches look for the first switch of ISO-2022-JP: up to here in every file, at no cost that can be
measured. Where it comes later, words of it are looked for (`search.prefilter`), but no sets of characters."""

SWITCHES = rb"(?s)\A[\x00-\x7f]{0,%d}?\x1b\$[@B]" % SWITCH_BYTES
"""How most files in ISO-2022-JP begin, and few others; the escapes of terminals have other characters."""

_SWITCH = rb"\x1b\$[@B]"

Ranges: TypeAlias = tuple[tuple[int, int], ...]

SCRIPTS: tuple[Ranges, ...] = (
    ((0xC0, 0x24F), (0x300, 0x36F), (0x1E00, 0x1EFF)),
    ((0x370, 0x3FF),),
    ((0x400, 0x52F),),
    ((0x530, 0x58F),),
    ((0x590, 0x5FF),),
    ((0x600, 0x6FF),),
    ((0x900, 0x97F),),
    ((0xE00, 0xE7F),),
    ((0x10A0, 0x10FF),),
    ((0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3)),
)
"""Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Devanagari, Thai, Georgian, East Asian."""

IDEOGRAPHS = SCRIPTS[-1]

NEUTRAL: Ranges = (
    (0x9, 0xD),
    (0x1B, 0x7E),
    (0xA0, 0xBF),
    (0x2010, 0x2060),
    (0x3000, 0x3020),
    (0xFF00, 0xFF65),
)
"""Code points of any script: ASCII, punctuation, full-width forms."""


class Found(NamedTuple):
    """A codec, and whether it is more than a guess."""

    name: str
    sure: bool = True


GUESSES = 4096
"""Guessed encodings to remember, some 150 bytes each; when full, all are forgotten."""


def codec(head: bytes, *, complete: bool) -> Found | None:
    """The codec of a file that starts with `head` and has no byte order mark; None if it is not text."""
    start = head[:NUL_BYTES]
    if head.isascii() and stringzilla.find_first_of(start, CONTROLS) < 0:
        # The usual case, checked at the speed of memory.
        return Found("iso2022_jp" if _switches(head, complete=complete) else "utf-8")
    if head.isascii() and b"\x7f" in start and not _controls(start):
        return Found("utf-8")  # no more than signs in the place of secrets
    key = hashlib.blake2b(head, digest_size=16, salt=b"whole" if complete else b"").digest()
    if key not in _guessed:
        if len(_guessed) >= GUESSES:
            _guessed.clear()
        _guessed[key] = _guess(head, start, complete=complete)
    return _guessed[key]


def _switches(head: bytes, *, complete: bool) -> bool:
    """Whether it is ISO-2022-JP: it switches to kanji, and every line ends in ASCII."""
    # A search for one byte runs at the speed of memory, for two at a twentieth of it.
    if b"\x1b" not in head or re.search(_SWITCH, head) is None:
        return False
    lines = (head if complete else _whole_lines(head)).split(b"\n")
    try:
        # In kanji mode the added byte would not decode to itself: a line must not end in that mode.
        return all((line + b"!").decode("iso2022_jp").endswith("!") for line in lines if b"\x1b" in line)
    except UnicodeDecodeError:
        return False


_guessed: dict[bytes, Found | None] = {}
"""Detected codecs by a hash of the bytes: detection takes some 10 ms, and pages of a file and searches of a
tree repeat it."""


def _guess(head: bytes, start: bytes, *, complete: bool) -> Found | None:
    if is_mostly_text(head, complete=complete):
        return Found("utf-8")
    controls = _controls(start)
    if controls and (name := _wide(head)):
        return Found(name)
    if (b"\0" in start and not is_journal(head)) or controls > LEGACY_CONTROL_SHARE * len(start):
        return None
    from readroom.core.text.encodings.legacy import most_likely

    head = _SIGNS.sub(b"A", head)
    guess = most_likely(head if complete else _whole_lines(head))
    return None if guess is None else Found(guess.name, guess.sure)


def is_mostly_text(head: bytes, *, complete: bool = True) -> bool:
    """Whether bytes are a text in UTF-8, though it may hold some NULs, other controls and invalid bytes.

    `complete` says that `head` is all there is; otherwise a character cut at its end is expected. Magic bytes
    are not looked at: an archive of texts begins like one (`formats.kinds.sniff`).
    """
    start = head[:NUL_BYTES]
    nuls = start.count(0)
    alone = nuls and b"\0\0" not in start and _controls(start) == nuls
    maximum = NUL_SHARE if alone else CONTROL_SHARE
    return _controls(start) <= maximum * len(start) and _is_utf8(head, complete=complete)


def _controls(start: bytes) -> int:
    if b"\x7f" in start:
        start = _SIGNS.sub(b"", start)
    return len(start) - len(start.translate(None, CONTROLS))


_SIGNS = re.compile(rb"(?:\x7f[A-Z])+\x7f?")
"""Signs of secrets, which no control is meant by (`secrets.view`)."""


def is_journal(head: bytes) -> bool:
    """Whether it is an export of journald: text in which binary lengths precede multi-line fields."""
    return head.startswith(JOURNAL)


def is_noise(text: str) -> bool:
    """Whether bytes after a byte order mark are not text: controls, broken units, unknown characters."""
    sample = re.sub("\x7f[A-Z]", "", text[:WIDE_SAMPLE_BYTES])
    odd = sum(
        unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"} for char in sample if char not in "\t\n\r\f"
    )
    return odd > CONTROL_SHARE * len(sample)


def _is_utf8(head: bytes, *, complete: bool) -> bool:
    if head.isascii():
        return True
    try:
        head.decode()
        return True
    except UnicodeDecodeError:
        text = without_surrogates(head).decode("utf-8", "surrogateescape")
    if not complete:
        text = re.sub("[\udc80-\udcff]{1,3}\\Z", "", text)
    broken = len(re.findall("[\udc80-\udcff\ufffd]", text))
    if not broken:
        return True
    valid = len(re.findall("[^\0-\x7f\udc80-\udcff\ufffd]", text))
    return valid >= VALID_TO_BROKEN * broken


def _whole_lines(head: bytes) -> bytes:
    return head[: head.rfind(b"\n") + 1] or head


def _wide(head: bytes) -> str | None:
    """UTF-32 or UTF-16, whichever gives coherent text."""
    for name, unit in WIDE:
        sample = head[: min(len(head), WIDE_SAMPLE_BYTES) // unit * unit]
        try:
            text = sample.decode(name)
        except UnicodeDecodeError as error:
            if unit == 4 or error.end < len(sample):
                continue
            text = sample[: error.start].decode(name)  # a surrogate pair cut at the end
        if _reads_as_text(text):
            return name
    return None


def _reads_as_text(text: str) -> bool:
    """Whether `text` is in one script, without controls, and has common ideographs if any."""
    text = re.sub("\x7f(?=[A-Z])|(?<=[A-Z])\x7f", "A", text)  # signs of secrets
    if len(text) < MIN_WIDE and (len(text) < 2 or not any(map(str.isascii, text))):
        return False
    if any(unicodedata.category(char) in {"Cn", "Co"} for char in set(text)) or not _has_words(text):
        return False
    others = _runs(NEUTRAL).sub("", text)
    scripts = (len(others) - len(_runs(script).sub("", others)) for script in SCRIPTS)
    if len(text) - len(others) + max(scripts) < COHERENT * len(text):
        return False
    from readroom.core.text.encodings.legacy import COMMON_IDEOGRAPHS

    ideographs = _each(IDEOGRAPHS).findall(text)
    return sum(char in COMMON_IDEOGRAPHS for char in ideographs) >= COMMON_SHARE * len(ideographs)


def _has_words(text: str) -> bool:
    """Whether `text` is mostly ASCII or has varied words with something between: patterns of bytes do not."""
    if sum(map(str.isascii, text)) > MOSTLY * len(text):
        return True
    words = sum(char.isspace() or unicodedata.category(char)[0] in "LMN" for char in text)
    parted = len(text) < WORD_CHARS or _runs(NEUTRAL).search(text) is not None
    varied = len(set(text)) > min(VARIED, len(text) // 4) or any(map(str.isspace, text))
    return parted and varied and words > len(text) / 2


@cache
def _runs(ranges: Ranges) -> re.Pattern[str]:
    return re.compile(f"{_set(ranges)}+")


@cache
def _each(ranges: Ranges) -> re.Pattern[str]:
    return re.compile(_set(ranges))


def _set(ranges: Ranges) -> str:
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]"
