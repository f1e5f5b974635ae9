"""Kept outputs belong to the token and the conversation that ran the command; to others they are gone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.caller import Caller
from readroom.core.limits import Limits
from readroom.core.stores.outputs import Outputs
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from readroom.server.tokens import Tokens
from tests.core.engine.command.running import output, room
from tests.mcp.serving import ERAS, HANDSHAKE, Stdio, request
from tests.server.http.serving import Agent, agent
from tests.suites import daily

MINE = Caller(token="t1", session="t1:a")
OTHERS = {
    "another token": Caller(token="t2", session="t2:a"),
    "another conversation": Caller(token="t1", session="t1:b"),
    "no conversation": Caller(token="t1"),
    "nobody": Caller(),
}
TOOLS = {
    "native": ("read_file", "grep_files", "list_directory"),
    "everruns": ("read_file", "grep_files", "list_directory", "stat_file"),
    "opencode": ("read", "grep"),
}
ANSWERS = [(contract, tool) for contract, tools in TOOLS.items() for tool in tools]
SECRET = "canary7f3a"


def arguments(tool: str, path: str) -> dict[str, Any]:
    if tool == "read":
        return {"filePath": path}
    return {"path": path, "pattern": "[a-z]"} if tool in ("grep_files", "grep") else {"path": path}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    (tmp_path / "root").mkdir()
    with room(tmp_path / "root") as found:
        yield found


def ran(workspace: Workspace, caller: Caller, command: str, **options: Any) -> Reply:
    reply = workspace.call("run_command", {"command": command, **options}, caller=caller)
    assert not reply.is_error, reply.text
    return reply


def code(reply: Reply) -> str:
    error: Any = reply.facts["error"]
    return str(error["code"])


@daily(7, ("contract", "tool"), ANSWERS)
@pytest.mark.parametrize("who", OTHERS)
def test_to_others_an_output_is_gone(workspace: Workspace, who: str, contract: str, tool: str) -> None:
    """As one that never was, word for word, and the next step works."""
    path = output(ran(workspace, MINE, f"echo {SECRET}"))["path"]
    asked: dict[str, Any] = {"contract_name": contract, "caller": OTHERS[who]}
    reply = workspace.call(tool, arguments(tool, path), **asked)
    assert code(reply) == "output_gone"
    never = workspace.call(tool, arguments(tool, "/.outputs/zzzzz.stdout"), **asked)
    assert reply.text == never.text.replace("zzzzz.stdout", Path(path).name)
    error: Any = reply.facts["error"]
    following = workspace.call(error["next"]["tool"], error["next"]["arguments"], **asked)
    assert not following.is_error, following.text
    assert Path(path).name not in following.text
    own = workspace.call(tool, arguments(tool, path), contract_name=contract, caller=MINE)
    # Its own is there, though no folder.
    assert code(own) == "not_a_folder" if tool == "list_directory" else not own.is_error


@daily(2, "contract", TOOLS)
@pytest.mark.parametrize("who", OTHERS)
def test_listings_and_searches_meet_only_ones_own(workspace: Workspace, who: str, contract: str) -> None:
    other = OTHERS[who]
    mine = output(ran(workspace, MINE, f"echo {SECRET}"))["path"]
    theirs = output(ran(workspace, other, f"echo {SECRET}"))["path"]
    for caller, own, foreign in ((MINE, mine, theirs), (other, theirs, mine)):
        lists, searches = ("read", "grep") if contract == "opencode" else ("list_directory", "grep_files")
        for tool, more in ((lists, {}), (searches, {"pattern": SECRET})):
            asked = {**arguments(tool, "/.outputs"), **more}
            reply = workspace.call(tool, asked, contract_name=contract, caller=caller)
            assert Path(own).name in reply.text
            assert Path(foreign).name not in reply.text


def test_two_conversations_may_use_the_same_name(workspace: Workspace) -> None:
    """Of a contract whose outputs have the name of their call, and calls are numbered in a conversation."""
    for caller in (MINE, *OTHERS.values()):
        asked: dict[str, Any] = {"contract_name": "everruns", "caller": caller}
        told = json.loads(
            workspace.call("bash", {"command": f"echo {caller.session}.", "tool_call_id": "c1"}, **asked).text
        )
        assert told["full_output"] == "/.outputs/c1.stdout"
    for caller in (MINE, *OTHERS.values()):
        asked = {"contract_name": "everruns", "caller": caller}
        shown = json.loads(workspace.call("read_file", {"path": "/.outputs/c1.stdout"}, **asked).text)
        assert shown["content"] == f"1|{caller.session}."


def test_the_bounds_are_those_of_all_together(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with room(tmp_path / "root", limits=Limits(run_session_bytes=3000)) as workspace:
        command = "head -c 1000 /dev/zero | tr '\\0' x"
        paths = [output(ran(workspace, caller, command))["path"] for caller in [MINE, *OTHERS.values()]]
        first = workspace.call("read_file", {"path": paths[0]}, caller=MINE)
        assert code(first) == "output_gone"
        assert "newer outputs needed its place" in first.text
        last = OTHERS["nobody"]
        assert not workspace.call("read_file", {"path": paths[-1]}, caller=last).is_error


steps = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["keep", "drop"]), st.integers(0, 900)), max_size=25
)


@settings(max_examples=20, deadline=None)
@given(steps=steps)
def test_whoever_keeps_and_drops_each_has_ones_own(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    """The model: for each owner, what was kept and has not had to leave. No folder stays that is empty."""
    outputs = Outputs(str(tmp_path_factory.mktemp("root")), kept_bytes=1000, session_bytes=3000)
    kept: list[tuple[int, str, bytes]] = []
    try:
        for number, (who, what, size) in enumerate(steps):
            own = outputs.of(("t", str(who)))
            name, keepers = own.begin("same")
            keepers[0].write(data := b"%d" % (number % 10) * size)
            if what == "drop":
                for keeper in keepers:
                    keeper.close()
                own.drop(name)
            else:
                own.finish(name, keepers)
                kept.append((who, name, data))
            while len(kept) > 1 and sum(len(data) for *_, data in kept) > 3000:
                kept.pop(0)
            for owner in range(4):
                folder = outputs.of(("t", str(owner))).folder
                expected = {f"{name}.stdout": data for who, name, data in kept if who == owner}
                found = {one.name: one.read_bytes() for one in Path(folder).glob("*.stdout")}
                assert found == expected
        folders = os.path.join(outputs.private().path, "outputs")
        if os.path.isdir(folders):
            assert len(os.listdir(folders)) == len({who for who, *_ in kept})
    finally:
        outputs.close()


# --- over HTTP and MCP, with real servers -----------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    root, state = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("state")
    config = state / "operator.toml"
    config.write_text(
        f'[serve]\nauth = "required"\n[commands]\nenabled = true\n[workspaces.main]\nroot = "{root}"\n',
        encoding="utf-8",
    )
    with agent(state, "--config", str(config)) as found:
        yield found


@pytest.fixture(scope="module")
def tokens(served: Agent) -> tuple[str, str]:
    """One for everything, and one that may only look."""
    with closing(Tokens(os.fspath(served.state / "readroom" / "tokens.db"))) as found:
        (_, runner), (_, reader) = (
            found.create("bot"),
            found.create("bot", tools=["read_file", "list_directory", "grep_files"]),
        )
        return runner, reader


def called(served: Agent, token: str, session: str, tool: str, given: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", **({"Readroom-Session": session} if session else {})}
    sent = json.dumps(given).encode()
    answer = served.request("POST", f"/v1/native/{tool}", sent, token=token, headers=headers).json
    return answer["_meta"]["readroom/facts"] if "_meta" in answer else answer


@pytest.mark.parametrize("tool", TOOLS["native"])
def test_over_http_another_token_or_conversation_is_told_nothing(
    served: Agent, tokens: tuple[str, str], tool: str
) -> None:
    runner, reader = tokens
    told = called(served, runner, "talk", "run_command", {"command": f"echo {SECRET}"})
    path = told["outputs"][0]["path"]
    own = called(served, runner, "talk", tool, arguments(tool, path))
    assert own.get("error", {}).get("code") == ("not_a_folder" if tool == "list_directory" else None)
    for token, session in ((reader, "talk"), (reader, ""), (runner, "other"), (runner, "")):
        answer = called(served, token, session, tool, arguments(tool, path))
        assert answer["error"]["code"] == "output_gone"
        assert SECRET not in str(answer)
        everything = called(served, token, session, "list_directory", {"path": "/.outputs"})
        assert Path(path).name not in str(everything)


@pytest.mark.parametrize("era", ERAS)
def test_a_conversation_of_another_name_has_other_resources(tmp_path: Path, era: str) -> None:
    """Whoever names conversations names them in every request, those about resources included."""

    def meta(session: str) -> dict[str, Any]:
        return {"_meta": {"readroom/session": session}}

    with Stdio(tmp_path, "--allow-commands", version=era) as client:
        ran: Any = client.ask(
            request(1, "tools/call", {"name": "run_command", "arguments": {"command": "echo x"}, **meta("a")})
        )
        path = ran["result"]["_meta"]["readroom/facts"]["outputs"][0]["path"]
        for session, number in (("a", 2), ("b", 0)):
            listed: Any = client.ask(request(2, "resources/list", meta(session)))
            assert len(listed["result"]["resources"]) == number
        shown: Any = client.ask(request(3, "resources/read", {"uri": f"readroom://{path}", **meta("a")}))
        assert "1\tx" in shown["result"]["contents"][0]["text"]
        refused: Any = client.ask(request(4, "resources/read", {"uri": f"readroom://{path}", **meta("b")}))
        assert refused["error"]["data"]["code"] == "output_gone"


@daily(2, ("contract", "tool"), ANSWERS)
def test_an_output_that_an_earlier_process_named_is_gone(tmp_path: Path, contract: str, tool: str) -> None:
    """Some clients start a server for each call; its name of an output is not unknown to the next."""

    def told(name: str, given: dict[str, Any]) -> Any:
        with Stdio(tmp_path, "--allow-commands", "--contract", contract, version=HANDSHAKE) as client:
            answer: Any = client.ask(request(1, "tools/call", {"name": name, "arguments": given}))
            return answer["result"]

    run = "run_command" if contract == "native" else "bash"
    first = told(run, {"command": "seq 5000"})
    assert not first.get("isError"), first
    path = "/.outputs/" + re.split(r'["\s]', first["content"][0]["text"].split("/.outputs/")[1])[0]
    second = told(tool, arguments(tool, path))
    assert second["isError"]
    assert second["content"][0]["text"].startswith(f"{path} is not kept: ")
    lists = "read" if contract == "opencode" else "list_directory"
    following = told(lists, arguments(lists, "/.outputs"))
    assert not following.get("isError"), following
