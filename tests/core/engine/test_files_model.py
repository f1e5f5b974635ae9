"""Random deletions, moves and folders agree with a dictionary of names, on disk and in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.engine.files import delete, make_folder, move
from readroom.core.engine.services import Job
from readroom.core.errors import BadValue, FolderNotEmpty, NotAFolder, NotFound, ReadroomError, Taken
from readroom.core.paths import WorkPath, ancestors
from readroom.core.values import EntryKind
from readroom.core.values.changes import DeleteRequest, MakeFolderRequest, MoveRequest
from tests.core.engine.edit.changing import Room, made
from tests.core.engine.naming import CAP, tree

Tree: TypeAlias = dict[str, bytes | None]

NAMES = st.sampled_from(("a", "b", "a/a", "a/b", "b/a", "a/a/b", "b/b/a"))
REQUESTS = st.one_of(
    st.builds(DeleteRequest, NAMES, st.booleans()),
    st.builds(MakeFolderRequest, NAMES),
    st.builds(MoveRequest, NAMES, NAMES, st.booleans()),
)
Request: TypeAlias = DeleteRequest | MakeFolderRequest | MoveRequest


def below(model: Tree, path: str) -> list[str]:
    return [name for name in model if name.startswith(f"{path}/")]


def add_folders(model: Tree, path: str) -> None:
    for above in ancestors(WorkPath(path)):
        if model.get(above, None) is not None:
            raise NotAFolder(above, "file")
    for above in ancestors(WorkPath(path)):
        model.setdefault(above, None)


def expected(model: Tree, request: Request) -> Tree:
    """The tree afterwards. Raises what the engine has to."""
    after = dict(model)
    path = request.path
    match request:
        case DeleteRequest():
            if path not in model:
                raise NotFound(path)
            if below(model, path) and not request.recursive:
                raise FolderNotEmpty(path, 1)
            for name in (path, *below(model, path)):
                del after[name]
        case MakeFolderRequest():
            add_folders(after, path)
            if after.setdefault(path, None) is not None:
                raise NotAFolder(path, "file")
        case MoveRequest():
            to = request.destination
            if f"{to}/".startswith(f"{path}/"):
                raise BadValue("destination", to, "", "")
            if path not in model:
                raise NotFound(path)
            if to in model and not (request.overwrite and None not in (model[to], model[path])):
                raise Taken(to, EntryKind.FILE)
            add_folders(after, to)
            for name in (path, *below(model, path)):
                after[f"{to}{name[len(path) :]}"] = after.pop(name)
    return after


def perform(room: Room, request: Request) -> None:
    services = room.workspace.engine.services
    match request:
        case DeleteRequest():
            delete(services, Job(request, CAP, Deadline()))
        case MakeFolderRequest():
            make_folder(services, Job(request, CAP, Deadline()))
        case MoveRequest():
            move(services, Job(request, CAP, Deadline()))


@settings(max_examples=30)
@given(
    st.dictionaries(st.sampled_from(("a", "b/a", "a/a/b")), st.binary(max_size=3)),
    st.lists(REQUESTS, max_size=8),
)
def test_what_is_there_is_what_a_dictionary_says(start: dict[str, bytes], requests: list[Request]) -> None:
    if "a" in start:
        start.pop("a/a/b", None)
    with tempfile.TemporaryDirectory() as base:
        for kind in ("walk", "memory"):
            room = Room(made(kind, Path(base)))
            model: Tree = {}
            for name, data in start.items():
                room.file(name, data)
                add_folders(model, name)
                model[name] = data
            for request in requests:
                try:
                    after = expected(model, request)
                except ReadroomError:
                    after = None
                try:
                    perform(room, request)
                except ReadroomError:
                    assert after is None
                else:
                    assert after is not None
                    model = after
                assert tree(room) == model
            room.workspace.close()
