"""Blocks of the documentation that are real output: commands and examples, run on the demo folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from docs_src import demo
from readroom.cli.commands import COMMANDS
from scripts.docs.tables import fenced, table
from scripts.record_clients import CLIENTS

ROOT = Path(__file__).parents[2]

SESSIONS: Mapping[str, Sequence[str]] = {
    "readme": [
        "readroom ls",
        "readroom grep 'shipping\\(' --context 1",
        "readroom read logs/orders.log --limit 3",
        "readroom read .env",
    ],
    "landing": [
        "readroom find 'what does shipping cost'",
        "readroom read logs/orders.log --limit 3",
        "readroom read .env",
    ],
    "policy": [
        "readroom explain .env",
        "readroom explain .env.example",
        "readroom explain dist/orders.min.js",
    ],
    "edit": [
        "readroom read README.md",
        "readroom edit README.md --expected-hash c2e54f2a551f --old receipts --new invoices",
        "readroom edit README.md --expected-hash c2e54f2a551f --old orders --new parcels",
        "readroom edit README.md --expected-hash 19e5b9c8f792 --old parcels --new letters",
        "readroom write docs/new.md --expected-hash absent --content '# New'",
    ],
    "history": [
        "readroom edit src/orders.py --now --old '\"priority\": 12' --new '\"priority\": 15'",
        "readroom mv src/receipts.py src/billing.py --now",
        "readroom history",
        "readroom diff 1",
        "readroom edit src/orders.py --now --old '\"priority\": 15' --new '\"priority\": 16'",
        "readroom undo 1",
        "readroom undo src/billing.py",
        "readroom history --since 10m",
    ],
    "call": ['readroom call read_file \'{"path": "README.md", "limit": 1}\''],
}

_NOW = re.compile(r"(?:(?<=  )|(?<=\| ))2\d\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?=  | UTC)")
"""The times of changes that a session has just made."""

_MOMENT = re.compile(r"changed (?:just now|\d+ \w+ ago) \([\d:TZ-]+\)")
"""When a file changed that a command has just changed."""

_OF_THIS_MACHINE = "links cannot lead out: "
"""The line of `readroom explain` that differs between systems."""


@contextmanager
def demo_folder() -> Iterator[str]:
    """The demo in a folder of its own."""
    with TemporaryDirectory(prefix="readroom-docs-") as above:
        folder = Path(above, "shop")
        folder.mkdir()
        demo.make(folder)
        yield str(folder)


def run(words: Sequence[str], folder: str) -> str:
    """What a program prints, to either stream, with names of this machine left out."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "COLUMNS": "100",
            # What the programs record is not for the ledger of who writes the documentation.
            "HOME": f"{folder}-state",
            "XDG_STATE_HOME": f"{folder}-state",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    text = _NOW.sub("2026-11-26 14:05:09", done.stdout)
    text = _MOMENT.sub("changed just now (2026-11-26T12:00:00Z)", text)
    text = text.replace(os.path.realpath(folder), "/home/me/shop").replace(folder, "/home/me/shop")
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_OF_THIS_MACHINE))


def session(name: str) -> str:
    """Commands as typed, and what they print."""
    parts = []
    with demo_folder() as folder:
        for command in SESSIONS[name]:
            words = [sys.executable, "-m", *shlex.split(command)]
            parts.append(f"$ {command}\n{run(words, folder).rstrip()}\n")
    return fenced("\n".join(parts), "console")


def source(path: str) -> str:
    """A file of docs_src or examples."""
    return fenced((ROOT / path).read_text(encoding="utf-8"), "python")


def output(path: str) -> str:
    """What a file of docs_src or examples prints when it is run on the demo folder."""
    with demo_folder() as folder:
        return fenced(run([sys.executable, str(ROOT / path), folder], folder))


def cli() -> str:
    """What every command says of itself; the exit codes, which end each, stand apart."""
    parts = []
    for name in COMMANDS:
        text = run([sys.executable, "-m", "readroom", name, "--help"], str(ROOT))
        parts.append(f"## readroom {name}\n\n{fenced(text.split('Exit codes:')[0])}")
    return "\n\n".join(parts)


RECORD = max((ROOT / "benchmarks" / "runs").glob("*-clients/results.json"), default=None)
"""The last recorded run of real clients (`scripts/record_clients.py`)."""


