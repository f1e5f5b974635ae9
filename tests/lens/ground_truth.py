"""Records of real clients and what their models were really sent, taken from the requests and not from
the records.

Clients and frameworks did the same work with a model that followed a script. `compare` says of
one such session where the normal form differs from the truth. Differences that a record leaves no way
around, or where the truth was made by a rule that is not ours, are listed with their reason: anything
else is a defect.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from readroom.core.rows import Finding
from readroom.lens.audit import Options, audit
from readroom.lens.normal_form import Call, Lines, SkippedPart
from readroom.lens.sessions import Audited

TRANSCRIPTS = Path(__file__).parent / "transcripts"

SESSIONS = sorted(
    str(path.parent.relative_to(TRANSCRIPTS)) for path in TRANSCRIPTS.rglob("GROUND_TRUTH.json.gz")
)
"""Every session with a truth, as `client/session`."""

TOLERANCE = 2
"""Lines an end of a range may differ: the truth matches lines by content, and a blank line says nothing."""

NOT_IN_RECORD = {
    ("opencode/tools", "call_m_fk_16_0"): "opencode never says how long the log is, so `tail` has no number",
    ("messages/opencode", "call_m_fk_16_0"): "the array never says how long the log is",
    ("claude-code/tools", "toolu_01m_fk_16_0"): "a script ran since the log was read, and it may have grown",
    (
        "messages/claude-code",
        "toolu_01m_fk_16_0",
    ): "a script ran since the log was read, and it may have grown",
    ("gemini-cli/tools", "run_shell_command__m_fk_16_0"): "a script ran since the log was read",
    ("qwen-code/tools", "call_m_fk_16_0"): "a script ran since the log was read, and it may have grown",
    ("kilo/tools", "call_m_fk_16_0"): "Kilo never says how long the log is",
    ("atif/claude-code", "toolu_01m_fk_16_0"): "a script ran since the log was read, and it may have grown",
    ("cline/tools", "call_m_fk_16_0"): "a script ran since the log was read, and it may have grown",
    ("copilot-cli/tools", "call_m_fk_16_0"): "Copilot never says how long the log is",
    ("continue/tools", "call_m_fk_16_0"): "a script ran since the client said how long the log is",
    ("pi/tools", "call_m_fk_16_0"): "a script ran since the log was read, and it may have grown",
    ("copilot-cli/tools", "call_m_fk_12_0"): "the client masked a password inside line 2",
    ("otlp/tools", "call_m_fk_12_0"): "the client masked a password inside line 2",
    ("otlp/tools", "call_m_fk_16_0"): "Copilot never says how long the log is",
    (
        "gemini-cli/long",
        "replace__m_fk_8_0",
    ): "the reply shows lines of a file that was never read, without a number",
}
"""Calls whose ranges the record does not hold."""

_REMINDERS = "Claude Code sends a note of some 87 characters with each result, which Harbor leaves out"

OTHER_CHARACTERS = {
    **{("atif/claude-code", f"toolu_01m_fk_{number}_0"): _REMINDERS for number in range(18)},
    (
        "qwen-code/mixed",
        "call_m_fk_13_0",
    ): "the client adds a note of 18 characters for a model without pictures",
    ("cline/tools", "call_m_fk_13_0"): "beside a picture, this provider is sent the text as JSON in JSON",
    ("copilot-cli/tools", "call_m_fk_9_0"): "of a failure the record has the beginning only",
    ("copilot-cli/tools", "call_m_fk_15_0"): "of a failure the record has the beginning only",
    ("otlp/tools", "call_m_fk_9_0"): "of a failure the spans have the beginning only",
    ("otlp/tools", "call_m_fk_15_0"): "of a failure the spans have the beginning only",
}
"""Calls whose text was changed on the way without a trace in the record."""

OTHER_IMAGES = {
    ("qwen-code/mixed", "call_m_fk_13_0"): "the picture is in the record; the model got the note instead",
    ("messages/opencode", "call_m_fk_13_0"): "the picture came in a message of its own",
    ("copilot-cli/tools", "call_m_fk_13_0"): "the picture is in the record; the model was sent its name only",
}
"""Calls whose pictures the record counts otherwise."""

OTHER_ERROR = {
    ("opencode/long", "call_m_fk_4_0"): "the truth takes a match of the word ERROR for a failure",
    ("qwen-code/long", "call_m_fk_4_0"): "the truth takes a match of the word ERROR for a failure",
    ("qwen-code/long", "call_m_fk_7_0"): "the client refused the edit; the truth does not know the words",
    ("messages/opencode", "call_m_fk_11_0"): "the array has no exit code",
    ("continue/tools", "call_m_fk_11_0"): "the record has no exit code",
}
"""Calls that failed, or did not, by a rule that is not ours; and every command of our server that ends
with a failure, which the truth counts as done.
"""

OTHER_CUT = {
    (
        "atif/claude-code",
        "toolu_01m_fk_5_0",
    ): "the note of the cut stands beside the result, and Harbor leaves it out",
    ("codex/long", "call_m_fk_1_0"): "341 characters were cut from the middle; the truth says nobody cut it",
    (
        "gemini-cli/tools",
        "grep_search__m_fk_7_0",
    ): "the client stops at 100 matches and says so; the truth does not know the words",
    ("inspect/tools", "call_m_fk_4_0"): "both the tool and the client cut it",
    ("inspect/tools", "call_m_fk_9_0"): "both the tool and the client cut it",
}
"""Results that somebody else cut than the truth says."""


NO_TRUTH_OF_REPEATS = ("swe-agent/function_calling", "swe-agent/window", "messages/opencode", "otlp/tools")
"""Sessions whose truth does not say, and two that do not say which folder their paths are below."""

NO_COMPACTIONS = ("otlp/long",)
"""Sessions that were compacted, and whose spans do not say it."""


@dataclass(slots=True)
class Compared:
    """One session against its truth: what was compared, and what differs without a known reason."""

    client: str
    version: str
    calls: int = 0
    ranges: int = 0
    characters: int = 0
    known: int = 0
    differences: list[str] = field(default_factory=list)


RECORDS = {".jsonl", ".json", ".db", ".sqlite3", ".eval", ".traj"}
NO_RECORDS = {"GROUND_TRUTH.json", "sessions.json"}


def unpacked(session: str, folder: Path) -> list[Path]:
    """The records of a session below `folder`, as their client laid them out; the files beside them too."""
    records = []
    for packed in sorted((TRANSCRIPTS / session).rglob("*.gz")):
        target = folder / packed.relative_to(TRANSCRIPTS).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(packed.read_bytes()))
        kept = {"tool-output", "tool-outputs", "tool-results"} & set(packed.parts)
        if (
            not kept
            and target.suffix in RECORDS
            and target.name not in NO_RECORDS
            and ".meta" not in target.suffixes
            and not packed.with_name(f"{target.stem}.messages.json.gz").exists()
        ):
            records.append(target)
    return records


def truth_of(session: str) -> dict[str, Any]:
    """What the model was sent."""
    with gzip.open(TRANSCRIPTS / session / "GROUND_TRUTH.json.gz") as stream:
        found: dict[str, Any] = json.load(stream)
        return found


def audited(session: str, folder: Path, options: Options | None = None) -> list[Audited]:
    """The session, its sub-agents and what the frameworks traced beside it, as far as the truth is about
    it.
    """
    found: list[Audited] = []
    for record in unpacked(session, folder):
        if record.name == "traces.jsonl":
            continue  # the same calls once more, without their ids
        for part in audit(record, options or Options(secrets=False)):
            assert not isinstance(part, SkippedPart), part
            found.append(part)
    return found


def compare(session: str, folder: Path) -> Compared:
    """A session against its truth."""
    truth = truth_of(session)
    sessions = audited(session, folder)
    calls = {call.id: (part, call) for part in sessions for call in part.calls}
    compared = Compared(sessions[0].session.client, sessions[0].session.version)
    wanted = {id_of(call): call for call in truth["calls"]}
    for id in wanted.keys() - {_asked(known, wanted) for known in calls}:
        compared.differences.append(f"{id} is missing")
    for known, (part, call) in calls.items():
        expected = wanted.get(_asked(known, wanted))
        if expected is None:
            compared.differences.append(f"{known} is not in the truth")
            continue
        compared.calls += 1
        for what in _differences(session, call, lines_of(part, call), expected, compared):
            compared.differences.append(f"{known} {call.tool}: {what}")
    return compared


def id_of(call: dict[str, Any]) -> str:
    """The id of a call in the truth; SWE-agent's have none."""
    return str(call["id"]) if "id" in call else f"step {call['n']}"


