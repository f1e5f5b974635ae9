"""Detect and decode text encodings, without loss and without errors.

Text is decoded in pieces, so a cut between characters must make no difference: for every `data` and
`p = prefix(data, e)`, `decode(data[:p], e) + decode(data[p:], e) == decode(data, e)`.

Bytes that are invalid in the encoding become lone surrogates, which no valid text contains: byte b becomes
U+DC00 + b (for bytes above 7F that is Python's `surrogateescape`), a broken UTF-16 or UTF-32 unit becomes
`BROKEN_UNIT`.  They are counted and reported as characters; `visible` turns them into U+FFFD for replies.

Knows: encodings, and which characters their bytes stand for.
Does not know: files.
May be touched: with a run over the sample texts: what is detected wrongly is shown wrongly.
"""

from __future__ import annotations

import codecs
import functools
import io
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import stringzilla
from msgspec import Struct
from msgspec.structs import replace

from readroom.core.limits import BLOCK_BYTES, HEAD_BYTES, NEAR_NAMES
from readroom.core.text.encodings import detect as detection
from readroom.core.text.encodings.detect import SWITCHES, is_journal
from readroom.core.values import Bytes

BROKEN_UNIT = "\udffe"
"""Stands for a UTF-32 unit that is not a code point, or a UTF-16/32 unit cut off by the end of the file."""

UNITS: Mapping[str, int] = MappingProxyType({"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4})
"""Bytes per code unit, where that is not one."""

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, since it starts with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_BOMS = tuple(bom for bom, _ in BOMS)

MULTIBYTE = frozenset(
    {
        "big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr",
        "gb18030", "gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213",
    }
)  # fmt: skip
"""Legacy multi-byte encodings; in all of them a byte below 0x30 stands for itself."""

STATEFUL = frozenset({"iso2022_jp"})
"""Encodings with shift states. They are read as their standard says: each line begins in ASCII (RFC 1468), so
that a line can be read without those before it. They are not edited, because the state after a change would
have to be detected again."""

_TO_ASCII = b"\x1b(B"

_LONG_LINE = 64 * 1024
"""Length from which a line of a STATEFUL encoding is cut without regard to its state: no standard allows
it."""

LOWEST_TRAIL = 0x30
"""No second or later byte of a character in a MULTIBYTE encoding is lower (GB 18030 has 30 to 39)."""

_NO_TRAIL = bytes(range(LOWEST_TRAIL))

PLAIN: Mapping[str, str] = MappingProxyType(
    {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le", "ascii": "utf-8"}
)
"""Codecs and the plain ones used for them: without a mark of their own, and a superset instead of a
subset."""

_STATEFUL = "switches its meaning on the way, so that a line cannot be read without all before it"
_NOTATION = "is a notation of program text, not an encoding of files"

UNUSABLE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("iso2022", "hz", "utf-7"), _STATEFUL),
        **dict.fromkeys(("unicode", "raw", "idna", "punycode"), _NOTATION),
        **dict.fromkeys(("mbcs", "oem"), "depends on the machine"),
    }
)
"""Beginnings of codec names that are refused, and why."""

MAX_NAME = 40
"""The longest alias in Python has 26 characters."""

PRINTED_NUL_SHARE = 1 / 3
"""Share of NULs up to which an output is text: in a list of short names that NULs part it is a quarter, in
programs and archives a half and more."""

