"""What a reply says beside the content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Newline: TypeAlias = Literal["lf", "crlf", "mixed", "none"]
"""The form of a text's line ends; "none" when it has none."""


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
