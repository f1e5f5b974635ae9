"""Conversations: what counts as seen, until the host says that it was shortened."""

from __future__ import annotations

import pytest

from readroom.core.caller import Caller
from readroom.core.session.conversation import Session, Sessions, ShownLines
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace

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
        session.show(ShownLines(name, HASH, 1, 2))
    assert [session.has_in_view(name, HASH) for name in "abc"] == [False, True, True]


def test_conversations_unused_for_longest_are_forgotten() -> None:
    sessions = Sessions(max_sessions=2)
    first = sessions.of("a")
    sessions.of("b")
    assert sessions.of("a") is first
    sessions.of("c")
    assert sessions.of("a") is first
    assert sessions.of("b").epoch == 0


CODE = "".join(
    f"class C{n}:\n" + "    def f(self):\n        return 'xxxxxxxxxxxxxxx'\n" * 20 for n in range(60)
)


def code(workspace: Workspace, caller: Caller, path: str = "a.py", **options: object) -> bool:
    """Whether the reply has an outline beside the lines."""
    arguments = {"path": path, **options}
    reply = workspace.call("read_file", arguments, caller=caller, reply_bytes=16_000)
    assert not reply.is_error, reply.text
    return reply.facts["outline"] is not None


def test_the_outline_of_what_is_not_shown_comes_once_for_a_file_and_conversation() -> None:
    workspace = Workspace(MemoryStore({"a.py": CODE, "b.py": CODE}))
    one, other = Caller(session="one"), Caller(session="other")
    assert code(workspace, one)
    assert not code(workspace, one, offset=400)
    assert not code(workspace, one)
    assert code(workspace, one, path="b.py"), "another file"
    assert code(workspace, other, offset=400), "another conversation"
    workspace.session("one").compacted()
    assert code(workspace, one, offset=400), "a compacted conversation has lost it"
    assert code(workspace, one, view="outline"), "who asks for it always gets it"


def test_an_outline_that_was_asked_for_does_not_come_again_beside_lines() -> None:
    workspace = Workspace(MemoryStore({"a.py": CODE}))
    assert code(workspace, Caller(session="s"), view="outline")
    assert not code(workspace, Caller(session="s"))


def test_over_http_nobody_knows_which_readers_share_no_name() -> None:
    workspace = Workspace(MemoryStore({"a.py": CODE}))
    assert code(workspace, Caller(face="http"))
    assert code(workspace, Caller(face="http"))
    assert code(workspace, Caller(face="http", session="s"))
    assert not code(workspace, Caller(face="http", session="s"))
