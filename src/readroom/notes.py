"""What a reply says beside the content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Newline: TypeAlias = Literal["lf", "crlf", "mixed", "none"]
"""The form of a text's line ends; "none" when it has none."""


@dataclass(frozen=True, slots=True)
class LineEnds:
    """The line ends of a whole text: so many, `crlf` of them CR LF; and whether its last line has one.

    `final` is None where that does not matter, in an empty text, or is not known.
    """

    total: int = 0
    crlf: int = 0
    final: bool | None = None

    @property
    def form(self) -> Newline:
        """In one word."""
        if self.total == 0:
            return "none"
        return "crlf" if self.crlf == self.total else "mixed" if self.crlf else "lf"

    @property
    def unusual(self) -> list[str]:
        """What a reader cannot see and would lose by writing the text anew."""
        found = []
        if self.form == "mixed":
            found.append(f"mixed line ends ({self.crlf} CRLF, {self.total - self.crlf} LF)")
        if self.final is False:
            found.append("no final newline")
        return found


@dataclass(frozen=True, slots=True)
class Warn:
    """Something about the content that the reader should know; the text itself is never altered."""

    code: str
    detail: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """That a file is compressed: with what, and the bytes of its content as far as it was expanded."""

    compression: str
    expanded_bytes: int
