"""The sessions of an audit as rows of calls and findings, which the dashboard of a ledger can so show.

They come from an audit that is made now, or that was written as JSON Lines. Hashes, durations and refusals
are not in records.
"""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from readroom.core.errors import BadValue
from readroom.core.limits.session import LEDGER_NAME_CHARS, LEDGER_TEXT_CHARS
from readroom.core.quoting import as_value
from readroom.core.rows import PastCall, PastRow, PastSession
from readroom.core.session.conversation import ShownLines
from readroom.lens import records
from readroom.lens.audit import ROWS, Options, grouped, one_by_one
from readroom.lens.copies import without_copies
from readroom.lens.findings.secrets import installed, is_harmless
from readroom.lens.normal_form import Call, Row
from readroom.lens.report import Totals
from readroom.lens.report.courses import course_of
from readroom.lens.report.statements import overview
from readroom.lens.sessions import Audited

_DAY_US = 86_400_000_000


_COURSES = 500
"""Sessions with a course: others are drawn from their calls, when somebody looks."""


def recorded(source: Path, workspace: str) -> Iterator[PastRow]:
    """See `rows.recorded`."""
    written_us = int(source.stat().st_mtime) * 1_000_000 // _DAY_US * _DAY_US
    totals = Totals()
    for part in _parts(source):
        totals.add(part)
        yield _session(part, with_course=totals.sessions <= _COURSES)
        for finding in part.findings:
            file = _shown_name(finding.file, workspace) if finding.file else ""
            yield replace(finding, file=file)
        yield from _calls(part, workspace, written_us)
    yield from overview(totals, secrets=installed())


def _session(part: Audited, *, with_course: bool) -> PastSession:
    session = part.session
    name, agent = _name(session.session), _name(session.client)
    if not with_course or not part.turns:
        return PastSession(name, agent, session.title)
    course, places = course_of(part)
    # The first request of a point carried the results of all calls before it.
    answered = sorted(places.get(call.turn, 0) for call in part.calls)
    made = [bisect_left(answered, point.first) for point in course.points]
    return PastSession(name, agent, session.title, course, made)


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


def _calls(part: Audited, workspace: str, written_us: int) -> Iterator[PastCall]:
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
        yield PastCall(
            hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32], at,
            _name(session.client), _name(session.session), call.epoch, _name(call.server or session.client),
            _name(call.tool), _shown_name(call.file, workspace, LEDGER_TEXT_CHARS) if call.file else None,
            _arguments(call), "error" if call.error else "ok" if call.answered else "unanswered",
            shown.get(call.call, ()), call.tokens, "exact" if session.tokens_exact else "estimate",
        )  # fmt: skip


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


def _arguments(call: Call) -> object:
    """The arguments of a call, without a command line that may hold a secret."""
    harmless = call.kind != "command" or not installed() or is_harmless(call.arguments)
    return _object(call.arguments) if harmless else {"": "(not shown: it may hold a secret)"}


def _object(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {"": text}


def _name(text: str) -> str:
    return as_value(text[:LEDGER_NAME_CHARS]) if text else ""
