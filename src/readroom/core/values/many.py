"""Values of reads of several files in one call. No I/O here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from readroom.core.values.options import ReadOptions

LEFT_OUT_BYTES = 160
"""The room that a reply about several files keeps for each that it may have to leave out."""


class ReadManyRequest(Struct, frozen=True):
    """Windows of several files below `path`, in order; each is read as if it were asked for alone.

    `offset` and `limit` are those of each file, `options` one for each.
    """

    paths: tuple[str, ...]
    offset: int | None
    limit: int | None
    options: tuple[ReadOptions, ...]
    path: str = "."


class ReadManyResult(Struct, frozen=True):
    """The results in order: of each file a `ReadResult`, or the error that says why there is none.

    There are fewer than were asked for if those had no room left.
    """

    items: Sequence[Any]
