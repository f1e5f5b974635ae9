"""Every call stands in the ledger: who, what, what was decided and shown; never content."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.errors import LedgerFailed
from readroom.core.workspace import Workspace
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.recorder import of_anything
from readroom.server.ledger.rows import Event
from readroom.server.ledger.verify import verify

WHO = Caller(agent="claude", session="s1", token="t1", face="mcp")
SECRET = "hunter2-is-the-content"


@pytest.fixture
def policy(tmp_path: Path) -> LedgerPolicy:
    return LedgerPolicy(enabled=True, file=str(tmp_path / "state" / "ledger.sqlite3"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    found.mkdir()
    (found / "a.txt").write_text(f"one\n{SECRET}\nthree\n", encoding="utf-8")
    (found / ".env").write_text(f"KEY={SECRET}\n", encoding="utf-8")
    return found


def opened(root: Path, policy: LedgerPolicy) -> Workspace:
    store = config.open_store(root)
    return Workspace(store, settings=replace(config.load(store), ledger=policy))


@pytest.fixture
def workspace(root: Path, policy: LedgerPolicy) -> Iterator[Workspace]:
    with opened(root, policy) as found:
        yield found


def events(policy: LedgerPolicy) -> list[Event]:
    book = open_book(policy)
    assert verify(book).problems == ()
    found = [row.event for row in book.rows()]
    book.close()
    return found


def call(workspace: Workspace, tool: str, arguments: object) -> dict[str, Any]:
    reply = workspace.call(tool, arguments, caller=WHO)
    return {"text": reply.text, **reply.facts}


def test_a_read_is_recorded_with_what_it_showed(
    workspace: Workspace, policy: LedgerPolicy, root: Path
) -> None:
    facts = call(workspace, "read_file", {"path": "./a.txt", "offset": 2, "limit": 2})
    (found,) = events(policy)
    assert (found.agent, found.session, found.token, found.face) == ("claude", "s1", "t1", "mcp")
    assert (found.workspace, found.contract, found.tool) == (os.path.realpath(root), "native", "read_file")
    assert (found.decision, found.outcome, found.kind) == ("allowed", "ok", "text")
    assert json.loads(found.arguments) == {"path": "./a.txt", "offset": 2, "limit": 2}
    assert [(one.path, one.content_hash, one.first, one.last) for one in found.spans] == [
        ("a.txt", facts["content_hash"], 2, 3)
    ]
    assert found.tokens == facts["tokens"] > 0
    assert (found.counter, facts["counter"]) == ("estimate", "estimate")
    assert found.duration_us > 0


def test_refused_failed_and_senseless_calls_are_recorded(workspace: Workspace, policy: LedgerPolicy) -> None:
    call(workspace, "read_file", {"path": ".env"})
    call(workspace, "read_file", {"path": "nothing"})
    call(workspace, "read_file", {"path": 3, SECRET: SECRET})
    call(workspace, "no_such_tool", SECRET)
    call(workspace, "read_file", {"path": "\0\ud800"})
    denied, absent, wrong, unknown, odd = events(policy)
    assert (denied.decision, denied.outcome, denied.path) == ("refused", "denied", ".env")
    assert denied.rule is not None
    assert denied.rule.startswith(".env")
    assert (absent.decision, absent.outcome) == ("allowed", "not_found")
    assert (wrong.decision, wrong.outcome) == ("none", "unknown_argument")
    assert (unknown.outcome, unknown.tool) == ("unknown_tool", "no_such_tool")
    assert (odd.outcome, odd.path) == ("bad_value", '"\\000\\355\\240\\200"')


def test_the_raising_way_is_recorded_too(workspace: Workspace, policy: LedgerPolicy) -> None:
    with pytest.raises(FileNotFoundError):
        workspace.read("nothing")
    workspace.read("a.txt")
    assert [found.outcome for found in events(policy)] == ["not_found", "ok"]


def test_ids_are_of_one_size_and_begin_with_the_time(workspace: Workspace, policy: LedgerPolicy) -> None:
    """So the index of a large ledger grows at its end, and no two of a millisecond are alike."""
    for _ in range(50):
        call(workspace, "read_file", {"path": "a.txt"})
    found = events(policy)
    assert len({event.id for event in found}) == 50
    assert all(len(event.id) == 32 and int(event.id[:12], 16) == event.time_us // 1000 for event in found)


def test_content_is_never_in_the_ledger(workspace: Workspace, policy: LedgerPolicy) -> None:
    known = call(workspace, "read_file", {"path": "a.txt"})["content_hash"]
    edits = [{"old_text": SECRET, "new_text": f"{SECRET}!"}]
    call(workspace, "edit_file", {"path": "a.txt", "expected_hash": known, "edits": edits})
    call(workspace, "write_file", {"path": "b.txt", "content": SECRET, "expected_hash": "absent"})
    call(workspace, "write_file", {"path": "b.txt", "contents": SECRET, "text": [SECRET]})
    call(workspace, "grep_files", {"pattern": "hunter2"})
    found = events(policy)
    assert [one.outcome for one in found] == ["ok", "ok", "ok", "unknown_argument", "ok"]
    assert policy.file is not None
    for name in os.listdir(os.path.dirname(policy.file)):
        assert SECRET.encode() not in (Path(policy.file).parent / name).read_bytes()
    assert json.loads(found[2].arguments)["content"]["chars"] == len(SECRET)


def test_arguments_can_be_hidden(root: Path, policy: LedgerPolicy) -> None:
    with opened(root, replace(policy, hide=frozenset({"pattern"}))) as workspace:
        workspace.grep("token=abc")
    (found,) = events(policy)
    assert "token=abc" not in found.arguments
    assert json.loads(found.arguments)["pattern"]["chars"] == 9


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=60), inner, max_size=5),
)


@settings(max_examples=50)
@given(_JSON, st.integers(1, 200))
def test_arguments_of_any_shape_and_size_are_bounded(value: object, times: int) -> None:
    kept = of_anything({"edits": [value] * times, "path": "x" * times * 1000})
    assert len(kept) < 2**20
    assert kept.isascii()
    json.loads(kept)


def test_a_ledger_inside_the_workspace_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".local" / "state"))
    store = config.open_store(tmp_path)
    with Workspace(store, settings=config.load(store, serving=True)) as workspace:
        workspace.list()
        inside = ".local/state/readroom/ledger.sqlite3"
        assert (tmp_path / inside).exists()
        for name in (inside, f"{inside}-wal"):
            assert workspace.call("read_file", {"path": name}).facts["error"]["code"] == "denied"  # type: ignore[index,call-overload]
        arguments = {"path": inside, "content": "", "expected_hash": "absent"}
        assert workspace.call("write_file", arguments).is_error
        assert workspace.grep("SQLite", include=["hidden", "binary", "ignored"]).facts["shown"] == 0


def test_rows_older_than_the_configuration_keeps_are_removed_at_the_start(
    root: Path, policy: LedgerPolicy
) -> None:
    for _ in range(2):
        with opened(root, replace(policy, keep_days=1e-9)) as workspace:
            call(workspace, "read_file", {"path": "a.txt"})
    assert [found.tool for found in events(policy)] == ["ledger_prune", "read_file"]


# --- a ledger that cannot be written ------------------------------------------------------------


def broken(policy: LedgerPolicy) -> None:
    assert policy.file is not None
    os.unlink(policy.file)


def test_a_call_that_could_not_be_recorded_says_so(workspace: Workspace, policy: LedgerPolicy) -> None:
    call(workspace, "list_directory", {})
    broken(policy)
    facts = call(workspace, "read_file", {"path": "a.txt"})
    assert facts["warnings"][0]["code"] == "not_recorded"
    assert "missing from the ledger" in facts["text"]
    assert SECRET in facts["text"]


def test_a_required_ledger_that_cannot_be_written_refuses_before_anything_is_shown_or_done(
    root: Path, policy: LedgerPolicy
) -> None:
    with opened(root, replace(policy, required=True)) as workspace:
        known = call(workspace, "read_file", {"path": "a.txt"})["content_hash"]
        broken(policy)
        facts = call(workspace, "read_file", {"path": "a.txt"})
        assert facts["error"]["code"] == "ledger_failed"
        assert SECRET not in json.dumps(facts)
        before = (root / "a.txt").read_bytes()
        edits = [{"old_text": "one", "new_text": "1"}]
        facts = call(workspace, "edit_file", {"path": "a.txt", "expected_hash": known, "edits": edits})
        assert facts["error"]["code"] == "ledger_failed"
        assert (root / "a.txt").read_bytes() == before
        with pytest.raises(LedgerFailed):
            workspace.read("a.txt")


def test_a_required_ledger_holds_changes_before_they_are_made(root: Path, policy: LedgerPolicy) -> None:
    with opened(root, replace(policy, required=True)) as workspace:
        call(workspace, "write_file", {"path": "b", "content": "x", "expected_hash": "absent"})
    assert [found.outcome for found in events(policy)] == ["begun", "ok"]


def test_a_required_ledger_that_cannot_be_opened_is_said_at_the_start(
    root: Path, policy: LedgerPolicy
) -> None:
    with pytest.raises(LedgerFailed):
        opened(root, replace(policy, required=True, file="/proc/nowhere/ledger"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("str_replace_based_edit_tool", {"command": "insert", "insert_line": 1, "insert_text": SECRET}),
        ("apply_patch", {"operation": {"type": "update_file", "diff": f"@@\n-{SECRET}\n+two\n"}}),
        ("apply_patch", {"operation": {"type": "create_file", "diff": f"+{SECRET}\n"}}),
        ("apply_patch", {"operation": {"type": "delete_file"}}),
        ("apply_patch", {"operation": {"type": "update_file", "diff": "@@\n-absent\n+two\n"}}),
    ],
)
def test_a_change_in_the_form_of_a_patch_is_recorded(
    workspace: Workspace, policy: LedgerPolicy, root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    operation = arguments.get("operation")
    name = "new.txt" if operation and operation["type"] == "create_file" else "a.txt"
    if operation is None:
        sent = {**arguments, "path": f"{os.path.realpath(root)}/{name}"}
    else:
        sent = {"operation": {**operation, "path": name}}
    before = (root / "a.txt").read_bytes()
    reply = workspace.call(tool, sent, contract_name="text_editor", caller=WHO)
    is_absent = "absent" in json.dumps(arguments)
    assert reply.is_error == is_absent, reply.text
    changed = (root / "new.txt").exists() or not (root / "a.txt").exists()
    assert (changed or (root / "a.txt").read_bytes() != before) is not is_absent
    (found,) = events(policy)
    assert found.outcome == ("edits_failed" if is_absent else "ok")
    assert json.loads(found.arguments)["files"][0]["path"].endswith(name)
    assert SECRET not in found.arguments


@pytest.mark.parametrize(
    ("contract", "tool", "arguments"),
    [
        ("coder", "edit-files", {"files": [{"path": "{}", "edits": [{"old_text": "K", "new_text": ""}]}]}),
        ("coder", "edit_files", {"edits": [{"path": "{}", "old_text": "K", "new_text": ""}]}),
        ("text_editor", "apply_patch", {"operation": {"type": "delete_file", "path": "{}"}}),
        (
            "text_editor",
            "str_replace_based_edit_tool",
            {"command": "insert", "path": "{}", "insert_line": 0, "insert_text": ""},
        ),
        ("opencode", "apply_patch", {"patchText": "*** Begin Patch\n*** Delete File: {}\n*** End Patch"}),
    ],
)
def test_a_change_of_several_files_that_policy_refuses_is_recorded_as_refused(
    workspace: Workspace, policy: LedgerPolicy, root: Path, contract: str, tool: str, arguments: object
) -> None:
    sent = json.loads(json.dumps(arguments).replace("{}", f"{os.path.realpath(root)}/.env"))
    reply = workspace.call(tool, sent, contract_name=contract, caller=WHO)
    assert reply.is_error
    (found,) = events(policy)
    assert (found.decision, found.outcome) == ("refused", "edits_failed")
    assert found.rule is not None
    assert ".env" in found.rule
