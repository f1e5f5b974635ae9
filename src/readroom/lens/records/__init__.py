"""Session records of agents: whose a file is, and what it tells, as one stream of events.

Knows: the forms of records, one module a client, and how to read any size of them in bounded memory.
Does not know: what the events are used for; a reader knows nothing of the others.
May be touched: the tables here, for a new client: a module with `recognises` and `read`, and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from stat import S_ISREG

from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.records import (
    claude_code,
    codex,
    gemini_cli,
    messages,
    mini_swe_agent,
    openai_agents,
    opencode,
    otel,
    pydantic_ai,
    qwen_code,
    readroom_ledger,
    sqlite,
    swe_agent,
)
from readroom.lens.records.events import Event, Skipped
from readroom.lens.records.remembered import with_short_names
from readroom.lens.records.stream import Element, Line, elements, lines, opened
from readroom.lens.records.values import NotReadable, Object, as_object, decode
from readroom.limits.lens import RECORD_SNIFF_LINES

__all__ = ["NotReadable", "Unknown", "read"]

LineReader = Callable[[Iterable[Line | Skipped], Bounds], Iterator[Event]]
ElementReader = Callable[[Iterable[Element | Skipped], str, Bounds], Iterator[Event]]

LINE_READERS: tuple[tuple[Callable[[Object], bool], LineReader], ...] = (
    (codex.recognises, codex.read),
    (qwen_code.recognises, qwen_code.read),
    (gemini_cli.recognises, gemini_cli.read),
    (claude_code.recognises, claude_code.read),
    (readroom_ledger.recognises, readroom_ledger.read),
    (openai_agents.recognises, openai_agents.read),
    (otel.recognises, otel.read),
)
"""By what a line says; the narrower forms first."""

LIST_READERS: tuple[tuple[Callable[[Object], bool], ElementReader], ...] = (
    (pydantic_ai.recognises, pydantic_ai.read),
    (claude_code.recognises, claude_code.read_list),
    (messages.recognises, messages.read),
)
"""By what an element of a list says."""

DATABASES: tuple[tuple[set[str], Callable[[Path, Bounds], Iterator[Event]]], ...] = (
    (opencode.TABLES, opencode.read),
    (openai_agents.TABLES, openai_agents.read_database),
    (readroom_ledger.TABLES, readroom_ledger.read_database),
)
"""By the tables a database has."""


class Unknown(Exception):
    """A file that is not the record of a client that is known here."""


def read(path: Path, bounds: Bounds = BOUNDS) -> Iterator[Event]:
    """What the record at `path` tells, in order.

    Raises:
        Unknown: It is not a record, or of a client that is not known.
        NotReadable: It is one, and cannot be read at all.
        OSError: It cannot be opened.
    """
    if not S_ISREG(path.stat().st_mode):
        raise Unknown("not a file")
    return with_short_names(_events(path, bounds))


def _events(path: Path, bounds: Bounds) -> Iterator[Event]:
    with path.open("rb") as stream:
        head = stream.read(16)
    if head == sqlite.MAGIC:
        return _database(path, bounds)
    if head.startswith(b"PK\x03\x04"):
        from readroom.lens.records import inspect_logs

        return inspect_logs.read(path, bounds)
    if not head.strip():
        raise Unknown("empty")
    return _json(path, bounds)


def _database(path: Path, bounds: Bounds) -> Iterator[Event]:
    with sqlite.opened(path) as connection:
        tables = sqlite.tables(connection)
    for wanted, reader in DATABASES:
        if wanted <= tables:
            return reader(path, bounds)
    raise Unknown("a database of something else")


def _json(path: Path, bounds: Bounds) -> Iterator[Event]:
    events = _as_lines(path, bounds) or _as_document(path, bounds)
    if events is None:
        raise Unknown("not a record of a client that is known")
    return events


def _as_lines(path: Path, bounds: Bounds) -> Iterator[Event] | None:
    """The events of a file of lines, when one of its first lines is of a known client."""
    with opened(path) as stream:
        for seen, line in enumerate(lines(stream), 1):
            if isinstance(line, Line) and isinstance(line.value, dict):
                for recognises, reader in LINE_READERS:
                    if recognises(line.value):
                        return _of_lines(path, reader, bounds)
                if messages.recognises(line.value):
                    return messages.read(_line_elements(path), path.stem, bounds)
            if seen >= RECORD_SNIFF_LINES:
                return None
    return None


def _of_lines(path: Path, reader: LineReader, bounds: Bounds) -> Iterator[Event]:
    with opened(path) as stream:
        yield from _with_place(path, reader, lines(stream), bounds)


def _with_place(
    path: Path, reader: LineReader, found: Iterable[Line | Skipped], bounds: Bounds
) -> Iterator[Event]:
    """The events of lines; one client says beside its record what they are about."""
    if reader is gemini_cli.read:
        return gemini_cli.read(found, bounds, path.parent.name, gemini_cli.root_beside(path))
    return reader(found, bounds)


def _line_elements(path: Path) -> Iterator[Element | Skipped]:
    with opened(path) as stream:
        for line in lines(stream):
            yield line if isinstance(line, Skipped) else Element("", line.value)


def _as_document(path: Path, bounds: Bounds) -> Iterator[Event] | None:
    """The events of a file that is one JSON document: a list of messages, or an object that holds them."""
    size = path.stat().st_size
    if size <= bounds.document_bytes:
        try:
            with opened(path) as stream:
                whole = as_object(decode(stream.read()))
        except NotReadable:
            whole = {}
        for recognises, reader in LINE_READERS:
            if whole and recognises(whole):
                return _with_place(path, reader, [Line(1, whole)], bounds)
        if opencode.recognises(whole):
            return opencode.read_storage(path, whole, bounds)
    for element in _elements(path, bounds):
        if isinstance(element, Skipped):
            continue
        if mini_swe_agent.recognises(element):
            return mini_swe_agent.read(_elements(path, bounds), path.stem.removesuffix(".traj"))
        if element.key == "trajectory":
            return swe_agent.read(_elements(path, bounds), path.stem)
        if element.key == "samples" and "messages" in as_object(element.value):
            from readroom.lens.records import inspect_logs

            return inspect_logs.read_document(_elements(path, bounds), path.stem, bounds)
        if element.key in ("", "messages", "input") and isinstance(element.value, dict):
            for recognises, read_elements in LIST_READERS:
                if recognises(element.value):
                    return read_elements(_elements(path, bounds), path.stem, bounds)
    return None


def _elements(path: Path, bounds: Bounds) -> Iterator[Element | Skipped]:
    with opened(path) as stream:
        yield from elements(stream, path.stat().st_size, bounds)
