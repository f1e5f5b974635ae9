"""A real sshd on loopback, for this account and with keys of its own: a port for each kind of machine."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import readroom

SSHD = next(
    (path for path in ("/usr/sbin/sshd", shutil.which("sshd")) if path and os.path.exists(path)), None
)

needs_sshd = pytest.mark.skipif(
    SSHD is None and not os.environ.get("CI"), reason="openssh-server is not installed; CI has it"
)

START = f'PYTHONPATH={Path(readroom.__file__).parents[1]} exec {sys.executable} -P -m readroom "$@"'
"""The line of a shell that starts this readroom, whatever is installed."""

MACHINES = {
    # What sshd does there before the command, and what is on the PATH there.
    "usual": ("", "{bin}:/usr/bin:/bin"),
    "banner": ('echo Welcome to the machine; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"', "{bin}:/usr/bin:/bin"),
    "flood": ("yes Welcome", "{bin}:/usr/bin:/bin"),
    "silent": ("sleep 1000", "{bin}:/usr/bin:/bin"),
    "empty": ("", "/usr/bin:/bin"),
    "old": ("", "{old}"),
    "bare": ("", "{bare}"),
    "another": ("", "{another}:/usr/bin:/bin"),
}


class Sshd:
    """The server, its machines, and a client's settings that know it.

    Attributes:
        folder: Everything of it.
        home: The home folder of the account on its machines.
        environment: For processes whose ssh has a key that it accepts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.ports = dict(zip(MACHINES, _free_ports(len(MACHINES)), strict=True))
        for name in ("home", "bin", "old", "bare", "another", "client"):
            (folder / name).mkdir()
        _program(folder / "bin/readroom", START)
        _program(folder / "old/python3", "echo 3.8.10")
        for name in ("old", "bare"):
            (folder / name / "uname").symlink_to(shutil.which("uname") or "/bin/uname")
        _program(folder / "another/readroom", "echo \"Error: No such command '$1'.\" >&2; exit 2")
        for name in ("host", "user", "stranger"):
            _key(folder / name)
        self._configure()
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        log = open(folder / "log", "wb")  # noqa: SIM115  # as long as the server
        assert SSHD is not None, "CI installs openssh-server"
        self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=log)
        log.close()
        self._wait()

    def address(self, folder: str | Path, machine: str = "usual", host: str = "127.0.0.1") -> str:
        """The address of a folder on one of the machines."""
        return f"ssh://{host}:{self.ports[machine]}{folder}"

    @property
    def environment(self) -> dict[str, str]:
        """Of a process whose ssh knows the server and has its key."""
        return {**os.environ, "PATH": f"{self.folder}/client:{os.environ['PATH']}", "HOME": str(self.home)}

    def stranger(self, *, known: bool) -> dict[str, str]:
        """Of a process whose ssh has another key, or has never seen the server."""
        place = self.folder / f"stranger-{known}"
        place.mkdir(exist_ok=True)
        key, hosts = (
            (self.folder / "stranger", self.folder / "known")
            if known
            else (self.folder / "user", "/dev/null")
        )
        _client(place, key, hosts)
        return {**self.environment, "PATH": f"{place}:{os.environ['PATH']}"}

    def stop(self) -> None:
        """End it; what runs on its machines ends with its connection."""
        self.process.terminate()
        self.process.wait()

    def _configure(self) -> None:
        folder = self.folder
        lines = [
            *(f"Port {port}" for port in self.ports.values()), "ListenAddress 127.0.0.1", "ListenAddress ::1",
            f"HostKey {folder}/host", "PidFile none", "StrictModes no",
            f"AuthorizedKeysFile {folder}/user.pub",
            "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password", "MaxStartups 100:30:200",
        ]  # fmt: skip
        for name, (forced, path) in MACHINES.items():
            found = path.format(**{part: folder / part for part in ("bin", "old", "bare", "another")})
            lines += [f"Match LocalPort {self.ports[name]}", f"  SetEnv PATH={found} HOME={self.home}"]
            lines += [f"  ForceCommand {forced}"] if forced else []
        (folder / "config").write_text("\n".join(lines) + "\n")
        key = (folder / "host.pub").read_text()
        hosts = ("127.0.0.1", "::1", "localhost")
        known = [f"[{host}]:{port} {key}" for host in hosts for port in self.ports.values()]
        (folder / "known").write_text("".join(known))
        _client(folder / "client", folder / "user", folder / "known")

    def _wait(self) -> None:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.ports["usual"]), timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                select.select([], [], [], 0.05)
        raise AssertionError("sshd does not listen")


def _client(place: Path, key: Path, known: str | Path) -> None:
    """An ssh with these settings alone."""
    ssh = shutil.which("ssh", path="/usr/local/bin:/usr/bin:/bin")
    settings = place / "settings"
    settings.write_text(f"Host *\n UserKnownHostsFile {known}\n IdentityFile {key}\n IdentitiesOnly yes\n")
    _program(place / "ssh", f'exec {ssh} -F {settings} "$@"')


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
