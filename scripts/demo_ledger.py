"""A folder and the ledger of agents that worked in it, for pictures and tests of the dashboard.

    python -m scripts.demo_ledger FOLDER    make both there, and say how to look at them

The calls are real ones, made here and now; only their times and durations are spread over days, as if
people had worked with it.  The same seed makes the same calls.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.workspace import Workspace
from readroom.server.budgets import BudgetPolicy
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.rows import Event

SOURCES = Path(__file__).parents[1] / "src" / "readroom"
COPIED = ("core/policy", "core/session", "server/ledger", "core/stores", "core/text", "core/engine")
DAY_S = 86_400
AGENTS = (("claude-code", "mcp", ""), ("codex", "mcp", ""), ("reviewer", "http", "3f9a1c07d2e4"))
QUERIES = ("def open", "raise Denied", "LruCache", "deadline", "content_hash", "class .*Store", "TODO")


class Demo(Struct, frozen=True):
    """What was made."""

    folder: Path
    ledger: Path


def make(where: Path, *, sessions: int = 24, days: int = 14, seed: int = 7) -> Demo:
    """A folder with sources and a secret, and the ledger of some sessions in it."""
    folder, ledger = where / "shop", where / "ledger.sqlite3"
    for name in COPIED:
        shutil.copytree(SOURCES / name, folder / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "README.md").write_text("# Shop\n\nA shop for the demonstration.\n", encoding="utf-8")
    (folder / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    raw = where / "raw.sqlite3"
    work(folder, raw, sessions, random.Random(seed))
    found = open_book(LedgerPolicy(file=str(ledger)))
    spread(raw, found, days * DAY_S, random.Random(seed))
    found.close()
    raw.unlink()
    return Demo(folder, ledger)


def work(folder: Path, ledger: Path, sessions: int, chance: random.Random) -> None:
    """Let agents work: find, read around what was found, and sometimes ask for what they must not see."""
    settings = config.load(config.open_store(folder))
    settings = replace(
        settings,
        ledger=LedgerPolicy(enabled=True, file=str(ledger)),
        budgets=BudgetPolicy(session=60_000),
    )
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py"))
    with Workspace(folder, settings=settings) as workspace:
        for at in range(sessions):
            agent, face, token = AGENTS[at % len(AGENTS)]
            caller = Caller(agent, f"{agent}-{at:02}", token, face)
            favourites = chance.sample(files, 8)
            for _ in range(chance.randint(6, 40)):
                one_step(workspace, caller, favourites, chance)
            if chance.random() < 0.4:
                workspace.session(caller.session).compacted()
                workspace.call("read_file", {"path": favourites[0]}, caller=caller)


def one_step(workspace: Workspace, caller: Caller, favourites: list[str], chance: random.Random) -> None:
    kind = chance.random()
    path = favourites[min(int(chance.expovariate(0.5)), len(favourites) - 1)]
    if kind < 0.55:
        offset = chance.choice([1, 1, 40, 80, 120])
        arguments: dict[str, object] = {"path": path, "offset": offset, "limit": chance.choice([40, 80, 200])}
        workspace.call("read_file", arguments, caller=caller)
    elif kind < 0.8:
        workspace.call("grep_files", {"pattern": chance.choice(QUERIES), "limit": 30}, caller=caller)
    elif kind < 0.88:
        workspace.call("list_directory", {"path": path.rpartition("/")[0]}, caller=caller)
    elif kind < 0.92:
        workspace.call("find_relevant", {"query": chance.choice(QUERIES)}, caller=caller)
    elif kind < 0.96:
        workspace.call("read_file", {"path": ".env"}, caller=caller)
    else:
        workspace.call("read_file", {"path": path.replace("src/", "lib/")}, caller=caller)


def spread(raw: Path, found: Ledger, seconds: int, chance: random.Random) -> None:
    """Copy the rows, each session at a time of its own, the last one ending now."""
    book = open_book(LedgerPolicy(file=str(raw)))
    by_session: dict[str, list[Event]] = {}
    for row in book.rows():
        by_session.setdefault(row.event.session, []).append(row.event)
    book.close()
    now = time.time()
    starts = sorted(now - chance.random() ** 1.3 * seconds for _ in by_session)
    moved = [
        one
        for start, events in zip(starts, by_session.values(), strict=True)
        for one in at_times(start, events, chance)
    ]
    late = max(one.time_us for one in moved) - int(now * 1_000_000)
    moved = [replace(one, time_us=one.time_us - late) for one in sorted(moved, key=lambda one: one.time_us)]
    found.append_all(moved)


def at_times(start: float, events: list[Event], chance: random.Random) -> Iterator[Event]:
    at = start
    for one in events:
        at += chance.uniform(2, 40)
        yield replace(one, time_us=int(at * 1_000_000), duration_us=int(chance.lognormvariate(8.6, 0.9)))


if __name__ == "__main__":
    made = make(Path(sys.argv[1]))
    print(f"readroom ui {made.ledger} --root {made.folder}")
