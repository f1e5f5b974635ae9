"""What records say that answers took: read, written, out of a cache and into it, and the cost, each once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readroom.lens.audit import Options, audit
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.making import said

_STEP = {"action": "ls", "observation": "a.py", "response": "x", "state": "{}"}
_STATS = {"instance_cost": 0.5, "tokens_sent": 52861, "tokens_received": 326, "api_calls": 2}
_MINI = {"info": {"mini_version": "2"}, "trajectory_format": "mini-swe-agent-1.1"}


def _mini(usage: dict[str, Any]) -> dict[str, Any]:
    extra = {"cost": 0.25, "response": {"usage": usage}}
    return {**_MINI, "messages": [{"role": "assistant", "content": "so", "extra": extra}]}


def _span(**usage: int) -> dict[str, Any]:
    named = {f"gen_ai.usage.{name.replace('__', '.')}": value for name, value in usage.items()}
    return {"traceId": "t", "spanId": "s", "attributes": {"gen_ai.operation.name": "chat", **named}}


def _qwen(**usage: int) -> dict[str, Any]:
    head = {"uuid": "u", "sessionId": "s", "provenance": {}, "type": "assistant", "model": "m"}
    return {**head, "message": {"role": "model", "parts": [{"text": "so"}]}, "usageMetadata": usage}


def _pydantic(**usage: int) -> list[dict[str, Any]]:
    return [{"kind": "response", "parts": [{"part_kind": "text", "content": "so"}], "usage": usage}]


def _claude(**usage: int) -> dict[str, Any]:
    line = said("so")
    return {**line, "message": {**line["message"], "usage": usage}}


@each(
    ("name", "record", "expected"),
    [
        (
            "swe-agent.traj",
            {"trajectory": [_STEP, _STEP], "history": [], "info": {"model_stats": _STATS}},
            (52861, 326, 0, 0, 0.5),
        ),
        ("swe-agent.traj", {"info": {"model_stats": _STATS}, "trajectory": [_STEP]}, (52861, 326, 0, 0, 0.5)),
        (
            "mini.traj.json",
            _mini(
                {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
            ),
            (40, 7, 60, 0, 0.25),
        ),
        (
            "mini.traj.json",
            _mini(
                {
                    "prompt_tokens": 100,
                    "completion_tokens": 7,
                    "prompt_tokens_details": {"cached_tokens": 60},
                    "cache_creation_input_tokens": 30,
                }
            ),
            (10, 7, 60, 30, 0.25),
        ),
        (
            "mini.traj.json",
            _mini({"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 60}}),
            (40, 7, 60, 0, 0.25),
        ),
        (
            "spans.jsonl",
            _span(
                input_tokens=100,
                output_tokens=7,
                cache_read__input_tokens=60,
                cache_creation__input_tokens=30,
            ),
            (10, 7, 60, 30, 0),
        ),
        (
            "qwen.jsonl",
            _qwen(promptTokenCount=100, candidatesTokenCount=7, thoughtsTokenCount=5, totalTokenCount=112),
            (100, 12, 0, 0, 0),
        ),
        (
            "qwen.jsonl",
            _qwen(
                promptTokenCount=100,
                candidatesTokenCount=7,
                thoughtsTokenCount=5,
                totalTokenCount=107,
                cachedContentTokenCount=60,
            ),
            (40, 7, 60, 0, 0),
        ),
        (
            "pydantic.json",
            _pydantic(input_tokens=100, output_tokens=7, cache_read_tokens=60, cache_write_tokens=30),
            (10, 7, 60, 30, 0),
        ),
        ("pydantic.json", _pydantic(request_tokens=100, response_tokens=7), (100, 7, 0, 0, 0)),
        (
            "claude.jsonl",
            _claude(
                input_tokens=10, output_tokens=7, cache_read_input_tokens=60, cache_creation_input_tokens=30
            ),
            (10, 7, 60, 30, 0),
        ),
    ],
)
def test_what_answers_took_is_read(
    tmp_path: Path, name: str, record: object, expected: tuple[int, int, int, int, float]
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(record), encoding="utf-8")
    (part,) = audit(path, Options(secrets=False))
    assert isinstance(part, Audited)
    session = part.session
    found = (session.input_tokens, session.output_tokens, session.cache_read_tokens)
    assert (*found, session.cache_write_tokens, session.cost) == expected


@pytest.mark.parametrize(("total", "written"), [(112, 12), (107, 7), (None, 12)])
def test_reasoning_of_opencode_counts_once(tmp_path: Path, total: int | None, written: int) -> None:
    """Its sum says whether it stands among what was written or beside it."""
    storage = tmp_path / "storage"
    tokens = {"input": 40, "output": 7, "reasoning": 5, "cache": {"read": 50, "write": 10}, "total": total}
    session = {"id": "ses_1", "projectID": "p", "directory": "/w", "time": {"created": 1}}
    message = {"role": "assistant", "modelID": "m", "tokens": tokens, "cost": 0.5}
    for path, value in (("session/p/ses_1.json", session), ("message/ses_1/msg_1.json", message)):
        (storage / path).parent.mkdir(parents=True, exist_ok=True)
        (storage / path).write_text(json.dumps(value), encoding="utf-8")
    (part,) = audit(storage / "session/p/ses_1.json", Options(secrets=False))
    assert isinstance(part, Audited)
    found = part.session
    assert (found.input_tokens, found.output_tokens) == (40, written)
    assert (found.cache_read_tokens, found.cache_write_tokens, found.cost) == (50, 10, 0.5)