def recorded_clients() -> str:
    """What reached the models of real clients, a row for each client and way."""
    assert RECORD is not None
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [
        [
            f"{CLIENTS[row['client']][0]} {row['version']}",
            row["way"],
            f"{row['calls']}, {'all' if row['answered'] else 'not all'} answered",
            f"{row['whole']} of {row['pages']} whole",
            *(_said(row[name]) for name in ("long_file", "wide_file", "image", "edit")),
            f"{row['largest']:,}",
            f"{row['refusal_chars']:,}",
        ]
        for row in record["results"]
    ]
    heads = [
        "client", "over", "calls", "pages", "3,000 lines by `next`", "wide lines by `next`", "image", "edit",
        "largest result", "a refusal",
    ]  # fmt: skip
    return f"Recorded {record['date']}.\n\n{table(heads, rows)}"


def _said(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "-"}[value]


PICTURES = max((ROOT / "benchmarks" / "runs").glob("*-pictures/results.json"), default=None)
"""The last recorded run of clients that look at pictures (`scripts/record_pictures.py`)."""


def recorded_pictures() -> str:
    """The pictures of pages that reached the models of real clients, a row for each client."""
    assert PICTURES is not None
    record = json.loads(PICTURES.read_text(encoding="utf-8"))
    rows = []
    for result in record["results"]:
        calls = result["calls"]
        arrived = [call for call in calls if call["arrived"]]
        sizes = ", ".join(f"{call['given']['width']}x{call['given']['height']}" for call in arrived)
        tokens = ", ".join(f"{call['tokens_ours']:,} / {call['tokens_of_vendor']:,}" for call in arrived)
        asked = [call for call in calls if call["call"].get("view") == "image" and not call["arrived"]]
        refused = sum(call["refused_with_call_for_text"] for call in asked)
        rows.append(
            [
                f"{CLIENTS[result['client']][0]} {result['version']}",
                f"{len(arrived)} of {len(calls)}",
                sizes or "-",
                tokens or "-",
                f"{refused} of {len(asked)}" if asked else "-",
            ]
        )
    heads = [
        "client",
        "arrived, byte for byte",
        "pixels",
        "tokens: told / of the vendor",
        "refused with the text",
    ]
    return f"Recorded {record['date']}.\n\n{table(heads, rows)}"


READERS = max((ROOT / "benchmarks" / "runs").glob("*-readers/results.json"), default=None)
"""The last run of readers on real files (`python -m benchmarks.readers`)."""

_OUTCOMES = ("exact", "near", "lossy", "alone", "refused")


NO_LONGER_READ = ("xlsb",)
"""Formats of a recorded run that are named since then and not read."""


def readers() -> str:
    """How much of real files each reader shows, a row for each format and reader."""
    if READERS is None:
        return "No run is recorded yet."
    record = json.loads(READERS.read_text(encoding="utf-8"))
    rows = []
    for form, files in record["formats"].items():
        if form in NO_LONGER_READ:
            continue
        for name in files[0]["outcomes"]:
            counts = Counter(file["outcomes"][name] for file in files)
            if not set(counts) - {"refused"}:
                continue  # a format that this reader does not know
            own = name == "readroom"
            said = str(sum(bool(file.get("counted")) for file in files)) if own else ""
            shown = f"**{name}**" if own else name
            first = f"`.{form}` ({len(files)})" if own else ""
            rows.append([first, shown, *(str(counts[outcome]) for outcome in _OUTCOMES), said])
    heads = ["format (files)", "reader", *_OUTCOMES, "of near and lossy, in a note"]
    names = ", ".join(record["sources"])
    return f"{table(heads, rows)}\n\nRun of {record['date']}, files from {names}."


TAGGING = max((ROOT / "benchmarks" / "runs").glob("*-tagging*/summary.md"), default=None)
"""The last run of outlines beside universal-ctags (`python -m benchmarks tagging`)."""


def tagging() -> str:
    """How much of what universal-ctags finds in real files is in outlines, a row for each language."""
    if TAGGING is None:
        return "No run is recorded yet."
    parts = TAGGING.read_text(encoding="utf-8").split("\n\n")
    return "\n\n".join(part.strip() for part in parts if part.lstrip().startswith("|"))


BLOCKS: Mapping[str, Callable[..., str]] = {
    "session": session,
    "source": source,
    "output": output,
    "cli": cli,
    "recorded-clients": recorded_clients,
    "recorded-pictures": recorded_pictures,
    "readers": readers,
    "tagging": tagging,
}
