"""mcp and serve as commands: they start, say what to do with them, and end when told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

from tests.cli.running import COMMAND, run
from tests.suites import daily

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'


def test_mcp_serves_the_folder_until_its_input_ends(root: Path) -> None:
    for words in (["mcp", "."], ["mcp", "--root", "."], ["mcp"], ["mcp", "--", str(root)]):
        done = run(*words, cwd=root, input=PING)
        assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert done.returncode == 0


def test_serve_says_where_it_is_and_ends_at_ctrl_c(root: Path) -> None:
    command = [*COMMAND, "serve", "--open", "--port", "0", "--max-chars", "5000", "--", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        shown: list[str] = []
        while "without the tools" not in (shown or [""])[-1]:
            line = process.stdout.readline().decode()
            assert line, process.communicate()[1].decode()
            shown.append(line)
        url = next(line.split()[1] for line in shown if line.split()[:1] == ["URL"])
        with urllib.request.urlopen(url.removesuffix("/mcp")) as answer:
            assert url.encode() in answer.read()
        assert any(f"mcp --max-chars 5000 -- {root}" in line for line in shown)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"Traceback" not in err


def test_a_number_of_workers_that_is_none_is_told_what_else_may_be_said(root: Path) -> None:
    done = run("serve", "--workers", "many", cwd=root)
    assert done.returncode == 2
    assert b"'many' is neither a number nor auto." in done.stderr


@daily(1, "host", ["0.0.0.0", "::"])
def test_a_server_on_every_address_prints_one_that_can_be_opened(
    root: Path, tmp_path: Path, host: str
) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    assert run("token", "create", "me", cwd=root, env=environment).returncode == 0
    command = [*COMMAND, "serve", "--host", host, "--port", "0", "--", str(root)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        shown: list[str] = []
        while "without the tools" not in (shown or [""])[-1]:
            shown.append(process.stdout.readline())
            assert shown[-1], process.communicate()[1]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    url = next(line.split()[1] for line in shown if line.split()[:1] == ["URL"])
    assert url.startswith(("http://127.0.0.1:", "http://[::1]:"))
    assert host not in "".join(shown).replace("::1", "").split()
    assert any("every address of this machine" in line for line in shown)
    assert any("--allow-host" in line for line in shown)


def test_a_port_that_cannot_be_used_is_said(root: Path) -> None:
    done = run("serve", "--host", "0.0.0.0", cwd=root)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no token" in done.stderr
    assert run("serve", "--port", "65536", cwd=root).returncode == 2
