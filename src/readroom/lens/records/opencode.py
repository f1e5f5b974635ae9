"""opencode: `~/.local/share/opencode/opencode.db`, or before version 1.2 a file for each message and part.

Kilo CLI is made from it: `~/.local/share/kilo/kilo.db` has the same tables, and one of its own.

The database has the tables `session`, `message` and `part` (JSON in `data`); the files are
`storage/session/PROJECT/*`, `storage/message/SESSION/*` and `storage/part/MESSAGE/*`.

A call and its result are one part; a sub-agent is a session with a parent; a message with a `compaction` part
asks for a summary, and once that is there, nothing before it is sent any more. `state.metadata` is for the
screen, and the table `event` repeats every version of every part: neither is read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from readroom.lens.limits import RECORD_LINE_BYTES, RECORDS_FOUND, Bounds
from readroom.lens.records import events
from readroom.lens.records.sqlite import columns, opened, row_of, tables
from readroom.lens.records.stream import sibling_bytes
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_cost,
    as_object,
    as_text,
    counts_of,
    decode,
    objects,
    texts_of,
    time_of,
)

NAME = "opencode"
_KILO, _KILOS_TABLE = "Kilo CLI", "kilo_board"
TABLES = {"session", "message", "part"}
_SILENT = frozenset(
    {"step-start", "step-finish", "patch", "snapshot", "reasoning", "agent", "retry", "subtask", "file"}
)
_OF_SESSION = ("id", "parent_id", "directory", "version", "time_created")


def read(path: Path, _bounds: Bounds) -> Iterator[events.Event]:
    """The events of every session in the database, one session after the other."""
    with opened(path) as connection:
        known = columns(connection, "session")
        name = _KILO if _KILOS_TABLE in tables(connection) else NAME
        wanted = [column for column in _OF_SESSION if column in known]
        # Row by row: a database may hold any number of sessions, with names of any length.
        for (row,) in connection.execute("SELECT rowid FROM session ORDER BY rowid"):
            session = row_of(connection, "session", wanted, row)
            id = as_text(session.get("id"))
            if not id:
                yield events.Skipped(f"session in row {row}", "its id is not text, or too long")
                continue
            version, folder, parent = texts_of(session, "version", "directory", "parent_id")
            time = time_of(session.get("time_created"))
            yield events.Opened(id, name, version, folder, parent, time=time)
            try:
                yield from _session(connection, id)
            except (sqlite3.DataError, MemoryError):  # too much for a value, or for all of them
                yield events.Skipped(
                    f"session {id[:40]}", "an id among its messages is too long: read up to it", id
                )


_PARTS = """
SELECT m.rowid, m.id, p.rowid, p.id
FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id
WHERE m.session_id = ?
ORDER BY m.id, p.id
"""
"""The parts in order; their content is read one by one, since sorting it would mean reading it twice."""


def _session(connection: sqlite3.Connection, session: str) -> Iterator[events.Event]:
    message_row = None
    message: Object = {}
    for m_row, m_id, p_row, p_id in connection.execute(_PARTS, (session,)):
        if m_row != message_row:
            message_row, message_id = m_row, events.short_name(as_text(m_id))
            message, problem = _data(connection, "message", m_row)
            if problem:
                yield events.Skipped(f"message {message_id[:40]}", problem, session)
            yield from _message(message, message_id, session)
        if p_row is None:
            continue
        part, problem = _data(connection, "part", p_row)
        if problem:
            yield events.Skipped(f"part {as_text(p_id)[:40]}", problem, session)
        else:
            yield from _part(part, message, session)


def recognises(document: Object) -> bool:
    """Whether a document is a session of a version that kept each in a file."""
    return as_text(document.get("id")).startswith("ses") and {"projectID", "directory"} <= document.keys()


def read_storage(path: Path, session: Object, _bounds: Bounds) -> Iterator[events.Event]:
    """The events of one session whose messages and parts are files of their own."""
    storage = path.parents[2]
    id = path.stem
    version, folder, parent = texts_of(session, "version", "directory", "parentID")
    time = time_of(as_object(session.get("time")).get("created"))
    yield events.Opened(id, NAME, version, folder, parent, time=time)
    for message_file in _files(storage / "message" / id):
        message, problem = _document(message_file)
        if problem:
            yield events.Skipped(f"message {message_file.stem[:40]}", problem, id)
        yield from _message(message, message_file.stem, id)
        for part_file in _files(storage / "part" / message_file.stem):
            part, problem = _document(part_file)
            if problem:
                yield events.Skipped(f"part {part_file.stem[:40]}", problem, id)
            else:
                yield from _part(part, message, id)


def _files(folder: Path) -> list[Path]:
    """The files of a folder by name, which is their order in time."""
    with suppress(OSError), os.scandir(folder) as entries:
        named = (entry.name for entry in entries if entry.name.endswith(".json"))
        return [folder / name for name in sorted(islice(named, RECORDS_FOUND))]
    return []


def _document(path: Path) -> tuple[Object, str]:
    """The JSON of a file, or why it was not read."""
    try:
        raw = sibling_bytes(path, RECORD_LINE_BYTES + 1)
    except OSError as error:
        return {}, f"cannot be read: {error.strerror or type(error).__name__}"
    return _decoded(raw) if len(raw) <= RECORD_LINE_BYTES else ({}, f"more than {RECORD_LINE_BYTES:,} bytes")


def _data(connection: sqlite3.Connection, table: str, row: int) -> tuple[Object, str]:
    """The JSON of a row, or why it was not read."""
    data = row_of(connection, table, ["data"], row).get("data")
    if data is None:
        return {}, f"more than {RECORD_LINE_BYTES:,} bytes, or nothing"
    return _decoded(data if isinstance(data, bytes) else str(data).encode())


def _decoded(raw: bytes) -> tuple[Object, str]:
    try:
        return as_object(decode(raw)), ""
    except NotReadable as error:
        return {}, f"{len(raw):,} bytes, {error}"


def _message(message: Object, id: str, session: str) -> Iterator[events.Event]:
    if message.get("role") != "assistant":
        return
    tokens = as_object(message.get("tokens"))
    read, wrote, total, thought = counts_of(tokens, "input", "output", "total", "reasoning")
    cached, written = counts_of(as_object(tokens.get("cache")), "read", "write")
    if total != read + wrote + cached + written:
        wrote += thought  # by the sum it is not part of the output
    time, model = time_of(as_object(message.get("time")).get("created")), as_text(message.get("modelID"))
    cost = as_cost(message.get("cost"))
    yield events.Answered(session, id, time, model, read, wrote, cached, written, cost)
    path = as_object(message.get("path"))
    if path.get("cwd"):
        yield events.Opened(session, folder=as_text(path["cwd"]))


def _part(part: Object, message: Object, session: str) -> Iterator[events.Event]:
    kind = as_text(part.get("type"))
    if kind == "tool":
        yield from _call(part, session)
    elif kind == "text":
        if message.get("role") == "assistant":
            yield events.Wrote(session, as_text(part.get("text")))
        elif not part.get("synthetic"):
            yield from events.asked(session, as_text(part.get("text")))
    elif kind == "compaction":
        yield events.Compacted(session, time_of(as_object(message.get("time")).get("created")))
    elif kind and kind not in _SILENT:
        yield events.Skipped(f"part of {session[:40]}", f"kind {kind[:40]!r} is not known", session)


def _call(part: Object, session: str) -> Iterator[events.Event]:
    state = as_object(part.get("state"))
    times = as_object(state.get("time"))
    id, tool = texts_of(part, "callID", "tool")
    yield events.Called(session, id, tool, as_object(state.get("input")), time_of(times.get("start")))
    status = as_text(state.get("status"))
    if status not in ("completed", "error"):
        return
    images = sum(
        1 for item in objects(state.get("attachments")) if as_text(item.get("mime")).startswith("image/")
    )
    failed = status == "error"
    text = as_text(state.get("error") if failed else state.get("output"))
    beside = as_object(state.get("metadata"))
    code = beside["exit"] if isinstance(beside.get("exit"), int) else None
    kept_at, time = as_text(beside.get("outputPath")), time_of(times.get("end"))
    yield events.Returned(session, id, text, failed or None, images, time, kept_at, exit_code=code)
