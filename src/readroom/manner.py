"""How a contract has files read, where it differs from the native one.

A value of a request: engines obey it, contracts choose it.  No I/O here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Whole:
    """How much one reply may show where more is refused (`TooMuch`) instead of cut.

    Attributes:
        bytes: Of the lines as they are shown: their numbers, and the line feeds between them, included.
        lines: So many.
        mark_bytes: What a line that is cut for its own length has at its end.
    """

    bytes: int
    lines: int
    mark_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Manner:
    """The ways of one contract; the defaults are the native ones.

    Attributes:
        line_chars: Longest line shown whole, in characters; None for the limit of the workspace,
            0 for no limit but the size of the reply.
        line_bytes: The same in UTF-8 bytes, beside it; None for none. Cuts fall between characters.
        keep_cr: A CR before a line feed is shown as part of its line.
        images: Images are shown; else they are binary files.
        documents: Documents are shown; else they are binary files.
        unpacks: Compressed files are read as their content; else they are binary files.
        links: Files are read through symbolic links; else links are refused (`SymbolicLink`).
        raw_images: Images that cannot be decoded are handed out as they are, where they are small enough.
        kinds: Endings of names in lower case with their kind (as `Kind` has it), the first that fits
            decides; text that none names is source, config or text. Empty for the native table.
        marks: Room is kept for a mark behind a line that is cut.
        content_bytes: At most so many bytes of numbered lines are shown; None for all that fit the reply.
        past_end: A read from behind the last line shows nothing; else it is refused.
        outline_bytes: The outline of what is not shown takes at most this; None for a share of what is.
        raw_bytes: Of a binary file so many bytes are handed out as they are; 0 refuses it.
        most_bytes: A larger file is refused (`TooLarge`); None for no limit.
        header: The header of a table is shown above a later window.
        outline: A cut reply of source code has the outline of what it does not show.
        flat: Documents that can be read as one text, with lines numbered through, are read so.
        binary_whole: `limit` is for texts, not for documents in a binary format.
        nul: A text may hold NUL characters; else it is a binary file.
        past_empty: Of an empty file nothing is shown from any line; else only its first may be asked for.
        rests: `next` passes through what lines were cut of, before it goes on behind them.
        whole: What is asked for is shown whole or refused; None shows what fits.
    """

    line_chars: int | None = None
    line_bytes: int | None = None
    keep_cr: bool = False
    images: bool = True
    documents: bool = True
    unpacks: bool = True
    links: bool = True
    raw_images: bool = False
    kinds: tuple[tuple[str, str], ...] = ()
    marks: bool = True
    content_bytes: int | None = None
    past_end: bool = False
    outline_bytes: int | None = None
    raw_bytes: int = 0
    most_bytes: int | None = None
    header: bool = True
    outline: bool = True
    flat: bool = False
    binary_whole: bool = False
    nul: bool = True
    past_empty: bool = False
    rests: bool = True
    whole: Whole | None = None


NATIVE_MANNER = Manner()


@dataclass(frozen=True, slots=True)
class SearchManner:
    """How a contract has a search reported, where it differs from the native one.

    Attributes:
        totals: Matches are counted to the end, also those that are not shown, and pages begin at a number.
        preview_chars: Of a line that are shown; None for the native preview.
        flat: The reply names the file with every match.
        entry_bytes: What a match costs in it beside its lines and that name.
        most_bytes: Of all matches in the reply; None for all that fit it.
        count_s: Seconds for counting when the reply is full; None for the limit of the search.
    """

    totals: bool = False
    count_s: float | None = None
    preview_chars: int | None = None
    flat: bool = False
    entry_bytes: int = 0
    most_bytes: int | None = None


NATIVE_SEARCH = SearchManner()


@dataclass(frozen=True, slots=True)
class OutputManner:
    """How a contract shows the output of a command, where it differs from the native one.

    Attributes:
        numbered: Lines carry their numbers.
        gap_bytes: What a reply says where lines are left out takes at most so many bytes.
        escapes: Output is sent as JSON, and what that adds counts.
    """

    numbered: bool = True
    gap_bytes: int = 0
    escapes: bool = False


NATIVE_OUTPUT = OutputManner()
