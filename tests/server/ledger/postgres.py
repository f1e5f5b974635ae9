"""A real PostgreSQL for the tests: made in a temporary folder, run by an ordinary user, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_S = 60


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`; Debian keeps them out of PATH."""
    found = shutil.which("pg_ctl")
    if found is not None:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    return places[-1].parent if places else None


class Server:
    """One server, which can be stopped and started again."""

    def __init__(self, bin_: Path, folder: Path) -> None:
        self._bin = bin_
        self._data = folder / "data"
        self._user = pwd.getpwnam("postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name)
        if os.geteuid() == 0:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._folder = folder
        self._do(
            "initdb", "-D", str(self._data), "-U", "ledger", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"
        )
        # Last, as other programs are given ports, too.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"postgresql://ledger@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self._port} -k {self._folder}"
        log = str(self._folder / "log")
        self._do("pg_ctl", "-D", str(self._data), "-w", "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._do("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def processes(self) -> list[int]:
        """The first process, and those that it has started."""
        first = int((self._data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii")
        return [first, *map(int, children.split())]

    def _do(self, program: str, *arguments: str) -> None:
        root = os.geteuid() == 0
        subprocess.run(
            [str(self._bin / program), *arguments],
            check=True,
            timeout=START_S,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            user=self._user.pw_uid if root else None,
            group=self._user.pw_gid if root else None,
            extra_groups=[] if root else None,
        )


@contextmanager
def running(bin_: Path, folder: Path) -> Iterator[Server]:
    """A server that runs."""
    server = Server(bin_, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
