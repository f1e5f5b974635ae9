"""The values of news: the change of a file since a conversation saw it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from readroom.core.session.seen import Lines, SeenFile
from readroom.core.values.history import Author

CLOSELY = 5
"""Changed files of which a reply says where the lines are; of more it says how many."""


class What(StrEnum):
    """The kinds of news."""

    CHANGED = "changed"
    GREW = "only_grew"
    GONE = "gone"
    RENAMED = "renamed"
    BACK = "back"
    DENIED = "denied"
    REPLACED = "no_file"


class Place(Struct, frozen=True):
    """The place of lines that were shown.

    Attributes:
        seen: As they were numbered.
        now: As they are numbered now; None if none of them is left.
        differ: The runs of them, as numbered now, that have another text; a run without lines, whose last
            number is smaller, is one where lines are missing.
    """

    seen: Lines
    now: Lines | None
    differ: tuple[Lines, ...] = ()


class News(Struct, frozen=True):
    """The news of one file.

    Attributes:
        seen: The file as it knows it.
        after: The file as it knows it afterwards; None if nothing more is said about it.
        what: What happened.
        places: Where the lines are that it saw; empty if that is not known.
        grown: The new lines of a file that only grew; None if they were not counted.
        grown_bytes: How much larger it is.
        to: Its new name.
        author: Who did it; None if nobody knows.
        at_ns: When, as far as the file says so.
    """

    seen: SeenFile
    after: SeenFile | None
    what: What
    places: tuple[Place, ...] = ()
    grown: Lines | None = None
    grown_bytes: int = 0
    to: str | None = None
    author: Author | None = None
    at_ns: int | None = None
