"""The page about other machines: its commands work word for word, but for the port, on loopback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from readroom.cli.remote.address import parsed
from readroom.cli.remote.install import command, file_name
from tests.cli.remote.sshd import START, Sshd, needs_sshd
from tests.cli.remote.test_at import run

PAGE = Path(__file__).parents[3] / "docs/how-to/other-machines.md"


def test_the_commands_that_install_it_are_those_of_the_errors() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for address in ("ssh://host/x", "docker://app/x"):
        assert f"$ {command(parsed(address))}\n" in text


def test_a_file_is_made_for_what_uname_says() -> None:
    assert file_name(["Linux", "aarch64"]).endswith("-linux-aarch64.pyz")
    assert file_name(["Darwin", "arm64"]).endswith("-darwin-aarch64.pyz")


@needs_sshd
def test_the_command_of_the_error_installs_the_file_there(sshd: Sshd, tmp_path: Path) -> None:
    """Into the home of the account there, in one step; the machine then has a readroom."""
    (tmp_path / "dist").mkdir()
    lines = f'#!/bin/sh\n[ "$1" = --version ] && echo version && exit\n{START}\n'
    (tmp_path / "dist" / file_name(())).write_text(lines)
    address = sshd.address("/~", "empty")
    absent = run("ls", "--at", address, environment=sshd.environment)
    line = absent.stderr.decode().partition("makes: ")[2]
    try:
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=sshd.environment, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"version\n"), done
        assert (sshd.home / ".local/bin/readroom").stat().st_mode & 0o777 == 0o755
        assert run("ls", "--at", address, environment=sshd.environment).returncode == 0
    finally:
        (sshd.home / ".local/bin/readroom").unlink(missing_ok=True)


@needs_sshd
def test_the_way_to_try_it_works_word_for_word(sshd: Sshd, tmp_path: Path) -> None:
    """`sshd` has made what root's needs; ssh reads the settings of the account, which are these here."""
    block = PAGE.read_text(encoding="utf-8").partition("<!-- tried -->\n```console\n")[2].partition("```")[0]
    home = tmp_path / "home"
    programs = tmp_path / "programs"
    home.mkdir()
    programs.mkdir()
    settings = f"-F {home}/.ssh/config -o UserKnownHostsFile={home}/.ssh/known_hosts"
    for name, line in {
        "ssh": f'exec /usr/bin/ssh {settings} "$@"',
        "readroom": START,
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    # The account there has no readroom on its PATH, and a home of its own.
    block = block.replace("2222", str(_free()))
    block = block.replace("StrictModes no\\n", f"StrictModes no\\nSetEnv PATH={programs}:/usr/bin:/bin\\n")
    environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-e", "-c", block],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    assert "1\t# shop" in done.stdout
    assert "Created " in done.stdout
    assert (tmp_path / "demo/.cursor/mcp.json").exists()


def _free() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
