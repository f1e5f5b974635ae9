"""Edits as models ask for them: those of real commits, and made ones with the slips that models make.

A task says what the caller believes of its files and what they are to be afterwards.  It is solved if exactly
those bytes are there; a refusal that changes nothing is the next best, and the best where nothing is meant.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeAlias

from benchmarks.corpora import HOME

REPOSITORIES = HOME / "repositories"
"""Repositories of git, bare or not, whose commits give the real tasks."""

REAL, EACH = 160, 20
"""Tasks from commits, and made tasks of each kind."""

_REAL_BYTES = 200_000

_FILE = re.compile(r":(100\d+) \1 .*M$")
"""A file that is changed and keeps its mode, as `git diff-tree` shows it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A text to be replaced by another, with LF, as the caller believes it to be there."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Task:
    """Attributes:
    kind: What is hard about it.
    files: Bytes by name, as they are.
    edits: What is to be replaced.
    believed: What the caller has read of each file that it edits, as text with LF.
    wanted: The same after the edits.
    after: The bytes of all files as they are meant to be; None if nothing may be changed.
    read: Bytes of files as they were when the caller read them, where that differs.
    also: What is right as well: the new text as it was typed, where only blanks or signs differ.
    """

    kind: str
    files: Mapping[str, bytes]
    edits: Sequence[Edit]
    believed: Mapping[str, str]
    wanted: Mapping[str, str]
    after: Mapping[str, bytes] | None
    read: Mapping[str, bytes] = field(default_factory=dict)
    also: Mapping[str, bytes] | None = None

    def diff(self) -> str:
        """The edits as a unified diff, as git writes it."""
        return "".join(self._diff(path) for path in self.wanted)

    def _diff(self, path: str) -> str:
        old, new = self.believed[path].splitlines(True), self.wanted[path].splitlines(True)
        lines = [f"--- a/{path}\n", f"+++ b/{path}\n"]
        for group in groups(old, new, 3):
            first, last = group[0], group[-1]
            heading = ((first[1], last[2]), (first[3], last[4]))
            ranges = [f"{begin + (end > begin)},{end - begin}" for begin, end in heading]
            lines.append(f"@@ -{ranges[0]} +{ranges[1]} @@\n")
            lines += _marked(group, old, new)
        ended = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
        return "".join(ended)

    def v4a(self, path: str) -> str:
        """The edits of one file as hunks of a V4A patch, with three lines of context."""
        old, new = self.believed[path].splitlines(), self.wanted[path].splitlines()
        lines = []
        for group in groups(old, new, 3):
            lines += ["@@", *_marked(group, old, new)]
        return "\n".join(lines) + "\n"


Group: TypeAlias = Sequence[tuple[str, int, int, int, int]]
"""Opcodes of `difflib`."""


def groups(old: Sequence[str], new: Sequence[str], context: int) -> Iterator[Group]:
    """The hunks between two texts; only what is around their differences is compared."""
    least = min(len(old), len(new))
    head = next((at for at in range(least) if old[at] != new[at]), least)
    tail = next((at for at in range(least - head) if old[-1 - at] != new[-1 - at]), least - head)
    skip, rest = max(0, head - context), max(0, tail - context)
    parts = old[skip : len(old) - rest], new[skip : len(new) - rest]
    for group in SequenceMatcher(None, *parts, autojunk=False).get_grouped_opcodes(context):
        yield [(tag, a + skip, b + skip, c + skip, d + skip) for tag, a, b, c, d in group]


