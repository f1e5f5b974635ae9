"""Cases of conformance as data: what a case is, the workspace that it is played in, and what it expects.

A case is one call in a workspace with some files.  Its keys: `id`, `op` (a tool,
an endpoint, or a function behind a tool), `files`, `call`, `body`, `steps_before`
(calls to make first), `env` and `config` (what an operator set), `expect`.  What an
`op` is in our contract says the adapter of the contract, in `adapters/`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from readroom.core import config
from readroom.core import contracts as registry
from readroom.core.config import Settings
from readroom.core.contracts import NAMES
from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath, normalize
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.tree import Holder
from readroom.core.stores.review.waiting import WaitingSet
from readroom.core.values import Image, Reply
from readroom.core.workspace import Workspace

HERE = Path(__file__).parent
ROOT = "/workspace"
"""How the callers of all cases spell the root."""

SYSTEMS = {
    "everruns": "everruns",
    "inspect_agents": "inspect_agents",
    "kilo": "kilo",
    "rnd": "rd_read",
    "coder": "coder",
    "opencode": "opencode",
    "text_editor": "text_editor",
}
"""The file of cases by contract."""

StoreName: TypeAlias = Literal["memory", "local"]
NOBODY = 65534


@dataclass(frozen=True)
class Case:
    """One case of a contract."""

    contract: str
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name, unique in the contract."""
        return str(self.data["id"])

    @property
    def needs_folder(self) -> bool:
        """Whether only a local folder has what its files need."""
        return any(isinstance(value, dict) and "mode" in value for value in self.data["files"].values())

    @property
    def needs_no_root(self) -> bool:
        """Whether the superuser would be let in where it wants a refusal."""
        return any(
            isinstance(value, dict) and value.get("mode") == "000" for value in self.data["files"].values()
        )


@dataclass(frozen=True)
class Answer:
    """What a call gave: a tool's text and images, an endpoint's status and body, or a function's value."""

    text: str = ""
    is_error: bool = False
    images: Sequence[Image] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    value: Any = None

    @cached_property
    def json(self) -> Any:
        """The value, or the text or body as JSON."""
        if self.value is not None:
            return self.value
        return json.loads(self.text or self.body)

    @property
    def words(self) -> str:
        """The text, or the body as text."""
        return self.text or self.body.decode("utf-8", "replace")


def answer_of(reply: Reply) -> Answer:
    """A reply as a caller sees it."""
    return Answer(reply.text, reply.is_error, reply.images, reply.facts)


