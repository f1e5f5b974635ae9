"""Apply the patches of a repository's commits here and with git, and compare every byte.

    .venv/bin/python -m scripts.patch_corpus REPOSITORY [--commits 300] [--seed 1]

REPOSITORY is any repository of git, with a work tree or without.  Of its history commits with one parent are
drawn.  For each, `git format-patch` makes the patch, the files that it names are laid out in two folders as
they were before it, and one gets it from `git apply`, the other from here.  A commit counts as equal if both
folders hold the same files with the same bytes; as refused if the patch has what is never applied here, or
files that are not text, or are too large, and nothing was changed.  Everything else is a difference, and ends
the run with code 1.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from readroom.core import errors
from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.policy.changes import ChangePolicy
from readroom.core.policy.rules import Rule
from readroom.core.stores.local import LocalStore
from readroom.core.text import patches
from readroom.core.values import Cap
from readroom.core.values.changes import EditFilesRequest
from readroom.core.workspace import Workspace

REFUSED = (
    *(errors.NotPatched, errors.Binary, errors.TooLarge),
    *(errors.Protected, errors.SymbolicLink, errors.BrokenPlace),
)
"""Refusals that are no difference: git does what is never done here."""


class Outcome(Struct, frozen=True):
    """What became of one commit: equal, refused, skipped or different, and why."""

    kind: str
    why: str = ""


def git(repository: Path, *arguments: str, data: bytes | None = None, ok: bool = True) -> bytes:
    """The output of git in a repository; nothing of the user's own settings counts."""
    command = ["git", "-c", "core.quotePath=true", "-c", "core.autocrlf=false", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    done = subprocess.run(
        command, cwd=repository, input=data, capture_output=True, check=False, env=environment
    )
    if ok and done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout if done.returncode == 0 else b""


def commits(repository: Path, count: int, seed: int) -> list[str]:
    """So many commits with one parent, drawn from the whole history."""
    every = git(repository, "rev-list", "--min-parents=1", "--max-parents=1", "HEAD").decode().split()
    return sorted(random.Random(seed).sample(every, min(count, len(every))))


def compared(repository: Path, commit: str, folder: Path) -> Outcome:
    """What becomes of one commit."""
    patch = git(repository, "format-patch", "-1", "--stdout", "--full-index", commit)
    if b"\ndiff --git " not in patch:
        return Outcome("skipped", "no change")
    names = _names(repository, commit)
    ours, theirs = folder / "ours", folder / "theirs"
    for place in (ours, theirs):
        _laid_out(repository, f"{commit}^", names, place)
    before = _files(ours)
    (folder / "patch").write_bytes(patch)
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(folder / "patch")],
        cwd=theirs,
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CEILING_DIRECTORIES": str(folder)},
    )
    if done.returncode:
        return Outcome("skipped", f"git: {done.stderr.decode('utf-8', 'replace').strip()}")
    refusal = applied(ours, patch)
    after = _files(ours)
    if refusal is None:
        expected = _files(theirs)
        wrong = sorted(
            name for name in expected.keys() | after.keys() if expected.get(name) != after.get(name)
        )
        return Outcome("equal") if not wrong else Outcome("different", f"bytes of {', '.join(wrong[:5])}")
    if after != before:
        return Outcome("different", f"refused, and something was changed: {refusal}")
    kinds = refusal.failures if isinstance(refusal, errors.EditsFailed) else [("", refusal)]
    known = all(isinstance(error, REFUSED) for _, error in kinds)
    return Outcome(
        "refused" if known else "different", "; ".join(str(error.message) for _, error in kinds[:3])
    )


def _names(repository: Path, commit: str) -> list[tuple[str, str]]:
    """The mode and name of each file before the commit that the commit touches."""
    listed = git(repository, "diff-tree", "-r", "-z", "--no-renames", f"{commit}^", commit)
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    return [(head[1:7], name) for head, name in zip(fields[::2], fields[1::2], strict=False)]


def _laid_out(repository: Path, commit: str, names: Sequence[tuple[str, str]], place: Path) -> None:
    place.mkdir()
    for mode, name in names:
        if not mode.startswith("100"):
            continue  # absent, a link or a submodule
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(git(repository, "cat-file", "blob", f"{commit}:{name}"))
        if mode == "100755":
            file.chmod(0o755)
    for mode, name in names:
        if mode == "120000":
            link = place / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(git(repository, "cat-file", "blob", f"{commit}:{name}").decode())


def _files(place: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(place)): file.read_bytes()
        for file in place.rglob("*")
        if file.is_file() and not file.is_symlink()
    }


def applied(place: Path, patch: bytes) -> errors.ReadroomError | None:
    """Apply a patch here; the refusal, if it is refused."""
    settings = Settings(changes=ChangePolicy(exceptions=(Rule("*", "corpus", "all of it may change"),)))
    with Workspace(LocalStore(place), settings=settings) as workspace:
        cap = Cap(1_000_000, workspace.contract("native").measure)
        try:
            workspace.engine.perform(EditFilesRequest(tuple(patches.read(patch, "unified"))), cap, Deadline())
        except errors.ReadroomError as refusal:
            return refusal
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the commits of a repository, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    repository = given.repository.resolve()
    counts: Counter[str] = Counter()
    for commit in commits(repository, given.commits, given.seed):
        with tempfile.TemporaryDirectory() as folder:
            outcome = compared(repository, commit, Path(folder))
        counts[outcome.kind] += 1
        if outcome.kind != "equal":
            print(f"{commit[:12]} {outcome.kind}: {outcome.why[:300]}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
