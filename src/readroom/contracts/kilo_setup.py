"""What an operator set for the contract kilo."""

from __future__ import annotations

from dataclasses import dataclass

from readroom.limits_kilo import KILO_MAX_READ_FILE_LINE

NEVER = -1
"""The threshold that no file exceeds, as Kilo Code writes it."""


@dataclass(frozen=True, slots=True)
class KiloSetup:
    """Settings of Kilo Code, as values.

    Attributes:
        max_read_file_line: `maxReadFileLine`: files of more lines are truncated where that is asked for,
            and so many lines of them are shown; -1 truncates none.
        auto_truncate: Whether calls that do not say ask for it.
    """

    max_read_file_line: int = KILO_MAX_READ_FILE_LINE
    auto_truncate: bool = False
