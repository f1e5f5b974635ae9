"""A file as it may be shown: the same bytes at the same places, but signs in the place of secrets.

A sign is as long as its secret: U+007F and the letter of its kind, as often as fits.  Every part of a sign is
still one, so that no cut through it shows anything, and it disturbs no reader of text: it has no quote, no
separator and no line end.

The view of a byte depends on the file alone, not on what else is read with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import final

import stringzilla

from readroom.core.closeable import Closeable
from readroom.core.lru import LruCache
from readroom.core.secrets import judge, mails, manifests, private_keys
from readroom.core.secrets.judge import CELL_BYTES, LINE_BYTES, REACH_BYTES, SecretPlace, merged
from readroom.core.secrets.private_keys import KEY_BYTES
from readroom.core.stores.base import Source, is_far
from readroom.core.values import Version

FILL = 0x7F
"""The first byte of a sign, and every other one."""

WHOLE_BYTES = 1024 * 1024
"""Files up to this size are judged once, as a whole."""

SIGN = re.compile(rb"\x7f(?:\0{0,3}[A-Z]\0{0,3}\x7f)*(?:\0{0,3}[A-Z])?")


_NOT_NUL = re.compile(rb"[^\0]")


KNOWN_BYTES = 16 * 1024 * 1024
"""Texts and parts of files whose views are remembered, with those: what is read again is judged once.

They are known by their bytes, so the view of a file that changes is that of what was read.
"""

_known: LruCache[tuple[int, int, int, int, bool], tuple[bytes, bytes]] = LruCache(
    KNOWN_BYTES, lambda known: len(known[0]) + len(known[1])
)


def _seen(data: bytes, low: int, begin: int, end: int, stars: bool, make: Callable[[], bytes]) -> bytes:
    """The view of some bytes, which is made unless these very bytes were seen before."""
    if len(data) > WHOLE_BYTES:
        return make()
    # A hash finds them sooner than one that Python makes of all the bytes, and they are compared.
    key = (stringzilla.hash(data), low, begin, end, stars)
    known = _known.get(key)
    if known is not None and known[0] == data:
        return known[1]
    made = make()
    _known.put(key, (data, made))
    return made


def masked(data: bytes) -> bytes:
    """The view of some bytes that are a whole text, in any encoding."""
    return _shown(data, stars=False)


def _shown(data: bytes, *, stars: bool) -> bytes:
    return _seen(data, 0, 0, len(data), stars, lambda: view_of(data, places_in(data), stars=stars))


def view_of(data: bytes, places: Sequence[SecretPlace], *, stars: bool = False) -> bytes:
    """Some bytes with signs, or asterisks, at the places of secrets."""
    if not places:
        return data
    made = bytearray(data)
    for place in places:
        secret = data[place.start : place.end]
        made[place.start : place.end] = _NOT_NUL.sub(b"*", secret) if stars else sign(secret, place.letter)
    return bytes(made)


def sign(secret: bytes, letter: str) -> bytes:
    """The sign for a secret: NULs, of which wide encodings have one or more in each character, stay."""
    pair = bytes((FILL, ord(letter)))
    if 0 not in secret:
        return (pair * (len(secret) // 2 + 1))[: len(secret)]
    filled = bytearray(secret)
    for number, at in enumerate(at for at, byte in enumerate(secret) if byte):
        filled[at] = pair[number % 2]
    return bytes(filled)


def places_in(data: bytes, base: int = 0) -> list[SecretPlace]:
    """The secrets in bytes of a file from `base` on, in every encoding."""
    found = judge.places(data, base) + _spread(data)
    if 0 in data:
        found += _wide(data, base)
    return whole_characters(data, merged(found))


def _spread(data: bytes) -> list[SecretPlace]:
    """The secrets that lines around them tell."""
    return private_keys.keys(data) + mails.coded_parts(data) + manifests.values(data)


def whole_characters(data: bytes, places: Sequence[SecretPlace]) -> list[SecretPlace]:
    """The places without a part of a character of UTF-8 at either end."""
    made = []
    for start, end, letter in places:
        while start and data[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        made.append(SecretPlace(start, end, letter))
    return merged(made)


def _wide(data: bytes, base: int) -> list[SecretPlace]:
    """Secrets in UTF-16 and UTF-32: in the characters of which all bytes but one are NUL.

    Each spelling is looked at, because a file may have several, and begin anywhere.
    """
    found: list[SecretPlace] = []
    for unit in (2, 4):
        for shift in range(unit):
            piece = data[shift:]
            lows = [piece[at::unit] for at in range(unit)]
            size = min(map(len, lows))
            if not size:
                continue
            lows = [low[:size] for low in lows]
            # A character that is more than its lowest byte is none of a secret.
            text = lows[0] if not any(map(any, lows[1:])) else _narrow(lows)
            if b"\0" in text and text.count(b"\0") > size // 2:
                continue
            for place in merged([*judge.places(text, base // unit), *_spread(text)]):
                found.append(
                    SecretPlace(shift + place.start * unit, shift + (place.end - 1) * unit + 1, place.letter)
                )
    return found


def _narrow(lows: Sequence[bytes]) -> bytes:
    made = bytearray(lows[0])
    for other in lows[1:]:
        for match in re.finditer(rb"[^\0]+", other):
            made[match.start() : match.end()] = b"\xff" * (match.end() - match.start())
    return bytes(made)


@final
class MaskedSource(Closeable):
    """The view of an opened file. Takes it over.

    Attributes:
        unmasked: The file itself, for what its bytes are copied to.
    """

    keeps_identity = False
    """Nothing that is known of a view is kept for other processes: they may show the file itself."""

    def __init__(self, file: Source, *, stars: bool = False) -> None:
        """`stars` shows secrets as asterisks instead of signs."""
        self.unmasked = file
        self._stars = stars
        self.real, self.size, self.stat, self.version = file.real, file.size, file.stat, file.version
        self.far = is_far(file)
        self._whole: bytes | None = None

    def current(self) -> Version:
        """The identity of the current state."""
        return self.unmasked.current()

    def fileno(self) -> int | None:
        """None: a program that gets a descriptor reads the file itself."""
        return None

    def read_at(self, offset: int, size: int) -> bytes:
        """At most `size` bytes of the view from `offset`."""
        if offset < 0 or size <= 0 or offset >= self.size:
            return b""
        if self.size <= WHOLE_BYTES:
            if self._whole is None:
                data = self.unmasked.read_at(0, self.size)
                self._whole = _shown(data, stars=self._stars)
            return self._whole[offset : offset + size]
        low, data = self._around(offset, size)
        begin, end = offset - low, min(len(data), offset - low + size)

        def made() -> bytes:
            places = _touching(data, low, begin, end)
            return view_of(data, places, stars=self._stars)[begin:end]

        return _seen(data, low, begin, end, self._stars, made)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """The same into a buffer; returns how many bytes."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _around(self, offset: int, size: int) -> tuple[int, bytes]:
        """The bytes by which it is decided how some are shown, and where they begin."""
        low = max(0, offset - _BEFORE)
        data = self.unmasked.read_at(low, offset + size + _AFTER - low)
        if 0 in data:  # characters of up to four bytes
            low = max(0, offset - 4 * _BEFORE)
            data = self.unmasked.read_at(low, offset + size + 4 * _AFTER - low)
        return low, data

    def close(self) -> None:
        """Close the file."""
        self.unmasked.close()


