"""An audit written as a ledger, and a ledger replayed in a folder as it is today.

The dashboard of a ledger can so show sessions of any agent. Rows come from an audit that is made now, or that
was written as JSON Lines. Hashes, durations and refusals are not in records: those columns stay empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from readroom.errors import BadValue, ReadroomError
from readroom.ledger.ledger import Ledger
from readroom.ledger.recorder import of_anything
from readroom.ledger.rows import Event, encoded_spans
from readroom.ledger.rows import Row as LedgerRow
from readroom.ledger.sums import DAY_US
from readroom.lens import records
from readroom.lens.audit import ROWS, Options, grouped, one_by_one
from readroom.lens.copies import without_copies
from readroom.lens.findings.secrets import installed
from readroom.lens.normal_form import Finding, Row
from readroom.lens.records.values import as_list, as_object, as_text, decode
from readroom.lens.replay import state_of
from readroom.lens.sessions import Audited
from readroom.limits.lens import FINDINGS_LISTED
from readroom.limits.session import LEDGER_GROUP_ROWS, LEDGER_NAME_CHARS, LEDGER_TEXT_CHARS
from readroom.quoting import as_value
from readroom.session.conversation import ShownLines
from readroom.workspace import Workspace

_MOST_FINDINGS = 100 * FINDINGS_LISTED


def fill(book: Ledger, source: Path, workspace: str) -> list[Finding]:
    """Write the sessions of an audit, or of records audited now; returns their findings.

    Args:
        book: An empty ledger.
        source: What `readroom audit --jsonl` wrote, a client's record, or a folder of those.
        workspace: The folder of the sessions, as rows name it.

    Raises:
        BadValue: It has no session.
        LedgerFailed: The ledger cannot be written.
    """
    findings: list[Finding] = []
    pending: list[Event] = []
    count = 0
    written_us = int(source.stat().st_mtime) * 1_000_000 // DAY_US * DAY_US
    for part in _parts(source):
        findings += part.findings[: max(0, _MOST_FINDINGS - len(findings))]
        for event in _events(part, workspace, written_us):
            pending.append(event)
            count += 1
            if len(pending) == LEDGER_GROUP_ROWS:
                book.append_all(pending)
                pending = []
    if pending:
        book.append_all(pending)
    if not count:
        raise BadValue("SOURCE", str(source), "no session is in it", "Name a ledger, an audit or a record.")
    return [
        msgspec.structs.replace(finding, file=_shown_name(finding.file, workspace) if finding.file else "")
        for finding in findings
    ]


def _parts(source: Path) -> Iterator[Audited]:
    if _is_audit(source):
        parts = grouped(_rows(source))
    else:
        parts = one_by_one(records.records([source]), Options(secrets=installed()))
    return (part for part in without_copies(parts) if isinstance(part, Audited))


def _is_audit(source: Path) -> bool:
    """Whether these are the rows of an audit in JSON Lines."""
    if not source.is_file():
        return False
    with open(source, "rb") as stream:
        try:
            return bool(ROWS.decode(stream.readline()))
        except msgspec.DecodeError:
            return False


def _rows(source: Path) -> Iterator[Row]:
    with open(source, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield ROWS.decode(line)
            except msgspec.DecodeError as error:
                advice = "Write it again with `readroom audit --jsonl`."
                raise BadValue("SOURCE", str(source), f"line {number} is broken: {error}", advice) from None


def _events(part: Audited, workspace: str, written_us: int) -> Iterator[Event]:
    """The calls of a session; without any time they are on the day on which the record was written."""
    session = part.session
    shown: dict[int, list[ShownLines]] = {}
    for lines in part.lines:
        path = _shown_name(lines.file, workspace)
        shown.setdefault(lines.call, []).append(ShownLines(path, None, lines.first, lines.last))
    for call in part.calls:
        if call.kind in ("edit", "write") and call.answered and not call.error and call.call not in shown:
            # As in our own ledger: after a change the model knows a file without lines of it.
            shown[call.call] = [ShownLines(_shown_name(file, workspace), None) for file in call.files if file]
    at = _microseconds(session.started) or written_us
    times = {turn.turn: turn.time for turn in part.turns}
    for call in part.calls:
        at = max(at + 1, _microseconds(call.time or times.get(call.turn, "")) or 0)
        name = f"{session.record}\0{session.session}\0{call.call}"
        yield Event(
            id=hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32],
            time_us=at,
            workspace=workspace,
            agent=_name(session.client),
            session=_name(session.session),
            token="",
            face="record",
            epoch=call.epoch,
            contract=_name(call.server or session.client),
            tool=_name(call.tool),
            path=_shown_name(call.file, workspace, LEDGER_TEXT_CHARS) if call.file else None,
            arguments=of_anything(_object(call.arguments)),
            decision="allowed",
            rule=None,
            outcome="error" if call.error else "ok" if call.answered else "unanswered",
            kind=None,
            shown=encoded_spans(shown.get(call.call, ())),
            tokens=call.tokens,
            counter="exact" if session.tokens_exact else "estimate",
            duration_us=0,
        )


def _shown_name(file: str, workspace: str, most: int | None = None) -> str:
    """A file as rows show it: relative to the folder if it is below it; records have absolute names."""
    below = file.removeprefix(workspace.rstrip(os.sep) + os.sep) or "."
    return as_value(below[:most])


def _microseconds(time: str) -> int | None:
    try:
        moment = datetime.fromisoformat(time)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return None


def _object(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {"": text}


def _name(text: str) -> str:
    return as_value(text[:LEDGER_NAME_CHARS]) if text else ""


# -----------------------------------------------------------------------------
# Our own ledger replayed in a folder as it is today: which calls would show the same, and which files
# changed, are denied or gone.
#
# The ledger has only the hash of each file that was shown, so hashes are compared. Each file is opened once,
# through the workspace and its policy of today.
# -----------------------------------------------------------------------------

State: TypeAlias = Literal["same", "unknown", "changed", "denied", "gone", "failed"]

STATES: tuple[State, ...] = ("same", "unknown", "changed", "denied", "gone", "failed")
"""From best to worst: a call has the worst state of its files. A file without a hash is unknown."""


class ReplayedRow(msgspec.Struct, frozen=True):
    """A call of the ledger and the state of its files today; `files` are those that are not the same."""

    number: int
    session: str
    tool: str
    path: str
    state: State
    files: tuple[tuple[str, State], ...]


def replay(rows: Iterable[LedgerRow], workspace: Workspace) -> Iterator[ReplayedRow]:
    """Every call that showed lines of files, in order."""
    known: dict[str, tuple[State, str]] = {}
    for row in rows:
        event = row.event
        spans = [
            item
            for item in as_list(decode(event.shown.encode()))
            if isinstance(item, list) and len(item) >= 2
        ]
        files: dict[str, State] = {}
        for path, hash_ in ((as_text(item[0]), as_text(item[1])) for item in spans):
            if path not in known:
                known[path] = _today(workspace, path)
            state, now = known[path]
            if state == "same" and now != hash_:
                state = "changed" if now and hash_ else "unknown"
            if STATES.index(state) >= STATES.index(files.get(path, "same")):
                files[path] = state
        if files:
            worst = max(files.values(), key=STATES.index)
            others = tuple((path, state) for path, state in files.items() if state != "same")
            yield ReplayedRow(row.number, event.session, event.tool, event.path or "", worst, others)


def _today(workspace: Workspace, path: str) -> tuple[State, str]:
    """The state of a file and its hash."""
    try:
        reply = workspace.call("read_file", {"path": path, "limit": 1})
    except ReadroomError as error:
        return state_of(error.code), ""
    if reply.is_error:
        return state_of(as_text(as_object(reply.facts.get("error")).get("code"))), ""
    return "same", as_text(reply.facts.get("content_hash"))