NEAR_SCORE = 60
"""Percent of characters that similar names share: "win1252" is similar to "windows-1252", "rot13" to
nothing."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9 _:()-]*"


class UnknownEncoding(LookupError):
    """The name of an encoding that files cannot be read in."""

    def __init__(self, problem: str, near: tuple[str, ...] = ()) -> None:
        """`problem` completes the sentence "NAME ..."; `near` are similar names."""
        super().__init__(problem)
        self.problem = problem
        self.near = near


class Encoding(Struct, frozen=True):
    """An encoding, with its byte order mark and unit.

    `name` is Python's codec name without BOM behaviour, `bom` the mark the file
    starts with, `unit` the bytes per code unit (a line feed is aligned to it).
    `sure` says that it was named, or is more than a guess.
    """

    name: str
    bom: bytes = b""
    unit: int = 1
    sure: bool = True

    @property
    def newline(self) -> bytes:
        """The bytes of a line feed."""
        return "\n".encode(self.name)

    @property
    def carriage_return(self) -> bytes:
        """The bytes of a carriage return."""
        return "\r".encode(self.name)


UTF8 = Encoding("utf-8")

_SURROGATE = "[\ud800-\udfff]"


def by_bom(head: bytes) -> Encoding | None:
    """The encoding of a byte order mark at the start of `head`."""
    if not head.startswith(_BOMS):
        return None
    for bom, name in BOMS:
        if head.startswith(bom):
            return Encoding(name, bom, UNITS.get(name, 1))
    return None


def detect(head: bytes, *, complete: bool) -> Encoding | None:
    """The encoding of a file that starts with `head`; None if it is not text.

    `complete` says that `head` is the whole file; otherwise a character cut at
    its end is expected.
    """
    marked = by_bom(head)
    if marked is not None:
        text = decode(head[len(marked.bom) : HEAD_BYTES], marked)
        return None if detection.is_noise(text) else marked
    found = detection.codec(head[:HEAD_BYTES], complete=complete and len(head) <= HEAD_BYTES)
    if found is None:
        return None
    encoding = _of(found.name)
    return encoding if found.sure else replace(encoding, sure=False)


def detect_printed(head: bytes, *, complete: bool) -> Encoding | None:
    """The encoding of what a program printed; NULs in what is mostly text do not make it binary."""
    encoding = detect(head, complete=complete)
    if encoding is not None or not 0 < head.count(b"\0") <= PRINTED_NUL_SHARE * len(head):
        return encoding
    return detect(head.replace(b"\0", b""), complete=complete)


def named(name: str) -> Encoding:
    """The encoding for any of its usual names. Raises UnknownEncoding."""
    problem = _problem(name)
    if problem is not None:
        raise UnknownEncoding(problem, _near(name))
    return _of(name)


def _problem(name: str) -> str | None:
    """Why `name` cannot be used; None if it can."""
    if len(name) > MAX_NAME or not re.fullmatch(_NAME, name):
        return "is not the name of an encoding"
    try:
        "\n".encode(name).decode(name)
    except (LookupError, UnicodeError):
        return "is not a known text encoding"
    canonical = codecs.lookup(name).name
    return next((why for start, why in UNUSABLE.items() if canonical.startswith(start)), None)


@functools.lru_cache(maxsize=64)
def _of(name: str) -> Encoding:
    canonical = codecs.lookup(name).name
    plain = PLAIN.get(canonical, canonical)
    return Encoding(plain, unit=UNITS.get(plain, 1))


def _near(name: str) -> tuple[str, ...]:
    """Similar names that can be used."""
    from encodings.aliases import aliases

    from rapidfuzz import fuzz, process

    plain_name = name[:MAX_NAME].lower().replace("_", "-")
    known = [alias.replace("_", "-") for alias in aliases]
    like = process.extract(
        plain_name, known, scorer=fuzz.ratio, score_cutoff=NEAR_SCORE, limit=4 * NEAR_NAMES
    )
    return tuple(alias for alias, _, _ in like if _problem(alias) is None)[:NEAR_NAMES]


def with_bom(encoding: Encoding, head: bytes) -> Encoding:
    """The requested encoding, with the file's byte order mark.

    The mark decides the byte order: UTF-16 in the other order would be noise.
    """
    marked = by_bom(head)
    if marked is None:
        return encoding
    if marked.name[:6] == encoding.name[:6]:
        return marked
    # A file that starts FF FE 00 00 and was asked for as UTF-16 has a UTF-16 mark and a NUL.
    bom = codecs.BOM_UTF16_LE
    if encoding.unit == 2 and head.startswith(bom):
        return Encoding("utf-16-le", bom, 2)
    return encoding


def _carry(error: UnicodeError) -> tuple[str, int]:
    """Error handler: the first invalid byte as U+DC00 + byte."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(0xDC00 + error.object[error.start]), error.start + 1


# `surrogateescape` refuses bytes below 80, which some legacy tables leave undefined.
codecs.register_error("readroom.carry", _carry)


