"""Run suites and write a run: `python -m benchmarks [SUITE...] [--out FOLDER]`."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

from benchmarks.measure import ROOT, Record

SUITES = (
    "reading",
    "giant",
    "documents",
    "opening",
    "searching",
    "listing",
    "starting",
    "tokens",
    "contracts",
    "integrity",
    "editing",
    "outlining",
    "tagging",
    "requests",
    "serving",
    "workers",
    "auditing",
    "records",
    "hostile",
    "huge",
    "keeping",
    "buckets",
    "bucket_searches",
    "references",
    "masking",
)


def main() -> None:
    """Run the suites that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", nargs="*", choices=[*SUITES, []], help="which; all without one")
    parser.add_argument("--out", type=Path, help="folder of the run, below benchmarks/runs by default")
    parser.add_argument("--workers", type=int, default=2, help="processes of a server, for `workers`")
    given = parser.parse_args()
    names = given.suite or list(SUITES)
    label = f"{time.strftime('%Y-%m-%d', time.gmtime())}-{'-'.join(given.suite) or 'all'}"
    out = given.out or ROOT / "benchmarks" / "runs" / label
    record = Record(workers=given.workers)
    for name in names:
        record.say(f"## {name.capitalize()}", "")
        several = [] if given.workers == 2 else [f"--workers {given.workers}"]
        try:
            importlib.import_module(f"benchmarks.suites.{name}").run(record)
        finally:  # a run that is ended early keeps what it has
            record.write(out, " ".join(["python -m benchmarks", *given.suite, *several]))


if __name__ == "__main__":
    main()
