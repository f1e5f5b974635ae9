"""Search of a tree of 50,000 files, beside the bare program."""

from __future__ import annotations

from benchmarks import corpora
from benchmarks.measure import Record, command, in_child, met, seconds, take_turns
from readroom.search.ripgrep import program

_ROUNDS = 7
_MEMORY_MB = 64.0


def run(record: Record) -> None:
    """A rare word: the whole tree must be searched. A common word: the first page ends the search.

    Bare rg is run with the same limits on what it reads (`--no-mmap`), the same output
    (`-n --null`) and without a page: it prints all it finds.
    """
    tree = str(corpora.tree())
    rg = program()
    rows = []
    for name, pattern in (("rare", "budget_ledger_9"), ("common", "session")):
        bare = take_turns(
            {
                "rg": command(rg, "-n", "--null", "--no-mmap", "--", pattern, tree, ok=(0, 1)),
                "rg, in path order": command(
                    rg, "-n", "--null", "--no-mmap", "--sort", "path", "--", pattern, tree, ok=(0, 1)
                ),
            },
            _ROUNDS,
        )
        whole, ordered = (record.add(name, "whole tree", who, values, "s") for who, values in bare.items())
        found = [in_child("search", tree, pattern, "200") for _ in range(_ROUNDS)]
        ours = record.add(name, "first page", "readroom", [f["later_s"] for f in found], "s")
        memory = record.add(name, "memory", "readroom", [f["peak_mb"] - f["idle_mb"] for f in found], "MB")
        target = 1.15 if name == "rare" else 0.1
        rows.append(
            [
                f"{name}: `{pattern}`",
                seconds(whole),
                seconds(ordered),
                seconds(ours),
                met(ours / whole, target),
                met(memory, _MEMORY_MB),
            ]
        )
    record.say(f"A tree of {corpora.TREE_FILES:,} files; 200 matches a page.")
    record.table(["word", "rg", "rg --sort path", "readroom", "ratio to rg", "peak above idle, MB"], rows)
