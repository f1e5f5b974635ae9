"""Time and memory of one ranked search: the first of a process, the same again, another question.

    python -m benchmarks.find.speed --out RUN FOLDER...

Processor time of this process stands beside the time on the clock: the former is what a search costs,
the latter what somebody waits on this machine with whatever else runs there.  The time limit of a search is
raised, so that other work on the machine does not end it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

QUESTIONS = ("where is a failed connection retried after a timeout", "how are command line options parsed")

_CHILD = """
import json, resource, sys, time
from msgspec.structs import replace
from readroom import Workspace, config
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

_ROUNDS = 3


def main() -> None:
    """Measure each folder in fresh processes, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    cases = [("first", QUESTIONS[0]), ("same again", QUESTIONS[0]), ("another", QUESTIONS[1])]
    head = ["folder", "mb", "case", "round", "wall_s", "cpu_s", "peak_mb_over_idle", "files", "complete"]
    rows = [",".join(head)]
    for folder in given.folders:
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
        for number in range(1, _ROUNDS + 1):
            command = [sys.executable, "-c", _CHILD, str(folder), json.dumps(cases)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            for case, wall, cpu, peak, files, complete in json.loads(done.stdout):
                figures = f"{wall:.3f},{cpu:.3f},{peak:.1f},{files},{complete}"
                rows.append(f"{folder.name},{size:.0f},{case},{number},{figures}")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "speed.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
