"""Questions with the files that answer them, over repositories that stand in archives or clones.

The folder of questions holds `manifest.json` (name, github, used_revision, root and archive of each
repository), `annotations/NAME.json` (query, category, relevant and secondary paths) and archives.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEPTH = 10
"""Files of a reply that count."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and which files answer it, all alike."""

    text: str
    category: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repository:
    """Files on disk with the questions about them; `half` says whether weights were set on these."""

    name: str
    language: str
    folder: Path
    questions: tuple[Question, ...]
    half: str


def repositories(given: Path, clones: Path | None, work: Path) -> list[Repository]:
    """All repositories that can be had, unpacked below `work`.

    Where the manifest names no half, every second one by name was for tuning, the others for the check:
    settled before the first score.
    """
    manifest: Any = json.loads((given / "manifest.json").read_text(encoding="utf-8"))
    entries = manifest if isinstance(manifest, list) else manifest["repositories"]
    found = []
    for at, entry in enumerate(sorted(entries, key=lambda one: str(one["name"]))):
        folder = work / entry["name"]
        if not folder.exists() and not _unpack(given, clones, entry, folder):
            continue
        questions = tuple(_questions(given / "annotations" / f"{entry['name']}.json", folder))
        half = entry.get("half") or ("check" if at % 2 else "tuning")
        found.append(Repository(entry["name"], entry["language"], folder, questions, half))
    return found


def clone_of(clones: Path, github: str) -> Path | None:
    """The git folder of a repository, `OWNER+NAME` or `OWNER+NAME/repo` among the clones."""
    name = "+".join(github.rstrip("/").split("/")[-2:])
    return next((path for path in (clones / name / "repo", clones / name) if path.is_dir()), None)


def _unpack(given: Path, clones: Path | None, entry: Any, folder: Path) -> bool:
    folder.mkdir(parents=True)
    if entry["archive"]:
        with tarfile.open(given / entry["archive"]["file"]) as archive:
            archive.extractall(folder, filter="data")
        return True
    clone = None if clones is None else clone_of(clones, entry["github"])
    if clone is None:
        folder.rmdir()
        return False
    unpack(clone, entry["used_revision"], folder, entry["root"] or ".")
    return True


def unpack(clone: Path, revision: str, folder: Path, below: str = ".") -> None:
    """Put the files of a revision below a folder, without those that the clone does not hold."""
    git = ["git", "-C", str(clone)]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "-l", revision, "--", *([] if below == "." else [below])],
        capture_output=True,
        check=True,
    ).stdout
    entries = [row.split(b"\t", 1) for row in listed.split(b"\0") if row.startswith(b"100")]
    wanted = [(about.split(), path) for about, path in entries]
    files = [(about[2], path) for about, path in wanted if about[3] != b"BAD"]
    with subprocess.Popen(
        [*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as batch:
        assert batch.stdin is not None
        assert batch.stdout is not None
        for blob, path in files:
            batch.stdin.write(blob + b"\n")
            batch.stdin.flush()
            head = batch.stdout.readline().split()
            if head[1] == b"missing":
                continue
            data = batch.stdout.read(int(head[2]) + 1)[:-1]
            file = folder / os.fsdecode(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        batch.stdin.close()


def _questions(path: Path, folder: Path) -> list[Question]:
    files = [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()]
    found = []
    for one in json.loads(path.read_text(encoding="utf-8")):
        if all(any(is_same(file, target["path"]) for file in files) for target in one["relevant"]):
            paths = {target["path"] for target in (*one["relevant"], *one["secondary"])}
            found.append(Question(one["query"], one["category"], tuple(sorted(paths))))
    return found


def is_same(path: str, target: str) -> bool:
    """Whether two paths mean one file: one is the end of the other."""
    return path == target or path.endswith(f"/{target}") or target.endswith(f"/{path}")


def ndcg(ranked: Sequence[str], targets: Sequence[str]) -> float:
    """NDCG at `DEPTH`: each target counts at the rank of the first file that it is."""
    ranks = set()
    for target in targets:
        rank = next((at for at, path in enumerate(ranked[:DEPTH], 1) if is_same(path, target)), None)
        if rank is not None:
            ranks.add(rank)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(targets), DEPTH) + 1))
    return sum(1 / math.log2(rank + 1) for rank in sorted(ranks)) / best
