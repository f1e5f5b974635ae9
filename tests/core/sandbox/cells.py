"""Who runs commands, in which confinement, beside which secrets; and what must be as it was afterwards."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from readroom.core.sandbox import available
from readroom.core.stores.private import remove_tree
from readroom.core.values.commands import Confinement
from tests.core.sandbox import inmate

ROOT = Path(__file__).parents[3]

CANARY = "canary7f3a"
"""In contents, names and environments that no command may see."""

CONFINEMENTS: tuple[Confinement, ...] = ("bwrap", "landlock")

_END_S = 60

_AS_NOBODY = "import os, sys; os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])"


def _environment() -> dict[str, str]:
    paths = [str(ROOT), str(ROOT / "src"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


@cache
def interpreter(user: str) -> str | None:
    """A Python that the user can run with readroom and what it needs; root's own is often out of reach."""
    if user == "self":
        return sys.executable
    for one in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        words = [
            sys.executable,
            "-c",
            _AS_NOBODY,
            one,
            "-c",
            "import readroom.core.workspace, readroom.core.engine.command",
        ]
        done = subprocess.run(words, env=_environment(), cwd="/", capture_output=True, check=False)
        if done.returncode == 0:
            return one
    return None


def _confinements() -> list[ParameterSet]:
    """Each, skipped where this machine does not have it; whether it works is found out by running it.

    Where continuous integration runs in a container, one of the two may not work there; that none
    does is a failure of `test_machine`.
    """
    reasons = {one: available(one) for one in CONFINEMENTS}
    return [
        pytest.param(one, marks=pytest.mark.skipif(bool(why), reason=f"NOT TESTED with {one}: {why}"))
        for one, why in reasons.items()
    ]


def _users() -> list[ParameterSet]:
    """Whoever runs the tests, and an ordinary user if that is root."""
    if os.geteuid() != 0:
        return [pytest.param("self")]
    why = "NOT TESTED as an ordinary user: no Python here can be run by one"
    return [
        pytest.param("self"),
        pytest.param("nobody", marks=pytest.mark.skipif(interpreter("nobody") is None, reason=why)),
    ]


EACH_CONFINEMENT = _confinements()
in_each_confinement = pytest.mark.parametrize("confinement", EACH_CONFINEMENT)
USERS = _users()


@dataclass
class Cell:
    """One user, a workspace and its surroundings."""

    user: str
    base: Path

    @property
    def root(self) -> Path:
        return self.base / "root"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    def plant(self) -> None:
        """Put everything there anew, and give it to the user: only the confinement stands in the way."""
        planted(self.base)
        if self.user == "nobody":
            for one in (self.base, *self.base.rglob("*")):
                os.chown(one, inmate.NOBODY, inmate.NOBODY, follow_symlinks=False)


