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
    """How a contract reads files; the defaults are those of the native contract.

    Attributes:
        line_chars: The longest line shown whole, in characters; None for the limit of the workspace,
            0 for no limit but the size of the reply.
        line_bytes: An additional limit in UTF-8 bytes; None for none. Cuts are made between characters.
        keep_cr: Show a CR before a line feed as part of its line.
        header: Show the header of a table above a later window.
        outline_bytes: The most that the outline of what a truncated reply of source code leaves out may take;
            None for a share of the shown text, 0 for no outline.
        past_end: What to show for an offset after the last line.
        blank_whole: Show a text that is only white space from beginning to end, regardless of the request.
        rests: `next` first shows the truncated rests of lines, then continues after them.
        flat: How documents are read.
        raw_bytes: Return this many bytes of a binary file, or of an image that cannot be decoded; 0 refuses
            them.
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
    """How the search of a contract differs from the native one.

    Attributes:
        count_s: Count all matches, also those that are not shown, for this many seconds after the reply is
            full, and start pages at a number; None does not count.
        preview_chars: The characters shown of a line; None for the native preview.
        entry_bytes: The bytes that a match takes in the reply in addition to its lines and file name.
        whole_lines: Show a line from its beginning and with its line end, not around its match.
    """

    count_s: float | None = None
    preview_chars: int | None = None
    entry_bytes: int = 0
    whole_lines: bool = False


NATIVE_SEARCH = SearchOptions()
