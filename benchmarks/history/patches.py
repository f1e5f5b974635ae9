"""The changes that replies show as patches that git applies, and the trees that come of it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.history.asking import git
from readroom.core.limits import DIFF_LINE_CHARS

_MODES = re.compile(r"mode (\d+)(?: to (\d+))?")
_ODD = re.compile(r"[^\n\t -~\x80-\U0010ffff]")
"""What a reply shows as a mark: characters that control a terminal, line ends of Windows."""


class Shown(NamedTuple):
    """A changed file as replies show it: what they say, and its hunks."""

    facts: Mapping[str, Any]
    hunks: list[str]

    @property
    def path(self) -> str:
        """Its name in the new tree, or the last one."""
        name: str = self.facts["path"]
        return name


def shown(replies: Iterable[Mapping[str, Any]]) -> dict[str, Shown]:
    """The files of all pages; one that goes on in the next page is one."""
    found: dict[str, Shown] = {}
    for facts in replies:
        files = iter(facts["files"])
        own: Shown | None = None
        for row in facts["text"].split("\n")[1:-1]:
            if row[:1] in ("A", "M", "D", "R", "T"):
                listed = next(files)
                own = found.setdefault(listed["path"], Shown(listed, []))
            elif own is not None:
                own.hunks.append(row)
    return found


def tree_of(folder: Path, old: str, files: Iterable[Shown], index: Path) -> tuple[dict[str, str], list[str]]:
    """The entries of the tree that comes of applying files to a commit, and the files that do not apply."""
    index.unlink(missing_ok=True)
    git(folder, "read-tree", old, index=index)
    patches = {file.path: patch for file in files if (patch := _patch(file))}
    failed: list[str] = []
    if not _applied(folder, b"".join(patches.values()), index):
        failed = [path for path, patch in patches.items() if not _applied(folder, patch, index)]
    return entries(git(folder, "ls-files", "-s", "-z", index=index)), failed


def entries(listed: bytes) -> dict[str, str]:
    """Mode and id by path, from `ls-files -s -z` or `ls-tree -r -z`."""
    found = {}
    for row in listed.split(b"\0")[:-1]:
        about, _, path = row.decode("utf-8", "surrogateescape").partition("\t")
        mode, *words = about.split()
        found[path] = f"{mode} {words[0] if len(words[0]) == 40 else words[1]}"
    return found


def _applied(folder: Path, patch: bytes, index: Path) -> bool:
    if not patch:
        return True
    try:
        git(
            folder, "apply", "--cached", "--unidiff-zero", "--whitespace=nowarn", "-", data=patch, index=index
        )
    except subprocess.CalledProcessError:
        return False
    return True


def _patch(file: Shown) -> bytes:
    facts, letter = file.facts, file.facts["change"]
    new, old = facts["path"], facts["old_path"] or facts["path"]
    rows = [f"diff --git {_name('a', old)} {_name('b', new)}"]
    mode = _MODES.search(facts["note"])
    if letter == "A":
        rows.append(f"new file mode {mode[1] if mode else 100644}")
    elif letter == "D":
        rows.append("deleted file mode 100644")
    elif mode is not None:
        rows += [f"old mode {mode[1]}", f"new mode {mode[2]}"]
    if letter == "R":
        rows += [f"rename from {old}", f"rename to {new}"]
    if file.hunks:
        rows.append(f"--- {'/dev/null' if letter == 'A' else _name('a', old)}")
        rows.append(f"+++ {'/dev/null' if letter == 'D' else _name('b', new)}")
        rows += _whole(file.hunks) if letter == "A" else file.hunks
    elif facts["note"] and mode is None:
        return b""
    return ("\n".join(rows) + "\n").encode("utf-8", "surrogateescape")


def _whole(hunks: list[str]) -> list[str]:
    """The hunks of a new file, of which each page has one, as a single one: git inserts each at its top."""
    lines = [row for row in hunks if not row.startswith("@@")]
    return [f"@@ -0,0 +1,{sum(row.startswith('+') for row in lines)} @@", *lines]


def _name(side: str, path: str) -> str:
    name = f"{side}/{path}"
    if name.isascii() and not re.search(r'["\\\s]', name):
        return name
    return '"' + "".join(_quoted(byte) for byte in name.encode("utf-8", "surrogateescape")) + '"'


def _quoted(byte: int) -> str:
    char = chr(byte)
    return char if " " <= char <= "~" and char not in '"\\' else f"\\{byte:03o}"


def why_not(file: Shown | None, blobs: Iterable[bytes]) -> str:
    """Why a file may differ from that of git."""
    if file is None:
        return ""
    if file.facts["note"] and not _MODES.fullmatch(file.facts["note"]):
        return re.sub(r"[\d,]+ bytes.*|commit .*", "", file.facts["note"]).strip(", ") or "too large"
    for blob in blobs:
        try:
            text = blob.decode()
        except UnicodeDecodeError:
            return "bytes that are no UTF-8, shown as marks"
        if _ODD.search(text) or "\ufeff" in text:
            return "characters that are shown as marks"
        if any(len(line) > DIFF_LINE_CHARS for line in text.split("\n")):
            return "long lines, which are cut"
    return ""
