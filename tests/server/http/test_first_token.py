"""A server asks for a token from the start, says which, and tells it to nobody else."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.server.http.serving import END_S, Agent, Answer, command

LAST_LINE = "otherwise it may begin without the tools."
TOKEN = re.compile(r"rr_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "shop"
    found.mkdir()
    (found / "a.txt").write_text("hello\n", encoding="utf-8")
    return found


class Started:
    """A server that somebody started in a terminal, and what it printed."""

    def __init__(self, process: subprocess.Popen[bytes], text: str, state: Path) -> None:
        self.text = text
        (address,) = [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["URL"]]
        parts = urlsplit(address)
        self.url = address
        self.agent = Agent(process, parts.hostname or "", parts.port or 0, state)

    @property
    def token(self) -> str:
        (found,) = set(TOKEN.findall(self.text))
        return str(found)

    def read(self, token: str | None) -> Answer:
        return self.agent.call("read_file", {"path": "a.txt"}, token=token)


@contextmanager
def started(state: Path, *options: str, **environment: str | None) -> Iterator[Started]:
    """`readroom serve`, once it has said everything."""
    given = {**os.environ, "XDG_STATE_HOME": str(state), **environment}
    variables = {name: value for name, value in given.items() if value is not None}
    line = [sys.executable, "-m", "readroom", "serve", *options]
    if "--port" not in options:
        line[4:4] = ["--port", "0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables) as process:
        try:
            assert process.stdout is not None
            shown: list[str] = []
            while not shown or LAST_LINE not in shown[-1]:
                shown.append(process.stdout.readline().decode())
                assert shown[-1], process.communicate()[1].decode()
            yield Started(process, "".join(shown), state)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=END_S)


def refusal(state: Path, *options: str, **environment: str | None) -> str:
    """What is said by a server that does not start."""
    with pytest.raises(AssertionError) as caught:
        with started(state, *options, **environment):
            pass
    return str(caught.value)


def test_nobody_comes_in_without_the_token_and_its_owner_is_shown_it(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)) as found:
        assert [found.read(None).status, found.read("rr_0_0").status] == [401, 401]
        assert found.read(found.token).status == 200
        assert command(tmp_path / "state", "token", "show", str(root)).strip() == found.token


def connect(url: str, headers: Mapping[str, str]) -> str:
    """What the official client reads."""

    async def main() -> str:
        with anyio.fail_after(END_S):
            async with httpx2.AsyncClient(headers=dict(headers), timeout=END_S) as http:
                async with Client(streamable_http_client(url, http_client=http)) as client:
                    (part,) = (await client.call_tool("read_file", {"path": "a.txt"})).content
                    assert isinstance(part, types.TextContent)
                    return part.text

    return anyio.run(main)


def test_the_configuration_that_is_printed_works_as_it_stands(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)) as found:
        (block,) = re.findall(r"^  \{\n(?:  .*\n)+?  \}$", found.text, re.MULTILINE)
        server = json.loads(block)["mcpServers"]["readroom"]
        assert "hello" in connect(server["url"], server["headers"])
        (table,) = re.findall(r"  \[mcp_servers.readroom\]\n(?:  .+\n)+", found.text)
        codex = tomllib.loads(re.sub("^  ", "", table, flags=re.MULTILINE))["mcp_servers"]["readroom"]
        assert "hello" in connect(codex["url"], codex["http_headers"])
        (line,) = [line for line in found.text.splitlines() if "curl" in line]
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, timeout=END_S)
        assert "a.txt" in json.loads(done.stdout)["content"][0]["text"]


def test_a_client_without_the_token_is_told_how_a_person_gets_it(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)) as found:
        answer = found.read(None)
        assert "readroom token show" in answer.json["error"]["message"]
        assert answer.headers["www-authenticate"] == 'Bearer realm="readroom"'
        assert str(root) not in answer.body.decode()
        with pytest.raises((MCPError, ExceptionGroup)) as caught:
            connect(found.url, {})
        failure: BaseException = caught.value
        while isinstance(failure, BaseExceptionGroup):
            (failure,) = failure.exceptions
        assert "readroom token show" in str(failure)


def test_another_start_another_port_and_another_name_of_the_folder_have_the_same_token(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    (tmp_path / "link").symlink_to(root)
    with started(state, str(root)) as first, started(state, str(tmp_path / "link")) as second:
        assert first.token == second.token
        assert first.url != second.url
    with started(state, "--open", str(root)) as opened:
        assert opened.read(first.token).status == 200  # clients that send it are not shut out
    with started(state, str(root)) as third:
        assert third.token == first.token


def test_a_token_does_not_open_another_folder(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("elsewhere\n", encoding="utf-8")
    with started(tmp_path / "state", str(root)) as first, started(tmp_path / "state", str(other)) as second:
        assert first.token != second.token
        assert second.read(first.token).status == 401


def test_each_of_several_folders_has_its_own(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    config = tmp_path / "operator.toml"
    config.write_text(
        f'[serve]\ndefault = "main"\n[workspaces.other]\nroot = "{other}"\n'
        f'[workspaces.main]\nroot = "{root}"\n',
        encoding="utf-8",
    )
    with started(tmp_path / "state", "--config", str(config)) as found:
        assert found.read(found.token).status == 200
        elsewhere = command(tmp_path / "state", "token", "show", str(other)).strip()
        assert found.read(elsewhere).code == "no_such_workspace"
        listing = found.agent.call("list_directory", {}, token=elsewhere, at="/w/other")
        assert listing.status == 200


def test_a_renewed_token_counts_at_once(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)) as found:
        before = found.token
        after = command(tmp_path / "state", "token", "renew", str(root)).strip()
        assert [found.read(before).status, found.read(after).status] == [401, 200]
        identifier = after.split("_")[1]
        listed = json.loads(command(tmp_path / "state", "token", "list", "--json"))["tokens"]
        assert [(one["id"], one["folder"], one["state"]) for one in listed] == [
            (identifier, str(root), "valid")
        ]
        command(tmp_path / "state", "token", "revoke", identifier)
        assert found.read(after).status == 401


def test_where_tokens_were_made_by_name_they_count_and_no_other_is_made(root: Path, tmp_path: Path) -> None:
    token = command(tmp_path / "state", "token", "create", "bot").strip()
    with started(tmp_path / "state", str(root)) as found:
        assert not TOKEN.search(found.text)
        assert [found.read(token).status, found.read(None).status] == [200, 401]
    assert not (tmp_path / "state" / "readroom" / "folder-tokens").exists()


def test_making_a_token_by_name_locks_nobody_out_who_had_that_of_the_folder(
    root: Path, tmp_path: Path
) -> None:
    with started(tmp_path / "state", str(root)) as found:
        before = found.token
    command(tmp_path / "state", "token", "create", "bot")
    with started(tmp_path / "state", str(root)) as found:
        assert (found.token, found.read(before).status) == (before, 200)


@pytest.mark.parametrize("configured", [True, False])
def test_an_open_server_says_who_can_come_in(root: Path, tmp_path: Path, configured: bool) -> None:
    config = tmp_path / "operator.toml"
    config.write_text('[serve]\nauth = "open"\n' if configured else "", encoding="utf-8")
    options = ["--config", str(config)] if configured else ["--open"]
    with started(tmp_path / "state", *options, "--allow-commands", str(root)) as found:
        assert "every account on this machine can read, change and run commands in" in found.text
        assert not TOKEN.search(found.text)
        assert found.read(None).status == 200
    assert not (tmp_path / "state" / "readroom" / "folder-tokens").exists()


def test_only_the_tokens_of_an_operator_who_requires_them_count(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)) as found:
        token = found.token
    with started(tmp_path / "state", "--require-token", str(root)) as found:
        assert not TOKEN.search(found.text)
        assert found.read(token).status == 401
    assert "exclude each other" in refusal(tmp_path / "state", "--open", "--require-token", str(root))


def test_a_socket_of_one_account_needs_none(root: Path, tmp_path: Path) -> None:
    for home in ({}, {"XDG_STATE_HOME": None, "HOME": None}):
        with started(tmp_path / "state", "--socket", str(tmp_path / "s"), str(root), **home) as found:
            assert "Only this account can connect" in found.text
            (line,) = [line for line in found.text.splitlines() if "curl" in line]
            done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, timeout=END_S)
            assert "a.txt" in json.loads(done.stdout)["content"][0]["text"]


def test_without_a_place_for_the_token_nothing_is_served_and_the_way_out_works(
    root: Path, tmp_path: Path
) -> None:
    nowhere: dict[str, str | None] = {"XDG_STATE_HOME": None, "HOME": None}
    assert "--open" in refusal(tmp_path, str(root), **nowhere)
    with started(tmp_path, "--open", str(root), **nowhere) as found:
        assert found.read(None).status == 200
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    said = refusal(tmp_path / "file", str(root))
    assert "XDG_STATE_HOME" in said
    assert "--open" in said
    assert "Traceback" not in said


def test_a_token_that_others_could_read_is_refused_and_the_advice_works(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with started(state, str(root)) as found:
        token = found.token
        (file,) = (state / "readroom" / "folder-tokens").iterdir()
        file.chmod(0o644)
        assert found.read(token).status == 500
    said = refusal(state, str(root))
    assert token not in said
    (advice,) = re.findall(r"`readroom (token renew .*?)`", said)
    command(state, *advice.split())
    with started(state, str(root)) as found:
        assert found.token != token


def test_the_token_is_in_no_log_ledger_error_or_list_of_processes(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with started(state, "--access-log", "--allow-commands", str(root)) as found:
        token, agent_ = found.token, found.agent
        answers = [found.read(token), found.read(token + "x"), found.read(token[:-1])]
        answers += [agent_.request("GET", f"/v1/native/{token}", token=token)]
        answers += [agent_.request("GET", f"/metrics?token={token}", token=token)]
        answers += [agent_.request("GET", "/metrics", token=token)]
        answers += [agent_.call("read_file", {"path": "none"}, token=token)]
        answers += [agent_.request("GET", "/", headers={"Authorization": f"Basic {token}"})]
        answers += [agent_.request("GET", "/", headers={"Host": token})]
        answers += [agent_.request("GET", "/", token=token, headers={"Origin": f"http://{token}"})]
        shown = agent_.call(
            "run_command", {"command": "env; cat /proc/*/cmdline | tr '\\0' ' '"}, token=token
        )
        arguments = Path(f"/proc/{agent_.process.pid}/cmdline")
        seen = arguments.read_bytes() if arguments.exists() else b""
        agent_.process.terminate()
        _, log = agent_.process.communicate(timeout=END_S)
    assert shown.status == 200
    assert [one.status for one in answers] == [200, 401, 401, 405, 400, 200, 404, 401, 421, 403]
    secret = token.split("_", 2)[2].encode()
    # The last two quote a host and an origin to whoever sent them.
    told = [one.body + repr(one.headers).encode() for one in answers[:-2]]
    assert not any(secret in text for text in (*told, shown.body, seen, log))
    kept = [path for path in state.rglob("*") if path.is_file() and secret in path.read_bytes()]
    assert [path.parent.name for path in kept] == ["folder-tokens"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


def test_a_token_in_an_address_is_refused(root: Path, tmp_path: Path) -> None:
    """Addresses are kept in histories, by proxies and in logs."""
    with started(tmp_path / "state", str(root)) as found:
        for name in ("token", "access_token", "key"):
            for path in ("/v1/native/read_file", "/mcp", "/metrics"):
                answer = found.agent.request("GET", f"{path}?a=b&{name}={found.token}", token=found.token)
                assert answer.status == 400
                assert b"token_in_address" in answer.body


def test_tools_do_not_see_the_token_of_a_folder_that_holds_it(root: Path, tmp_path: Path) -> None:
    """Somebody who serves their home folder does not hand out the keys to it."""
    state = root / "state"
    with started(state, "--allow-commands", str(root)) as found:
        (file,) = (state / "readroom" / "folder-tokens").iterdir()
        inside = str(file.relative_to(root))
        for tool, arguments in (
            ("read_file", {"path": inside}),
            ("grep_files", {"pattern": "rr_", "ignored": True, "hidden": True}),
            ("list_directory", {"path": str(Path(inside).parent)}),
            ("run_command", {"command": f"cat {inside}; ls -la {Path(inside).parent}"}),
        ):
            answer = found.agent.call(tool, arguments, token=found.token)
            assert found.token.encode() not in answer.body, tool
            assert file.name.encode() not in answer.body.replace(inside.encode(), b""), tool


def test_other_machines_are_not_let_in_with_the_token_of_a_folder_alone(root: Path, tmp_path: Path) -> None:
    with started(tmp_path / "state", str(root)):
        pass
    assert "no token" in refusal(tmp_path / "state", "--host", "0.0.0.0", str(root))
    assert "other machines" in refusal(tmp_path / "state", "--host", "0.0.0.0", "--open", str(root))
