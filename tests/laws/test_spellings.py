"""The law that a denied name is denied in every spelling that another system takes for it, and as a copy."""

from __future__ import annotations

import gzip
import io
import itertools
import zipfile

import pytest

from readroom.core.errors import Denied, Protected
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules.names import PACKED
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.each import each

CANARY = "canary7f3a"

DENIED = ("id_rsa", ".env", "server.key", ".ssh/config", ".aws/credentials", "deep/.netrc", ".npmrc")

ODD = (" ", ".", ". .", "::$DATA", ":stream", ":a:b", "\t")
ENDINGS = (*PACKED, "~", ".bak", ".old", ".orig", ".save", ".bak~", ".gz.bak")


def _spellings(name: str) -> list[str]:
    """Every ending, what Windows leaves out before and after it, in another case."""
    ends = ["".join(parts) for parts in itertools.product(("", *ODD), ("", *ENDINGS), ("", *ODD))]
    return [*dict.fromkeys(spelled for end in ends for spelled in (name + end, (name + end).upper()))]


def _packed(name: str, data: bytes) -> bytes:
    return gzip.compress(data) if name.lower().rstrip(" .\t").endswith((".gz", ".gzip")) else data


@each("name", DENIED)
def test_no_spelling_of_a_denied_name_is_read_or_written(name: str) -> None:
    store = MemoryStore()
    guard = Guard(store)
    targets = WriteTargets(guard)
    for spelled in _spellings(name):
        with pytest.raises(Denied):
            guard.open(spelled)
        with pytest.raises(Denied):
            targets.find(spelled)


@each("name", DENIED)
def test_no_spelling_of_a_denied_name_in_an_archive_is_shown(name: str) -> None:
    spelled = _spellings(name)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for member in spelled:
            archive.writestr(zipfile.ZipInfo(f"app/{member}"), _packed(member, f"{CANARY}\n".encode()))
        archive.writestr("app/open.txt", "open\n")
    store = MemoryStore()
    store.put("backup.zip", data.getvalue())
    with Workspace(store) as workspace:
        for tool, arguments in (
            ("list_directory", {"path": "backup.zip", "depth": 9}),
            ("grep_files", {"pattern": "canary|open", "path": "backup.zip", "include": ["hidden", "binary"]}),
            ("find_relevant", {"query": "canary7f3a"}),
        ):
            text = workspace.call(tool, arguments).text
            assert CANARY not in text.replace("canary7f3a |", "")
            assert "rsa" not in text.lower()
            assert "netrc" not in text.lower()
        for member in spelled[::37]:
            assert "denied" in workspace.call("read_file", {"path": f"backup.zip!/app/{member}"}).text


def test_names_that_are_only_like_denied_ones_are_open() -> None:
    store = MemoryStore()
    names = (
        "id_rsa.pub",
        "env.bak",
        ".env.example",
        "key~",
        "a:b.txt",
        "notes. ",
        "x.gz~",
    )
    for name in names:
        store.put(name, b"open")
    guard = Guard(store)
    for name in names:
        guard.open(name).close()
    with guard.open_folder(".") as folder:
        assert {*guard.visible(folder).kinds} == {*names}


@pytest.mark.parametrize(
    "name", [".mcp.json", ".vscode/tasks.json", ".husky/x", ".readroomignore", "readroom.toml"]
)
def test_no_spelling_of_a_protected_name_is_written(name: str) -> None:
    targets = WriteTargets(Guard(MemoryStore()))
    for end in ODD:
        with pytest.raises(Protected):
            targets.find(name + end)
    assert targets.fixed()(".", [".mcp.json ", "x"], ()) == {".mcp.json "}  # type: ignore[arg-type]  # the root