def _broken_units(error: UnicodeError) -> tuple[str, int]:
    """Error handler for UTF-32: an invalid unit as one mark, lone surrogates as they are."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    unit = error.object[error.start : error.start + 4]
    order = "little" if error.encoding.endswith("le") else "big"
    value = int.from_bytes(unit, order)  # type: ignore[arg-type]  # a str, but one of the two
    is_surrogate = len(unit) == 4 and 0xD800 <= value <= 0xDFFF
    return chr(value) if is_surrogate else BROKEN_UNIT, error.start + len(unit)


codecs.register_error("readroom.units", _broken_units)


def decode(data: bytes, encoding: Encoding) -> str:
    """Decode any bytes; see above for invalid ones."""
    if encoding.unit == 2:
        whole = len(data) & ~1
        text = data[:whole].decode(encoding.name, "surrogatepass")
        return text + BROKEN_UNIT if len(data) > whole else text
    if encoding.unit == 4:
        return data.decode(encoding.name, "readroom.units")
    if encoding.name in STATEFUL:
        return _by_lines(data).decode(encoding.name, "readroom.carry")
    if encoding.name in MULTIBYTE:
        # `surrogateescape` may take several bytes at once, and a cut inside them would show.
        return data.decode(encoding.name, "readroom.carry")
    try:
        return data.decode(encoding.name, "surrogateescape")
    except UnicodeDecodeError:
        return data.decode(encoding.name, "readroom.carry")


def decode_strict(data: bytes, encoding: Encoding) -> str:
    """Decode bytes that must be valid. Raises UnicodeDecodeError."""
    if encoding.name in STATEFUL:
        data = _by_lines(data)
    return data.decode(encoding.name)


def _by_lines(data: bytes) -> bytes:
    """The same text with the shift state of each line reset within it."""
    return data.replace(b"\n", _TO_ASCII + b"\n")


_GLUED = re.compile(rb"[a-z ]{4}[\t\n\r\x20-\x7e]{8,}|[\t\n\r\x20-\x7e]{8,}[a-z ]{4}")
"""ASCII in UTF-16: six ideographs whose bytes are all ASCII, some of them small letters, are not one in a
million of any text."""


def glued(lines: Sequence[str], encoding: Encoding) -> tuple[int, int] | None:
    """The first place, line from 0 and column from 1, where text in UTF-8 was added to one in UTF-16."""
    for number, line in enumerate(lines):
        if line.isascii():
            continue
        data = line.encode(encoding.name, "surrogatepass")
        found = _GLUED.search(data)
        if found is not None:
            return number, found.start() // encoding.unit + 1
    return None


_GLUED_WIDE = re.compile(rb"(?:[\t\n\r\x20-\x7e]\x00){8}|(?:\x00[\t\n\r\x20-\x7e]){8}")
"""ASCII in UTF-16, in a text of one byte a character."""


def holds_other(data: bytes, encoding: Encoding) -> bool:
    """Whether the bytes of text in UTF-16 hold text in UTF-8, or the other way round."""
    if encoding.unit > 1:
        return _GLUED.search(data) is not None
    return b"\0" in data and _GLUED_WIDE.search(data) is not None


NUL_SIGN = "\u2400"
"""How a NUL is shown: programs that a reply passes through end a text at a NUL, or refuse it."""


def visible(text: str) -> str:
    """Replace every lone surrogate by U+FFFD, and every NUL by its sign, one for one."""
    if "\0" in text:
        text = text.replace("\0", NUL_SIGN)
    return text if text.isascii() else valid(text)


def valid(text: str) -> str:
    """Replace every lone surrogate by U+FFFD, one for one."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return re.sub(_SURROGATE, "\ufffd", text)
    return text


