"""Session records of agents: their places, the client that wrote a file, and its events.

Knows: the places of clients' records, and their formats, one module for each client. Any record is read
    in bounded memory.
Does not know: the use of the events. Readers do not know each other.
May be touched: freely. A new client is a module with `recognises` and `read`, and a row in a table here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from readroom.core.errors import BadValue
from readroom.lens.limits import BOUNDS, RECORDS_FOUND, Bounds
from readroom.lens.records import (
    claude_code,
    codex,
    continue_cli,
    copilot_cli,
    gemini_cli,
    messages,
    openai_agents,
    opencode,
    otel,
    pi,
    pydantic_ai,
    qwen_code,
    readroom_ledger,
    sqlite,
    swe_agent,
)
from readroom.lens.records.events import Event, Skipped, with_short_names
from readroom.lens.records.stream import Element, Line, elements, lines, opened
from readroom.lens.records.values import NotReadable, Object, as_object, decode

RECORD_SNIFF_LINES = 50
"""Lines that are examined to recognize a record: the heads of resumed sessions come first."""


_SUFFIXES = frozenset({".jsonl", ".json", ".traj", ".eval", ".db", ".sqlite", ".sqlite3"})
"""Suffixes of records; other files below a folder are not opened."""

_NEVER = frozenset({"node_modules", ".git", "tool-results", "tool-outputs", "tool-output", "__pycache__"})


VARIABLES = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CONTINUE_GLOBAL_DIR", "COPILOT_HOME", "PI_CODING_AGENT_DIR",
    "XDG_DATA_HOME", "PWD",
)  # fmt: skip
"""Variables with the places of clients' records, and with the shell's name of the current folder."""


def records(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that may be records: those named, and sorted, those in named folders with the right suffix.

    Links in folders are not followed.
    """
    count = 0
    for path in paths:
        for record in _below(path) if path.is_dir() else [path]:
            count += 1
            if count > RECORDS_FOUND:
                raise BadValue("PATHS", str(path), f"holds more than {RECORDS_FOUND:,} files", "Name fewer.")
            yield record


def _below(folder: Path) -> Iterator[Path]:
    unread: list[Path] = []
    for place, folders, files in os.walk(folder, onerror=lambda error: unread.append(Path(error.filename))):
        folders[:] = sorted(name for name in folders if name not in _NEVER)
        if os.path.basename(place) == "storage" and {"session", "message", "part"} <= {*folders}:
            folders[:] = ["session"]  # of older opencode: the other two belong to these
        if {"opencode.db", "kilo.db"} & {*files} and "storage" in folders:
            folders.remove("storage")  # the database has the same sessions
        if copilot_cli.FILE in files:
            folders.clear()  # of one session of Copilot: copies of files, checkpoints
        for name in sorted(files):
            path = Path(place, name)
            if name == continue_cli.LIST and os.path.basename(place) == "sessions":
                continue
            if path.suffix in _SUFFIXES and not name.endswith(".meta.json") and not path.is_symlink():
                yield path
    yield from unread


