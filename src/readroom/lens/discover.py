"""Where records are: the files below paths that are given, and what clients keep of the sessions of one
folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from readroom.limits.lens import RECORDS_FOUND

_SUFFIXES = frozenset({".jsonl", ".json", ".traj", ".eval", ".db", ".sqlite", ".sqlite3"})
"""Endings of records; other files below a folder are not opened."""

_NEVER = frozenset({"node_modules", ".git", "tool-results", "tool-outputs", "tool-output", "__pycache__"})


VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "PWD")
"""With which people say where clients keep their records, and shells by what name they went to the current
folder.
"""


def records(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that may be records: each file that is given, and in folders those with the ending of
    one, sorted.

    Links in folders are not followed.
    """
    count = 0
    for path in paths:
        for record in _below(path) if path.is_dir() else [path]:
            count += 1
            if count > RECORDS_FOUND:
                return
            yield record


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NEVER)
        if os.path.basename(place) == "storage" and {"session", "message", "part"} <= {*folders}:
            folders[:] = ["session"]  # of opencode before it had a database: the rest belongs to these
        if "opencode.db" in files and "storage" in folders:
            folders.remove("storage")  # the database has what was there
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix in _SUFFIXES and not name.endswith(".meta.json") and not path.is_symlink():
                yield path


def names_of(folder: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names under which clients may know a folder: its own, and that by which a shell went there over a
    link.
    """
    real, shell = os.path.realpath(folder), environment.get("PWD", "")
    return (real, shell) if shell != real and os.path.realpath(shell) == real else (real,)


def of_folder(names: Sequence[str], home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Where clients keep the sessions of one folder, as far as the names of their folders say.

    Codex and opencode keep those of all folders together: what is found there still has to be asked for
    its folder.
    """
    slugs = [re.sub(r"[^A-Za-z0-9]", "-", name) for name in names]
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    database = data / "opencode" / "opencode.db"
    places = [
        *(claude / "projects" / slug for slug in slugs),
        codex / "sessions",
        *(home / ".qwen" / "projects" / slug for slug in slugs),
        *_gemini(home / ".gemini" / "tmp", names),
        database if database.exists() else data / "opencode" / "storage",
    ]
    return [place for place in places if place.exists()]


def _gemini(base: Path, names: Sequence[str]) -> Iterator[Path]:
    if not base.is_dir():
        return
    for place in sorted(base.iterdir()):
        root = place / ".project_root"
        try:
            with root.open("rb") as stream:
                named = stream.read(4096).decode("utf-8", "replace").strip()
        except OSError:
            continue
        if named in names:
            yield place / "chats"
