"""Records made in tests, in the form of Claude Code: whatever text is put into them comes back as a
result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from readroom.lens.limits import BOUNDS, Bounds

_HEAD = {"sessionId": "s1", "cwd": "/home/dev/shop", "version": "9.9", "timestamp": "2026-01-01T00:00:00Z"}


def called(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The line of a call."""
    block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
    message = {"id": f"m{number}", "role": "assistant", "model": "m", "content": [block]}
    return {"type": "assistant", "uuid": f"a{number}", **_HEAD, "message": message}


def returned(number: int, text: str, *, error: bool = False) -> dict[str, Any]:
    """The line of its result."""
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": error}
    return {"type": "user", "uuid": f"u{number}", **_HEAD, "message": {"role": "user", "content": [block]}}


def said(text: str) -> dict[str, Any]:
    """The line of a last word."""
    message = {"id": "end", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "uuid": "end", **_HEAD, "message": message}


def numbered(lines: list[str], first: int = 1) -> str:
    """Lines as Claude Code numbers them."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))


def record(path: Path, entries: list[dict[str, Any]]) -> Path:
    """A record with these lines."""
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def divided(by: int) -> Bounds:
    """The bounds of every audit, so many times smaller, each of them."""
    return Bounds(**{name: getattr(BOUNDS, name) // by for name in Bounds.__struct_fields__})
