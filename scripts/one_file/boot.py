"""Unpack the archive once, and start readroom from there; in the archive, next to `__main__`.

The environment lies below the cache folder of this account, which nobody else may write to, in a folder that
is named after the content of the archive and the Python. It appears by one rename. At every start each file's
size, times and inode are compared with those of the moment when it was complete: if one has changed since, by
accident or not, none is run, and all are unpacked anew.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn

FAILED = 5
"""The exit code of readroom for a machine that it cannot run on."""

_OURS_ALONE = 0o700


class Unusable(Exception):
    """Why a folder cannot be used, in words that follow its name."""


def main() -> None:
    """Start readroom with the arguments of this process. Never returns."""
    archive = os.path.abspath(sys.argv[0])
    facts = dict(line.split("=", 1) for line in _read("facts").decode().splitlines())
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    _require_platform(facts, tag)
    python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    name = f"{facts['digest'][:24]}-{tag}-{zlib.crc32(os.fsencode(python)):08x}"
    tried = []
    for folder, sure in _places():
        try:
            _require_private(folder, made=sure)
            environment = os.path.join(folder, name)
            if not _is_complete(environment):
                from .unpack import unpack

                unpack(environment, tag, python, archive)
            _start(environment)
        except (Unusable, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            tried.append(f"{folder}: {reason}")
    _stop(f"cannot be unpacked ({'; '.join(tried)}). Set XDG_CACHE_HOME to a folder of yours")


def _read(name: str) -> bytes:
    """A member of the archive, from the loader that has read its list already."""
    loader = globals()["__loader__"]
    data: bytes = loader.get_data(os.path.join(loader.archive, name))
    return data


def _require_platform(facts: dict[str, str], tag: str) -> None:
    """End where the compiled parts do not run, with the reason."""
    system = os.uname()
    processor = {"arm64": "aarch64", "amd64": "x86_64"}.get(system.machine, system.machine)
    here, meant = f"{system.sysname.lower()}-{processor}", facts["platform"]
    if here != meant:
        _stop(f"this file is for {meant}, and this machine is {here}. Build that one with scripts/package")
    if tag not in facts["pythons"].split() or sys.implementation.name != "cpython" or "t" in sys.abiflags:
        free = " without the GIL" if "t" in sys.abiflags else ""
        what = f"{sys.implementation.name} {sys.version.split()[0]}{free}"
        _stop(f"this file is for CPython {facts['versions']}, and this is {what}")
    if sys.platform == "linux":
        library = _c_library()
        oldest = tuple(map(int, facts["glibc"].split(".")))
        if library is None or library < oldest:
            found = "another C library (musl, as on Alpine)" if library is None else "an older one"
            _stop(f"this file needs glibc {facts['glibc']} or newer, and this system has {found}")


def _c_library() -> tuple[int, ...] | None:
    """The version of glibc; None for another library."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        return tuple(map(int, version.split("."))) if name == "glibc" else None
    except (ValueError, OSError):
        return None


def _places() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Folders to unpack into, and those of their parents that are made with them, outermost first."""
    caches = [os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.path.expanduser("~"), ".cache")]
    for cache in caches:
        if os.path.isabs(cache):
            own = os.path.join(cache, "readroom")
            folder = os.path.join(own, "one-file")
            yield folder, (cache, own, folder)
    folder = f"/tmp/readroom-{os.geteuid()}"  # for accounts without a home
    yield folder, (folder,)


def _require_private(folder: str, made: tuple[str, ...]) -> None:
    """Make the folders. Raises Unusable where another account could put something into one."""
    os.makedirs(os.path.dirname(made[0]), mode=_OURS_ALONE, exist_ok=True)
    for path in made:
        with suppress(FileExistsError):
            os.mkdir(path, _OURS_ALONE)
        state = os.lstat(path)
        if not stat.S_ISDIR(state.st_mode):
            raise Unusable(f"{path} is not a folder")
        if state.st_uid != os.geteuid():
            raise Unusable(f"{path} belongs to another account")
        if state.st_mode & 0o022:
            raise Unusable(f"other accounts can write to {path}")
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        raise Unusable("nothing there can be executed (noexec)")


def record_of(environment: str) -> str:
    """The path of the record of an environment, next to it."""
    return f"{environment}.record"


def listed(environment: str) -> str:
    """Every file below it, with what the system changes when somebody changes the file."""
    lines: list[str] = []
    pending = [environment]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(state.st_mode):
                    pending.append(entry.path)
                    lines.append(f"{entry.path}/")
                else:
                    times = f"{state.st_mtime_ns} {state.st_ctime_ns}"
                    lines.append(
                        f"{state.st_mode} {state.st_uid} {state.st_size} {times} {state.st_ino} {entry.path}"
                    )
    return "\n".join(sorted(lines))


def _is_complete(environment: str) -> bool:
    try:
        with open(record_of(environment), encoding="utf-8", errors="surrogateescape") as file:
            return file.read() == listed(environment)
    except OSError:
        return False


def _start(environment: str) -> NoReturn:
    python = os.path.join(environment, "bin", "python")
    os.execv(python, [python, "-I", "-B", os.path.join(environment, "bin", "readroom"), *sys.argv[1:]])


def _stop(sentence: str) -> NoReturn:
    sys.stderr.write(f"readroom: {sentence}.\n")
    sys.exit(FAILED)
