"""opencode: `~/.local/share/opencode/opencode.db`, tables `session`, `message` and `part` (JSON in `data`).

A call and its result are one part; a sub-agent is a session with a parent; a message made of a
`compaction` part asks for a summary, and what stands before it is no longer sent once the summary is
there. `state.metadata` is for the screen, and the table `event` repeats every version of every part:
neither is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from readroom.lens.records.events import (
    Answered,
    Asked,
    Called,
    Compacted,
    Event,
    Opened,
    Returned,
    Said,
    Skipped,
)
from readroom.lens.records.sqlite import columns, opened
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_cost,
    as_count,
    as_object,
    as_text,
    decode,
    objects,
    time_of,
)
from readroom.limits.lens import RECORD_LINE_BYTES

NAME = "opencode"
TABLES = {"session", "message", "part"}
_SILENT = frozenset({"step-start", "patch", "snapshot", "reasoning", "agent", "retry", "subtask"})


def read(path: Path) -> Iterator[Event]:
    """The events of every session in the database, one session after the other."""
    with opened(path) as connection:
        known = columns(connection, "session")
        wanted = [
            name for name in ("id", "parent_id", "directory", "version", "time_created") if name in known
        ]
        sessions = connection.execute(f"SELECT {', '.join(wanted)} FROM session ORDER BY rowid").fetchall()
        for row in sessions:
            session = dict(zip(wanted, row, strict=True))
            id = as_text(session.get("id"))
            yield Opened(
                id,
                NAME,
                as_text(session.get("version")),
                as_text(session.get("directory")),
                as_text(session.get("parent_id")),
                time=time_of(session.get("time_created")),
            )
            yield from _session(connection, id)


_PARTS = """
SELECT m.id, p.id, length(m.data), length(p.data),
       CASE WHEN length(m.data) <= :most THEN m.data END, CASE WHEN length(p.data) <= :most THEN p.data END
FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id
WHERE m.session_id = :session
ORDER BY m.id, p.id
"""


def _session(connection: sqlite3.Connection, session: str) -> Iterator[Event]:
    message_id = ""
    message: Object = {}
    rows = connection.execute(_PARTS, {"session": session, "most": RECORD_LINE_BYTES})
    for m_id, p_id, m_size, p_size, m_data, p_data in rows:
        if m_id != message_id:
            message_id = as_text(m_id)
            try:
                message = as_object(decode(str(m_data or "{}").encode()))
            except NotReadable as error:
                yield Skipped(f"message {message_id[:40]}", f"{m_size:,} characters, {error}", session)
                message = {}
            yield from _message(message, message_id, session)
        if p_data is None:
            if p_id is not None:
                yield Skipped(f"part {as_text(p_id)[:40]}", f"{p_size:,} characters, too long", session)
            continue
        try:
            part = as_object(decode(str(p_data).encode()))
        except NotReadable as error:
            yield Skipped(f"part {as_text(p_id)[:40]}", f"{p_size:,} characters, {error}", session)
            continue
        yield from _part(part, message, session)


def _message(message: Object, id: str, session: str) -> Iterator[Event]:
    if message.get("role") != "assistant":
        return
    tokens = as_object(message.get("tokens"))
    cache = as_object(tokens.get("cache"))
    yield Answered(
        session,
        id,
        time_of(as_object(message.get("time")).get("created")),
        as_text(message.get("modelID")),
        as_count(tokens.get("input")),
        as_count(tokens.get("output")) + as_count(tokens.get("reasoning")),
        as_count(cache.get("read")),
        as_count(cache.get("write")),
        as_cost(message.get("cost")),
    )
    path = as_object(message.get("path"))
    if path.get("cwd"):
        yield Opened(session, folder=as_text(path["cwd"]))


def _part(part: Object, message: Object, session: str) -> Iterator[Event]:
    kind = as_text(part.get("type"))
    if kind == "tool":
        yield from _call(part, session)
    elif kind == "text":
        text = as_text(part.get("text"))
        yield Said(session, text) if message.get("role") == "assistant" else Asked(session, text)
    elif kind == "compaction":
        yield Compacted(session, time_of(as_object(message.get("time")).get("created")))
    elif kind == "file":
        yield Asked(session, as_text(as_object(part.get("source")).get("text")), attached=True)
    elif kind and kind not in _SILENT and kind != "step-finish":
        yield Skipped(f"part of {session[:40]}", f"kind {kind[:40]!r} is not known", session)


def _call(part: Object, session: str) -> Iterator[Event]:
    state = as_object(part.get("state"))
    times = as_object(state.get("time"))
    id = as_text(part.get("callID"))
    tool = as_text(part.get("tool"))
    yield Called(session, id, tool, as_object(state.get("input")), time_of(times.get("start")))
    status = as_text(state.get("status"))
    if status not in ("completed", "error"):
        return
    images = sum(
        1 for item in objects(state.get("attachments")) if as_text(item.get("mime")).startswith("image/")
    )
    failed = status == "error"
    text = as_text(state.get("error") if failed else state.get("output"))
    beside = as_object(state.get("metadata"))
    code = beside.get("exit")
    yield Returned(
        session,
        id,
        text,
        failed or None,
        images,
        time_of(times.get("end")),
        as_text(beside.get("outputPath")),
        exit_code=code if isinstance(code, int) else None,
    )
