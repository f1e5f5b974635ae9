"""Shapes of records that were met in public sessions, with made contents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readroom.core.rows import Finding
from readroom.lens.audit import Options, one_by_one
from readroom.lens.copies import without_copies
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records import records
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.making import called, record, returned, said


def audited(*paths: Path, secrets: bool = False) -> tuple[list[Audited], list[SkippedPart]]:
    parts = [*without_copies(one_by_one(records(paths), Options(secrets=secrets)))]
    return (
        [one for one in parts if isinstance(one, Audited)],
        [one for one in parts if isinstance(one, SkippedPart)],
    )


def of_kind(kind: str, parts: list[Audited]) -> list[Finding]:
    return [finding for part in parts for finding in part.findings if finding.kind == kind]


# -----------------------------------------------------------------------------
# Runs of one task
# -----------------------------------------------------------------------------


def trajectory(path: Path, steps: int, sent: int, **cost: float) -> Path:
    """A run of SWE-agent; the first steps of all runs are the same."""
    made = [{"action": f"cat a{at}.py", "observation": f"line {at}\n", "thought": ""} for at in range(steps)]
    info = {"model_stats": {"tokens_sent": sent, "tokens_received": 7, **cost}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"trajectory": made, "history": [], "info": info}), encoding="utf-8")
    return path


@pytest.mark.parametrize("inner", ["", "shop__shop-12"])
def test_runs_of_one_task_that_begin_alike_are_sessions_of_their_own(inner: str, tmp_path: Path) -> None:
    """Older versions put a run in a folder, newer ones each task of it in one more."""
    for model, steps in (("small", 3), ("large", 5)):
        trajectory(tmp_path / f"run-{model}" / inner / "shop__shop-12.traj", steps, steps * 100)
    parts, _ = audited(tmp_path)
    assert sorted(part.session.session for part in parts) == [
        "run-large/shop__shop-12",
        "run-small/shop__shop-12",
    ]
    assert sum(len(part.turns) for part in parts) == 8
    assert sum(part.session.input_tokens for part in parts) == 800


def test_a_run_in_two_folders_counts_once(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        trajectory(tmp_path / folder / "shop.traj", 4, 400)
    parts, _ = audited(tmp_path)
    assert sum(len(part.turns) for part in parts) == 4
    assert sum(part.session.input_tokens for part in parts) == 400
    assert [part.session.copied_turns for part in parts] == [0, 4]


@pytest.mark.parametrize("name", ["instance_cost", "task_cost"])
def test_a_run_costs_what_it_says(name: str, tmp_path: Path) -> None:
    parts, _ = audited(trajectory(tmp_path / "a.traj", 2, 10, **{name: 0.25, "total_cost": 9.0}))
    assert parts[0].session.cost == 0.25


def test_an_older_log_of_inspect_says_what_its_answers_took(tmp_path: Path) -> None:
    """Its messages have no ids; a grader's answers are among the events, too."""

    def answer(text: str, tokens: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "source": "generate"}
        usage = {"input_tokens": tokens, "output_tokens": 1}
        return {"event": "model", "output": {"choices": [{"message": message}], "usage": usage}}

    messages = [
        {"role": role, "content": text}
        for role, text in [
            ("user", "Mend it."), ("assistant", "Wait."), ("user", "Go on."), ("assistant", "Wait."),
            ("user", "Go on."), ("assistant", "Done."),
        ]
    ]  # fmt: skip
    events = [answer("Wait.", 10), answer("Wait.", 30), answer("Well done.", 900), answer("Done.", 50)]
    sample = {"id": 1, "epoch": 1, "messages": messages, "events": events}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"eval_id": "e"}, "samples": [sample]}), encoding="utf-8")
    (part,), _ = audited(path)
    assert [turn.input_tokens for turn in part.turns] == [10, 30, 50]
    assert part.session.output_tokens == 3


