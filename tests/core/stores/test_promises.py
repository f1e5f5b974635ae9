"""What is not the same in a store is said: to the model once, to programs as facts, to people by commands."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.config.roots import RootOption
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.stores.promises import KEPT, Promises, differing, in_words, told, weakest
from readroom.core.values import Reply
from tests.core.stores.worlds import WAYS

MINE = Caller(session="one", face="mcp")
PLAIN = Promises(opening="kernel", exchange="kernel", locks="kernel", together="readroom")


def place(reply: Reply) -> Any:
    """The fact about the workspace."""
    return reply.facts["workspace"]


def read(workspace: Workspace, caller: Caller = MINE) -> Reply:
    return workspace.call("read_file", {"path": "a.txt"}, caller=caller)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.txt").write_text("hello\n")
    return tmp_path / "root"


# --- what a store finds -----------------------------------------------------------------------------


def test_a_folder_says_what_its_kernel_does(root: Path, tmp_path: Path) -> None:
    for way in WAYS:
        promises = LocalStore(root, way, str(tmp_path / "notes")).promises
        assert promises.opening == {"kernel": "kernel", "walk": "readroom"}[way]
        assert promises.confinement == {"kernel": "kernel", "walk": "none"}[way]
        assert (promises.locks, promises.together) == ("kernel", "readroom")
    assert LocalStore(root).promises.together == "none"  # nowhere to write down what is half done


def test_finding_it_out_changes_nothing_and_disturbs_no_writer(root: Path) -> None:
    before = os.stat(root)
    fd = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        store = LocalStore(root)
        assert store.promises.locks == "kernel"
        other = os.open(root, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):  # the writer's lock is still held
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)
    finally:
        os.close(fd)
    assert (os.stat(root).st_mtime_ns, os.listdir(root)) == (before.st_mtime_ns, ["a.txt"])


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no /proc")
def test_a_file_system_without_the_exchange_says_so() -> None:
    promises = LocalStore("/proc").promises
    assert promises.exchange == "none"
    assert "no exchange" in told(promises)
    assert "exchange" in differing(promises)


def test_a_folder_without_letters_in_its_names_does_not_claim_to_know_cases(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("")
    assert LocalStore(tmp_path).promises.folded is None
    (tmp_path / "a").write_text("")
    assert LocalStore(tmp_path).promises.folded is (tmp_path / "A").exists()


def test_several_stores_promise_what_the_weakest_does() -> None:
    memory = MemoryStore().promises
    both = weakest([PLAIN, memory])
    assert (both.opening, both.locks, both.together) == ("store", "store", "readroom")
    for name in KEPT:
        assert getattr(weakest([PLAIN, Promises(**{**_fields(PLAIN), name: "none"})]), name) == "none"
    assert weakest([PLAIN, Promises(**{**_fields(PLAIN), "folded": True})]).folded is True


def _fields(promises: Promises) -> dict[str, Any]:
    return {name: getattr(promises, name) for name in (*KEPT, "folded")}


# --- the words --------------------------------------------------------------------------------------


def test_each_promise_that_nobody_keeps_is_named() -> None:
    assert differing(PLAIN) == ""
    for name in KEPT:
        words = differing(Promises(**{**_fields(PLAIN), name: "none"}))
        assert "not promised: " in words
        assert ("confinement: none" in words) == (name == "opening")
    for keeper in ("store", "readroom", "none"):
        assert "confinement: none" in in_words(Promises(**{**_fields(PLAIN), "opening": keeper}))


# --- the first reply --------------------------------------------------------------------------------


def test_a_plain_folder_says_nothing(root: Path) -> None:
    with Workspace(root) as workspace:
        differs = differing(workspace.promises)  # nothing, unless this system does not keep every promise
        reply = read(workspace)
        assert ("Workspace:" in reply.text) == bool(differs)
        assert ("workspace" in reply.facts) == bool(differs)


def test_the_first_reply_of_a_conversation_says_it_once() -> None:
    with Workspace(MemoryStore({"a.txt": "hello\n"})) as workspace:
        first = read(workspace)
        assert first.text.endswith("\n[Workspace: confinement: none.]")
        assert place(first)["confinement"] == "none"
        assert place(first)["exchange"] == "store"
        second = read(workspace)
        assert "confinement" not in second.text
        assert "workspace" not in second.facts
        assert "confinement: none" in read(workspace, Caller(session="two", face="http")).text
        workspace.session("one").compacted()
        assert "confinement: none" in read(workspace).text
        assert "confinement" not in workspace.contract("native").instructions


def test_a_call_of_no_conversation_is_told_by_the_attribute() -> None:
    with Workspace(MemoryStore({"a.txt": "hello\n"})) as workspace:
        for caller in (ANONYMOUS, Caller(face="http"), Caller(face="cli", session="s")):
            assert "confinement" not in read(workspace, caller).text
        assert workspace.promises.confinement == "none"


def test_a_refusal_does_not_use_it_up() -> None:
    with Workspace(MemoryStore({"a.txt": "hello\n"})) as workspace:
        assert workspace.call("read_file", {"path": "none"}, caller=MINE).is_error
        assert "confinement: none" in read(workspace).text


def test_it_stays_within_the_size_of_a_reply() -> None:
    with Workspace(MemoryStore({"a.txt": "word\n" * 50_000})) as workspace:
        for cap in (2_000, 20_000):
            caller = Caller(session=str(cap), face="mcp")
            reply = workspace.call("read_file", {"path": "a.txt"}, caller=caller, reply_bytes=cap)
            assert "confinement: none" in reply.text
            assert len(reply.text.encode()) <= cap


def test_each_of_several_folders_says_what_is_not_the_same_in_it(root: Path) -> None:
    memory = RootOption(MemoryStore({"b.txt": "hello\n"}), "mem")
    with Workspace(root, memory) as workspace:
        reply = read(workspace)
        assert "mem: confinement: none" in reply.text
        first, other = place(reply)["folders"]
        assert other["confinement"] == "none"
        assert first["confinement"] == LocalStore(root).promises.confinement
        assert workspace.promises.confinement == "none"
