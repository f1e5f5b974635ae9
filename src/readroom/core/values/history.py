"""Values of the history: requests, results, and what a kept change says of each name.

Times are nanoseconds since the epoch.  Changes are ordered by their numbers and never by their times, since
clocks go back.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from readroom.core.values.changes import Diff
from readroom.core.values.files import Warn
from readroom.core.values.git import GitRequest, GitResult

# -----------------------------------------------------------------------------
# What is kept of a change.
# -----------------------------------------------------------------------------

Kind: TypeAlias = Literal["absent", "file", "folder", "link"]


class EntryState(Struct, frozen=True, omit_defaults=True):
    """The state of a name.

    Attributes:
        kind: What it was; "absent" for nothing.
        size: Of a file, in bytes.
        mode: The permission bits.
        mtime_ns: The time of its last change.
        content_hash: Of a file, as "sha256:..."; None if it was too large to be read.
        target: Of a link, as it is stored.
        kept: Whether the bytes of a file are in the history.
        mark: Tells a file or folder without a hash from another one.
    """

    kind: Kind = "absent"
    size: int = 0
    mode: int = 0
    mtime_ns: int = 0
    content_hash: str | None = None
    target: str | None = None
    kept: bool = False
    mark: str = ""

    def is_same(self, other: EntryState) -> bool:
        """Whether both are the same content; times and modes do not count."""
        if self.kind != other.kind:
            return False
        if self.kind == "link":
            return self.target == other.target
        if self.kind == "file":
            if self.content_hash is None or other.content_hash is None:
                return self.size == other.size and self.mark == other.mark != ""
            return self.content_hash == other.content_hash
        return True


NOTHING = EntryState()

Action: TypeAlias = Literal["created", "changed", "deleted", "moved"]


class ChangedName(Struct, frozen=True):
    """One name of a change.

    Attributes:
        path: The name, from the root of the workspace.
        action: What the change did to it.
        before: What was there.
        after: What the change put there; of something moved, what it is.
        to: The new name of something moved.
        added: Lines that only the state after has; None where they were not counted.
        removed: Lines that only the state before has.
        undone_by: The change that took this back.
    """

    path: str
    action: Action
    before: EntryState
    after: EntryState
    to: str | None = None
    added: int | None = None
    removed: int | None = None
    undone_by: int | None = None

    @property
    def names(self) -> Sequence[str]:
        """The name, and the new one of something moved."""
        return (self.path,) if self.to is None else (self.path, self.to)


class Author(Struct, frozen=True, omit_defaults=True):
    """Who made a change, as `Caller` has it, and by which call.

    Attributes:
        agent: The name that the client gives itself; not proved.
        token: The id of the token.
        session: The conversation.
        face: The way in.
        contract: Whose tool it was.
        tool: The tool.
        call: The id that the face gave the call.
        traceparent: The trace that the call belongs to.
    """

    agent: str = ""
    token: str = ""
    session: str = ""
    face: str = ""
    contract: str = ""
    tool: str = ""
    call: str = ""
    traceparent: str = ""


class KeptChange(Struct, frozen=True):
    """One change, as a list shows it.

    Attributes:
        id: Its number; a later change has a greater one.
        at_ns: When it was made, by the clock of then.
        by: Who made it.
        names: The first of its names that may be seen.
        count: How many it has.
        hidden: How many of those looked at may not be seen now.
        undoes: The change that it takes back.
        undone_by: The change that took it back as a whole.
        interrupted: Its process was killed before it was complete.
        anew: The folder of the workspace was another one then, at the same path.
        others: Another token made it, and the caller may not know whose; the author is empty then.
    """

    id: int
    at_ns: int
    by: Author
    names: Sequence[ChangedName] = ()
    count: int = 0
    hidden: int = 0
    undoes: int | None = None
    undone_by: int | None = None
    interrupted: bool = False
    anew: bool = False
    others: bool = False


# -----------------------------------------------------------------------------
# Requests and results.
# -----------------------------------------------------------------------------

LISTED = 20
"""Changes in a list, unless the request says otherwise."""

LISTED_MAXIMUM = 200


class HistoryRequest(Struct, frozen=True):
    """A list of changes, newest first, or one change with all its names.

    Attributes:
        path: A name, or a folder with everything below it; "" for the whole workspace.
        session: Only changes of that conversation.
        agent: Only changes of that agent.
        token: Only changes made with that token.
        since_ns: Only changes made at or after that time.
        cursor: Only changes before that number; the result has the next one.
        maximum: How many.
        change: That change alone.
    """

    path: str = ""
    session: str | None = None
    agent: str | None = None
    token: str | None = None
    since_ns: int | None = None
    cursor: int | None = None
    maximum: int = LISTED
    change: int | None = None


class HistoryResult(Struct, frozen=True):
    """Changes, and the cursor of the next page; None if there are no more."""

    changes: Sequence[KeptChange]
    cursor: int | None = None
    warnings: Sequence[Warn] = ()


class DiffRequest(Struct, frozen=True):
    """A request for the effect of a change on its names, or on those at or below a path."""

    change: int
    path: str = ""


class NameDiff(Struct, frozen=True):
    """The effect of a change on one name.

    Attributes:
        name: Its record.
        diff: The lines; None where there are none to compare.
        note: Why there is no diff.
        before: The bytes of a text before; None if they are not text or not kept.
        after: The bytes afterwards.
    """

    name: ChangedName
    diff: Diff | None = None
    note: str = ""
    before: bytes | None = None
    after: bytes | None = None


class DiffResult(Struct, frozen=True):
    """A change and the diffs of its names."""

    change: KeptChange
    files: Sequence[NameDiff]
    warnings: Sequence[Warn] = ()


UndoAction: TypeAlias = Literal["restored", "changed back", "deleted", "moved back", "nothing"]
Right: TypeAlias = Literal["edit", "create", "delete", "move", "folder"]


class UndoRequest(Struct, frozen=True):
    """Take changes back: one, those of a conversation, those since a time, or the last one of a name.

    Attributes:
        change: That change.
        session: All changes of that conversation.
        since_ns: All changes made at or after that time.
        path: The last change of that name; with one of the others, only what is at or below it. "" for none.
        own: With a path alone, the last change that the caller's own conversation made to it.
        token: Only changes made with that token.
        up_to: Only changes up to that number.
        parts: Of a text that was changed since, take back the lines that are still there.
        dry_run: Say what would be done, conflicts as well, and change nothing.
        rights: The kinds of change that the caller may make; None for all.
        granted: The tools by which it may make them; None if that is not known.
    """

    change: int | None = None
    session: str | None = None
    since_ns: int | None = None
    path: str = ""
    own: bool = False
    token: str | None = None
    up_to: int | None = None
    parts: bool = False
    dry_run: bool = False
    rights: frozenset[Right] | None = None
    granted: frozenset[str] | None = None


class Undone(Struct, frozen=True):
    """The effect of an undo on one name.

    Attributes:
        path: The name.
        action: What was done; "nothing" if it was so already.
        right: What kind of change that is, for the rights of a token.
        to: The new name of something moved back.
        diff: The lines that changed; None if there are none to compare.
        fits: How many places of a text were taken back.
        left: How many were changed since, and stay.
    """

    path: str
    action: UndoAction
    right: Right
    to: str | None = None
    diff: Diff | None = None
    fits: int = 0
    left: int = 0


class Conflict(Struct, frozen=True):
    """A name that was changed otherwise since.

    Attributes:
        path: The name.
        reason: What is there instead, as a clause.
        ours: What the change did.
        theirs: What happened since.
        fits: How many places of a text could be taken back.
        left: How many could not.
    """

    path: str
    reason: str
    ours: Diff | None = None
    theirs: Diff | None = None
    fits: int = 0
    left: int = 0


class UndoResult(Struct, frozen=True):
    """The effect of an undo, or of one that is only planned.

    Attributes:
        undone: By name.
        changes: The changes that were taken back, newest first.
        id: The change that the undo itself is, the last of several; None if it was not kept.
        conflicts: Names that were changed since: with `dry_run` those that refuse it, with `parts` those
            that stay in part or as they are.
        dry_run: Nothing was changed.
        earlier: The changes that the undo is besides `id`, newest first: if a folder was moved, each one is
            taken back by one of its own.
    """

    undone: Sequence[Undone]
    changes: Sequence[int]
    id: int | None = None
    conflicts: Sequence[Conflict] = ()
    dry_run: bool = False
    warnings: Sequence[Warn] = ()
    earlier: Sequence[int] = ()


class ForgetRequest(Struct, frozen=True):
    """Remove the past of a name and everything below it, or with `all` that of the workspace."""

    path: str = ""
    all: bool = False


class ForgetResult(Struct, frozen=True):
    """The extent of what was removed: changes that have no name left, names, and bytes of contents."""

    changes: int
    names: int
    size_bytes: int
    warnings: Sequence[Warn] = ()


PastRequest: TypeAlias = HistoryRequest | DiffRequest | UndoRequest | ForgetRequest | GitRequest
PastResult: TypeAlias = HistoryResult | DiffResult | UndoResult | ForgetResult | GitResult
