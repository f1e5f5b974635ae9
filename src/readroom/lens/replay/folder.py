"""The folder in which a session is made again: as it is, or as git has it at a commit."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from readroom.errors import StoreFailed


@contextmanager
def folder_at(root: Path, commit: str | None) -> Iterator[Path]:
    """The folder as it is, or what its git repository held at `commit`, in a folder of its own.

    Raises:
        StoreFailed: git does not know the commit.
    """
    if commit is None:
        yield root
        return
    if commit.startswith("-"):
        raise StoreFailed(str(root), f"{commit!r} is not the name of a commit")
    command = ["git", "-C", str(root), "archive", "--format=tar", commit]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise StoreFailed(str(root), f"git does not know {commit!r} there")
    with tempfile.TemporaryDirectory(prefix="readroom-replay-") as made:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(made, filter="data")
        yield Path(made)
