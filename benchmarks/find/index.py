"""What an index of all words would cost, beside the searches that it would save.

    python -m benchmarks.find.index FOLDER

Figures are processor time.  The index is the least that ranked search could use: how often each stem is in
each file, in SQLite, with size, time and inode to tell whether the file is still the same.  Unfair to
searching: policy, encodings and binary files cost the index nothing here.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from readroom import Workspace
from readroom.core.ranking.query import parse
from readroom.core.ranking.words import stem, sub_words

QUESTION = "where is a failed connection retried after a timeout"


def main() -> None:
    """Build, ask, and search without it."""
    root = Path(sys.argv[1])
    with Workspace(root) as workspace:
        for times in ("first", "again"):
            begin = time.process_time()
            workspace.find(QUESTION)
            print(f"search, {times}: {time.process_time() - begin:.3f} s")
    with TemporaryDirectory() as folder:
        place = Path(folder) / "words.sqlite"
        begin = time.process_time()
        _build(place, root)
        print(f"index, build: {time.process_time() - begin:.3f} s, {place.stat().st_size / 1e6:.1f} MB")
        begin = time.process_time()
        _ask(place)
        print(f"index, check and ask: {time.process_time() - begin:.3f} s")


def _build(place: Path, root: Path) -> None:
    with sqlite3.connect(place) as words:
        words.execute("create table files (id integer primary key, path, size, mtime, inode)")
        words.execute("create table counts (stem, file, times, primary key (stem, file)) without rowid")
        files = (Path(above) / name for above, _, names in os.walk(root) for name in names)
        for number, path in enumerate(files):
            data = path.read_bytes()
            if b"\0" in data:
                continue
            counts: Counter[str] = Counter()
            for word, times in Counter(sub_words(data.decode("utf-8", "replace"))).items():
                counts[stem(word)] += times
            stat = path.stat()
            row = (number, os.fspath(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
            words.execute("insert into files values (?, ?, ?, ?, ?)", row)
            rows = [(word, number, times) for word, times in counts.items()]
            words.executemany("insert into counts values (?, ?, ?)", rows)


def _ask(place: Path) -> None:
    with sqlite3.connect(place) as words:
        for path, size, mtime, inode in words.execute("select path, size, mtime, inode from files"):
            stat = Path(path).stat()
            assert (stat.st_size, stat.st_mtime_ns, stat.st_ino) == (size, mtime, inode)
        for term in parse(QUESTION).terms:
            words.execute("select file, times from counts where stem = ?", (term.stem,)).fetchall()


if __name__ == "__main__":
    main()
