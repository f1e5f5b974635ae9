"""Compare commits, files as they were, changes and blame with what git says, on ten real repositories.

python -m benchmarks.history.repositories --clones FOLDER --work FOLDER --out RUN

A clone is OWNER+NAME/repo below the folder, as `benchmarks.find.mining` has them.  Samples are drawn with a
fixed seed.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.history.asking import Refused, git, git_text, pages
from benchmarks.history.patches import Shown, entries, shown, tree_of, why_not
from benchmarks.measure import Record
from readroom import Workspace

REPOSITORIES = (
    *("BurntSushi+ripgrep", "apache+commons-lang", "clap-rs+clap", "dart-lang+http", "expressjs+express"),
    *("fmtlib+fmt", "jqlang+jq", "junit-team+junit4", "spf13+cobra", "tornadoweb+tornado"),
)

COMMITS, PATHS, SHOWN, CHANGES, BLAMED = 2000, 5, 20, 20, 5
"""Of each repository: the commits of its log that are compared, paths with a log, files that are read as they
were, commits whose changes are applied, and files that are blamed."""

_FILES = 60
"""Files of a commit whose changes are applied, at most."""

_LINES = 1500
"""Lines of a file that is blamed, at most."""


def main() -> None:
    """Compare, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=REPOSITORIES)
    given = parser.parse_args()
    record, table = Record(), []
    for name in given.only or REPOSITORIES:
        beside = Beside(_clone(given.clones / name / "repo", given.work / name), record, name)
        table.append(beside.row())
        record.say(*beside.unlike)
    record.table(["repository", *ASPECTS, "seconds"], table)
    record.write(
        given.out, "python -m benchmarks.history.repositories --clones FOLDER --work FOLDER --out RUN"
    )


def _clone(source: Path, folder: Path) -> Path:
    """A clone without files of the newest commit, none of which are asked for."""
    if not folder.exists():
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(source), str(folder)], check=True)
    # Snapshots may lack their largest files, and are marked as partial clones, which are refused by name.
    for mark in folder.glob(".git/objects/pack/*.promisor"):
        mark.unlink()
    return folder


