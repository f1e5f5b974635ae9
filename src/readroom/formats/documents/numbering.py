"""Numbers of list items and headings as they are written: 3, c, iv."""

from __future__ import annotations

ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
         (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
MAX_ROMAN = 10_000
"""Larger numbers are written in digits."""

MAX_LETTERS = 20
"""Letters of a number: the 27th item is aa."""


def written(count: int, form: str) -> str:
    """A number in a form: `1`, `01` with a zero before one digit, `a`, `A`, `i`, `I`; others as `1`."""
    if form in ("a", "A") and count > 0:
        letter = chr(ord(form) + (count - 1) % 26)
        return letter * min(1 + (count - 1) // 26, MAX_LETTERS)
    if form in ("i", "I") and 0 < count < MAX_ROMAN:
        return roman(count).upper() if form == "I" else roman(count)
    return f"{count:02}" if form == "01" else str(count)


def roman(count: int) -> str:
    """A Roman number in lower case."""
    numeral = ""
    for value, letters in ROMAN:
        numeral += letters * (count // value)
        count %= value
    return numeral
