"""Containers that run: the same commands, clients and errors through docker and podman as through ssh."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.remote.containers import NAME, Cannot, Containers, docker, podman
from tests.cli.remote.test_at import run
from tests.cli.remote.test_mcp import HELLO, Talk
from tests.cli.running import COMMAND

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root starts containers here"),
]


@pytest.fixture(scope="module", params=[docker, podman], ids=["docker", "podman"])
def containers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Containers, Path]]:
    """A runtime with a container that runs, and the folder that is /srv in it."""
    folder, shared = tmp_path_factory.mktemp("containers"), tmp_path_factory.mktemp("srv")
    (shared / "my shop").mkdir()
    (shared / "my shop/README.md").write_text("# shop\nneedle\n")
    try:
        with request.param(folder) as found:
            found.start(folder, shared)
            yield found, shared
    except Cannot as reason:
        raise pytest.skip.Exception(f"NOT TESTED: no container can be had here: {reason}") from None


def test_commands_run_in_the_container(containers: tuple[Containers, Path]) -> None:
    found, shared = containers
    address = f"{found.program}://{NAME}/srv/my%20shop"
    done = run("grep", "needle", "--at", address, environment=found.environment)
    assert (done.returncode, b"2\tneedle" in done.stdout) == (0, True), done
    wrote = run(
        "write", "--new", "a.txt", "--at", address, environment=found.environment, sent=b"text\n" * 9000
    )
    assert wrote.returncode == 0, wrote
    assert (shared / "my shop/a.txt").read_bytes() == b"text\n" * 9000
    assert run("read", "nope", "--at", address, environment=found.environment).returncode == 4


def test_a_client_is_connected_to_it_and_talks(containers: tuple[Containers, Path], tmp_path: Path) -> None:
    found, _ = containers
    address = f"{found.program}://{NAME}/srv/my%20shop"
    for option in ([], ["--direct"]):
        done = run(
            "connect", "cursor", address, "--write", *option, environment=found.environment, cwd=tmp_path
        )
        assert done.returncode == 0, done
    talk = Talk("--at", address, environment=found.environment)
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    talk.send("tools/call", 2, name="read_file", arguments={"path": "README.md"})
    assert f"[The workspace is {address}; there, " in talk.hear()["result"]["content"][0]["text"]
    assert talk.end()[0] == 0


def test_what_is_wrong_with_a_container_is_said(containers: tuple[Containers, Path]) -> None:
    found, _ = containers
    wrong = {
        f"{found.program}://no-such-one/srv": "there is no container of that name",
        f"{found.program}://nobody-there@{NAME}/srv": "the container has no such account",
        f"{found.program}://me@{NAME}/srv": "there is no readroom there",
    }
    for address, said in wrong.items():
        done = run("ls", "--at", address, environment=found.environment)
        assert (done.returncode, said in done.stderr.decode()) == (8, True), done


def test_an_interrupt_ends_the_command_in_the_container(containers: tuple[Containers, Path]) -> None:
    found, shared = containers
    words = ("write", "--new", "half.txt", "--at", f"{found.program}://{NAME}/srv")
    process = subprocess.Popen(
        [*COMMAND, *words], env=found.environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"half")
    process.stdin.flush()
    while "remote" not in found("exec", NAME, "/bin/sh", "-c", "cat /proc/[0-9]*/cmdline").stdout.split("\0"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate()
    while "remote" in found("exec", NAME, "/bin/sh", "-c", "cat /proc/[0-9]*/cmdline").stdout.split("\0"):
        pass
    assert not (shared / "half.txt").exists()


def test_a_container_that_is_stopped_in_the_middle_answers_what_is_open(
    containers: tuple[Containers, Path],
) -> None:
    """The last one: the container is started again, for those that run in another order."""
    found, _ = containers
    talk = Talk("--at", f"{found.program}://{NAME}/srv", environment=found.environment)
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    found("pause", NAME)
    talk.send("ping", "two")
    found("unpause", NAME)
    found("kill", NAME)
    heard = talk.process.stdout.readlines() if talk.process.stdout else []
    assert [json.loads(line)["id"] for line in heard] == ["two"]
    assert talk.process.wait() == 8 or b'"result"' in heard[0]  # it may have answered before it ended
    stopped = run("ls", "--at", f"{found.program}://{NAME}/srv", environment=found.environment)
    assert b"the container is stopped" in stopped.stderr
    assert found("start", NAME).returncode == 0