_BEFORE = max(KEY_BYTES + 128, LINE_BYTES + REACH_BYTES)
"""How far before a byte it is decided how it is shown."""

_AFTER = LINE_BYTES + REACH_BYTES


def _touching(data: bytes, low: int, begin: int, end: int) -> list[SecretPlace]:
    """The secrets that touch bytes `begin` to `end` of some that surround them."""
    start, stop = data.rfind(b"\n", max(0, begin - LINE_BYTES), begin) + 1, data.find(b"\n", end)
    stop = len(data) if stop < 0 else stop
    if not start and low:  # a long line: its cells are looked at as far as they reach
        start = max(0, begin - REACH_BYTES - (low + begin - REACH_BYTES) % CELL_BYTES)
    if stop > end + LINE_BYTES:
        stop = min(len(data), end + REACH_BYTES + CELL_BYTES)
    if 0 in data:
        start, stop = 0, len(data)
        start += -low % 4
    found = [
        SecretPlace(start + one.start, start + one.end, one.letter)
        for one in judge.places(data[start:stop], low + start)
    ]
    found += _spread(data)
    if 0 in data:
        found += [
            SecretPlace(start + one.start, start + one.end, one.letter)
            for one in _wide(data[start:stop], low + start)
        ]
    found = whole_characters(data, merged(found))
    return [place for place in found if place.start < end and place.end > begin]
