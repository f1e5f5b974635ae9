"""The normal form: any session as rows of five kinds, for reports, exports and programs.

A row is flat, so it fits a line of JSON and a row of a table. Rows refer to their session by `session`, and
to a call by `call`, counted from 1 in the session. They hold no text of the conversation but short excerpts
in findings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, TextIO, TypeAlias, get_type_hints

import msgspec

from readroom.core.parquet import ParquetFile, pyarrow
from readroom.core.rows import Finding, FindingKind

EXPORT_PAGE_ROWS = 10_000
"""Rows written to a Parquet file at once."""


FORM = 1
"""The version of these rows. Within a version fields are added, never removed or changed in meaning."""


class Session(msgspec.Struct, frozen=True, tag="session", tag_field="row"):
    """One conversation of one agent; a sub-agent is a session with a `parent`.

    `result_tokens` is what results cost once, `carried_tokens` what they cost in all requests that
    carried them. `calls_left_out`, `lines_left_out` and `findings_left_out` are calls, line ranges and
    findings beyond what is kept of one session: what they cost is not in its sums. `input_tokens` to
    `cost` are sums of what the record says, 0 where it says nothing. `copied_turns` are answers that an
    earlier session also has, such as the one that it was forked from: they and their calls count there.
    `title` is the beginning of the first prompt, empty where that is not recorded or holds a secret.
    """

    session: str
    record: str
    client: str
    version: str = ""
    folder: str = ""
    parent: str = ""
    model: str = ""
    started: str = ""
    ended: str = ""
    turns: int = 0
    compactions: int = 0
    calls: int = 0
    calls_left_out: int = 0
    lines_left_out: int = 0
    findings_left_out: int = 0
    errors: int = 0
    result_characters: int = 0
    result_tokens: int = 0
    carried_tokens: int = 0
    tokens_exact: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0
    copied_turns: int = 0
    title: str = ""


class Turn(msgspec.Struct, frozen=True, tag="turn", tag_field="row"):
    """One answer of the model: a request, and the calls it made.

    `epoch` counts the compactions before it. `id` is the client's name of it, where it has one.
    """

    session: str
    turn: int
    epoch: int
    time: str = ""
    model: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0
    id: str = ""


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="row"):
    """One call and its result as the model received it.

    `kind` is what the tool does: read, search, list, edit, write, command, agent or other. `file` is the
    file it is about, for a search or a listing the folder; `more_files` are the others of a patch or of a
    command line, one a line. `sent_in_requests` is how many requests carried the result, or what took its
    place. `cut_by` says who cut it: client, tool, server (of MCP), or the arguments that asked for a part.
    `kept_at` is where the client put the whole. `rewritten_characters` is what later requests carried in its
    place, when the client replaced it, and `whole_in_requests` how many carried it before that.
    """

    session: str
    call: int
    id: str
    turn: int
    epoch: int
    tool: str
    server: str
    kind: str
    file: str
    arguments: str
    time: str
    answered: bool = False
    characters: int = 0
    tokens: int = 0
    images: int = 0
    sent_in_requests: int = 0
    lines: int = 0
    lines_again: int = 0
    error: bool = False
    exit_code: int | None = None
    cut_by: str | None = None
    kept_at: str = ""
    rewritten_characters: int | None = None
    whole_in_requests: int | None = None
    more_files: str = ""

    @property
    def carried_tokens(self) -> int:
        """The tokens of the result, and of what took its place, in all requests."""
        whole = self.sent_in_requests if self.whole_in_requests is None else self.whole_in_requests
        return self.tokens * whole + self.replacing_tokens * (self.sent_in_requests - whole)

    @property
    def replacing_tokens(self) -> int:
        """The tokens of what took its place, by its part of the characters."""
        return self.tokens * (self.rewritten_characters or 0) // max(1, self.characters)

    @property
    def files(self) -> list[str]:
        """All files that it is about."""
        return [self.file, *self.more_files.split("\n")] if self.more_files else [self.file]


class Lines(msgspec.Struct, frozen=True, tag="lines", tag_field="row"):
    """Lines of a file that a call showed the model.

    `characters` is set for one line that was shown in part, or that is too wide to be told as a line.
    `again` says that all of them had been shown before with the same text: in the same epoch ("in view"),
    or before a compaction ("compacted").
    """

    session: str
    call: int
    file: str
    first: int
    last: int
    characters: int | None = None
    again: str | None = None


ReplayState: TypeAlias = Literal["same", "changed", "gone", "denied", "failed", "not replayed"]


class Replayed(msgspec.Struct, frozen=True, tag="replayed", tag_field="row"):
    """One call then and now, natively and once more under the `contract` that fits the client.

    `then_tokens` and `now_tokens` are of the results; `then_lines` and `now_lines` how many lines of
    files they showed; `kept_lines` those of then that are shown now with the same text. `missing` counts
    lines that were shown then, used later, stand in the file unchanged, and are not shown now: the law is
    that there is none.
    """

    session: str
    call: int
    tool: str
    file: str
    made: str
    state: ReplayState
    then_tokens: int
    now_tokens: int
    then_lines: int
    now_lines: int
    kept_lines: int
    changed_lines: int
    missing: int
    contract: str = "native"


class SkippedPart(msgspec.Struct, frozen=True, tag="skipped", tag_field="row"):
    """A part of a record that was not read, and why."""

    record: str
    where: str
    why: str
    count: int = 1


Row: TypeAlias = Session | Turn | Call | Lines | Finding | Replayed | SkippedPart


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


CUT_AWAY: frozenset[FindingKind] = frozenset({"lost", "lost-errors"})
"""Kinds whose tokens were never sent."""


# -----------------------------------------------------------------------------
# The normal form as files: JSON Lines with all kinds of rows in one file, or Parquet with a file for each
# kind.
# -----------------------------------------------------------------------------


class Sink(Protocol):
    """Takes rows as they come."""

    def add(self, row: Row) -> None:
        """Take one row."""

    def close(self) -> None:
        """Take no more rows."""


class JsonLines:
    """A JSON object a line; its `row` is the kind."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, row: Row) -> None:
        self._stream.write(msgspec.json.encode(row).decode() + "\n")

    def close(self) -> None:
        """Write what is left."""
        self._stream.close()


KINDS: dict[str, type[Row]] = {
    "sessions": Session, "turns": Turn, "calls": Call, "lines": Lines, "findings": Finding,
    "replayed": Replayed,
    "skipped": SkippedPart,
}  # fmt: skip
"""The file of each kind of row."""


class Parquet:
    """A folder of Parquet files, one for each kind of row."""

    def __init__(self, folder: Path) -> None:
        """Open them. Raises MissingProgram."""
        pyarrow()  # raises before anything is made
        folder.mkdir(parents=True, exist_ok=True)
        self._files = {
            kind: ParquetFile(str(folder / f"{name}.parquet"), get_type_hints(kind), EXPORT_PAGE_ROWS)
            for name, kind in KINDS.items()
        }

    def add(self, row: Row) -> None:
        """Take one row; a page of them is written at once."""
        self._files[type(row)].add(msgspec.structs.astuple(row))

    def close(self) -> None:
        """Write what is left, and the ends of the files."""
        for file in self._files.values():
            file.close()