def chars(data: bytes, encoding: Encoding) -> int:
    """The number of characters that `decode` returns."""
    if encoding.unit == 4:
        return -(-len(data) // 4)
    if encoding.name in STATEFUL:
        return len(decode(data, encoding))
    if encoding.unit == 1 and encoding.name not in MULTIBYTE and encoding.name != "utf-8":
        return len(data)
    if data.isascii() and encoding.unit == 1:
        return len(data)
    return len(decode(data, encoding))


def prefix(data: bytes, encoding: Encoding) -> int:
    """The length of the longest beginning of `data` that does not end inside a character."""
    if encoding.name == "utf-8":
        return _prefix_utf8(data)
    if encoding.unit > 1:
        return _prefix_units(data, encoding)
    if encoding.name in STATEFUL:
        return _prefix_stateful(data)
    if encoding.name in MULTIBYTE:
        return _prefix_multibyte(data, encoding)
    return len(data)


def _prefix_utf8(data: bytes) -> int:
    tail = data[-3:]
    for back in range(1, len(tail) + 1):
        byte = tail[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            start = tail[-back:]
            try:
                start.decode()
            except UnicodeDecodeError as error:
                # Hold back only what further bytes could complete; the rest is already invalid.
                if error.reason == "unexpected end of data":
                    return len(data) - back
            break
    return len(data)


def _prefix_units(data: bytes, encoding: Encoding) -> int:
    whole = len(data) - len(data) % encoding.unit
    if encoding.unit == 2 and whole:
        high = data[whole - 1] if encoding.name == "utf-16-le" else data[whole - 2]
        if 0xD8 <= high <= 0xDB:
            return whole - 2
    return whole


def _prefix_stateful(data: bytes) -> int:
    """The length up to which the text is back in ASCII: a line feed, or an escape to ASCII after it."""
    line = data.rfind(b"\n") + 1
    escape = data.rfind(b"\x1b", line)
    if escape < 0:
        return len(data)
    if data.startswith(_TO_ASCII, escape):
        return len(data)
    back = data.rfind(_TO_ASCII, line)
    certain = back + len(_TO_ASCII) if back >= 0 else line
    return certain if len(data) - certain <= _LONG_LINE else len(data)


def _prefix_multibyte(data: bytes, encoding: Encoding) -> int:
    # Text without blanks, like Japanese, rarely has such a byte; searching for it is fast.
    start = stringzilla.find_last_of(data, _NO_TRAIL) + 1
    decoder = codecs.getincrementaldecoder(encoding.name)("readroom.carry")
    decoder.decode(data[start:])
    return len(data) - len(decoder.getstate()[0])


# -----------------------------------------------------------------------------
# A whole file converted to UTF-8 for a search, and whether it is UTF-16 without a mark.
#
# Piece by piece, so that only the result and one block are in memory.
# -----------------------------------------------------------------------------

WIDE_UNITS = 1023
"""Two-byte units before the first ASCII one: text has a line end or space in a thousand characters."""

_LATIN = rb"[\t\n\r\x20-\x7e]"
_LOW = rb"[\t\n\r\x20-\x7e\xa0-\xff]"
_HIGH = rb"[\x01-\x06\x09\x0e\x10\x1e\x20-\x30\x4e-\x9f\xac-\xdf\xff]"
WIDE = (
    rb"(?s)\A(?:(?:%(low)b\x00|[\x00-\xff]%(high)b){0,%(most)d}?%(latin)b\x00"
    rb"|(?:\x00%(low)b|%(high)b[\x00-\xff]){0,%(most)d}?\x00%(latin)b"
    rb"|(?:[\x00-\xff]{2}[\x00\x01]\x00){0,%(most)d}?%(latin)b\x00{3}"
    rb"|(?:\x00[\x00\x01][\x00-\xff]{2}){0,%(most)d}?\x00{3}%(latin)b"
    rb"|\xff\xfe\x00\x00|\x00\x00\xfe\xff)"
) % {b"low": _LOW, b"high": _HIGH, b"latin": _LATIN, b"most": WIDE_UNITS}
"""How files begin that may be UTF-16 or UTF-32 and are not known by a mark to programs that know UTF-16 only:
units of scripts that text is written in up to one that is ASCII, in either order. Few other files do."""


def is_wide_unmarked(head: bytes, encoding: Encoding | None) -> bool:
    """Whether a file is UTF-16 or UTF-32 without a mark, which searches must detect by its beginning."""
    if encoding is not None and encoding.name in STATEFUL:
        return re.match(SWITCHES, head) is not None
    if encoding is not None and is_journal(head):
        return True
    if encoding is None or encoding.unit == 1 or (encoding.unit == 2 and encoding.bom):
        return False
    return re.match(WIDE, head) is not None


def to_utf8(data: Bytes, encoding: Encoding, *, keep_cr: bool) -> bytes:
    """Convert a text to UTF-8 without a mark; invalid bytes become U+FFFD.

    Without `keep_cr` lines that CR LF ends end with LF.
    """
    converted = io.BytesIO()
    at, left, held_back = len(encoding.bom), b"", ""
    while True:
        block = data.read_at(at, BLOCK_BYTES)
        at += len(block)
        piece = left + block
        size = prefix(piece, encoding) if block else len(piece)
        left = piece[size:]
        text = held_back + valid(decode(piece[:size], encoding))
        held_back = ""
        if not keep_cr:
            if block and text.endswith("\r"):
                text, held_back = text[:-1], "\r"
            text = text.replace("\r\n", "\n")
        converted.write(text.encode())
        if not block:
            return converted.getvalue()
