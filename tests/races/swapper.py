"""Another process that swaps names as fast as it can, with rests or without, and the trees it does that to.

At every moment each swapped name is either what belongs into the root or a link
to what does not, never absent: where the system can exchange two names in one
act.  Readers therefore have to meet both.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INSIDE = b"INSIDE the root"
OUTSIDE = b"OUTSIDE the root, or denied"
"""What no reader may ever see; names of what must not be seen hold the word as well."""

_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_AT_FDCWD = -100


@dataclass(frozen=True, slots=True)
class Scene:
    """A tree of which some names are swapped.

    Attributes:
        root: The folder that readers are confined to.
        file: The path of a file that is sometimes elsewhere.
        folder: The path of a folder that is sometimes elsewhere, or holds such names.
        pairs: The names that change places.
    """

    root: Path
    file: str
    folder: str
    pairs: Sequence[tuple[Path, Path]]


def _tree(base: Path) -> Path:
    """A root and what is beside it."""
    root = base / "root"
    for folder in ("root/parent/deep", "root/.ssh", "outside/deep", "stash"):
        (base / folder).mkdir(parents=True)
    for path in ("root/parent/file", "root/parent/deep/file", "root/leaf"):
        (base / path).write_bytes(INSIDE)
    for path in ("outside/file", "outside/deep/file", "outside/OUTSIDE", "root/.env", "root/.ssh/file"):
        (base / path).write_bytes(OUTSIDE)
    (root / ".ssh" / "OUTSIDE").write_bytes(OUTSIDE)
    return root


def parent_out(base: Path) -> Scene:
    """A folder in the middle of the path, and a link to a folder outside."""
    root = _tree(base)
    (base / "stash" / "parent").symlink_to("../outside")
    return Scene(root, "parent/file", "parent", [(root / "parent", base / "stash" / "parent")])


def leaf_out(base: Path) -> Scene:
    """The file itself, and a link to a file outside."""
    root = _tree(base)
    (base / "stash" / "leaf").symlink_to("../outside/file")
    return Scene(root, "leaf", ".", [(root / "leaf", base / "stash" / "leaf")])


def chain_out(base: Path) -> Scene:
    """Links to links, two of which lead outside now and then; one of them stands before "..", so that
    what `up/..` means depends on where `up` leads at that moment."""
    root = _tree(base)
    (root / "first").symlink_to("second/deep")
    (root / "second").symlink_to("up/../../third")
    (root / "third").symlink_to("parent")
    (root / "up").symlink_to("parent/deep")
    (base / "third").symlink_to("outside")
    (base / "stash" / "third").symlink_to("../outside")
    (base / "stash" / "up").symlink_to("../outside/deep")
    pairs = [(root / name, base / "stash" / name) for name in ("third", "up")]
    return Scene(root, "first/file", "first", pairs)


def parent_denied(base: Path) -> Scene:
    """A folder, and a link to a denied folder inside the root."""
    root = _tree(base)
    (root / "other").symlink_to(".ssh")
    return Scene(root, "parent/file", "parent", [(root / "parent", root / "other")])


def leaf_denied(base: Path) -> Scene:
    """A file, and a link to a denied file inside the root."""
    root = _tree(base)
    (root / "other").symlink_to(".env")
    return Scene(root, "leaf", "parent", [(root / "leaf", root / "other")])


LEADING_OUT = (parent_out, leaf_out, chain_out)
LEADING_TO_DENIED = (parent_denied, leaf_denied)


@contextmanager
def swapping(scene: Scene, rests: Sequence[float] = ()) -> Iterator[None]:
    """While the names of a scene change places, in a process of their own.

    Args:
        scene: The tree.
        rests: Seconds in which nothing changes places and everything belongs into the root, one after each
            turn, over and over and each time twice as long: for what takes longer than two changes do, as
            whatever is flushed to disk, however slow the machine is.
    """
    names = [os.fspath(name) for pair in scene.pairs for name in pair]
    child = subprocess.Popen(
        [sys.executable, "-S", __file__, ",".join(map(str, rests)), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"swapping\n"
        yield
        assert child.poll() is None, "the swapper gave up"
    finally:
        child.stdin.close()
        child.stdout.close()
        child.wait()


def exchange(first: str, second: str) -> None:
    """Let two names change places; in one act where the system can."""
    libc = ctypes.CDLL(None, use_errno=True)
    one, two = os.fsencode(first), os.fsencode(second)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        failed = libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, two, _RENAME_EXCHANGE)
    elif sys.platform == "darwin":
        failed = libc.renamex_np(one, two, _RENAME_SWAP)
    else:
        failed = -1
    if failed:
        os.rename(first, first + ".moving")
        os.rename(second, first)
        os.rename(first + ".moving", second)


def _growing(rests: Sequence[float]) -> Iterator[float]:
    for doublings in itertools.count():
        yield from (rest * 2**doublings for rest in rests)


def main(rests: Sequence[float], names: Sequence[str]) -> None:
    """Swap until standard input is closed; an even number of times, so that the tree is as it was."""
    sys.stdout.write("swapping\n")
    sys.stdout.flush()
    pairs = list(zip(names[::2], names[1::2], strict=True))
    for rest in _growing(rests or [0]):
        until = time.monotonic() + rest
        while True:
            for _ in range(50):
                for first, second in pairs * 2:
                    exchange(first, second)
            if time.monotonic() >= until:
                break
        if select.select([0], [], [], rest)[0]:
            break


if __name__ == "__main__":
    main([float(rest) for rest in sys.argv[1].split(",") if rest], sys.argv[2:])