def _marked(group: Group, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from (f" {line}" for line in old[a:b])
            continue
        yield from (f"-{line}" for line in old[a:b])
        yield from (f"+{line}" for line in new[c:d])


def tasks(seed: int = 1) -> list[Task]:
    """All of them, the same for the same seed and repositories."""
    chance = random.Random(seed)
    made = [
        make(chance, number, f"t{number}.py")
        for make in (*_KINDS, *(_encoded(*row) for row in _ENCODINGS))
        for number in range(EACH if make in _KINDS else EACH // len(_ENCODINGS))
    ]
    return [*_real(chance), *made]


# --- edits of commits --------------------------------------------------------------------------


def _real(chance: random.Random) -> Iterator[Task]:
    repositories = sorted(REPOSITORIES.iterdir()) if REPOSITORIES.is_dir() else []
    for at, repository in enumerate(repositories):
        wanted = REAL // len(repositories) + (at < REAL % len(repositories))
        found = 0
        commits = _git(repository, "rev-list", "--min-parents=1", "--max-parents=1", "HEAD").decode().split()
        chance.shuffle(commits)
        for commit in commits[: 40 * wanted]:
            task = _of_commit(repository, commit) if found < wanted else None
            if task is not None:
                found += 1
                yield task


def _of_commit(repository: Path, commit: str) -> Task | None:
    listed = _git(repository, "diff-tree", "-r", "--no-renames", f"{commit}^", commit)
    rows = [row.split("\t") for row in listed.decode("utf-8", "replace").splitlines()]
    if not 1 <= len(rows) <= 3 or any(not _FILE.match(row[0]) or '"' in row[1] for row in rows):
        return None
    files, after, edits = dict[str, bytes](), dict[str, bytes](), list[Edit]()
    believed, wanted = dict[str, str](), dict[str, str]()
    for _, path in rows:
        old = _git(repository, "show", f"{commit}^:{path}")
        new = _git(repository, "show", f"{commit}:{path}")
        try:
            texts = old.decode(), new.decode()
        except UnicodeDecodeError:
            return None
        if max(len(old), len(new)) > _REAL_BYTES or "\r" in old.decode() + new.decode() or not old or not new:
            return None
        found = list(_edits(path, *texts))
        if not 1 <= len(found) <= 8:
            return None
        files[path], after[path] = old, new
        believed[path], wanted[path] = texts
        edits += found
    return Task(
        f"commit, {'one file' if len(rows) == 1 else 'several files'}", files, edits, believed, wanted, after
    )


def _edits(path: str, old: str, new: str) -> Iterator[Edit]:
    """Each hunk as a text that occurs once, with as many lines around it as that takes."""
    a, b = old.splitlines(True), new.splitlines(True)
    for group in groups(a, b, 1):
        first, last, start, end = group[0][1], group[-1][2], group[0][3], group[-1][4]
        while old.count("".join(a[first:last])) != 1 and (first > 0 or last < len(a)):
            if first > 0 and start > 0 and a[first - 1] == b[start - 1]:
                first, start = first - 1, start - 1
            elif last < len(a) and end < len(b) and a[last] == b[end]:
                last, end = last + 1, end + 1
            else:
                return
        yield Edit(path, "".join(a[first:last]), "".join(b[start:end]))


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, check=True).stdout


# --- made edits, one kind after the other ---------------------------------------------------------


def _program(chance: random.Random, number: int, functions: int = 8) -> str:
    parts = []
    for at in range(functions):
        name = f"{chance.choice(['load', 'save', 'find', 'send', 'parse'])}_{number}_{at}"
        parts.append(
            f"def {name}(value, limit={chance.randrange(100)}):\n"
            f"    # Step {at} of {number}.\n"
            f"    if value > limit:\n        return '{name}'\n    return value\n\n\n"
        )
    return "".join(parts)


def _place(text: str, at: int = 3) -> tuple[str, str]:
    """The line that is changed, and its new form."""
    line = next(line for line in text.splitlines() if f"# Step {at} " in line)
    return f"{line}\n", f"{line} Checked.\n"


def _simple(
    kind: str,
    path: str,
    text: str,
    edit: tuple[str, str],
    *,
    data: bytes | None = None,
    slip: Callable[[str], str] = lambda text: text,
    codec: str = "utf-8",
    typed: bool = False,
) -> Task:
    """One edit of one file; with a slip the caller believes something else to be there."""
    old, new = edit
    meant = text.replace(old, new, 1)
    after = meant.encode(codec) if data is None else data.replace(old.encode(codec), new.encode(codec), 1)
    seen = (slip(old), slip(new))
    wanted = text.replace(old, seen[1], 1)
    return Task(
        kind,
        {path: text.encode(codec) if data is None else data},
        [Edit(path, *seen)],
        {path: text.replace(old, seen[0], 1)},
        {path: wanted},
        {path: after},
        also={path: wanted.encode(codec)} if typed else None,
    )


def _plain(chance: random.Random, number: int, path: str) -> Task:
    text = _program(chance, number)
    return _simple("plain", path, text, _place(text))


def _blanks(chance: random.Random, number: int, path: str) -> Task:
    """Blanks at ends of lines, tabs, or an indentation that is not there."""
    text = _program(chance, number)
    line, new = _place(text)
    slips = (
        lambda part: part.replace("\n", "  \n", 1),
        lambda part: part.replace("    ", "\t"),
        lambda part: part.replace("    ", "  "),
        lambda part: part.removeprefix("    "),
    )
    return _simple(
        "slip: white space",
        path,
        text,
        (line, new),
        slip=slips[number % len(slips)],
        typed=number % len(slips) == 0,
    )


def _alike(chance: random.Random, number: int, path: str) -> Task:
    """Characters that look alike: the file has typographic ones, the caller plain ones."""
    text = _program(chance, number)
    signs = (("’", "'"), ("–", "-"), ("\u00a0", " "), ("…", "..."))
    there, plain = signs[number % len(signs)]
    line, _ = _place(text)
    odd = line.replace("\n", f" it{there}s\n")
    text = text.replace(line, odd)
    new = odd.replace("\n", " Checked.\n")
    return _simple(
        "slip: look-alikes", path, text, (odd, new), slip=lambda part: part.replace(there, plain), typed=True
    )


def _repeated(chance: random.Random, number: int, path: str) -> Task:
    """A text that is there twice, of which the second is meant, and nothing says so."""
    block = "    total = 0\n    for item in items:\n        total += item\n    return total\n"
    text = f"def one(items):\n{block}\n\ndef two(items):\n{block}\n\n{_program(chance, number, 2)}"
    head, mark, tail = text.partition("def two")
    old, new = "        total += item\n", "        total += item.price\n"
    meant = head + mark + tail.replace(old, new, 1)
    return Task(
        "repeated text",
        {path: text.encode()},
        [Edit(path, old, new)],
        {path: text},
        {path: meant},
        {path: meant.encode()},
    )


def _stale(chance: random.Random, number: int, path: str) -> Task:
    """Somebody has changed another place since the caller read the file."""
    text = _program(chance, number)
    line, new = _place(text, 5)
    now = text.replace(*_place(text, 1)) if number % 2 else "import os\n\n\n" + text
    return Task(
        "stale file",
        {path: now.encode()},
        [Edit(path, line, new)],
        {path: text},
        {path: text.replace(line, new)},
        {path: now.replace(line, new).encode()},
        {path: text.encode()},
    )


def _large(chance: random.Random, number: int, path: str) -> Task:
    text = _program(chance, number, 6_000)
    return _simple("large file", path, text, _place(text, 4_500))


def _crlf(chance: random.Random, number: int, path: str) -> Task:
    """Lines that end in CR LF, all of them or every second one."""
    text = _program(chance, number)
    line, new = _place(text)
    old, more = f"{line}    if value > limit:\n", f"{new}    if value > limit:\n"
    lines = text.splitlines(True)
    first = lines.index(line)
    ends = [at % 2 == 0 or number % 2 == 0 or first <= at <= first + 1 for at in range(len(lines))]
    data = "".join(
        each.replace("\n", "\r\n") if crlf else each for each, crlf in zip(lines, ends, strict=True)
    ).encode()
    after = data.replace(line.replace("\n", "\r\n").encode(), new.replace("\n", "\r\n").encode(), 1)
    return Task(
        "CRLF" if number % 2 == 0 else "mixed line ends",
        {path: data},
        [Edit(path, old, more)],
        {path: text},
        {path: text.replace(old, more)},
        {path: after},
    )


def _open(chance: random.Random, number: int, path: str) -> Task:
    """The last line has no end, and stays so or goes."""
    text = _program(chance, number).rstrip("\n")
    last = text.splitlines()[-1]
    old = "\n".join(text.splitlines()[-2:])
    new = old + "  # last" if number % 2 else old.removesuffix(f"\n{last}")
    task = _simple("no final newline", path, text, (old, new))
    return task if text.count(old) == 1 else _simple("no final newline", path, text, (old, old + "  # last"))


def _notebook(chance: random.Random, number: int, path: str) -> Task:
    """A line of a cell; the caller sees the stored JSON."""
    name = path.replace(".py", ".ipynb")
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": _program(chance, number * 100 + at, 1).rstrip("\n").splitlines(True),
        }
        for at in range(6)
    ]
    book = {
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    for cell in cells:
        cell["execution_count"] = None
    text = json.dumps(book, indent=1) + "\n"
    line = next(row for row in text.splitlines() if f"of {number * 100 + 3}." in row)
    return _simple("notebook", name, text, (f"{line}\n", line.replace('.\\n"', '. Checked.\\n"') + "\n"))


def _several(chance: random.Random, number: int, path: str) -> Task:
    """Three files, all of which can be changed, or of which the last cannot."""
    names = [path.replace(".py", f"_{letter}.py") for letter in "abc"]
    texts = {name: _program(chance, number * 10 + at) for at, name in enumerate(names)}
    edits = [Edit(name, *_place(text)) for name, text in texts.items()]
    fails = number % 2 == 1
    if fails:
        edits[2] = Edit(names[2], "    # A line that is not there.\n", "    # Nor this.\n")
    believed = {**texts, names[2]: texts[names[2]].replace(_place(texts[names[2]])[0], edits[2].old)}
    wanted = {edit.path: believed[edit.path].replace(edit.old, edit.new) for edit in edits}
    after = {name: text.encode() for name, text in wanted.items()}
    return Task(
        "several files, one fails" if fails else "several files",
        {name: text.encode() for name, text in texts.items()},
        edits,
        believed,
        wanted,
        None if fails else after,
    )


_KINDS = (
    *(_plain, _blanks, _alike, _repeated, _stale, _large, _crlf),
    *(_open, _notebook, _several),
)

_ENCODINGS = (
    ("UTF-8 with a mark", "utf-8-sig", "naïve café 日本"),
    ("UTF-16", "utf-16", "naïve café 日本"),
    ("Latin-1", "latin-1", "Größe naïve façade"),
    ("cp1252", "cp1252", "„Größe“ – 5 €"),
    ("Shift-JIS", "shift_jis", "日本語のテキスト表ソ能"),
)


def _encoded(name: str, codec: str, words: str) -> Callable[[random.Random, int, str], Task]:
    def make(chance: random.Random, number: int, path: str) -> Task:
        text = _program(chance, number).replace("Step", f"{words} Step")
        line = next(line for line in text.splitlines() if "Step 3 " in line) + "\n"
        file = path.replace(".py", f"_{codec}.py")
        return _simple(
            f"encoding: {name}", file, text, (line, line.replace(".\n", ". Checked.\n")), codec=codec
        )

    return make
