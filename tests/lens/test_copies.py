"""A conversation counts once that several records hold, whatever name the copy has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, one_by_one
from readroom.lens.copies import without_copies
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records import records
from readroom.lens.report import Totals
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.ground_truth import SESSIONS, unpacked


def totals_of(*paths: Path) -> Totals:
    totals = Totals()
    for part in without_copies(one_by_one(records(paths), Options(secrets=False))):
        totals.add(part)
    return totals


def sums_of(totals: Totals) -> dict[str, object]:
    return {
        "requests": totals.turns, "calls": totals.calls, "input": totals.input_tokens,
        "output": totals.output_tokens, "once": totals.result_tokens, "carried": totals.carried_tokens,
        "sessions": totals.sessions, "cached": totals.cache_tokens,
        "kinds": {kind: sum_.count for kind, sum_ in totals.kinds.items()},
    }  # fmt: skip


@each("session", [one for one in SESSIONS if one.startswith(("claude-code/", "codex/", "qwen"))])
def test_a_copy_under_another_id_counts_once(session: str, tmp_path: Path) -> None:
    found = [one for one in unpacked(session, tmp_path / "one") if "subagents" not in one.parts]
    path = max(found, key=lambda one: one.stat().st_size)
    alone = sums_of(totals_of(path))
    text = path.read_text(encoding="utf-8")
    own = next(
        part.session.session
        for part in one_by_one([path], Options(secrets=False))
        if isinstance(part, Audited)
    )
    for name in ("0-before", "zz-after"):
        copy = path.with_name(f"{name}.jsonl")
        copy.write_text(text.replace(own, f"{name[0]}{own[1:-1]}_"), encoding="utf-8")
        both = totals_of(path, copy)
        assert sums_of(both) == alone
        assert both.copies == 1
        # Another name in a text may be estimated at another number of tokens.
        turned = sums_of(totals_of(copy, path))
        assert {**turned, "once": 0, "carried": 0} == {**alone, "once": 0, "carried": 0}


def _row(number: int, message: str, out: int, session: str) -> str:
    content = [{"type": "text", "text": "x"}]
    usage = {"input_tokens": 1000, "output_tokens": out}
    said = {
        "id": message,
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "usage": usage,
    }
    time = f"2026-01-01T00:00:{number:02d}Z"
    line: dict[str, Any] = {
        "sessionId": session,
        "version": "2",
        "type": "assistant",
        "uuid": f"{session}{number}",
    }
    return json.dumps({**line, "timestamp": time, "cwd": "/w", "message": said}) + "\n"


def test_a_fork_counts_what_it_added(tmp_path: Path) -> None:
    """Three requests; two of them are in two records."""
    for shift, name in enumerate(("s1", "s2")):
        rows = [_row(shift * 9 + at, f"m{at}", at * 10, name) for at in range(1, 3 + shift)]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    totals = totals_of(tmp_path)
    assert (totals.turns, totals.input_tokens, totals.output_tokens) == (3, 3000, 60)
    assert (totals.sessions, totals.copies) == (2, 1)


def _rollout(id: str, parent: str, hour: int, answers: list[tuple[str, int]]) -> str:
    meta = {"id": id, "cwd": "/w", "timestamp": f"2026-01-01T{hour:02}:00:00Z", "cli_version": "1"}
    lines: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", meta | ({"forked_from_id": parent} if parent else {}))
    ]
    for at, (call, tokens) in enumerate(answers):
        asked = {
            "type": "function_call",
            "call_id": call,
            "name": "exec_command",
            "arguments": '{"cmd":"cat a"}',
        }
        usage = {"input_tokens": tokens, "output_tokens": at + 1}
        lines += [
            (
                "response_item",
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
            ),
            ("response_item", asked),
            ("response_item", {"type": "function_call_output", "call_id": call, "output": "x"}),
            ("event_msg", {"type": "token_count", "info": {"last_token_usage": usage}}),
        ]
    stamped = [
        {"timestamp": f"2026-01-01T{hour:02}:00:{at:02}Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(lines)
    ]
    return "".join(json.dumps(line) + "\n" for line in stamped)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_replayed_parent_counts_once_whichever_record_comes_first(
    names: tuple[str, str], tmp_path: Path
) -> None:
    parent, child = names
    (tmp_path / f"{parent}.jsonl").write_text(_rollout("p-1", "", 1, [("c1", 3000)]))
    (tmp_path / f"{child}.jsonl").write_text(_rollout("f-2", "p-1", 2, [("c1", 3000), ("c2", 2500)]))
    totals = totals_of(tmp_path)
    assert (totals.turns, totals.calls, totals.input_tokens) == (2, 2, 5500)
    (tmp_path / "other.jsonl").write_text(_rollout("x-3", "", 3, [("c1", 3000)]))
    assert totals_of(tmp_path).calls == 3, "a session of its own, whatever ids its provider counts"


def test_sessions_of_one_script_are_no_copies(tmp_path: Path) -> None:
    """The recorded sessions of a client have the same ids of calls, and are different conversations."""
    for client in ("claude-code", "codex", "gemini-cli", "opencode"):
        parts = []
        for session in ("tools", "mixed", "long"):
            shutil.rmtree(tmp_path / client, ignore_errors=True)
            found = unpacked(f"{client}/{session}", tmp_path / session)
            parts += list(one_by_one(found, Options(secrets=False)))
        kept = list(without_copies(parts))
        assert [one for one in kept if not isinstance(one, SkippedPart) and one.session.copied_turns] == []


def _parts(*sources: tuple[str, Path]) -> Totals:
    paths = [path for session, folder in sources for path in unpacked(session, folder)]
    totals = Totals()
    for part in without_copies(one_by_one(paths, Options(secrets=False))):
        totals.add(part)
    return totals


@pytest.mark.parametrize(
    ("client", "again"),
    [
        ("claude-code/tools", "messages/claude-code"),
        ("codex/mixed", "readroom-ledger/codex"),
        ("opencode/mixed", "readroom-ledger/opencode"),
        ("copilot-cli/tools", "otlp/tools"),
        ("copilot-cli/long", "otlp/long"),
    ],
)
def test_an_array_a_ledger_or_spans_of_a_conversation_count_with_it(
    client: str, again: str, tmp_path: Path
) -> None:
    """Whichever is read first: what the client recorded is what counts."""
    alone = sums_of(_parts((client, tmp_path / "a")))
    one, other = (client, tmp_path / "b"), (again, tmp_path / "c")
    for sources in ((one, other), (other, one)):
        both = _parts(*sources)
        assert sums_of(both) == alone
        assert both.copies >= 1


def test_ledgers_of_two_clients_at_once_are_two(tmp_path: Path) -> None:
    """Both worked by one script within a minute, and their ledgers name their clients."""
    alone = _parts(("readroom-ledger/opencode", tmp_path / "a"))
    both = _parts(("codex/mixed", tmp_path / "b"), ("readroom-ledger/opencode", tmp_path / "c"))
    assert both.calls == _parts(("codex/mixed", tmp_path / "d")).calls + alone.calls
    assert alone.calls == 12


def test_a_trace_of_a_conversation_counts_once(tmp_path: Path) -> None:
    """A framework's trace has no ids of calls, its file of sessions has no usage."""
    both = _parts(("openai-agents/tools", tmp_path))
    assert (both.sessions, both.turns, both.calls) == (1, 14, 14)
    assert both.input_tokens == 142_147