class Beside:
    """One repository beside git. `unlike` is what differs, in lines of Markdown."""

    def __init__(self, folder: Path, record: Record, name: str) -> None:
        self.folder, self.name = folder, name.replace("+", "/")
        self.unlike: list[str] = []
        self._record, self._chance = record, random.Random(5)
        self._head = git_text(folder, "rev-parse", "HEAD").strip()
        self._files = [path for path in self._listed(self._head) if path.isascii()]
        self._known: dict[str, bytes] = {}

    def row(self) -> list[str]:
        """How many of each aspect are equal, of how many."""
        began = time.monotonic()
        cells = [self.name]
        with Workspace(self.folder) as workspace:
            for aspect, compare in ASPECTS.items():
                equal, explained, total = compare(self, workspace)
                self._record.add(aspect, self.name, "equal", [equal], "count")
                self._record.add(aspect, self.name, "explained", [explained], "count")
                self._record.add(aspect, self.name, "all", [total], "count")
                more = f", {explained:,} explained" if explained else ""
                cells.append(f"{equal:,} of {total:,}{more}")
        return [*cells, f"{time.monotonic() - began:.0f}"]

    # --- commits ---

    def log(self, workspace: Workspace) -> tuple[int, int, int]:
        """The newest commits, in the order of git."""
        expected = git_text(self.folder, "log", f"-n{COMMITS}", "--format=%H").split()
        found: list[str] = []
        for facts in pages(workspace, show="log", limit=500):
            found += [commit["id"] for commit in facts["commits"]]
            if len(found) >= COMMITS:
                break
        pairs = zip(found[:COMMITS], expected, strict=True)
        return sum(one == other for one, other in pairs), 0, len(expected)

    def logs(self, workspace: Workspace) -> tuple[int, int, int]:
        """The commits that changed a path: as git lists them, with or without the names before renames."""
        equal = explained = 0
        some = self._chance.sample(self._files, min(PATHS, len(self._files)))
        for path in some:
            logged = {
                commit["id"]: commit["path"]
                for facts in pages(workspace, show="log", path=path, limit=500)
                for commit in facts["commits"]
            }
            found = list(logged)
            plain = git_text(self.folder, "log", "--format=%H", "--", path).split()
            followed = git_text(self.folder, "log", "--follow", "--format=%H", "--", path).split()
            if found in (plain, followed):
                equal += 1
                continue
            # git follows one name through all branches, and copies; each commit of ours changes the path.
            own = set(plain) <= set(found) and all(self._changes(*one) for one in logged.items())
            explained += own
            said = f"{len(found)} commits, git {len(plain)} or {len(followed)}"
            common = len(set(found) & set(followed))
            self._differs(f"log of {path}: {said}, {common} in common{'' if own else ', **unexplained**'}")
        return equal, explained, len(some)

    def _changes(self, commit: str, path: str) -> bool:
        """Whether a commit changes a path, beside any of its parents."""
        words = ("diff-tree", "-r", "-m", "--root", "--no-commit-id", "--name-only", commit, "--", path)
        return bool(git(self.folder, *words))

    # --- files ---

    def show(self, workspace: Workspace) -> tuple[int, int, int]:
        """Files as they were: the hash of their bytes, or the refusal of a denied name."""
        equal = explained = total = 0
        for commit in self._commits(SHOWN // 10):
            files = [path for path in self._listed(commit) if path.isascii()]
            for path in self._chance.sample(files, min(10, len(files))):
                try:
                    data = git(self.folder, "show", f"{commit}:{path}")
                except subprocess.CalledProcessError:
                    self._differs(f"read of {path}: the snapshot lacks it")
                    continue
                total += 1
                reply = workspace.call("read_file", {"path": f"@{commit}/{path}", "limit": 100_000})
                facts: Any = reply.facts
                if reply.is_error:
                    explained += facts["error"]["code"] in ("denied", "binary")
                    self._differs(f"read of {path}: {facts['error']['code']}")
                elif facts["content_hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}":
                    equal += 1
                elif facts["content_hash"] is None:
                    explained += 1
                    self._differs(f"read of {path}: {facts['kind']}, {len(data):,} bytes")
                else:
                    self._differs(f"**read of {path}** at {commit[:10]}: other bytes")
        return equal, explained, total

    def changes(self, workspace: Workspace) -> tuple[int, int, int]:
        """What each commit changed: applying all hunks to its parent gives its tree."""
        equal = explained = total = 0
        for commit in self._commits(CHANGES):
            total += 1
            try:
                found = shown(pages(workspace, show="changes", revision=f"{commit}^..{commit}"))
                denied = sum(
                    facts["denied"]
                    for facts in pages(workspace, show="changes", revision=f"{commit}^..{commit}", by="file")
                    if not facts["next"]
                )
            except Refused as refused:
                self._differs(f"**changes of {commit[:10]}**: {refused}")
                continue
            reasons = self._unequal(commit, found, denied)
            equal += not reasons
            explained += bool(reasons) and "" not in reasons
            if reasons:
                said = ", ".join(
                    f"{count} {reason or '**unexplained**'}" for reason, count in reasons.items()
                )
                self._differs(f"changes of {commit[:10]}: {said}")
        return equal, explained, total

    def _unequal(self, commit: str, found: Mapping[str, Shown], denied: int) -> Counter[str]:
        """The files of which the tree differs, by the reason."""
        index = self.folder / ".git" / "beside.index"
        made, failed = tree_of(self.folder, f"{commit}^", found.values(), index)
        wanted = entries(git(self.folder, "ls-tree", "-r", "-z", commit))
        before = entries(git(self.folder, "ls-tree", "-r", "-z", f"{commit}^"))
        unlike = {path for path in {*made, *wanted} if made.get(path) != wanted.get(path)} | set(failed)
        old_names = {file.facts["old_path"]: file for file in found.values() if file.facts["old_path"]}
        reasons: Counter[str] = Counter()
        for path in unlike:
            file = found.get(path) or old_names.get(path)
            ids = [said.split()[1] for said in (before.get(path), wanted.get(path)) if said]
            same = made.get(path, " ").split()[1:] == wanted.get(path, " ").split()[1:]
            if file is None and denied:
                reasons["of a denied name"] += 1
            elif file is not None and same:
                reasons["mode of a new file, which is not said"] += 1
            else:
                reasons[why_not(file, map(self._blob, ids))] += 1
        return reasons

    def counts(self, workspace: Workspace) -> tuple[int, int, int]:
        """The lines that were added and removed in each file of half the history."""
        equal = explained = total = 0
        for commit in self._commits(3):
            ours = {
                file["path"]: (file["added"], file["removed"])
                for facts in pages(workspace, show="changes", revision=f"{commit}..HEAD", by="file")
                for file in facts["files"]
                if file["added"] is not None and file["change"] in "AMD"
            }
            try:
                said = git_text(self.folder, "diff", "--numstat", "--no-renames", commit, "HEAD")
            except subprocess.CalledProcessError:
                self._differs(f"lines since {commit[:10]}: the snapshot lacks a file")
                continue
            rows = [row.split("\t") for row in said.split("\n")[:-1]]
            theirs = {row[2]: (int(row[0]), int(row[1])) for row in rows if row[0] != "-"}
            both = ours.keys() & theirs.keys()
            total += len(both)
            for path in both:
                equal += ours[path] == theirs[path]
                if ours[path] != theirs[path]:
                    patient = git_text(
                        self.folder, "diff", "--numstat", "--minimal", commit, "HEAD", "--", path
                    )
                    own = tuple(map(int, patient.split("\t")[:2]))
                    balanced = ours[path][0] - ours[path][1] == theirs[path][0] - theirs[path][1]
                    explained += balanced
                    self._differs(f"lines of {path}: {ours[path]}, git {theirs[path]}, shortest {own}")
        return equal, explained, total

    # --- blame ---

    def blame(self, workspace: Workspace) -> tuple[int, int, int]:
        """The commit of each line; one of both commits that added an equal line explains a difference."""
        equal = explained = total = blamed = 0
        for path in self._chance.sample(self._files, len(self._files)):
            data = git(self.folder, "show", f"HEAD:{path}")
            if not data or b"\0" in data or data.count(b"\n") > _LINES or blamed == BLAMED:
                continue
            blamed += 1
            said = git_text(self.folder, "blame", "--porcelain", "HEAD", "--", path)
            theirs = [match[1] for match in re.finditer(r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE)]
            try:
                ours = _blamed(workspace, path)
            except Refused as refused:
                self._differs(f"blame of {path}: {refused}")
                continue
            total += len(theirs)
            lines = data.decode("utf-8", "replace").split("\n")
            unlike = [at for at, commit in enumerate(theirs) if ours.get(at + 1) != commit]
            equal += len(theirs) - len(unlike)
            alike = [at for at in unlike if self._adds(ours.get(at + 1), lines[at])]
            explained += len(alike)
            if unlike:
                mark = "" if len(alike) == len(unlike) else "**"
                self._differs(
                    f"{mark}blame of {path}{mark}: {len(unlike)} of {len(theirs)} lines, "
                    f"{len(alike)} of them equal lines that our commit added too"
                )
        return equal, explained, total

    def _adds(self, commit: str | None, line: str) -> bool:
        """Whether a commit added a line with this text, beside its first parent."""
        if commit is None:
            return False
        known = self._known.get(commit)
        if known is None:
            known = git(self.folder, "diff-tree", "-p", "-U0", "-M", "--root", "-m", "--first-parent", commit)
            self._known[commit] = known
        return f"\n+{line}\n".encode() in known

    # --- samples ---

    def _commits(self, count: int) -> list[str]:
        """A sample of the commits that have a parent and change few files."""
        every = git_text(self.folder, "rev-list", "--min-parents=1", "HEAD").split()
        some: list[str] = []
        for commit in self._chance.sample(every, min(4 * count, len(every))):
            changed = git_text(self.folder, "diff-tree", "-r", "--name-only", f"{commit}^", commit).count(
                "\n"
            )
            if 0 < changed <= _FILES:
                some.append(commit)
            if len(some) == count:
                break
        return some

    def _listed(self, commit: str) -> list[str]:
        """The paths of the files of a commit; links and submodules are none."""
        rows = git(self.folder, "ls-tree", "-r", "-z", commit).decode("utf-8", "surrogateescape").split("\0")
        return [row.partition("\t")[2] for row in rows if row.startswith("100")]

    def _blob(self, name: str) -> bytes:
        try:
            return git(self.folder, "cat-file", "blob", name)
        except subprocess.CalledProcessError:
            return b""

    def _differs(self, what: str) -> None:
        self.unlike.append(f"- {self.name}: {what}")


def _blamed(workspace: Workspace, path: str) -> dict[int, str]:
    """The commit of each line; lines that a call did not finish are asked for again."""
    found: dict[int, str] = {}
    left: list[dict[str, str]] = [{}]
    while left:
        for facts in pages(workspace, show="blame", path=path, revision="HEAD", **left.pop()):
            for line in facts["lines"]:
                found |= dict.fromkeys(range(line["first"], line["last"] + 1), line["commit"])
            left += [{"lines": f"{first}-{first + count - 1}"} for first, count in facts["not_finished"]]
    return found


ASPECTS: Mapping[str, Callable[[Beside, Workspace], tuple[int, int, int]]] = {
    "log": Beside.log,
    "logs of paths": Beside.logs,
    "files as they were": Beside.show,
    "changes applied": Beside.changes,
    "counts of lines": Beside.counts,
    "lines of blame": Beside.blame,
}


if __name__ == "__main__":
    main()
