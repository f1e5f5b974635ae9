"""Search of a tree of 50,000 files, beside the bare program."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import cycle

from benchmarks import corpora, targets
from benchmarks.measure import Record, command, counted, in_child, met, seconds, take_turns
from readroom import Workspace
from readroom.core.search.ripgrep import program

_ROUNDS = 15
_RARE = ("budget_ledger_9", "ledger_budget_8", "select_window_7", "guard_policy_6", "cursor_buffer_5")
"""None of them is in the tree; each search looks for the next."""
_COMMON = "session"
_PAGE = 200


def run(record: Record) -> None:
    """A rare word: the whole tree must be searched. A common word: the first page ends the search.

    Bare rg is run with the same limits on what it reads (`--no-mmap`), the same output
    (`-n --null`) and without a page: it prints all it finds.  Unfair to readroom: rg is not confined by
    the kernel, counts no files as compressed or UTF-16, and starts as a program alone.  Candidates take
    turns; processor time is that of the process and its children.
    """
    tree = str(corpora.tree())
    record.say(f"A tree of {corpora.TREE_FILES:,} files; {_PAGE} matches a page.")
    rows = [
        _row(record, "rare", _RARE, tree, again=False, target=targets.RARE_WORD),
        _row(record, "rare, in the same workspace", _RARE, tree, again=True, target=targets.SECOND_SEARCH),
        _row(record, "common", (_COMMON,), tree, again=True, target=targets.COMMON_WORD),
    ]
    heads = ["word", "rg", "rg --sort path", "readroom", "ratio to rg", "ratio of processor times"]
    record.table(heads, rows)
    for name, word in (("rare", _RARE[0]), ("common", _COMMON)):
        found = [in_child("search", tree, word, str(_PAGE)) for _ in range(3)]
        memory = record.add(name, "memory", "readroom", [f["peak_mb"] - f["idle_mb"] for f in found], "MB")
        record.say(f"- Peak above idle, {name} word, in MB: {met(memory, targets.MEMORY_MB)}")
    record.say("")


def _row(
    record: Record, name: str, words: tuple[str, ...], tree: str, *, again: bool, target: float
) -> list[str]:
    rg, ask = program(), cycle(words)
    spent: dict[str, list[float]] = {}
    with Workspace(tree) as workspace:
        workspace.grep(words[0], limit=_PAGE)

        def bare(*order: str) -> None:
            command(rg, "-n", "--null", "--no-mmap", *order, "--", next(ask), tree, ok=(0, 1))()

        def ours() -> None:
            if again:
                workspace.grep(next(ask), limit=_PAGE, timeout_s=60)
                return
            with Workspace(tree) as new:
                new.grep(next(ask), limit=_PAGE, timeout_s=60)

        candidates: dict[str, Callable[[], object]] = {
            "rg": bare,
            "rg --sort path": lambda: bare("--sort", "path"),
            "readroom": ours,
        }
        turns = {who: counted(run, spent.setdefault(who, [])) for who, run in candidates.items()}
        found = take_turns(turns, _ROUNDS)
    for who, values in found.items():
        record.add(name, "first page" if who == "readroom" else "whole tree", who, values, "s")
        record.add(name, "processor", who, spent[who], "s")
    rg_s, ordered_s, ours_s = (statistics.median(values) for values in found.values())
    work = statistics.median(spent["readroom"]) / statistics.median(spent["rg"])
    return [
        name,
        seconds(rg_s),
        seconds(ordered_s),
        seconds(ours_s),
        met(ours_s / rg_s, target),
        f"{work:.2f}",
    ]
