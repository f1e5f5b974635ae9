"""Options of reads and searches, for contracts that differ from the native one.

A value of a request: engines obey it, contracts choose it.  No I/O here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

PastEnd: TypeAlias = Literal["refused", "empty", "shown"]
"""A read past the last line is refused; or refused unless the file is empty; or shown as empty."""

Flat: TypeAlias = Literal["no", "window", "whole"]
"""Whether documents that can be are read as one text with numbered lines; with "whole", `limit` is ignored
for binary formats."""


class ReadOptions(Struct, frozen=True):
    """What a contract has selected of a file; the defaults are the native ways.

    Attributes:
        line_chars: Longest line shown whole, in characters; None for the limit of the workspace,
            0 for no limit but the size of the reply.
        line_bytes: The same in UTF-8 bytes, beside it; None for none. Cuts fall between characters.
        keep_cr: A CR before a line feed is shown as part of its line.
        header: The header of a table is shown above a later window.
        outline_bytes: The outline of what a cut reply of source code does not show takes at most this;
            None for a share of what it shows, 0 for no outline.
        past_end: What is shown behind the last line.
        blank_whole: A text of nothing but white space is shown from its beginning to its end, whatever is
            asked for.
        rests: `next` passes through what lines were cut of, before it goes on behind them.
        flat: How documents are read.
        raw_bytes: Of a binary file, and of an image that cannot be decoded, so many bytes are handed out
            as they are; 0 refuses them.
    """

    line_chars: int | None = None
    line_bytes: int | None = None
    keep_cr: bool = False
    header: bool = True
    outline_bytes: int | None = None
    past_end: PastEnd = "refused"
    blank_whole: bool = False
    rests: bool = True
    flat: Flat = "no"
    raw_bytes: int = 0


NATIVE_READ = ReadOptions()


class SearchOptions(Struct, frozen=True):
    """How a contract has a search reported, where it differs from the native one.

    Attributes:
        count_s: Matches are counted to the end, also those that are not shown, with so many seconds for
            it when the reply is full, and pages begin at a number; None counts nothing.
        preview_chars: Of a line that are shown; None for the native preview.
        entry_bytes: What a match costs in the reply beside its lines and the name of its file.
    """

    count_s: float | None = None
    preview_chars: int | None = None
    entry_bytes: int = 0


NATIVE_SEARCH = SearchOptions()
