"""How a contract has files read, where it differs from the native one.

A value of a request: engines obey it, contracts choose it.  No I/O here.
"""

from __future__ import annotations

from dataclasses import dataclass


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
        raw_bytes: Of a binary file so many bytes are handed out as they are; 0 refuses it.
        most_bytes: A larger file is refused (`TooLarge`); None for no limit.
        tells_end: The result says whether the last line of the file has an end.
    """

    line_chars: int | None = None
    line_bytes: int | None = None
    keep_cr: bool = False
    images: bool = True
    documents: bool = True
    unpacks: bool = True
    links: bool = True
    raw_bytes: int = 0
    most_bytes: int | None = None
    tells_end: bool = False


NATIVE_MANNER = Manner()
