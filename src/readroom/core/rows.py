"""Rows that an audit of sessions and the pages of a server share: findings, and calls of any agent.

Neither wing knows the other: the pages take rows, and find their source by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct, field

from readroom.core.context import Course
from readroom.core.session.conversation import ShownLines

FindingKind: TypeAlias = Literal[
    "secrets", "denied", "lost-errors", "lost", "repeated", "reread", "oversized", "floods", "unused",
    "failed-edits", "hidden", "instructions",
]  # fmt: skip


class Finding(Struct, frozen=True, tag="finding", tag_field="row"):
    """Something in a session that cost, was lost or should not have been, with its evidence and its price.

    `tokens` is what it cost once, `carried_tokens` in all requests that carried it; of what was cut away
    `tokens` is how much that was, and no request carried it. `excerpt` quotes a little of it; a secret is
    never quoted. `mark` is the same for the same secret wherever it was found, and empty for other kinds.
    """

    session: str
    kind: FindingKind
    call: int
    turn: int
    file: str
    first: int
    last: int
    tokens: int
    carried_tokens: int
    what: str
    excerpt: str = ""
    mark: str = ""


FINDINGS: dict[FindingKind, str] = {
    "secrets": "secrets sent to the model",
    "denied": "files that your current policy denies",
    "lost-errors": "error lines in the truncated part of a result",
    "lost": "truncated results whose rest was never read",
    "repeated": "unchanged lines shown again while in view",
    "reread": "lines read again after a compaction",
    "oversized": "whole files read for a few lines",
    "floods": "searches that returned too much",
    "unused": "output never used afterwards",
    "failed-edits": "edits that failed, and their retries",
    "hidden": "hidden characters in text that the model read",
    "instructions": "text in files that addresses the model",
}
"""Every kind of finding, worst first; the keys are values of `--fail-on`."""


class PastCall(Struct, frozen=True):
    """A call in a record that a client left. Names are as they may be shown, relative to the folder.

    Attributes:
        id: The same whenever the record is read.
        time_us: When it ended, in microseconds since 1970, UTC.
        agent, session, contract, tool: Shortened, and quoted where they could be misread.
        epoch: Compactions of the conversation before it.
        path: The file or folder that it is about.
        arguments: As decoded, of any type.
        outcome: ok, error or unanswered.
        shown: The lines that it showed; no record has the hash of a file.
        tokens: Tokens of the result, counted exactly or estimated.
        counter: How: "exact" or "estimate".
    """

    id: str
    time_us: int
    agent: str
    session: str
    epoch: int
    contract: str
    tool: str
    path: str | None
    arguments: object
    outcome: str
    shown: Sequence[ShownLines]
    tokens: int
    counter: str


class PastSession(Struct, frozen=True):
    """A conversation in a record that a client left.

    Attributes:
        session, agent: As in its calls.
        title: The beginning of its first prompt; empty where that is not recorded or holds a secret.
        course: Its context over its requests; None for one of too many.
        made: For each point of it, how many calls were made before its first request.
    """

    session: str
    agent: str
    title: str
    course: Course | None = None
    made: Sequence[int] = ()


class AuditTable(Struct, frozen=True):
    """A table of an audit in words; with `numbers` all its columns but the first are numbers."""

    name: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: bool = False
    note: str = ""


PastRow: TypeAlias = PastCall | Finding | PastSession | AuditTable


class Audit(Struct):
    """An audit shown with a ledger: findings, sessions by name, and what it says first."""

    findings: list[Finding] = field(default_factory=list)
    sessions: dict[str, PastSession] = field(default_factory=dict)
    tables: list[AuditTable] = field(default_factory=list)

    def add(self, row: Finding | PastSession | AuditTable, most: int) -> None:
        """Add a row, if there are fewer than `most` of its sort."""
        if isinstance(row, Finding):
            self.findings += [row] if len(self.findings) < most else []
        elif isinstance(row, AuditTable):
            self.tables.append(row)
        elif len(self.sessions) < most:
            self.sessions[row.session] = row


_RECORDED = ("readroom.lens.ledger", "recorded")


def recorded(source: Path, workspace: str) -> Iterator[PastRow]:
    """The calls, sessions and findings of an audit in JSON Lines, or of a client's records, audited now,
    and last what it says first.

    `workspace` is the folder of the sessions, to which names of files are relative. Raises BadValue.
    """
    module, name = _RECORDED
    rows: Iterator[PastRow] = getattr(import_module(module), name)(source, workspace)
    return rows


def state_of(code: str) -> Literal["gone", "denied", "failed"]:
    """The state of a file whose read was refused with a code."""
    if code in ("not_found", "not_a_file"):
        return "gone"
    return "denied" if code in ("denied", "outside_root") else "failed"
