"""Conversations: what counts as seen, until the host says that it was shortened."""

from __future__ import annotations

import pytest

from readroom.caller import Caller
from readroom.session.session import Session, Sessions, Shown
from readroom.stores.memory import MemoryStore
from readroom.toolbox import Workspace

HASH = "sha256:" + "ab" * 32


@pytest.fixture
def workspace() -> Workspace:
    return Workspace(MemoryStore({"a.txt": "one\ntwo\n"}))


def read(workspace: Workspace, session: str, **options: str) -> dict[str, object]:
    arguments = {"path": "a.txt", **options}
    return workspace.perform("read_file", arguments, caller=Caller(session=session)).facts  # type: ignore[return-value]


def test_a_known_hash_is_believed_until_the_conversation_is_compacted(workspace: Workspace) -> None:
    known = str(read(workspace, "s")["content_hash"])
    assert read(workspace, "s", known_hash=known)["not_modified"]
    assert read(workspace, "never seen", known_hash=known)["not_modified"]
    assert workspace.session("s").compacted() == 1
    assert not read(workspace, "s", known_hash=known)["not_modified"]
    assert read(workspace, "s", known_hash=known)["not_modified"], "it was shown again"
    assert read(workspace, "s", known_hash=known[:19])["not_modified"]


def test_a_compaction_is_of_one_conversation(workspace: Workspace) -> None:
    known = str(read(workspace, "s")["content_hash"])
    workspace.session("t").compacted()
    assert read(workspace, "s", known_hash=known)["not_modified"]
    assert not read(workspace, "t", known_hash=known)["not_modified"]


def test_a_host_that_counts_compactions_itself_never_goes_back() -> None:
    session = Session("s")
    session.reached(3)
    session.reached(1)
    assert session.epoch == 3
    assert session.compacted() == 4


def test_files_shown_longest_ago_are_forgotten() -> None:
    session = Session("s", max_files=2)
    for name in "abc":
        session.show(Shown(name, HASH, 1, 2))
    assert [session.has_in_view(name, HASH) for name in "abc"] == [False, True, True]


def test_conversations_unused_for_longest_are_forgotten() -> None:
    sessions = Sessions(max_sessions=2)
    first = sessions.of("a")
    sessions.of("b")
    assert sessions.of("a") is first
    sessions.of("c")
    assert sessions.of("a") is first
    assert sessions.of("b").epoch == 0
