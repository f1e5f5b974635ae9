"""The contract of inspect_agents: what its cases do not show, and what it does instead of the original."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.contracts.inspect_agents import LINE_CHARS as INSPECT_LINE_CHARS
from readroom.contracts.inspect_agents import REPLY_BYTES as INSPECT_REPLY_BYTES
from readroom.contracts.inspect_agents.calls import key_of_path, path_of_key
from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.config import Settings
from readroom.core.contracts import contract
from readroom.core.deadline import Deadline
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.limits.session import STORE_BYTES
from readroom.core.paths import normalize
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.suites import needs

NAME = "inspect_agents"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
STORE = {"INSPECT_AGENTS_FS_MODE": "store"}
SANDBOX = {"INSPECT_AGENTS_FS_MODE": "sandbox"}
TYPED = {"INSPECT_AGENTS_TYPED_RESULTS": "1"}


class Agent:
    """Somebody who uses the tools of one workspace."""

    def __init__(self, workspace: Workspace, session: str = "") -> None:
        self.workspace = workspace
        self._caller = Caller(session=session)

    def read(self, file_path: str, **given: Any) -> Reply:
        return self.call("read_file", {"file_path": file_path, **given})

    def files(self, command: str, **given: Any) -> Reply:
        return self.call("files", {"params": {"command": command, **given}})

    def call(self, tool: str, arguments: Mapping[str, Any], reply_bytes: int | None = None) -> Reply:
        return self.workspace.call(
            tool, arguments, contract_name=NAME, caller=self._caller, reply_bytes=reply_bytes
        )


@pytest.fixture
def open_(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    opened: list[Workspace] = []

    def one(root: Store | Path, variables: Mapping[str, str], session: str = "") -> Agent:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        store = config.open_store(root)
        opened.append(Workspace(store, settings=config.load(store)))
        return Agent(opened[-1], session)

    yield one
    for workspace in opened:
        workspace.close()


# --- clauses ----------------------------------------------------------------------------------


@pytest.mark.clause("inspect_agents.read.line-cap")
def test_a_line_is_cut_before_it_is_numbered(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "x" * (INSPECT_LINE_CHARS + 1) + "\nshort"}), STORE)
    assert agent.read("a").text == f"     1\t{'x' * INSPECT_LINE_CHARS}\n     2\tshort"


@pytest.mark.clause("inspect_agents.typed.toggle")
@pytest.mark.parametrize(
    ("value", "typed"), [("1", True), ("TRUE", True), ("Yes", True), ("on", True), ("0", False), ("", False)]
)
def test_results_are_typed_when_the_variable_is_on(open_: Any, value: str, typed: bool) -> None:
    agent = open_(MemoryStore({"a": "x"}), {**STORE, "INSPECT_AGENTS_TYPED_RESULTS": value})
    assert agent.read("a").text.startswith("{") is typed


@pytest.mark.clause("inspect_agents.typed.summary-sandbox", "inspect_agents.sandbox.routed")
def test_in_sandbox_mode_the_folder_answers_and_the_summary_says_so(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    agent = open_(tmp_path, {**SANDBOX, **TYPED})
    for spelling in ("a.txt", "/repo/a.txt", "/repo//a.txt", "./a.txt"):
        reply = agent.read(spelling)
        assert json.loads(reply.text) == {
            "lines": ["     1\tone"],
            "summary": f"Read 1 lines from file_path={spelling} (sandbox mode)",
        }
        assert reply.facts["answered_by"] == "sandbox"
    agent.files("write", file_path="/repo/new/b.txt", content="x")
    assert (tmp_path / "new" / "b.txt").read_text() == "x"


@pytest.mark.clause("inspect_agents.typed.empty", "inspect_agents.read.empty")
@pytest.mark.parametrize("content", ["", "\n", " \t\n\n"])
def test_an_empty_file_answers_with_the_reminder(open_: Any, content: str) -> None:
    agent = open_(MemoryStore({"a": content}), {**STORE, **TYPED})
    reminder = "System reminder: File exists but has empty contents"
    assert json.loads(agent.read("a").text) == {"lines": [], "summary": reminder}
    assert content or json.loads(agent.read("a", offset=7).text)["summary"] == reminder


@pytest.mark.clause("inspect_agents.timeout")
@pytest.mark.parametrize(("value", "seconds"), [("0.5", 0.5), ("nonsense", 15.0), ("-1", 15.0)])
def test_a_call_has_the_time_that_the_variable_says(open_: Any, value: str, seconds: float) -> None:
    agent = open_(MemoryStore({"a": "x"}), {**STORE, "INSPECT_AGENTS_TOOL_TIMEOUT": value})
    assert agent.workspace.contract(NAME).seconds == seconds


@pytest.mark.clause("inspect_agents.timeout")
def test_a_call_that_takes_longer_says_so() -> None:
    record = contract(NAME)
    words = record.worded("read_file", {"file_path": "a"})
    from readroom.contracts.inspect_agents.render import MEASURE
    from readroom.core.errors import TimedOut
    from readroom.core.values import Cap

    reply = words.render_error(TimedOut(15.0), Cap(record.reply_bytes, MEASURE))
    assert reply.is_error
    assert "read took longer than 15 seconds" in reply.text
    assert Deadline().within(record.seconds or 0).seconds == 15.0


@pytest.mark.clause("inspect_agents.sandbox.fallback")
def test_without_a_folder_the_store_answers_and_says_so(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "x"}), {})
    assert agent.read("a").facts["answered_by"] == "store"


@pytest.mark.clause("inspect_agents.mode.default")
@pytest.mark.parametrize("mode", [{}, {"INSPECT_AGENTS_FS_MODE": ""}, {"INSPECT_AGENTS_FS_MODE": "other"}])
def test_without_a_mode_the_store_answers_also_where_a_folder_is_served(
    open_: Any, tmp_path: Path, mode: Mapping[str, str]
) -> None:
    (tmp_path / "a").write_text("x")
    agent = open_(tmp_path, mode)
    assert agent.read("a").facts["answered_by"] == "store"
    assert agent.files("write", file_path="a", content="y").text == "Updated file a"
    assert agent.files("write", file_path="own", content="z", instance="one").text == "Updated file own"
    assert agent.read("own", instance="one").text == "     1\tz"
    assert agent.read("own").is_error
    assert agent.read("a", instance="one").is_error
    assert agent.files("delete", file_path="a").text == "Deleted file a"
    assert agent.read("a").is_error
    assert (tmp_path / "a").read_text() == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@needs("cli")
@pytest.mark.clause("inspect_agents.mode.told")
@pytest.mark.parametrize(
    ("variables", "words"), [({}, "store mode"), (STORE, "store mode"), (SANDBOX, "sandbox mode")]
)
def test_whoever_starts_a_server_is_told_the_mode(
    tmp_path: Path, variables: Mapping[str, str], words: str
) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("INSPECT_")}
    command = [sys.executable, "-m", "readroom", "mcp", "--contract", NAME, str(tmp_path)]
    done = subprocess.run(
        command, env={**environ, **variables}, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    told = done.stderr.decode()
    assert told.startswith(f"inspect_agents: {words}")
    assert told.count("\n") == 1
    assert done.stdout == b""


def test_a_folder_too_large_for_a_store_is_told_how_to_be_served(open_: Any, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(STORE_BYTES + 1)
    assert "INSPECT_AGENTS_FS_MODE=sandbox" in open_(tmp_path, {}).files("ls").text


@pytest.mark.clause("inspect_agents.files.mkdir", "inspect_agents.store-folders")
@pytest.mark.parametrize("mode", [STORE, SANDBOX])
def test_a_folder_is_made(open_: Any, tmp_path: Path, mode: Mapping[str, str]) -> None:
    agent = open_(tmp_path, mode)
    assert agent.files("mkdir", dir_path="docs/new").text == "Created directory docs/new"
    assert agent.files("stat", path="docs/new").text == "docs/new: dir"
    assert (tmp_path / "docs" / "new").is_dir() is (mode is SANDBOX)


def test_instances_and_conversations_do_not_see_each_other(open_: Any) -> None:
    ann = open_(MemoryStore(), STORE, "ann")
    ben = Agent(ann.workspace, "ben")
    ann.files("write", file_path="a", content="ann", instance="x")
    assert ann.read("a", instance="x").text == "     1\tann"
    assert ann.read("a", instance="y").is_error
    assert ann.read("a").is_error
    assert ben.read("a", instance="x").is_error


# --- what is done instead of what the original does -------------------------------------------


@pytest.mark.clause("inspect_agents.first-match")
def test_a_text_that_stands_twice_is_refused(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "world world"}), STORE)
    reply = agent.files("edit", file_path="a", old_string="world", new_string="x")
    assert reply.is_error
    assert "replace_all" in reply.text
    assert agent.read("a").text == "     1\tworld world"


@pytest.mark.clause("inspect_agents.typed-unpadded")
def test_typed_lines_are_padded(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "x"}), {**STORE, **TYPED})
    assert json.loads(agent.read("a").text)["lines"] == ["     1\tx"]


@pytest.mark.clause("inspect_agents.line-ends")
def test_only_a_line_feed_ends_a_line(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "a\x0cb\u2028c\rd\r\ne\x85"}), STORE)
    assert agent.read("a").text == "     1\ta\x0cb\u2028c\rd\n     2\te\x85"


@pytest.mark.clause("inspect_agents.negative-numbers")
@pytest.mark.parametrize("given", [{"offset": -1}, {"limit": 0}, {"limit": -5}, {"offset": 1.5}])
def test_numbers_that_make_no_sense_are_refused(open_: Any, given: dict[str, object]) -> None:
    reply = open_(MemoryStore({"a": "x"}), STORE).read("a", **given)
    assert reply.is_error
    assert next(iter(given)) in reply.text


@pytest.mark.clause("inspect_agents.silent-fallback")
def test_a_folder_that_fails_is_an_error(open_: Any, tmp_path: Path) -> None:
    agent = open_(tmp_path, SANDBOX)
    (tmp_path / "a").mkdir()
    reply = agent.read("a")
    assert reply.is_error
    assert reply.facts["answered_by"] == "sandbox"


@pytest.mark.clause("inspect_agents.smaller-limit")
def test_the_advice_to_use_a_smaller_limit_works(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "x\n" * 100}), {**STORE, "INSPECT_AGENTS_FS_MAX_BYTES": "100"})
    assert "smaller limit" in agent.read("a").text
    assert agent.read("a", limit=2).text == "     1\tx\n     2\tx"


@pytest.mark.clause("inspect_agents.lost-rest", "inspect_agents.window-emptiness")
def test_blank_lines_end_nothing(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" + "\n" * 600 + "end\n")
    agent = open_(tmp_path, SANDBOX)
    assert agent.read("a", offset=1, limit=2).text == "     2\t\n     3\t"
    assert agent.read("a").text.endswith("   602\tend")


@pytest.mark.clause("inspect_agents.window-emptiness")
@pytest.mark.parametrize("name", ["a.txt", "a.log"])
@pytest.mark.parametrize(
    "window", [{"offset": 1}, {"offset": 9_999}, {"limit": 1}, {"offset": 1, "limit": 2}]
)
def test_a_file_of_white_space_is_empty_whatever_window_is_asked_for(
    open_: Any, name: str, window: dict[str, int]
) -> None:
    agent = open_(MemoryStore({name: " \n" * 700, "b": "\n\nx\n"}), STORE)
    assert agent.read(name, **window).text == "System reminder: File exists but has empty contents"
    assert agent.read("b", limit=2).text == "     1\t\n     2\t"


@pytest.mark.clause("inspect_agents.store-folders")
def test_a_name_below_a_file_is_refused_with_the_name_of_the_file(open_: Any) -> None:
    agent = open_(MemoryStore({"a": "x"}), STORE)
    for path, shown in (("a/b/c", "a"), ("/k/l", "/k")):
        agent.files("write", file_path="/k", content="x")
        reply = agent.files("write", file_path=path, content="x")
        assert reply.text == f"{shown} is a file, not a folder. Choose a path that does not lead through it."


def test_the_name_that_is_empty_stands_beside_absolute_names(open_: Any) -> None:
    agent = open_(MemoryStore({}), STORE)
    for key in ("", "/a", "/b/"):
        agent.files("write", file_path=key, content=f"<{key}>")
    for key in ("", "/a", "/b/"):
        assert agent.read(key).text == f"     1\t<{key}>"
    assert json.loads(agent.files("ls").text) == ["", "/a", "/b/"]
    agent.files("move", src_path="", dst_path="c")
    assert json.loads(agent.files("ls").text) == ["/a", "/b/", "c"]
    trashed = agent.files("trash", file_path="/b/").text.removeprefix("Trashed /b/ -> ")
    assert json.loads(agent.files("ls").text) == ["/a", "c", trashed]
    assert agent.read(trashed).text == "     1\t</b/>"


def test_files_of_a_folder_that_is_moved_come_last_in_their_order(open_: Any) -> None:
    agent = open_(MemoryStore({}), STORE)
    for key in ("d/z", "d/e/x", "other", "d/a"):
        agent.files("write", file_path=key, content="x")
    agent.files("move", src_path="d", dst_path="n")
    reply = agent.files("ls")
    assert json.loads(reply.text) == ["other", "n/z", "n/e/x", "n/a"]
    assert reply.facts["total"] == reply.facts["shown"] == 4


@pytest.mark.parametrize("mode", [STORE, SANDBOX])
@pytest.mark.parametrize("command", ["read", "edit", "write"])
def test_a_directory_is_told_by_its_name_as_it_was_sent(
    open_: Any, tmp_path: Path, mode: Mapping[str, str], command: str
) -> None:
    """No command lists one directory of a sandbox, so none is named."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_text("x")
    more = {"edit": {"old_string": "x", "new_string": "y"}, "write": {"content": "z"}}.get(command, {})
    name = "/repo/d" if mode is SANDBOX else "d"
    reply = open_(tmp_path, mode).files(command, file_path=name, **more)
    assert reply.text == f"'{name}' is a directory, not a file. Name a file in it."


