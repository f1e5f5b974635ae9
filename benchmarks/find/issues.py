"""Real issues as questions: what was reported asks, the lines that its fix changed answer.

    python -m benchmarks.find.issues --clones FOLDER --texts FILE --out RUN

`issues.json` names issues of public repositories by their addresses, each with the commit that fixed it and
says so, itself or in its pull request.  Their texts are no part of this project: `--texts` is a JSON file,
from an address to title and first post.  Halves are those of `mining`: weights were set on fixes of the same
repositories in the tuning half, and on nothing in the check half.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.find.fixes import BUDGETS, read, summary
from benchmarks.find.mining import REPOSITORIES, Case, changed
from benchmarks.find.ways import WAYS

NAMED = Path(__file__).with_suffix(".json")


def main() -> None:
    """Read for every issue in every way, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    texts: Mapping[str, str] = json.loads(given.texts.read_text(encoding="utf-8"))
    named: list[dict[str, Any]] = json.loads(NAMED.read_text(encoding="utf-8"))
    halves = {name: half for half, names in REPOSITORIES.items() for name in names}
    rows = []
    for issue in named:
        repository, commit = issue["repository"], issue["commit"]
        gold = changed(given.clones / repository / "repo", commit)
        case = Case(repository, halves[repository], commit, texts[issue["issue"]], gold)
        for row in read(given.clones, case, WAYS):
            rows.append((*row, issue["issue"]))
            print(*row[1:], sep="\t", flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "issues.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        head = ["half", "repository", "commit", "way", "gold_lines", "calls_at_5000"]
        writer.writerow([*head, *(f"seen_at_{budget}" for budget in BUDGETS), "issue"])
        writer.writerows(rows)
    both = [("all", *row[1:]) for row in rows]
    (given.out / "issues.md").write_text(summary([*both, *rows], WAYS), encoding="utf-8")


if __name__ == "__main__":
    main()
