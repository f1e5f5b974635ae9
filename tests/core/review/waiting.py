"""Workspaces in which changes wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.paths import WorkPath
from readroom.core.review import Waiting
from readroom.core.review.deciding import Decided, Decider, accept, reject
from readroom.core.text.hashes import full
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

ONE = Caller(agent="first", session="one")
TWO = Caller(agent="second", session="two")
PERSON = Decider("a person", "cli")

FILES = {
    "a.txt": "one\ntwo\n",
    "b.txt": "bee\n",
    "src/x.py": "def f():\n    return 1\n",
    "src/deep/y.py": "import os\n",
    "docs/guide.md": "# Guide\n",
    ".env": "SECRET=canary\n",
}


@contextmanager
def waiting(root: Path, settings: str = "", **more: Any) -> Iterator[Workspace]:
    """A workspace of a folder with the files above, in which all changes wait."""
    if not root.exists():
        fill(root)
    operator = root.parent / "operator.toml"
    operator.write_text(f"[history]\nreview = true\n{settings}")
    store = config.open_store(str(root))
    with Workspace(store, settings=config.load(store, str(operator), **more)) as workspace:
        yield workspace


def fill(root: Path) -> None:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def tree(root: Path) -> dict[str, bytes | str]:
    """Everything in a folder, with the bytes of files and the targets of links."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder"
    return found


def seen(workspace: Workspace, caller: Caller) -> dict[str, bytes | str]:
    """The same as a caller sees it."""
    store = workspace.view(caller).services.guard.store
    found: dict[str, bytes | str] = {}
    pending = [WorkPath(".")]
    while pending:
        at = pending.pop()
        with store.open_folder(at) as folder:
            for entry in folder.entries():
                path = WorkPath(entry.name if at == "." else f"{at}/{entry.name}")
                target = folder.target(entry.name)
                if target is not None:
                    found[path] = f"-> {target}"
                elif entry.kind == "folder":
                    found[path] = "folder"
                    pending.append(path)
                else:
                    with folder.open(entry.name) as source:
                        found[path] = source.read_at(0, source.size)
    return dict(sorted(found.items()))


def call(
    workspace: Workspace,
    tool: str,
    arguments: Mapping[str, Any],
    caller: Caller = ONE,
    contract: str = "native",
) -> Reply:
    reply = workspace.call(tool, arguments, caller=caller, contract_name=contract)
    assert not reply.is_error, reply.text
    return reply


def digest(workspace: Workspace, path: str, caller: Caller = ONE) -> str:
    found = call(workspace, "read_file", {"path": path}, caller).facts["content_hash"]
    assert isinstance(found, str)
    return found


def write(workspace: Workspace, path: str, content: str, caller: Caller = ONE) -> Reply:
    try:
        expected = digest(workspace, path, caller)
    except AssertionError:
        expected = "absent"
    arguments = {"path": path, "content": content, "expected_hash": expected}
    return call(workspace, "write_file", arguments, caller)


def change(workspace: Workspace, *changes: Mapping[str, Any], caller: Caller = ONE) -> Reply:
    return call(workspace, "change_files", {"changes": list(changes)}, caller)


def the_set(workspace: Workspace) -> Waiting:
    assert workspace.reviews is not None
    (one,) = workspace.reviews.all()
    return one


def accepted(workspace: Workspace, *names: str) -> Decided:
    return accept(workspace.engine.services, the_set(workspace).waiting, [*map(WorkPath, names)], PERSON)


def rejected(workspace: Workspace, *names: str) -> Decided:
    return reject(workspace.engine.services, the_set(workspace).waiting, [*map(WorkPath, names)])


def text_hash(text: str) -> str:
    import hashlib

    return full(hashlib.sha256(text.encode()).hexdigest())
