"""Reads with masked secrets, next to the same reads without, in processor time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from msgspec.structs import replace

from benchmarks import targets
from benchmarks.measure import ROOT, Record, met
from benchmarks.suites.serving import load_of_machine
from readroom import Workspace
from readroom.core import config
from readroom.core.secrets import SecretPolicy
from readroom.core.stores.local import LocalStore

_TURNS = 15
_LINES = 100_000
_PAGES_APART = 5_000
_SEED = 20261127


def run(record: Record) -> None:
    """Each turn reads once with masks and once without, in changing order; the ratio is that of one turn.

    "First" is a file that was never read, "new page" one that was not read of a file that was.
    """
    record.say(f"- Load of the machine: {load_of_machine()}")
    table = []
    with TemporaryDirectory(prefix="readroom-masking-") as name:
        folder = Path(name)
        for case, (ending, text) in _files().items():
            path = folder / f"file{ending}"
            first, again, pages = _turns(folder, path, text)
            for what, turns in (("first", first), ("again", again), ("new page", pages)):
                if turns:
                    table.append(_row(record, f"{case}, {what}", turns))
    record.table(["Read", "masked, ms", "not masked, ms", "ratio, median of the turns"], table)


def _row(record: Record, case: str, turns: list[tuple[float, float]]) -> list[str]:
    ratios = [masked / plain for masked, plain in turns]
    ours = record.add("masking", case, "masked", [masked for masked, _ in turns], "s")
    other = record.add("masking", case, "not masked", [plain for _, plain in turns], "s")
    return [case, f"{ours * 1000:.2f}", f"{other * 1000:.2f}", met(median(ratios), targets.MASKED_READ)]


def _turns(folder: Path, path: Path, text: str) -> tuple[list[tuple[float, float]], ...]:
    """Seconds with masks and without, of first reads, of second ones, and of new pages of large files."""
    first, again, pages = [], [], []
    with _workspace(folder, mask=True) as masking, _workspace(folder, mask=False) as plain:
        for turn in range(_TURNS):
            # Other bytes: what is read again may be known.
            path.write_text(f"{text}# turn {turn}\n" if path.suffix != ".json" else f"{text}{' ' * turn}\n")
            first.append(_turn(masking, plain, turn, path.name))
            again.append(_turn(masking, plain, turn, path.name))
        if len(text) > 5_000_000:
            for turn in range(_TURNS):
                pages.append(_turn(masking, plain, turn, path.name, 1000 + turn * _PAGES_APART))
    path.unlink()
    return first, again, pages


def _turn(
    masking: Workspace, plain: Workspace, turn: int, name: str, offset: int | None = None
) -> tuple[float, float]:
    """Processor seconds of one read of each; which is first changes."""
    arguments = {"path": name} if offset is None else {"path": name, "offset": offset, "limit": 1000}
    order = (masking, plain) if turn % 2 else (plain, masking)
    spent = {workspace: _spent(partial(workspace.call, "read_file", arguments)) for workspace in order}
    return spent[masking], spent[plain]


def _spent(call: Callable[[], object]) -> float:
    began = process_time()
    call()
    return process_time() - began


def _workspace(folder: Path, *, mask: bool) -> Workspace:
    store = LocalStore(str(folder))
    settings = replace(config.load(store), secrets=SecretPolicy(mask=mask))
    return Workspace(store, settings=settings)


def _files() -> dict[str, tuple[str, str]]:
    rng = random.Random(_SEED)
    module = (ROOT / "src/readroom/core/engine/read/__init__.py").read_text(encoding="utf-8")
    rows = [{"id": number, "name": f"user {number}", "n": rng.random()} for number in range(3000)]
    return {
        "settings of 40 lines": (".yaml", "".join(f"name{number}: word\n" for number in range(40))),
        "module of Python": (".py", module),
        "JSON of 250 KB": (".json", json.dumps(rows, indent=1)),
        "log of 9 MB": (".log", _log(rng, "served")),
        "log, `password` in each line": (".log", _log(rng, 'msg="the password was wrong" user="bob"')),
        "log, `password: ok` in each line": (".log", _log(rng, "password: ok")),
        "log, a secret in each hundredth line": (".log", _log(rng, "served", secret=100)),
    }


def _log(rng: random.Random, words: str, secret: int | None = None) -> str:
    lines = []
    for number in range(_LINES):
        said = f"password={rng.getrandbits(60):x}z7" if secret and number % secret == 0 else words
        lines.append(
            f"2026-11-27 10:{number // 60 % 60:02}:{number % 60:02} INFO request {rng.randrange(10**6)} "
            f"from 10.0.{number % 256}.{number % 251} {said} in {rng.randrange(900)} ms\n"
        )
    return "".join(lines)