class Adapter:
    """What the operations of a contract's cases are.  A subclass says what differs."""

    stores: Sequence[StoreName] = ("memory", "local")
    expands_tabs = False
    """Whether a read shows blanks instead of tabs."""

    def __init__(self, contract: str) -> None:
        self.contract = contract

    def settings(self, case: Case, settings: Settings) -> Settings:
        """The settings, with what `config` of the case says; its `env` has been heard already."""
        assert "config" not in case.data, "the adapter of this contract knows no config"
        return settings

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        """The answer to one call: `op` is a tool of that name, unless the adapter knows better."""
        return room.call(op, call)

    def path(self, name: str) -> str:
        """The path below the root of a name among a case's files."""
        return name

    def content(self, room: Room, path: str) -> bytes | None:
        """The bytes of a file afterwards; None when there is none."""
        return room.content(path)

    def reading(self, path: str) -> tuple[str, dict[str, Any]] | None:
        """The tool and arguments that read a file from its first line; None when no tool reads."""
        for tool in registry.contract(self.contract).tools:
            for name in ("path", "file_path"):
                if tool.name == "read_file" and name in tool.input_schema.get("properties", {}):
                    return tool.name, {name: path}
        return None

    def lines(self, answer: Answer) -> list[str] | None:
        """The lines of the file that one answer to such a call shows; None when it cannot be told."""
        return None

    def following(self, answer: Answer, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The arguments of the call that goes on, from what the model is told; None at the end."""
        following = answer.facts["next"]
        return None if following is None else {**following["arguments"]}

    def check_failure(self, tool: str, text: str) -> None:
        """Whether the words of a failure have the form that the contract gives them."""
        assert text.strip()


@dataclass(frozen=True)
class Room:
    """One case's workspace."""

    case: Case
    workspace: Workspace
    store: LocalStore | MemoryStore | ReviewStore

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """A tool call of the case's contract."""
        return answer_of(self.workspace.call(tool, arguments, contract_name=self.case.contract))

    def content(self, path: str) -> bytes | None:
        """The bytes of a file of the store; None when there is none."""
        try:
            with self.store.open(WorkPath(path)) as source:
                return source.read_at(0, source.size)
        except FileNotFoundError:
            return None


@cache
def adapter(contract: str) -> Adapter:
    """The adapter of a contract: ADAPTER of `adapters/<contract>.py`, or the plain one."""
    where = f"tests.contracts.adapters.{contract}"
    if find_spec(where) is None:
        return Adapter(contract)
    found = import_module(where).ADAPTER
    assert isinstance(found, Adapter)
    return found


@cache
def cases(contract: str) -> tuple[Case, ...]:
    """All cases of a contract."""
    text = (HERE / "conformance" / f"{SYSTEMS[contract]}.json").read_text(encoding="utf-8")
    return tuple(Case(contract, data) for data in json.loads(text))


@cache
def declined() -> Mapping[str, Mapping[str, str]]:
    """The deviation that explains it, by contract and case, for cases that are decided against."""
    found: dict[str, dict[str, str]] = tomllib.loads(
        (HERE / "conformance" / "declined.toml").read_text(encoding="utf-8")
    )
    return found


def playable() -> Iterator[tuple[Case, StoreName]]:
    """Every case that holds, of the contracts there are, with every store that can express it."""
    for contract in SYSTEMS:
        if contract not in NAMES:
            continue
        for case in cases(contract):
            if case.id in declined().get(contract, {}):
                continue
            for store in adapter(contract).stores:
                if store == "local" or not case.needs_folder:
                    yield case, store


@contextlib.contextmanager
def played_in(case: Case, name: StoreName, folder: Path) -> Iterator[Room]:
    """The workspace of a case, in memory or in `folder`."""
    if case.needs_no_root:
        folder.chmod(0o755)  # whoever it is played as may look into it
    store = MemoryStore() if name == "memory" else LocalStore(folder)
    for given, value in case.data["files"].items():
        path = adapter(case.contract).path(given)
        (_put_in_memory if isinstance(store, MemoryStore) else _put_in_folder)(store, path, value)
    store.roots = (ROOT, *store.roots)
    with _environment(case.data.get("env", {})):
        settings = config.load(store)
    settings = adapter(case.contract).settings(case, settings)
    with Workspace(store, settings=settings) as workspace, _as_nobody(needed=case.needs_no_root):
        yield Room(case, workspace, store)


def _put_in_memory(store: MemoryStore | LocalStore, path: str, value: object) -> None:
    assert isinstance(store, MemoryStore)
    if isinstance(value, dict) and "symlink" in value:
        store.link(path, value["symlink"])
    elif isinstance(value, dict) and value.get("dir"):
        store.make_folder(path)
    else:
        store.put(path, content(value))


def _put_in_folder(store: MemoryStore | LocalStore, path: str, value: object) -> None:
    # A name may begin with a slash or lead upwards: nothing outside of the folder may be written.
    target = Path(str(store.folder), normalize(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, dict) and "symlink" in value:
        target.symlink_to(value["symlink"])
    elif isinstance(value, dict) and value.get("dir"):
        target.mkdir(exist_ok=True)
    else:
        target.write_bytes(content(value))
    if isinstance(value, dict) and "mode" in value:
        target.chmod(int(value["mode"], 8))


def content(value: object) -> bytes:
    """The bytes that a value of `files` means."""
    if isinstance(value, str):
        return value.encode()
    assert isinstance(value, dict)
    if "repeat" in value:
        text, times = value["repeat"]
        return str(text).encode() * int(times)
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return str(value.get("text", "")).encode()


@contextlib.contextmanager
def played_while_waiting(case: Case, folder: Path) -> Iterator[Room]:
    """The workspace of a case in a folder in which all changes wait; at the end the folder is as it was."""
    root = folder / "root"
    root.mkdir()
    base = LocalStore(root)
    for given, value in case.data["files"].items():
        _put_in_folder(base, adapter(case.contract).path(given), value)
    base.roots = (ROOT,)
    (root / _GONE).write_bytes(b"")
    before = _states(root)
    store = ReviewStore(
        base, WaitingSet(str(folder / "state" / "set"), Holder(), str(root), 0), lambda path: True
    )
    with store.place(_GONE) as place:  # something waits, so that nothing is seen as it is in the folder
        place.enter(Deadline(), make_folders=False)
        place.remove(None)
    with _environment(case.data.get("env", {})):
        settings = config.load(store)
    settings = adapter(case.contract).settings(case, settings)
    with Workspace(store, settings=config.reviewed(settings)) as workspace:
        yield Room(case, workspace, store)
    assert _states(root) == before


_GONE = WorkPath("zz-gone")


def _states(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder: what it is, its bytes or target, its mode and times."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        data = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path)] = (state.st_mode, state.st_mtime_ns, state.st_ino, data)
    return found


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _as_nobody(*, needed: bool) -> Iterator[None]:
    if not needed or os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def play(room: Room) -> Answer:
    """The calls of the case; the answer to the last."""
    case = room.case
    ours = adapter(case.contract)
    for step in case.data.get("steps_before", ()):
        before = ours.answer(room, step["op"], step["call"], step.get("body"))
        check(before, step.get("expect", {}))
    found = ours.answer(room, case.data["op"], case.data["call"], case.data.get("body"))
    check(found, case.data["expect"])
    for path, value in case.data["expect"].get("files", {}).items():
        if isinstance(value, dict) and "symlink" in value:
            assert _target(room, path) == value["symlink"]
        else:
            assert ours.content(room, path) == content(value), path
    for path in case.data["expect"].get("files_absent", ()):
        assert ours.content(room, path) is None, path
    return found


def _target(room: Room, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    with room.store.open_folder(WorkPath(folder or ".")) as opened:
        return opened.target(name)


_STATE = frozenset({"files", "files_absent"})
"""What is expected of the files afterwards, not of the answer."""


def check(found: Answer, expected: Mapping[str, Any]) -> None:
    """Compare an answer with what is expected of it; every key has its meaning in `expecting`."""
    from tests.contracts.expecting import MEANINGS

    for key, value in expected.items():
        if key not in _STATE:
            MEANINGS[key](found, value)


Meaning: TypeAlias = Callable[[Answer, Any], None]
