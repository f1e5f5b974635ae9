"""What a language server says of symbols: where each is used, declared and called."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from benchmarks.references.servers import Server

_NAME = re.compile(r"[^\W\d]\w{2,}")
TYPES = frozenset({5, 10, 11, 23, 26})
"""Kinds of symbols of the protocol: classes, enumerations, interfaces, structures, parameters of types."""

_LARGE = TYPES | {6, 9, 12}
"""And methods, constructors, functions."""

_LEAST_USED = 3
"""Places of a symbol that is compared."""

_ASKED = 6
"""Symbols that are asked for at most, for each that is compared: many are used nowhere else."""

_FILES = 60
"""Files of a project whose symbols are asked for."""


class Place(NamedTuple):
    """A place in a file: its path relative to the project, its line and column from 1, and the end column."""

    path: str
    line: int
    column: int
    end: int


class Symbol(NamedTuple):
    """One symbol: its name and kind, where it is used, and which of these places declare and call it."""

    name: str
    kind: int
    used: frozenset[Place]
    declared: frozenset[Place]
    called: frozenset[Place]


def symbols(
    server: Server, files: Sequence[Path], language: str, most: int, *, calls: bool
) -> Iterator[Symbol]:
    """Up to so many symbols of a random choice of files, in a fixed order, each used three times or more.

    Three quarters are functions and types: variables inside of functions are many, and used nearby.  With
    `calls` the server is asked for them as well.
    """
    chance = random.Random(1)
    chosen = chance.sample(list(files), min(_FILES, len(files)))
    asked: list[tuple[str, dict[str, Any], str, int]] = []
    for path in chosen:
        uri = server.open(path, language)
        listed = server.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}) or ()
        asked += [(uri, at, name, kind) for name, at, kind in _listed(listed) if _NAME.fullmatch(name)]
    chance.shuffle(asked)
    for is_large, wanted in ((True, most * 3 // 4), (False, most // 4)):
        some = [one for one in asked if (one[3] in _LARGE) is is_large]
        for one in some[: wanted * _ASKED]:
            found = _symbol(server, *one, calls=calls)
            if len(found.used) >= _LEAST_USED:
                yield found
                wanted -= 1
            if not wanted:
                break


def _listed(found: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], int]]:
    for one in found:
        place = one.get("selectionRange") or one["location"]["range"]
        # gopls calls a method by its receiver too.
        yield one["name"].rpartition(".")[2], place["start"], one["kind"]
        yield from _listed(one.get("children") or ())


def _symbol(server: Server, uri: str, at: dict[str, Any], name: str, kind: int, *, calls: bool) -> Symbol:
    where = {"textDocument": {"uri": uri}, "position": at}
    every = server.ask("textDocument/references", {**where, "context": {"includeDeclaration": True}}) or ()
    if len(every) < _LEAST_USED:
        return Symbol(name, kind, frozenset(), frozenset(), frozenset())
    others = server.ask("textDocument/references", {**where, "context": {"includeDeclaration": False}})
    used = {place for one in every if (place := _place(server.root, one["uri"], one["range"])) is not None}
    rest = (
        used
        if others is None
        else {place for one in others if (place := _place(server.root, one["uri"], one["range"])) is not None}
    )
    called = _called(server, where, used) if calls else frozenset()
    return Symbol(name, kind, frozenset(used), frozenset(used - rest), called)


def _called(server: Server, where: dict[str, Any], used: set[Place]) -> frozenset[Place]:
    """The places in the ranges that the server gives for calls, in each the first one."""
    called: set[Place] = set()
    for item in server.ask("textDocument/prepareCallHierarchy", where) or ():
        for call in server.ask("callHierarchy/incomingCalls", {"item": item}) or ():
            for span in call["fromRanges"]:
                path = _relative(server.root, call["from"]["uri"])
                first, last = (
                    (span[end]["line"] + 1, span[end]["character"] + 1) for end in ("start", "end")
                )
                inside = [
                    place
                    for place in used
                    if place.path == path
                    and first <= (place.line, place.column)
                    and (place.line, place.end) <= last
                ]
                called.update(sorted(inside)[:1])
    return frozenset(called)


def _relative(root: Path, uri: str) -> str | None:
    path = Path(unquote(urlsplit(uri).path))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


def _place(root: Path, uri: str, span: dict[str, Any]) -> Place | None:
    path = _relative(root, uri)
    if path is None or span["start"]["line"] != span["end"]["line"]:
        return None
    return Place(
        path, span["start"]["line"] + 1, span["start"]["character"] + 1, span["end"]["character"] + 1
    )