@pytest.mark.clause("inspect_agents.files.confined", "inspect_agents.files.policy")
def test_a_refused_move_names_the_end_that_is_refused(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    agent = open_(tmp_path, SANDBOX)
    for source, target, name in (("a", "/etc/m", "/etc/m"), ("/etc/m", "b", "/etc/m"), ("a", "../b", "../b")):
        reply = agent.files("move", src_path=source, dst_path=target)
        assert reply.text.startswith(f"Access denied: path '{name}' is outside the configured")
    for source, target in (("/repo/a", "s/.env"), ("s/.env", "/repo/a")):
        reply = agent.files("move", src_path=source, dst_path=target)
        assert reply.text.startswith("PolicyDenied: operation 'move' on '/repo/s/.env' denied by rule '.env'")


@pytest.mark.clause("inspect_agents.confinement")
def test_links_are_refused_in_sandbox_mode_wherever_they_stand(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    agent = open_(tmp_path, SANDBOX)
    edited = agent.files("edit", file_path="file", old_string="x", new_string="y")
    for path, reply in (("file", agent.read("file")), ("folder/a", agent.read("folder/a")), ("file", edited)):
        assert reply.text == (
            f"Access denied: '{path}' is a symbolic link. "
            "Symbolic links are not allowed in sandbox mode for security reasons."
        )
    assert (tmp_path / "real" / "a").read_text() == "x"


@pytest.mark.clause("inspect_agents.link-targets")
@pytest.mark.parametrize("target", ["nothing", "/etc/passwd", "/nowhere/at/all", "link", "../.."])
@pytest.mark.parametrize("path", ["link", "link/a", "/repo/link"])
def test_a_link_is_refused_as_a_link_wherever_it_leads(
    open_: Any, tmp_path: Path, path: str, target: str
) -> None:
    (tmp_path / "link").symlink_to(target)
    assert open_(tmp_path, SANDBOX).read(path).text == (
        f"Access denied: '{path}' is a symbolic link. "
        "Symbolic links are not allowed in sandbox mode for security reasons."
    )


def test_what_is_not_there_and_no_link_is_not_found(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    agent = open_(tmp_path, SANDBOX)
    for path in ("b", "a/b", "c/d"):
        assert agent.read(path).text.startswith(f"File '{path}' not found.")
    assert "outside the configured filesystem root" in agent.read("../a").text


@pytest.mark.parametrize("mode", [STORE, SANDBOX])
def test_a_picture_is_not_called_the_wrong_sort_of_picture(
    open_: Any, tmp_path: Path, mode: Mapping[str, str]
) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PNG))
    told = open_(tmp_path, mode).read("a.png").text
    assert "image/png" in told
    assert "this tool shows text" in told
    assert "ask for a copy" not in told


@pytest.mark.parametrize("mode", [STORE, SANDBOX])
def test_advice_names_what_this_contract_has(open_: Any, tmp_path: Path, mode: Mapping[str, str]) -> None:
    (tmp_path / "a").write_text("x")
    told = open_(tmp_path, mode).files("edit", file_path="a", old_string="", new_string="y").text
    assert "the command write fills an empty file" in told
    assert "write_file" not in told


@pytest.mark.clause("inspect_agents.denied-by-default")
@pytest.mark.parametrize("mode", [STORE, SANDBOX])
def test_environment_files_are_denied_by_default(open_: Any, tmp_path: Path, mode: Mapping[str, str]) -> None:
    (tmp_path / ".env").write_text("KEY=hunter2")
    agent = open_(tmp_path, mode)
    assert agent.read(".env").is_error
    assert "hunter2" not in agent.read(".env").text
    assert ".env" not in agent.files("ls").text


@pytest.mark.clause("inspect_agents.cut-reply")
def test_what_the_document_promises_of_a_read_fits_a_reply(open_: Any) -> None:
    agent = open_(MemoryStore({"a": f"{'x' * 119}\n" * 2000, "b": f"{'x' * 1000}\n" * 2000}), STORE)
    whole, cut = agent.read("a").text, agent.read("b").text
    assert whole.count("\n") == 1999
    assert "Use offset=" in cut
    assert 0.9 * INSPECT_REPLY_BYTES < len(cut) <= INSPECT_REPLY_BYTES


@pytest.mark.clause("inspect_agents.store-policy")
@pytest.mark.parametrize("mode", [STORE, SANDBOX])
def test_denials_hold_for_every_command_in_both_modes(
    open_: Any, tmp_path: Path, mode: Mapping[str, str]
) -> None:
    (tmp_path / "secret.txt").write_text("password")
    (tmp_path / "plain.txt").write_text("x")
    agent = open_(tmp_path, {**mode, "INSPECT_FS_DENY": "secret*"})
    told = "'/repo/secret.txt' denied by rule 'secret*' under root '/repo'"
    assert agent.read("secret.txt").text == f"PolicyDenied: operation 'read' on {told}"
    assert told in agent.files("write", file_path="secret.txt", content="").text
    assert told in agent.files("stat", path="secret.txt").text
    assert "secret" not in agent.files("ls").text


@pytest.mark.clause("inspect_agents.store-policy")
def test_the_allow_list_holds_for_changes_and_for_reads_with_the_switch(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    agent = open_(tmp_path, {**SANDBOX, "INSPECT_FS_ALLOW": "docs/**"})
    assert agent.read("a.py").text == "     1\tx"
    assert "<implicit-allow>" in agent.files("write", file_path="a.py", content="").text
    assert not agent.files("write", file_path="docs/a", content="").is_error
    strict = open_(tmp_path, {"INSPECT_FS_POLICY_ENFORCE_READS": "1"})
    assert "<implicit-allow>" in strict.read("a.py").text


@pytest.mark.clause("inspect_agents.store-begins-with-folder")
def test_the_store_begins_as_a_copy_of_the_folder_which_stays_as_it_is(open_: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / ".env").write_text("KEY=1")
    agent = open_(tmp_path, STORE)
    agent.files("write", file_path="a", content="y")
    agent.files("write", file_path="b", content="z")
    assert agent.read("a").text == "     1\ty"
    assert json.loads(agent.files("ls").text) == ["a", "b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".env", "a"]
    assert (tmp_path / "a").read_text() == "x"
    assert agent.files("ls", instance="other").text == "[]"


@pytest.mark.clause("inspect_agents.cut-reply")
@pytest.mark.parametrize("typed", [{}, TYPED])
@given(lines=st.lists(st.text('ab\t"\\é\u4e2d', max_size=300), min_size=1, max_size=60))
def test_offsets_of_cut_replies_lead_to_the_end(typed: Mapping[str, str], lines: list[str]) -> None:
    text = "\n".join([*lines, "end"])
    settings = Settings(variables=tuple({**STORE, **typed}.items()))
    with Workspace(MemoryStore({"a": text}), settings=settings) as workspace:
        agent, found, call = Agent(workspace), list[str](), {"file_path": "a"}
        while True:
            reply = agent.call("read_file", call, reply_bytes=MIN_REPLY_BYTES)
            assert len(reply.text.encode()) <= MIN_REPLY_BYTES
            assert not reply.is_error, reply.text
            shown = json.loads(reply.text)["lines"] if typed else reply.text.split("\n")
            found += [line.partition("\t")[2] for line in shown if not line.startswith("System reminder")]
            following: Any = reply.facts["next"]
            if following is None:
                break
            assert f"offset={following['arguments']['offset']}" in reply.text
            call = following["arguments"]
        assert "\n".join(found) == text


@given(st.text(max_size=40), st.text(max_size=40))
def test_every_key_has_a_path_of_its_own_inside_the_store(one: str, other: str) -> None:
    path = path_of_key(one)
    assert key_of_path(path) == one
    assert (path == path_of_key(other)) is (one == other)
    if "\0" not in path and not any("\ud800" <= char <= "\udfff" for char in path):
        assert normalize(path) == path


def test_a_listing_that_is_cut_says_so(open_: Any) -> None:
    agent = open_(MemoryStore({f"{'long' * 12}-{number:05d}": "" for number in range(5000)}), STORE)
    found = json.loads(agent.files("ls").text)
    assert found["truncated"] is True
    assert str(len(found["files"])) in found["notes"][0]