def conversation(path: Path, model: str) -> Path:
    """A conversation of Claude Code, by an answer of some model."""
    entries = [called(1, "Bash", {"command": "make"}), returned(1, "done"), said("It works.")]
    for entry in entries:
        if entry["type"] == "assistant":
            entry["message"]["model"] = model
            entry["message"]["usage"] = {"input_tokens": 50, "output_tokens": 5}
    return record(path, entries)


def test_a_copy_that_names_another_model_counts_once(tmp_path: Path) -> None:
    conversation(tmp_path / "a.jsonl", "claude-large")
    conversation(tmp_path / "b.jsonl", "anonymous")
    parts, _ = audited(tmp_path)
    assert sum(part.session.input_tokens for part in parts) == 100


# -----------------------------------------------------------------------------
# Older versions of Codex: bare items after a first line
# -----------------------------------------------------------------------------


def rollout(path: Path, *items: dict[str, Any]) -> Path:
    told = "<environment_context>\n  <cwd>/home/dev/shop</cwd>\n</environment_context>"
    lines = [
        {"id": "0f-1", "timestamp": "2025-09-10T18:58:38Z", "instructions": "Be brief.", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": told}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend the till."}]},
        *items,
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def shell(id: str, command: str, output: str) -> list[dict[str, Any]]:
    arguments = json.dumps({"command": ["bash", "-lc", command]})
    answer = json.dumps({"output": output, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
    return [
        {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id},
        {"record_type": "state"},
        {"type": "function_call_output", "call_id": id, "output": answer},
    ]


def row(number: int) -> str:
    return f"    total = total + price_of({number})\n"


def cut(first: int, last: int, head: int, tail: int) -> str:
    """The lines of a file, from which the middle is left out: the last line of the head is half a line."""
    count = last - first + 1
    mark = f"\n[... omitted {count - head - tail} of {count} lines ...]\n\n"
    shown = "".join(map(row, range(first, first + head)))
    return shown[:-9] + mark + "".join(map(row, range(last - tail + 1, last + 1))).removesuffix("\n")


def test_an_older_rollout_is_one_of_codex(tmp_path: Path) -> None:
    heard = {"type": "heard_of_never", "text": "?"}
    (part,), skipped = audited(rollout(tmp_path / "r.jsonl", *shell("c1", "cat a.py", "x = 1\n"), heard))
    session = part.session
    assert (session.client, session.session, session.folder) == ("Codex", "0f-1", "/home/dev/shop")
    assert (session.title, session.calls, session.turns) == ("Mend the till.", 1, 1)
    assert [one.why for one in skipped] == ["kind 'heard_of_never' is not known"]


def test_lines_after_a_cut_have_their_numbers(tmp_path: Path) -> None:
    """So a second look at them is a repetition."""
    items = [
        *shell("c1", "sed -n '101,300p' a.py", cut(101, 300, 40, 30)),
        *shell("c2", "sed -n '280,300p' a.py", "".join(map(row, range(280, 301)))),
    ]
    (part,), _ = audited(rollout(tmp_path / "r.jsonl", *items))
    (again,) = of_kind("repeated", [part])
    assert (again.call, again.file, again.first, again.last) == (2, "a.py", 280, 300)


@each(
    ("later", "missing"),
    [
        ([], "140-271"),
        ([(140, 271)], None),
        ([(100, 200), (190, 300)], None),
        ([(150, 160)], "140-149, 161-271"),
        ([(1, 139), (272, 300)], "140-271"),
    ],
)
def test_the_rest_of_a_printed_file_may_be_read_later(
    later: list[tuple[int, int]], missing: str | None, tmp_path: Path
) -> None:
    items = shell("c1", "sed -n '101,300p' a.py", cut(101, 300, 40, 30))
    for number, (first, last) in enumerate(later):
        text = "".join(map(row, range(first, last + 1)))
        items += shell(f"d{number}", f"sed -n '{first},{last}p' a.py", text)
    (part,), _ = audited(rollout(tmp_path / "r.jsonl", *items))
    said = [finding.what for finding in of_kind("lost", [part])]
    amount = "130 lines truncated by the client; not read later: lines "
    assert said == ([amount + missing] if missing else [])


def test_a_cut_inside_a_line_is_of_an_unknown_size(tmp_path: Path) -> None:
    text = "wide " * 900 + "\n[... omitted 0 of 38 lines ...]\n\n" + "end"
    (part,), _ = audited(rollout(tmp_path / "r.jsonl", *shell("c1", "make", text)))
    (lost,) = of_kind("lost", [part])
    assert lost.what.startswith("an unknown part truncated by the client")


# -----------------------------------------------------------------------------
# Lines of results
# -----------------------------------------------------------------------------

ELIDED = [
    "sk-ant-...",
    "sk-...",
    "gsk_...",
    "csk-...",
    "xai-...",
    "sk-or-...",
    "sk-ant-oat01-...",
    "sk-ant-…",
]
_LETTERS = "Q7x2Lw9Zt4Vb8Nc3Kd6Hf1Rj5Gs0Mp"


@each("value", ELIDED)
def test_the_beginning_of_a_key_is_no_secret(value: str) -> None:
    scanner = SecretScanner()
    for line in ("export SOME_API_KEY={}", '"accessToken": "{}",', "api_key = '{}'"):
        assert scanner.found("", line.format(value)).kinds == ()
        whole = value.rstrip(".…") + _LETTERS
        assert scanner.found("", line.format(whole)).kinds != ()
        assert scanner.found("", line.format(f"{whole}...")).kinds != (), "only its end is left out"


@each(
    ("text", "hides"),
    [
        ("\x1b[?25l\x1b[2K\x1b[1G\x1b[36m?\x1b[39m Which folder?", False),
        ("\x1b[?25hMade the folder.", False),
        ("\x1b[2K\x1b[GDone.", False),
        ("run this quietly\x1b[2K\x1b[1GDone.", True),
        ("run this quietly\x1b[1GDone. Done. Done.", True),
        ("\x1b[8mrun this quietly\x1b[28m Done.", True),
    ],
)
def test_a_line_drawn_again_hides_only_what_came_before(text: str, hides: bool, tmp_path: Path) -> None:
    entries = [called(1, "Bash", {"command": "npx make-app"}), returned(1, text), said("Done.")]
    parts, _ = audited(record(tmp_path / "a.jsonl", entries))
    assert bool(of_kind("hidden", parts)) is hides


# -----------------------------------------------------------------------------
# Results that later requests do not carry
# -----------------------------------------------------------------------------


def opened_again(kept: int, place: str) -> dict[str, Any]:
    """A run that opens a file, works, and opens it again; requests carry the last `kept` observations."""
    window = "[File: /home/dev/shop/till.py (40 lines total)]\n" + "".join(
        f"{number}:total = price_of({number})\n" for number in range(1, 41)
    )
    seen = [window, *(f"note {number}" for number in range(4)), window, "done"]
    told: list[dict[str, Any]] = [{"role": "user", "content": "A demonstration."}]
    told += [{"role": "assistant", "content": "Shown."}, {"role": "user", "content": "Shown, too."}]
    told += [{"role": "user", "content": "Mend the till."}]

    def request(steps: int) -> list[dict[str, Any]]:
        messages = [*told]
        for number, text in enumerate(seen[:steps]):
            text = text if steps - number <= kept else "Old environment output: (41 lines omitted)"
            messages.append({"role": "assistant", "content": "Next."})
            messages.append({"role": "tool", "content": [{"type": "text", "text": text}]})
        return messages

    steps = [
        {
            "action": "open till.py" if text == window else "echo",
            "observation": text,
            place: request(number + (place == "messages")),
        }
        for number, text in enumerate(seen)
    ]
    return {"trajectory": steps, "history": [], "info": {}}


@each(("kept", "place"), [(9, "query"), (3, "query"), (9, "messages"), (3, "messages")])
def test_an_observation_that_is_no_longer_sent_is_not_in_view(kept: int, place: str, tmp_path: Path) -> None:
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(opened_again(kept, place)), encoding="utf-8")
    (part,), _ = audited(path)
    assert len(of_kind("repeated", [part])) == (kept == 9)
    whole = [call.whole_in_requests for call in part.calls]
    sent = [
        call.sent_in_requests if some is None else some for call, some in zip(part.calls, whole, strict=True)
    ]
    assert sent == [min(kept, 6 - number) for number in range(7)]


@each("word", ["edit", "insertion"])
def test_lines_that_a_refused_change_would_have_made_were_not_shown(word: str, tmp_path: Path) -> None:
    def window(rows: list[str]) -> str:
        head = f"[File: /home/dev/shop/till.py ({len(rows)} lines total)]\n"
        return head + "".join(f"{number}:{row}\n" for number, row in enumerate(rows, 1))

    rows = [f"total = price_of({number})" for number in range(1, 6)]
    refused = (
        f"Your proposed {word} has introduced new syntax error(s).\nERRORS:\n- E999 unexpected indent\n"
        f"This is how your {word} would have looked if applied\n{'-' * 49}\n"
        f"{window([*rows[:2], '   total = 0', *rows[2:]])}{'-' * 49}\n\n"
        f"This is the original code before your {word}\n{'-' * 49}\n{window(rows)}{'-' * 49}\n"
        "Your changes have NOT been applied."
    )
    tool = {"edit": "edit 3:3", "insertion": "insert 2"}[word]
    steps = [{"action": f"{tool}\n   total = 0\nend", "observation": refused}]
    path = tmp_path / "a.traj"
    path.write_text(json.dumps({"trajectory": steps, "history": [], "info": {}}), encoding="utf-8")
    (part,), _ = audited(path)
    assert [(one.first, one.last, one.again) for one in part.lines] == [(1, 5, None)]
    assert len(of_kind("failed-edits", [part])) == 1


def test_a_result_that_the_client_cleared_is_not_in_view(tmp_path: Path) -> None:
    """Two results of one answer: the lines of one are gone when both are."""
    text = "\n".join(f"{number}\tx = {number}" for number in range(1, 30))
    arguments = {"file_path": "/home/dev/shop/a.py"}
    for cleared in (["t1"], ["t1", "t2"]):
        both = called(1, "Read", arguments)
        both["message"]["content"] += called(2, "Bash", {"command": "make"})["message"]["content"]
        boundary = {
            **{key: both[key] for key in ("sessionId", "version", "cwd", "timestamp")},
            "type": "system",
            "uuid": "b",
            "subtype": "microcompact_boundary",
            "microcompactMetadata": {"compactedToolIds": cleared},
        }
        entries: list[dict[str, Any]] = [both, returned(1, text), returned(2, "made"), boundary]
        entries += [called(3, "Read", arguments), returned(3, text), said("Done.")]
        parts, _ = audited(record(tmp_path / "a.jsonl", entries))
        assert len(of_kind("repeated", parts)) == 2 - len(cleared)


# -----------------------------------------------------------------------------
# Nothing is dropped without a word
# -----------------------------------------------------------------------------


def test_a_message_of_an_unknown_role_is_said(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "session", "id": "p1", "cwd": "/home/dev/shop", "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "message", "message": {"role": "user", "content": "Mend the till."}},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}},
        {"type": "message", "message": {"role": "stranger", "content": "?"}},
    ]
    _, skipped = audited(record(tmp_path / "a.jsonl", lines))
    assert [(one.where, one.why) for one in skipped] == [
        ("line 4", "messages of the role 'stranger' are not read")
    ]


def test_an_element_that_is_no_message_is_said(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([{"role": "user", "content": "Mend it."}, {"note": "of nothing"}]))
    _, skipped = audited(path)
    assert [one.why for one in skipped] == ["kind '' is not known"]
