"""Unpack the wheels of the archive as an environment: once for each content and Python."""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from io import BytesIO

from .boot import Unusable, listed, record_of

_PROGRAM = """#!{python} -IB
import sys
from readroom.cli.main import main
sys.exit(main())
"""


def unpack(environment: str, tag: str, python: str, archive: str) -> None:
    """Make the environment for a Python and its tag; what is there already, and is not complete, is replaced.

    Raises:
        OSError: The disk is full, or something else of the system's.
        Unusable: The archive was damaged on its way.
    """
    folder = os.path.dirname(environment)
    work = tempfile.mkdtemp(prefix=".unpacking-", dir=folder)
    try:
        made = os.path.join(work, "environment")
        _filled(made, tag, python, archive, environment)
        if os.path.lexists(environment):
            os.rename(environment, os.path.join(work, "before"))
        try:
            os.rename(made, environment)
        except OSError:  # another process was faster
            if not os.path.isdir(environment):
                raise
        record = os.path.join(work, "record")
        with open(record, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(listed(environment))
        os.replace(record, record_of(environment))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _filled(made: str, tag: str, python: str, archive: str, environment: str) -> None:
    """The environment under a name that is not its last."""
    packages = os.path.join(
        made, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages"
    )
    programs = os.path.join(made, "bin")
    os.makedirs(packages)
    os.makedirs(programs)
    with _opened(archive) as whole:
        for line in whole.read("wheels").decode().splitlines():
            tags, digest, name = line.split(" ")
            if tag in tags.split(","):
                data = _member(whole, f"wheels/{name}")
                if hashlib.sha256(data).hexdigest() != digest:
                    raise _damaged(archive)
                _installed(data, packages, programs, made)
    os.symlink(python, os.path.join(programs, "python"))
    _written(
        os.path.join(made, "pyvenv.cfg"),
        f"home = {os.path.dirname(python)}\ninclude-system-site-packages = false\n",
    )
    _written(os.path.join(made, "origin"), archive)
    program = os.path.join(programs, "readroom")
    _written(program, _PROGRAM.format(python=os.path.join(environment, "bin", "python")))
    os.chmod(program, 0o700)
    # Modules name the place where they will be, in tracebacks.
    last = os.path.join(environment, os.path.relpath(packages, made))
    compileall.compile_dir(packages, quiet=2, ddir=last, workers=min(4, os.cpu_count() or 1))


def _opened(archive: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(archive)
    except zipfile.BadZipFile:
        raise _damaged(archive) from None


def _member(whole: zipfile.ZipFile, name: str) -> bytes:
    try:
        return whole.read(name)
    except (zipfile.BadZipFile, EOFError, KeyError):
        raise _damaged(str(whole.filename)) from None


def _damaged(archive: str) -> Unusable:
    return Unusable(f"{archive} was damaged on its way, so copy it again")


def _installed(data: bytes, packages: str, programs: str, made: str) -> None:
    """Unpack one wheel. Raises Unusable for a name that leads elsewhere."""
    with zipfile.ZipFile(BytesIO(data)) as wheel:
        for member in wheel.infolist():
            if member.is_dir():
                continue
            parts = member.filename.split("/")
            if not all(parts) or ".." in parts or "\\" in member.filename:
                raise Unusable(f"{member.filename} is no name for a file of a wheel")
            place, below = packages, parts
            if parts[0].endswith(".data"):
                place = {"scripts": programs, "data": made}.get(parts[1], packages)
                below = parts[2:]
            path = os.path.join(place, *below)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(wheel.read(member))
            if place == programs or member.external_attr >> 16 & 0o100:
                os.chmod(path, 0o700)


def _written(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
