"""Edits as models send them, to readroom and to editors of other agents: exact, refused, damaged, tokens."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bpe_openai import get_encoding

from benchmarks.edit_peers import EDITORS
from benchmarks.edit_tasks import REPOSITORIES, Task, tasks
from benchmarks.measure import Record
from benchmarks.peers import PEERS

OUTCOMES = ("exact", "refused", "damaged", "half done")
"""The bytes that were meant; nothing changed; other bytes; some of what was meant and nothing else."""


def run(record: Record) -> None:
    """The same tasks for each editor, each on files of its own, with what its interface takes for them.

    Unfair to editors that take one file a call: a task of several files is several calls to them, and what
    they changed before the one that fails is counted against them.  Unfair to those of diffs: a slip in the
    old text is a line of context to them.  Unfair to us: a file that changed elsewhere since it was read is
    refused by hash and counted as refused, while an editor without hashes may place the edit.  The tokens of
    reading, and of the list of tools, are not counted.
    """
    every = tasks()
    kinds = list(dict.fromkeys(task.kind for task in every))
    encode = get_encoding("o200k_base").encode
    rows, details = [], []
    for name, (editor, venv, _) in EDITORS.items():
        if venv and not (PEERS / venv).exists():
            record.say(f"- {name}: not installed (`python -m benchmarks.peers`)")
            continue
        with TemporaryDirectory(prefix="readroom-editing-") as folder:
            places = [(_laid_out(Path(folder, str(at)), task), task) for at, task in enumerate(every)]
            said = editor(places)
            came = [outcome(place, task) for place, task in places]
        for task, each in zip(every, came, strict=True):
            record.add("editing", f"{task.kind}: {each}", name, [1], "count")
        tokens = [[len(encode(text)) for text in pair] for pair in ((one.call, one.reply) for one in said)]
        calls, replies = zip(*tokens, strict=True)
        record.add("editing", "call", name, calls, "tokens")
        record.add("editing", "reply", name, replies, "tokens")
        seen = Counter(came)
        medians = [f"{statistics.median(each):.0f}" for each in (calls, replies)]
        rows.append([name, *(str(seen[one]) for one in OUTCOMES), *medians, f"{sum(calls) + sum(replies):,}"])
        details.append([name, *_by_kind(every, came, kinds)])
    names = (
        ", ".join(sorted(path.name for path in REPOSITORIES.iterdir())) if REPOSITORIES.is_dir() else "none"
    )
    record.say(*_versions(), f"- Repositories of the {_real(every)} tasks from commits: {names}")
    record.table(["editor", *OUTCOMES, "call, tokens", "reply, tokens", "all tokens"], rows)
    record.say("By kind: exact / refused / damaged or half done.")
    counts = Counter(task.kind for task in every)
    record.table(
        ["kind", "tasks", *(row[0] for row in details)],
        [[kind, str(counts[kind]), *(row[1 + at] for row in details)] for at, kind in enumerate(kinds)],
    )


def _real(every: Sequence[Task]) -> int:
    return sum(task.kind.startswith("commit") for task in every)


def _laid_out(folder: Path, task: Task) -> Path:
    for path, data in task.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def outcome(folder: Path, task: Task) -> str:
    """One of OUTCOMES, by what is on the disk; what an editor says of it does not count."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if found == dict(task.files):
        return "refused"
    if found in (task.after, task.also):
        return "exact"
    meant = task.after or {edit.path: task.wanted[edit.path].encode() for edit in task.edits}
    same = all(data in (task.files.get(path), meant.get(path)) for path, data in found.items())
    return "half done" if same and found.keys() == task.files.keys() else "damaged"


def _by_kind(every: Sequence[Task], came: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    for kind in kinds:
        seen = Counter(each for task, each in zip(every, came, strict=True) if task.kind == kind)
        yield f"{seen['exact']} / {seen['refused']} / {seen['damaged'] + seen['half done']}"


def _versions() -> Iterator[str]:
    for package in dict.fromkeys(row[2] for row in EDITORS.values()):
        file = PEERS / "node_modules" / package / "package.json"
        venv = next(row[1] for row in EDITORS.values() if row[2] == package)
        if venv:
            code = f"from importlib.metadata import version; print(version({package!r}))"
            python = str(PEERS / venv / "bin" / "python")
            done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
            yield f"- {package} {done.stdout.strip()}"
        elif package == "git":
            done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
            yield f"- {done.stdout.strip()}"
        elif package:
            yield f"- {package} {json.loads(file.read_text(encoding='utf-8'))['version']}"