class Warder:
    """The running `inmate`, for many cells of one user."""

    def __init__(self, user: str, cell: Cell) -> None:
        program = interpreter(user)
        assert program is not None
        self._door = cell.base / "sock"
        self._unbind()
        # A copy that everybody can read: a checkout may be in somebody's home.
        secrets = [str(cell.outside / "secret.txt"), str(cell.root / ".env")]
        self._process = subprocess.Popen(
            [program, inmate.__file__, user, str(self._door), *secrets],
            env={**_environment(), "SECRET": CANARY},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.spent = False
        self.here: dict[str, Any] = json.loads(self._line())
        """What it says of itself: numbers of processes, and where it listens."""

    def _unbind(self) -> None:
        for name in (self._door.name, f"{self._door.name}-datagrams"):
            self._door.with_name(name).unlink(missing_ok=True)

    def renew(self) -> None:
        """Another one in its place, with nothing left of what was done to it."""
        self._unbind()
        self._send("end")
        self.here = json.loads(self._line())
        self.spent = False

    def run(
        self, root: Path, commands: Sequence[str], policy: Mapping[str, object], *, at_once: bool = False
    ) -> Any:
        """What commands came to in a new workspace, one after the other or all at once."""
        job = {"root": str(root), "commands": list(commands), "policy": dict(policy), "at_once": at_once}
        self._send(json.dumps(job))
        return json.loads(self._line())

    def close(self) -> None:
        self._process.communicate(timeout=_END_S)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def planted(base: Path) -> None:
    """The workspace with what is denied in it, and secrets beside it; what was there before is gone."""
    for name in ("root", "outside"):
        remove_tree(str(base / name))  # also of what an attack took the owner's rights
    secret = f"{CANARY}\n"
    files = {
        "outside/secret.txt": secret,
        "outside/program": f"#!/bin/sh\necho {CANARY}\n",
        f"outside/folder/{CANARY}.txt": "",
        "root/.env": secret,
        "root/.readroomignore": "private/\n/config/secret.txt\n",
        "root/readroom.toml": '[policy]\ndeny = ["*.dump"]\n',
        "root/data.dump": secret,
        f"root/private/{CANARY}.txt": secret,
        "root/private/known.txt": secret,
        "root/config/secret.txt": secret,
        "root/config/ok.txt": "ok\n",
        "root/src/a.txt": "hello\n",
        "root/open/b.txt": "hello\n",
        "root/.git/config": "[core]\n",
        "root/.git/hooks/pre-commit": "#!/bin/sh\n",
    }
    for path, text in files.items():
        target = base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (base / "outside/program").chmod(0o755)
    os.link(base / "root/.env", base / "root/src/hard.txt")
    os.link(base / "outside/secret.txt", base / "outside/other.txt")
    (base / "root/src/link").symlink_to("../.env")
    (base / "root/src/out").symlink_to("../../outside/secret.txt")


@contextmanager
def cell(user: str) -> Iterator[Cell]:
    """A planted cell, in a place that every user can reach."""
    base = Path(tempfile.mkdtemp(prefix="readroom-cell-", dir="/tmp"))
    base.chmod(0o755)
    try:
        found = Cell(user, base)
        found.plant()
        yield found
    finally:
        remove_tree(str(base))


Seen = dict[str, tuple[Any, ...]]

FIXED = ("root/.env", "root/.readroomignore", "root/readroom.toml", "root/data.dump", "root/private",
         "root/config/secret.txt", "root/.git", "outside")  # fmt: skip
"""What no command may change in any way."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""Nor these; root owns them, and a change that leaves the mode as it is shows in their last date."""


def state(cell: Cell) -> Seen:
    """All that can be changed of what must not be."""
    found: Seen = {name: (os.stat(name).st_mode, os.stat(name).st_ctime_ns) for name in DEVICES}
    for name in FIXED:
        top = cell.base / name
        below = sorted(top.rglob("*")) if top.is_dir() else []
        for path in (top, *below):
            if not os.path.lexists(path):
                found[str(path)] = ("gone",)
                continue
            seen = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            marks = tuple((one, os.getxattr(path, one)) for one in os.listxattr(path))
            found[str(path)] = (
                seen.st_ino, seen.st_mode, seen.st_uid, seen.st_gid, seen.st_nlink, seen.st_mtime_ns,
                content, marks,
            )  # fmt: skip
    return found


def hidden(cell: Cell) -> list[int]:
    """The inodes of what no command may learn about: something of another inode only has the name."""
    tops = [cell.base / name for name in ("root/.env", "root/private", "outside")]
    return [path.stat().st_ino for top in tops for path in (top, *top.rglob("*"))]


def leaked(cell: Cell) -> list[str]:
    """Files that commands have made, or that were there for all, with something secret in them."""
    kept = ("root/private", "root/config/secret.txt")
    # A planted hard link is the denied file itself, which is looked at by what commands see of it.
    denied = [cell.base / name for name in ("root/.env", "root/data.dump")]
    same = {path.lstat().st_ino for path in denied if path.exists()}
    found = []
    for path in cell.root.rglob("*"):
        inside = str(path.relative_to(cell.base))
        if inside.startswith(kept) or path.is_symlink() or not path.is_file():
            continue
        if path.lstat().st_ino not in same and CANARY.encode() in path.read_bytes():
            found.append(inside)
    return found


def raised(cell: Cell) -> list[str]:
    """What commands have made that runs as somebody for whoever starts it."""
    found = []
    for path in (cell.root, *cell.root.rglob("*")):
        if path.is_symlink() or not path.exists():
            continue
        if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) or _CAPABILITY in os.listxattr(path):
            found.append(str(path.relative_to(cell.base)))
    return found


_CAPABILITY = "security.capability"
