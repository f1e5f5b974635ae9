"""Tokens until the needed lines are seen: find_relevant beside two other ways of reading, fix by fix.

python -m benchmarks.find.fixes --clones FOLDER --work FOLDER --out RUN [--half check] [--subject]

A run names fixes by their commits, and keeps no text of theirs.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, mean
from tempfile import TemporaryDirectory

from bpe_openai import get_encoding

from benchmarks.find.mining import REPOSITORIES, Case, mined
from benchmarks.find.queries import unpack
from benchmarks.find.ways import WAYS, Lines, Shown, Ways, patient

BUDGETS = (2000, 5000, 10_000)
"""Tokens after which is looked at what was seen; replies are counted as a model receives them."""

_MIDDLE = 5000
"""What ways are compared by."""

_FIRST = 6
"""Columns before the shares."""

_RESAMPLES = 10_000


def main() -> None:
    """Read for every fix in every way, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--half", choices=list(REPOSITORIES))
    parser.add_argument("--subject", action="store_true", help="ask with the first line of the message alone")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="all of them unless given")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    cases = mined(given.clones, given.work / "fixes.json")
    ways = {name: WAYS[name] for name in given.way or WAYS}
    rows = []
    for case in cases:
        if given.half in (None, case.half):
            asked = replace(case, query=case.query.partition("\n")[0]) if given.subject else case
            rows += list(read(given.clones, asked, ways))
            print(*rows[-len(ways)][1:], sep="\t", flush=True)
    with (given.out / "fixes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        head = ["half", "repository", "commit", "way", "gold_lines", "calls_at_5000"]
        writer.writerow([*head, *(f"seen_at_{budget}" for budget in BUDGETS)])
        writer.writerows(rows)
    (given.out / "fixes.md").write_text(summary(rows, ways), encoding="utf-8")


Row = tuple[str | int | float, ...]


def read(clones: Path, case: Case, ways: Ways) -> Iterator[Row]:
    """What is seen in each way for one question, by how many tokens."""
    gold = {(path, line) for path, lines in case.gold.items() for line in lines}
    with TemporaryDirectory(prefix="fix-") as folder:
        unpack(clones / case.repository / "repo", f"{case.commit}^", Path(folder))
        for way, read_on in ways.items():
            with patient(Path(folder)) as workspace:
                calls, shares = coverage(read_on(workspace, Path(folder), case.query), gold)
            about = (case.half, case.repository, case.commit[:12], way, len(gold), calls)
            yield (*about, *(round(share, 4) for share in shares))


def coverage(replies: Iterator[Shown], gold: Lines) -> tuple[int, list[float]]:
    """The calls within 5,000 tokens, and the shares of the needed lines that are seen by `BUDGETS`."""
    encode = get_encoding("o200k_base").encode
    used = calls = 0
    seen: Lines = set()
    shares: list[float] = []
    for text, shown in replies:
        used += len(encode(text, disallowed_special=()))
        while len(shares) < len(BUDGETS) and used > BUDGETS[len(shares)]:
            shares.append(len(gold & seen) / len(gold))
        if len(shares) == len(BUDGETS):
            break
        calls += len(shares) <= BUDGETS.index(_MIDDLE)
        seen |= shown
    return calls, shares + [len(gold & seen) / len(gold)] * (len(BUDGETS) - len(shares))


def summary(rows: Sequence[Row], ways: Ways) -> str:
    """Shares with intervals, pairs and repositories, half by half."""
    lines = ["# Share of the needed lines that were seen", ""]
    lines.append("Mean over the questions; intervals of 95 % from 10,000 bootstrap samples of them.")
    for half in dict.fromkeys(str(row[0]) for row in rows):
        mine = [row for row in rows if row[0] == half]
        questions = len(mine) // len(ways)
        title = "Both halves" if half == "all" else f"{half.capitalize()} half"
        lines += ["", f"## {title}, {questions} questions", ""]
        lines.append(f"| way | {' | '.join(f'{budget:,} tokens' for budget in BUDGETS)} | calls at 5,000 |")
        lines.append("| --- | --- | --- | --- | --- |")
        for way in ways:
            own = [row for row in mine if row[3] == way]
            cells = [interval([float(row[_FIRST + at]) for row in own]) for at in range(len(BUDGETS))]
            calls = mean(int(row[5]) for row in own)
            lines.append(f"| {way} | {' | '.join(cells)} | {calls:.1f} |")
        lines += ["", *_paired(mine, ways), "", *_by_repository(mine, ways)]
    return "\n".join(lines) + "\n"


def _paired(rows: Sequence[Row], ways: Ways) -> Iterator[str]:
    first = next(iter(ways))
    best = _at_middle(rows, first)
    for way in list(ways)[1:]:
        other = _at_middle(rows, way)
        differences = [one - two for one, two in zip(best, other, strict=True)]
        better = sum(one > 0 for one in differences)
        worse = sum(one < 0 for one in differences)
        yield (
            f"- {first} against {way}, at 5,000 tokens: {interval(differences, signed=True)} points, "
            f"better in {better}, worse in {worse}."
        )


def _at_middle(rows: Sequence[Row], way: str) -> list[float]:
    return [float(row[_FIRST + BUDGETS.index(_MIDDLE)]) for row in rows if row[3] == way]


def _by_repository(rows: Sequence[Row], ways: Ways) -> Iterator[str]:
    yield f"| at 5,000 tokens | {' | '.join(ways)} |"
    yield "| --- " * (len(ways) + 1) + "|"
    for name in dict.fromkeys(str(row[1]) for row in rows):
        own = [row for row in rows if row[1] == name]
        cells = [mean(_at_middle(own, way)) for way in ways]
        yield f"| {name.replace('+', '/')} | {' | '.join(f'{100 * cell:.0f} %' for cell in cells)} |"


def interval(values: Sequence[float], *, signed: bool = False) -> str:
    """The mean in percent, with the interval of 95 % from bootstrap samples."""
    drawn = random.Random(1)
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    low, high = means[_RESAMPLES // 40], means[-_RESAMPLES // 40]
    sign = "+" if signed else ""
    unit = "" if signed else " %"
    return f"{100 * mean(values):{sign}.1f}{unit} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
