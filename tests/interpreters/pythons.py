"""The Pythons of this machine that readroom runs on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from glob import glob
from pathlib import Path

from msgspec import Struct

_ASK = "import sys; print(*sys.version_info[:3], sys.implementation.name)"
_OLDEST = (3, 11)


class Python(Struct, frozen=True):
    """One interpreter."""

    path: str
    version: tuple[int, ...]


def _candidates() -> Iterator[Path]:
    """The system's own first: it is the one that other people have."""
    folders = [Path("/usr/bin"), Path("/usr/local/bin"), *map(Path, os.get_exec_path())]
    root = os.path.expanduser(os.environ.get("PYENV_ROOT", "~/.pyenv"))
    # It may be somebody else's, whom this account's shell was started by; `glob` finds nothing there then.
    folders += map(Path, sorted(glob(os.path.join(root, "versions", "*", "bin"))))
    for folder in folders:
        yield from (folder / name for name in ("python3", *(f"python3.{minor}" for minor in range(11, 20))))


@cache
def others() -> tuple[Python, ...]:
    """One of each version but the running one's."""
    found: dict[tuple[int, ...], Python] = {
        sys.version_info[:3]: Python(sys.executable, sys.version_info[:3])
    }
    # Those of other people's homes are out of reach for a normal user.
    for path in dict.fromkeys(one.resolve() for one in _candidates() if os.access(one, os.X_OK)):
        # A shim of pyenv is there for versions that are not chosen, and does not run.
        asked = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, text=True, check=False)
        *numbers, name = asked.stdout.split() or ["none"]
        version = tuple(map(int, numbers))
        if not asked.returncode and name == "cpython" and version >= _OLDEST:
            found.setdefault(version, Python(str(path), version))
    return tuple(python for version, python in found.items() if version != sys.version_info[:3])
