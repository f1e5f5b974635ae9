"""The bytes that the formatting of a reply adds to the text it carries, in UTF-8, by what it shows."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from readroom.core.values.files import PartView, Row
from readroom.core.values.matches import GrepFile, GrepLine


class ReadMeasure(Struct, frozen=True):
    """The formatting of a read.

    Attributes:
        numbered: The prefix of a line with that number, and its line feed.
        outlined: One row of an outline.
        mark_bytes: The mark after a truncated line.
        content_bytes: The most that all numbered lines may take; None for all that fit the reply.
    """

    numbered: Callable[[int], int]
    outlined: Callable[[Row], int]
    mark_bytes: int
    content_bytes: int | None = None


class PartsMeasure(Struct, frozen=True):
    """The formatting of a document that is read part by part.

    Attributes:
        heading: An entry of a table of contents: depth, title, part.
        part: The line above a part, given its unit and the number of all parts.
    """

    heading: Callable[[tuple[int, str, int]], int]
    part: Callable[[PartView, str, int], int]


class SearchMeasure(Struct, frozen=True):
    """The formatting of a search.

    Attributes:
        file: The text above the lines of a file.
        line: One line, formatted.
        names_each: The reply names the file with every match.
        content_bytes: The most that all matches may take; None for all that fit the reply.
    """

    file: Callable[[GrepFile], int]
    line: Callable[[GrepLine], int]
    names_each: bool = False
    content_bytes: int | None = None


class OutputMeasure(Struct, frozen=True):
    """The formatting of the output of a command.

    Attributes:
        numbered: The number of a line, and its line feed; None without numbers.
        gap_bytes: The longest text for a gap between lines.
        escapes: Output is sent as JSON, and its escapes count.
    """

    numbered: Callable[[int], int] | None
    gap_bytes: int = 0
    escapes: bool = False
