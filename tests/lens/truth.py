"""Findings in recorded sessions against what the requests of their clients really carried.

A finding is right if the truth of the session has it: the same call and file, and for a secret the same line.
Whether output was used, or a file too large for its use, is a rule and no fact, so such kinds have no truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readroom.lens.audit import Options
from readroom.lens.evidence.tools import kind_of
from readroom.lens.sessions import Audited
from tests.lens.ground_truth import NO_TRUTH_OF_REPEATS, SESSIONS, audited, id_of, truth_of

KINDS = ("secrets", "denied", "lost-errors", "repeated", "failed-edits")
"""Kinds of which the requests tell the truth; `repeated` is judged with `reread`."""

LEAST_ALIKE = 3
"""So many lines in a row are a repetition, by the definition of the finding."""

Fact = tuple[str, str, int]
"""A call, a file, and a line where that is part of it."""

WITHOUT_TRUTH = {
    "secrets": ("swe-agent/function_calling", "swe-agent/window"),
    "repeated": NO_TRUTH_OF_REPEATS,
}
"""Sessions whose truth does not speak of a kind."""

REFUSED = {
    ("qwen-code/long", "call_m_fk_7_0"): "the client refused the edit; the truth does not know the words",
    ("swe-agent/function_calling", "step 6"): "the tool refused the edit; this truth has no errors of tools",
}
"""Edits that failed, by session and call, of which the truth does not know it."""

WHOLE_NOT_KEPT = (
    "atif/claude-code", "atif/codex", "claude-code/tools", "cline/tools", "codex/tools", "copilot-cli/tools",
    "inspect/tools", "messages/claude-code", "openai-agents/tools", "otlp/tools", "pydantic-ai/tools",
)  # fmt: skip
"""Sessions whose record has nothing of what was cut away, so that no error line in it can be found."""


@dataclass
class Judged:
    """How the findings of one kind in the sessions of one client compare with the truth."""

    kind: str
    client: str
    found: int = 0
    missed: int = 0
    false: int = 0
    unseen: int = 0
    """Missed because the record has nothing of it."""


def judged(session: str, folder: Path) -> dict[str, tuple[set[Fact], set[Fact]]]:
    """For each kind, the facts that were found in a session, and those of the truth."""
    parts = audited(session, folder, Options())
    truth = truth_of(session)["calls"]
    ids = [id_of(call) for call in truth]
    both: dict[str, tuple[set[Fact], set[Fact]]] = {}
    for kind in KINDS:
        if session not in WITHOUT_TRUTH.get(kind, ()):
            found = set(_found(parts, kind, ids))
            both[kind] = (found, {fact for call in truth for fact in _true(call, kind)})
    both["failed-edits"][1].update((call, "", 0) for one, call in REFUSED if one == session)
    return both


def _found(parts: list[Audited], kind: str, ids: list[str]) -> Iterator[Fact]:
    kinds = ("repeated", "reread") if kind == "repeated" else (kind,)
    for part in parts:
        calls = {call.call: call.id for call in part.calls}
        for finding in part.findings:
            if finding.kind not in kinds:
                continue
            own = calls[finding.call]
            id = next((one for one in ids if own == one or own.endswith("_" + one)), own)
            file = "" if kind in ("lost-errors", "failed-edits") else _short(finding.file)
            yield id, file, finding.first if kind == "secrets" else 0


def _true(call: dict[str, Any], kind: str) -> Iterator[Fact]:
    id = id_of(call)
    if kind == "secrets":
        yield from ((id, _short(one["file"]), one["line"]) for one in call.get("secrets", ()))
    elif kind == "denied":
        yield from ((id, ".env", 0) for file in call.get("shown", ()) if _short(file) == ".env")
    elif kind == "repeated":
        for file, spans in call.get("shown_again", {}).items():
            if any(last - first + 1 >= LEAST_ALIKE for first, last in spans):
                yield id, _short(file), 0
    elif kind == "lost-errors":
        if call.get("error_line_shown") is False and call.get("cut_by") not in (None, "arguments", "server"):
            yield id, "", 0
    elif call.get("error") and _is_edit(call):
        yield id, "", 0


def _is_edit(call: dict[str, Any]) -> bool:
    arguments = call.get("args") or {}
    kind = kind_of(str(call.get("tool", "")), arguments if isinstance(arguments, dict) else {})
    return kind in ("edit", "write") or "*** Begin Patch" in str(arguments)


def _short(file: str) -> str:
    return file.rpartition("/home/dev/shop/")[2]


def table(folder: Path) -> list[Judged]:
    """The sums for each kind and client, in the order of the kinds."""
    rows: dict[tuple[str, str], Judged] = {}
    for session in SESSIONS:
        for kind, (found, true) in judged(session, folder / session).items():
            client = session.partition("/")[0]
            row = rows.setdefault((kind, client), Judged(kind, client))
            row.found += len(found & true)
            gone = kind == "lost-errors" and session in WHOLE_NOT_KEPT
            row.missed += 0 if gone else len(true - found)
            row.unseen += len(true - found) if gone else 0
            row.false += len(found - true)
    return sorted(rows.values(), key=lambda row: KINDS.index(row.kind))
