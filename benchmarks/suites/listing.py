"""Folders of 10,000 and 100,000 entries."""

from __future__ import annotations

import os

from bpe_openai import get_encoding

from benchmarks import corpora, peers, targets
from benchmarks.measure import Record, in_child, met, seconds, take_turns
from readroom import Workspace

_ROUNDS = 7


def run(record: Record) -> None:
    """The default page: names in order, sizes and dates of what is shown, the total."""
    rows = []
    for entries in (corpora.SMALL_FOLDER_ENTRIES, corpora.FOLDER_ENTRIES):
        folder = corpora.folder(entries)
        bare = take_turns({"scandir, sorted": lambda folder=folder: _sorted(str(folder))}, _ROUNDS)  # type: ignore[misc]
        limit = record.add("list", f"{entries}", "scandir, sorted", bare["scandir, sorted"], "s")
        found = [in_child("listing", str(folder)) for _ in range(_ROUNDS)]
        ours = record.add("list", f"{entries}", "readroom", [f["later_s"] for f in found], "s")
        memory = record.add(
            "list", f"{entries} memory", "readroom", [f["peak_mb"] - f["idle_mb"] for f in found], "MB"
        )
        rows.append(
            [
                f"{entries:,}",
                seconds(limit),
                seconds(ours),
                met(ours / limit, targets.LISTING),
                met(memory, targets.MEMORY_MB),
            ]
        )
    record.table(["entries", "scandir, sorted", "readroom", "ratio", "peak above idle, MB"], rows)
    _tokens(record)


def _sorted(folder: str) -> list[str]:
    with os.scandir(folder) as names:
        return sorted(name.name for name in names)


def _tokens(record: Record) -> None:
    """What the first reply costs the model, in o200k tokens. A peer shows all names, ours a page."""
    folder = corpora.folder(corpora.SMALL_FOLDER_ENTRIES)
    encode = get_encoding("o200k_base").encode
    with Workspace(folder) as workspace:
        reply = workspace.list()
    ours = record.add("tokens", "10,000 entries", "readroom", [len(encode(reply.text))], "tokens")
    record.say(f"- readroom's default page of {corpora.SMALL_FOLDER_ENTRIES:,} entries: {ours:.0f} tokens")
    for server in peers.installed(folder):
        if server.name == "server-filesystem":
            served = peers.ask(server, "list_directory", {"path": str(folder)}, 1)
            theirs = record.add("tokens", "10,000 entries", server.name, [len(encode(served.text))], "tokens")
            part = met(ours / theirs, targets.LISTING_TOKENS)
            record.say(f"- {server.name}: {theirs:.0f} tokens; ours is {part} of it")
    record.say("")
