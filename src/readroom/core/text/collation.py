"""The order of names in a dictionary, as the root of the Unicode collation has it.

Three levels: signs before digits before letters, without accents and case; then accents; then small letters
before capitals.  The signs of ASCII have the order of the collation, other characters that of their code
points within their kind: enough for names of files, where a complete table would weigh a megabyte.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""The signs of ASCII in the order of the collation."""

_KINDS = {"Z": 1, "P": 1, "S": 2, "N": 4, "L": 5}
"""The order of kinds of characters by the first letter of their category; money comes after other signs."""

_MONEY, _REST = 3, 6

_PLACE = {sign: (1 if sign not in "`^+<=>|~$" else 2) << 24 | at for at, sign in enumerate(_SIGNS)}


def collation_key(name: str) -> bytes:
    """A sort key: names compare as their keys do."""
    first, second, third = bytearray(), bytearray(), bytearray()
    for place, accent, capital in _levels(name):
        if accent:
            second += accent.to_bytes(4)
            continue
        first += place.to_bytes(4)
        second += b"\0\0\0\1"  # before every accent
        third.append(capital)
    nothing = b"\0\0\0\0"
    return bytes(first + nothing + second + nothing + third) + name.encode("utf-8", "surrogatepass")


def _levels(name: str) -> Iterator[tuple[int, int, int]]:
    for char in unicodedata.normalize("NFD", name):
        if unicodedata.combining(char):
            yield 0, ord(char), 0
        else:
            small = char.lower()
            yield _place(small[0]), 0, int(small != char)


def _place(char: str) -> int:
    known = _PLACE.get(char)
    if known is not None:
        return known
    category = unicodedata.category(char)
    kind = _MONEY if category == "Sc" else _KINDS.get(category[0], _REST)
    # The signs of ASCII come first in their kind.
    return kind << 24 | ord(char) + len(_SIGNS)
