"""Whether and where a history is kept, and how much of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

CommandPast: TypeAlias = Literal["listed", "overlay"]

HISTORY_BYTES = 256 * 1024 * 1024
"""Everything on disk, for all workspaces of a user: some 100,000 edits of a file of 20 KB, whose states take
2 KB each when they are compressed."""

HISTORY_DAYS = 30
"""Long enough for "last week", short enough for what should not stay."""

HISTORY_FILE_BYTES = 16 * 1024 * 1024
"""The largest file that is edited together with others; larger ones are data, which somebody can make again
or has a copy of."""

HISTORY_VALUE_BYTES = 128 * 1024 * 1024
"""The maximum of that: a content is compressed in one piece, while other processes wait."""

MEMORY_BYTES = 64 * 1024 * 1024
"""The history of a store in memory, which dies with it."""


class HistoryPolicy(Struct, frozen=True):
    """The operator's rules for the history.

    Attributes:
        enabled: Whether one is kept.
        folder: The absolute path of its folder; None if there is no place for it.
        most_bytes: The limit for everything on disk.
        days: Older changes go.
        file_bytes: Contents of larger files are not kept.
        required: Refuse a change whose past cannot be kept.
        tool: Offer the history to models.
        review: Let changes wait until a person has agreed.
        commands: "listed" names what a command changed; "overlay" keeps it, where that can be made.
        undo_in_dashboard: Let people take changes back in the dashboard.
        review_in_dashboard: Let people accept and reject there what waits.
    """

    enabled: bool = True
    folder: str | None = None
    most_bytes: int = HISTORY_BYTES
    days: int = HISTORY_DAYS
    file_bytes: int = HISTORY_FILE_BYTES
    required: bool = False
    tool: bool = False
    review: bool = False
    commands: CommandPast = "listed"
    undo_in_dashboard: bool = False
    review_in_dashboard: bool = False
