"""The project of the recorded sessions, put together again from what the sessions were shown of it."""

from __future__ import annotations

import os
from pathlib import Path

from readroom.lens.evidence import Known, evidence
from readroom.lens.records import read
from readroom.lens.records.events import Called, Returned
from tests.lens.ground_truth import unpacked

SOURCES = ("codex/mixed", "claude-code/mixed", "claude-code/tools", "gemini-cli/tools", "claude-code/long")
"""Sessions that together saw all but the middle of the log."""


def restored(folder: Path, records: Path) -> Path:
    """The files of the project in `folder`, as they were before any session changed them."""
    files: dict[str, dict[int, str]] = {}
    for session in SOURCES:
        for record in unpacked(session, records):
            known = Known("/home/dev/shop")
            calls: dict[str, Called] = {}
            for event in read(record):
                if isinstance(event, Called):
                    calls[event.id] = event
                elif isinstance(event, Returned) and event.id in calls:
                    seen = evidence(calls[event.id], event, known)
                    for run in seen.runs if seen.kind != "edit" else ():
                        for number, line in enumerate(run.lines, run.first):
                            files.setdefault(run.file, {}).setdefault(number, line)
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        last = max(lines)
        text = "".join(lines.get(number, f"not seen {number}") + "\n" for number in range(1, last + 1))
        path.write_text(text, encoding="utf-8")
    os.utime(folder)
    return folder