def names_of(folder: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names by which clients may know a folder: its real path, and the shell's path through a link."""
    real, shell = os.path.realpath(folder), environment.get("PWD", "")
    return (real, shell) if shell != real and os.path.realpath(shell) == real else (real,)


def of_folder(names: Sequence[str], home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The places that are there of those where clients keep the sessions of one folder."""
    return [place for place in places_of(names, home, environment) if place.exists()]


def places_of(names: Sequence[str], home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The places of clients' records for one folder.

    Codex, Continue, Copilot, Kilo and opencode keep the sessions of all folders together, so records there
    must still be filtered.
    """
    slugs = [re.sub(r"[^A-Za-z0-9]", "-", name) for name in names]
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return [
        *(claude / "projects" / slug for slug in slugs),
        _codex(home, environment) / "sessions",
        *(home / ".qwen" / "projects" / slug for slug in slugs),
        *_gemini(home / ".gemini" / "tmp", names),
        *(_pi(home, environment) / pi.folder_name(name) for name in names),
        *_together(home, environment),
    ]


def _codex(home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("CODEX_HOME") or home / ".codex")


def _pi(home: Path, environment: Mapping[str, str]) -> Path:
    return Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent") / "sessions"


def _together(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The places of clients that keep the sessions of all folders in one."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    database = data / "opencode" / "opencode.db"
    return [
        database if database.exists() else data / "opencode" / "storage",
        data / "kilo" / "kilo.db",
        Path(environment.get("COPILOT_HOME") or home / ".copilot") / "session-state",
        Path(environment.get("CONTINUE_GLOBAL_DIR") or home / ".continue") / "sessions",
    ]


def of_machine(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The places where clients keep the sessions of all folders, whether they are there or not."""
    own = environment.get("CLAUDE_CONFIG_DIR")
    claude = [Path(own)] if own else [home / ".claude", home / ".config" / "claude"]
    codex = _codex(home, environment)
    return [
        *(place / "projects" for place in claude),
        codex / "sessions", codex / "archived_sessions",
        home / ".gemini" / "tmp",
        home / ".qwen" / "projects",
        _pi(home, environment),
        *_together(home, environment),
    ]  # fmt: skip


def _gemini(base: Path, names: Sequence[str]) -> Iterator[Path]:
    if not base.is_dir():
        return
    for project in sorted(base.iterdir()):
        if gemini_cli.root_of(project) in names:
            yield project / "chats"


__all__ = ["NotReadable", "Unknown", "read"]

LineReader = Callable[[Iterable[Line | Skipped], Bounds], Iterator[Event]]
ElementReader = Callable[[Iterable[Element | Skipped], str, Bounds], Iterator[Event]]

LINE_READERS: tuple[tuple[Callable[[Object], bool], LineReader], ...] = (
    (codex.recognises, codex.read), (qwen_code.recognises, qwen_code.read),
    (gemini_cli.recognises, gemini_cli.read), (claude_code.recognises, claude_code.read),
    (readroom_ledger.recognises, readroom_ledger.read), (openai_agents.recognises, openai_agents.read),
    (otel.recognises, otel.read), (copilot_cli.recognises, copilot_cli.read), (pi.recognises, pi.read),
)  # fmt: skip
"""Chosen by the keys of a line; the narrower formats first."""

LIST_READERS: tuple[tuple[Callable[[Object], bool], ElementReader], ...] = (
    (pydantic_ai.recognises, pydantic_ai.read),
    (claude_code.recognises, claude_code.read_list),
    (messages.recognises, messages.read),
)
"""Chosen by the keys of a list's element."""

DATABASES: tuple[tuple[set[str], Callable[[Path, Bounds], Iterator[Event]]], ...] = (
    (opencode.TABLES, opencode.read),
    (openai_agents.TABLES, openai_agents.read_database),
    (readroom_ledger.TABLES, readroom_ledger.read_database),
)
"""Chosen by the tables of a database."""


EMPTY = "empty"
"""Why a file without content is not the record of a client: nothing of it is unread."""


class Unknown(Exception):
    """The file is not the record of a known client."""


def read(path: Path, bounds: Bounds = BOUNDS) -> Iterator[Event]:
    """The events of the record at `path`, in order. Raises Unknown, NotReadable, OSError."""
    mode = path.stat().st_mode
    if S_ISDIR(mode):
        raise NotReadable("the folder cannot be listed")
    if not S_ISREG(mode):
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
    if not head.strip() and path.stat().st_size <= len(head):
        raise Unknown(EMPTY)
    events = _as_lines(path, bounds) or _as_document(path, bounds)
    if events is None:
        raise Unknown("unknown record format")
    return events


def _database(path: Path, bounds: Bounds) -> Iterator[Event]:
    with sqlite.opened(path) as connection:
        tables = sqlite.tables(connection)
    for wanted, reader in DATABASES:
        if wanted <= tables:
            return reader(path, bounds)
    raise Unknown("an unknown database")


def _as_lines(path: Path, bounds: Bounds) -> Iterator[Event] | None:
    """The events of a file of lines, if one of the first lines is of a known client."""
    with opened(path) as stream:
        for seen, line in enumerate(lines(stream), 1):
            if isinstance(line, Line) and isinstance(line.value, dict):
                for recognises, reader in LINE_READERS:
                    if recognises(line.value):
                        return _of_lines(path, reader, bounds)
                if messages.recognises(line.value):
                    return messages.read(_line_elements(path), _name_of(path), bounds)
            if seen >= RECORD_SNIFF_LINES:
                return None
    return None


def _of_lines(path: Path, reader: LineReader, bounds: Bounds) -> Iterator[Event]:
    with opened(path) as stream:
        yield from _with_place(path, reader, lines(stream), bounds)


def _with_place(
    path: Path, reader: LineReader, lines: Iterable[Line | Skipped], bounds: Bounds
) -> Iterator[Event]:
    """The events of lines. Some clients have the folder or the id of a session in names near the record."""
    if reader is gemini_cli.read:
        return gemini_cli.read(lines, bounds, path.parent.name, gemini_cli.project_root(path))
    if reader is copilot_cli.read:
        return copilot_cli.read(lines, bounds, path.parent.name)
    if reader is pi.read:
        return pi.read(lines, bounds, path.stem)
    return reader(lines, bounds)


def _line_elements(path: Path) -> Iterator[Element | Skipped]:
    with opened(path) as stream:
        for line in lines(stream):
            yield line if isinstance(line, Skipped) else Element("", line.value)


def _as_document(path: Path, bounds: Bounds) -> Iterator[Event] | None:
    """The events of a file that is one JSON document: a list of messages, or an object with them."""
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
        if swe_agent.is_mini(element):
            return swe_agent.read_mini(_elements(path, bounds), _name_of(path))
        if element.key == "trajectory":
            return swe_agent.read_trajectory(_elements(path, bounds), _name_of(path))
        if continue_cli.is_entry(element):
            return continue_cli.read(_elements(path, bounds), path)
        if element.key == "samples" and "messages" in as_object(element.value):
            from readroom.lens.records import inspect_logs

            return inspect_logs.read_document(_elements(path, bounds), path.stem, bounds)
        if element.key in ("", "messages", "input") and isinstance(element.value, dict):
            for recognises, read_elements in LIST_READERS:
                if recognises(element.value):
                    return read_elements(_elements(path, bounds), _name_of(path), bounds)
    return None


def _name_of(path: Path) -> str:
    """The name of a session whose record has none: its file, and the nearest folder of another name.

    Runs of one task have files of one name in folders of their own.
    """
    stem = path.stem.removesuffix(".traj")
    folder = next((place.name for place in path.absolute().parents if place.name != stem), "")
    return f"{folder}/{stem}" if folder else stem


def _elements(path: Path, bounds: Bounds) -> Iterator[Element | Skipped]:
    with opened(path) as stream:
        yield from elements(stream, path.stat().st_size, bounds)
