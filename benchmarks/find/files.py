"""The right files for a question: NDCG@10 of ranked search and of peers, question by question.

A run names questions by their number in the annotations, and keeps no text of theirs.

python -m benchmarks.find.files --questions FOLDER [--clones FOLDER] --work FOLDER --out RUN
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean

from benchmarks.find.peers import PEERS
from benchmarks.find.queries import Repository, ndcg, repositories


def main() -> None:
    """Rank every question with every peer, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--clones", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    rows = [row for one in repositories(given.questions, given.clones, given.work) for row in _scores(one)]
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "files.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["repository", "language", "half", "category", "question", "peer", "ndcg_at_10"])
        writer.writerows(rows)
    (given.out / "files.md").write_text(_summary(rows), encoding="utf-8")


Row = tuple[str, str, str, str, str, str, str]


def _scores(repository: Repository) -> list[Row]:
    rows: list[Row] = []
    for peer, made in PEERS.items():
        rank = made(repository.folder)
        if rank is None:
            continue
        for number, one in enumerate(repository.questions, 1):
            score = ndcg(rank(one.text), one.targets)
            about = (repository.name, repository.language, repository.half, one.category, str(number))
            rows.append((*about, peer, f"{score:.4f}"))
    return rows


def _summary(rows: list[Row]) -> str:
    peers = list(dict.fromkeys(row[5] for row in rows))
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups["**all**"].append(row)
        groups[f"{row[2]} half"].append(row)
    for row in rows:
        groups[row[3]].append(row)
    for row in rows:
        groups[f"{row[0]} ({row[1]})"].append(row)
    lines = [f"| questions | {' | '.join(peers)} |", "|" + " --- |" * (len(peers) + 1)]
    for name, members in groups.items():
        cells = [[float(row[6]) for row in members if row[5] == peer] for peer in peers]
        means = " | ".join(f"{mean(cell):.3f}" for cell in cells)
        lines.append(f"| {name}, {len(cells[0])} | {means} |")
    return "# NDCG@10 of files\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