def _asked(known: str, wanted: dict[str, Any]) -> str:
    # Gemini puts the name of the tool before the id.
    return next((id for id in wanted if known == id or known.endswith("_" + id)), "")


def lines_of(part: Audited, call: Call) -> list[Lines]:
    """The lines a call showed."""
    return [span for span in part.lines if span.call == call.call]


def _differences(
    session: str, call: Call, lines: list[Lines], truth: dict[str, Any], compared: Compared
) -> Iterator[str]:
    known = (session, call.id)
    compared.characters += call.characters
    if call.characters != truth["chars"]:
        if known in OTHER_CHARACTERS:
            compared.known += 1
        else:
            yield f"{call.characters} characters, not {truth['chars']}"
    if call.images != truth.get("images", 0) and known not in OTHER_IMAGES:
        yield f"{call.images} pictures, not {truth['images']}"
    shown = ranges(lines)
    compared.ranges += sum(map(len, shown.values()))
    wanted = truth["shown"] if "shown" in truth else _window(truth, call)
    if not same(shown, wanted):
        if known in NOT_IN_RECORD:
            compared.known += 1
        else:
            yield f"lines {shown}, not {wanted}"
    yield from _of_answer(session, call, truth, compared)


def _window(truth: dict[str, Any], call: Call) -> dict[str, list[list[int]]]:
    return {call.file: [truth["lines"]]} if truth["lines"] else {}


