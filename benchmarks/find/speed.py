"""Time and memory of one ranked search: the first of a process, the same again, another question.

    python -m benchmarks.find.speed [FOLDER...] [--out RUN]

Without folders it makes two trees of 20 and 500 MB, once, of the text files that this machine has: Python's
library, installed packages, headers, documentation.  `speed.csv` has every round, `speed.md` the best and
the median beside the targets, and how busy the machine was: processor time is what a search costs, the time
on the clock what somebody waits with whatever else runs there.  The time limit of a search is raised, so that
other work on the machine does not end it.  Modules are compiled before, as pip does when it installs them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.corpora import once

RUN = Path(__file__).parent.parent / "runs" / "2026-11-22-find"

QUESTIONS = ("where is a failed connection retried after a timeout", "how are command line options parsed")

_CHILD = """
import json, resource, sys, time
from msgspec.structs import replace
from readroom import Workspace
from readroom.core import config
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
found = []
store = config.open_store(sys.argv[1])
settings = config.load(store)
settings = replace(settings, limits=replace(settings.limits, grep_timeout_s=300.0))
with Workspace(store, settings=settings) as workspace:
    workspace.list()
    idle = peak()
    for case, question in json.loads(sys.argv[2]):
        wall, cpu = time.perf_counter(), time.process_time()
        reply = workspace.find(question)
        found.append([case, time.perf_counter() - wall, time.process_time() - cpu, peak() - idle,
                      reply.facts["searched_files"], reply.facts["complete"]])
print(json.dumps(found))
"""

_ROUNDS = 5
_CASES = (("first", QUESTIONS[0]), ("same again", QUESTIONS[0]), ("another", QUESTIONS[1]))
_HEAD = "folder,mb,case,round,wall_s,cpu_s,peak_mb_over_idle,files,complete,load"

_TEXTS = frozenset(
    {".py", ".pyi", ".js", ".mjs", ".ts", ".tsx", ".c", ".h", ".cpp", ".hpp", ".cc", ".java", ".go", ".rs"}
    | {".rb", ".sh", ".pl", ".pm", ".css", ".html", ".xml", ".md", ".rst", ".txt", ".json", ".yaml", ".csv"}
)
_SYSTEM = ("/usr/lib/python3", "/usr/include", "/usr/share/perl", "/usr/share/perl5", "/usr/share/doc")


def main() -> None:
    """Measure each folder in fresh processes, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=RUN)
    given = parser.parse_args()
    folders = given.folders or [tree(20), tree(500)]
    with TemporaryDirectory(prefix="compiled-") as compiled:
        rows = [row for folder in folders for row in _measured(folder, compiled)]
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "speed.csv").write_text("\n".join([_HEAD, *rows]) + "\n", encoding="utf-8")
    (given.out / "speed.md").write_text(_summary(rows), encoding="utf-8")


def tree(megabytes: int) -> Path:
    """A tree of text files of this machine, about so large."""
    return once(f"texts-{megabytes}", partial(_copy, megabytes=megabytes))


def _copy(path: Path, megabytes: int) -> None:
    left = megabytes * 1_000_000
    for number, file, below in _texts():
        copied = path / str(number) / below
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)
        left -= copied.stat().st_size
        if left <= 0:
            return


def _texts() -> Iterator[tuple[int, Path, Path]]:
    """Text files of this machine by where they come from, all of them again when there are no more."""
    paths = sysconfig.get_paths()
    roots = [Path(root) for root in (paths["stdlib"], paths["purelib"], *_SYSTEM) if Path(root).is_dir()]
    number = 0
    while True:
        for root in roots:
            number += 1
            for above, folders, names in os.walk(root):
                folders.sort()
                for name in sorted(names):
                    file = Path(above, name)
                    if file.suffix in _TEXTS and not file.is_symlink():
                        yield number, file, file.relative_to(root)


def _measured(folder: Path, compiled: str) -> Iterator[str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _CHILD, str(folder), json.dumps(_CASES)]
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    for number in range(_ROUNDS + 1):
        load = os.getloadavg()[0]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        for case, wall, cpu, peak, files, complete in json.loads(done.stdout) if number else ():
            figures = f"{wall:.3f},{cpu:.3f},{peak:.1f},{files},{complete},{load:.1f}"
            yield f"{folder.name},{size:.0f},{case},{number},{figures}"


def _summary(rows: Sequence[str]) -> str:
    cells = [row.split(",") for row in rows]
    load = [float(row[9]) for row in cells]
    busy = (
        "" if max(load) < (os.cpu_count() or 1) else " **The machine was busy: the clock says nothing here.**"
    )
    lines = [
        "# Time and memory of ranked search",
        "",
        f"{os.cpu_count()} processors, Python {platform.python_version()}, load {min(load):.0f} to "
        f"{max(load):.0f}; {_ROUNDS} processes for each tree, behind one that warms up.{busy}",
        "Targets: of 20 MB a first search 0.3 s and the same again 0.06 s, of 500 MB a first one 3 s; "
        "64 MB over idle.",
        "",
        "| tree | search | processor time, best (median) | clock, best (median) | memory over idle, most |",
        "| --- | --- | --- | --- | --- |",
    ]
    for folder, size in dict.fromkeys((row[0], row[1]) for row in cells):
        for case, _ in _CASES:
            own = [row for row in cells if (row[0], row[2]) == (folder, case)]
            wall, cpu, memory = ([float(row[at]) for row in own] for at in (4, 5, 6))
            times = f"{min(cpu):.2f} s ({median(cpu):.2f}) | {min(wall):.2f} s ({median(wall):.2f})"
            tree_of = f"{folder}, {size} MB, {int(own[0][7]):,} files"
            lines.append(f"| {tree_of} | {case} | {times} | {max(memory):.0f} MB |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
