"""Windows of large and small files, beside the physical limit and beside peers."""

from __future__ import annotations

import hashlib
import os
import statistics
import sys
from pathlib import Path

from benchmarks import corpora, targets
from benchmarks.measure import Record, command, counted, in_child, met, peak_mb, seconds, take_turns
from readroom import Workspace
from readroom.core.deadline import Deadline
from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.encodings import UTF8
from readroom.core.text.line_index import Counter, Pass

_ROUNDS = 5
_DEEP = 9_000_001


def run(record: Record) -> None:
    """All cases about reading."""
    _pages(record)
    _one_line(record)
    _small_files(record)


class _File:
    """A bare file for the counting pass alone, without policy or confinement."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._fd).st_size

    def read_at(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        return os.preadv(self._fd, [buffer], offset)


def _counted_alone(path: Path) -> int:
    counting = Pass(Counter(UTF8, BLOCK_BYTES), hashed=False)
    counting.run(_File(path), Deadline())
    return counting.count.total_lines


def _pages(record: Record) -> None:
    """A page of a 10-million-line log: the first touch counts and hashes everything, later ones nothing.

    Each first touch is a fresh process with the file in the page cache; `wc -l` and
    `openssl` include the start of their process (about 2 ms).
    """
    log = corpora.big_log() / "big.log"
    limits = take_turns(
        {
            "wc -l": command("wc", "-l", str(log)),
            "openssl sha256": command("openssl", "dgst", "-sha256", str(log)),
            "sed -n": command("sed", "-n", f"{_DEEP},{_DEEP + 500}p;{_DEEP + 500}q", str(log)),
            "count_lines": lambda: _counted_alone(log),
        },
        _ROUNDS,
    )
    medians = {name: record.add("pages", "whole pass", name, found, "s") for name, found in limits.items()}
    rows = []
    for where, line in (("start", 1), ("middle", 5_000_000), ("end", _DEEP)):
        found = [in_child("pages", str(log), str(line)) for _ in range(_ROUNDS)]
        first = record.add("pages", f"first, {where}", "readroom", [f["first_s"] for f in found], "s")
        later = record.add("pages", f"later, {where}", "readroom", [f["later_s"] for f in found], "s")
        memory = record.add(
            "pages", f"memory, {where}", "readroom", [f["peak_mb"] - f["idle_mb"] for f in found], "MB"
        )
        rows.append([where, seconds(first), seconds(later), f"{memory:.1f} MB"])
        deep = first
    record.say(f"A page of 500 lines of a log of {corpora.LOG_LINES:,} lines, {log.stat().st_size:,} bytes.")
    record.table(["page", "first, with hash and total", "later", "peak above idle"], rows)
    record.say(
        f"- Counting alone against `wc -l` ({seconds(medians['wc -l'])}): "
        f"{met(medians['count_lines'] / medians['wc -l'], targets.WHOLE_PASS)}",
        f"- First page with SHA-256 against `openssl dgst` ({seconds(medians['openssl sha256'])}): "
        f"{met(deep / medians['openssl sha256'], targets.HASHED_PAGE)}",
        f"- Later page in ms: {met(later * 1000, targets.LATER_PAGE_MS)}",
        f"- Peak memory above idle in MB: {met(memory, targets.MEMORY_MB)}",
        f"- `sed -n` to the same line: {seconds(medians['sed -n'])}",
        "",
    )


def _one_line(record: Record) -> None:
    """A file of one line of 1 GB: its first characters, then pieces from all over it."""
    file = corpora.one_line() / "one-line.json"
    limit = take_turns({"openssl": command("openssl", "dgst", "-sha256", str(file))}, _ROUNDS)["openssl"]
    hashing = record.add("one line", "whole pass", "openssl sha256", limit, "s")
    hashlib_s = take_turns({"hashlib": lambda: _hash(file)}, _ROUNDS)["hashlib"]
    plain = record.add("one line", "whole pass", "hashlib", hashlib_s, "s")
    found = [in_child("columns", str(file)) for _ in range(_ROUNDS)]
    first = record.add("one line", "first", "readroom", [f["first_s"] for f in found], "s")
    later = record.add("one line", "later", "readroom", [f["later_s"] for f in found], "s")
    memory = record.add("one line", "memory", "readroom", [f["peak_mb"] - f["idle_mb"] for f in found], "MB")
    record.say(f"A file of one line, {file.stat().st_size:,} bytes.", "")
    record.say(
        f"- First piece ({seconds(first)}) against SHA-256 by hashlib ({seconds(plain)}): "
        f"{met(first / plain, targets.FIRST_PIECE)}; against openssl ({seconds(hashing)}): "
        f"{first / hashing:.2f}",
        f"- Later piece in ms: {met(later * 1000, targets.LATER_PIECE_MS)}",
        f"- Peak memory above idle in MB: {met(memory, targets.MEMORY_MB)}",
        "",
    )


def _hash(file: Path) -> str:
    with open(file, "rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _small_files(record: Record) -> None:
    """500-line files through the whole pipeline: policy, confined open, decoding, hash, numbers.

    In process it is compared with a bare open and read of the same bytes, which does
    none of that; the command line with an empty Python process.  Of a file that has the
    bytes that it had when it was read before, those are compared instead of decoded and
    hashed again; "first" is a workspace that has read none of the files, opened for them.
    """
    folder = corpora.sources()
    paths = sorted(folder.iterdir())
    names = [path.name for path in paths]
    spent: dict[str, list[float]] = {}
    with Workspace(folder) as workspace:
        candidates = {
            "bare open+read": lambda: [_bare(path) for path in paths],
            "readroom": lambda: [workspace.read(name).text for name in names],
            "readroom, first": lambda: _first_reads(folder, names),
        }
        turns = {name: counted(run, spent.setdefault(name, [])) for name, run in candidates.items()}
        found = take_turns(turns, rounds=31)
    bare, ours, _ = (
        record.add("500 lines", "in process", name, [value / len(names) for value in values], "s")
        for name, values in found.items()
    )
    work = {
        name: record.add("500 lines", "processor", name, [value / len(names) for value in values], "s")
        for name, values in spent.items()
    }
    readroom = str(Path(sys.executable).parent / "readroom")
    whole = take_turns(
        {
            "python -c pass": command(sys.executable, "-c", "pass"),
            "readroom read": command(readroom, "read", names[0], "--root", str(folder)),
        },
        rounds=21,
    )
    python, cli = (record.add("500 lines", "process", name, values, "s") for name, values in whole.items())
    record.say(
        "A Python file of 500 lines.",
        "",
        f"- In process {seconds(ours)} against a bare open and read {seconds(bare)}: "
        f"{met(ours / bare, targets.SMALL_READ)}",
        f"- In processor time: {met(work['readroom'] / work['bare open+read'], targets.SMALL_READ)}",
        f"- First reads, in processor time: {work['readroom, first'] / work['bare open+read']:.2f}",
        f"- `readroom read` {seconds(cli)} against `python -c pass` {seconds(python)}: "
        f"{met(cli / python, targets.COMMAND)}",
        f"- Peak memory of this process so far: {peak_mb():.0f} MB",
        f"- Spread in process: {seconds(min(found['readroom']) / len(names))} to "
        f"{seconds(statistics.quantiles(found['readroom'], n=20)[-1] / len(names))}",
        "",
    )


def _first_reads(folder: Path, names: list[str]) -> list[str]:
    with Workspace(folder) as workspace:
        return [workspace.read(name).text for name in names]


def _bare(path: Path) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)