def _of_answer(session: str, call: Call, truth: dict[str, Any], compared: Compared) -> Iterator[str]:
    known = (session, call.id)
    if "error" in truth and call.error != truth["error"]:
        ours = call.tool == "run_command" and call.exit_code not in (0, None)
        if known in OTHER_ERROR or ours:
            compared.known += 1
        else:
            yield f"error {call.error}, not {truth['error']}"
    if "cut_by" in truth:
        who = truth["cut_by"]
        who = "client" if who not in (None, "server", "arguments", "tool") else who
        # A refusal of our server names the next call, which the truth takes for a rest that was cut away.
        refused = call.server == "readroom" and call.error and who == "server" and call.cut_by is None
        if call.cut_by != who and known not in OTHER_CUT and not refused:
            yield f"cut by {call.cut_by}, not {who}"
    file = call.file.removesuffix("/home/dev/shop") or "."
    if truth.get("file") and not f"/{truth['file']}".endswith(f"/{file.rpartition('/home/dev/shop/')[2]}"):
        yield f"about {call.file}, not {truth['file']}"


def ranges(lines: list[Lines]) -> dict[str, list[list[int]]]:
    """Line ranges by file, those that follow each other as one; lines that were only shown in part are
    not in it.
    """
    found: dict[str, list[list[int]]] = {}
    for span in sorted(lines, key=lambda span: (span.file, span.first)):
        if span.characters is not None:
            continue
        file = span.file.rpartition("/home/dev/shop/")[2]
        spans = found.setdefault(file, [])
        if spans and spans[-1][1] + 1 >= span.first:
            spans[-1][1] = max(spans[-1][1], span.last)
        else:
            spans.append([span.first, span.last])
    return found


def same(shown: dict[str, list[list[int]]], wanted: dict[str, list[list[int]]]) -> bool:
    """Whether ranges are the same, but for a blank line at their ends."""
    if shown.keys() != wanted.keys():
        return False
    return all(
        len(shown[file]) == len(wanted[file])
        and all(
            abs(own[0] - other[0]) <= TOLERANCE and abs(own[1] - other[1]) <= TOLERANCE
            for own, other in zip(shown[file], wanted[file], strict=True)
        )
        for file in shown
    )


def of_kind(sessions: list[Audited], kind: str) -> list[Finding]:
    """The findings of one kind."""
    return [finding for part in sessions for finding in part.findings if finding.kind == kind]
