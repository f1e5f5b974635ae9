"""What each contract spends to deliver the same files, in o200k tokens."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bpe_openai import get_encoding

from benchmarks.measure import Record
from readroom import Workspace
from readroom.core.contracts import NAMES, contract

_MODULES = 40
_MOST_CALLS = 50
"""For one module; none of them has so many pages."""

_READ: Mapping[str, tuple[str, str]] = {"rnd": ("read", "path"), "inspect_agents": ("read_file", "file_path")}
"""The tool that reads, and what it calls the path, where that is not `read_file` and `path`."""


def run(record: Record) -> None:
    """Whole modules of the standard library, read with each contract's defaults and its own continuations.

    Calls and replies are counted as a model sees them; a contract that shows less of a module by
    default takes more calls.  Not counted is what only programs see. Schemas are sent once per conversation.
    """
    encode = get_encoding("o200k_base").encode
    folder = Path(sysconfig.get_path("stdlib"))
    names = [
        path.name
        for path in sorted(folder.glob("*.py"))
        if 4_000 < path.stat().st_size < 30_000 and path.name.isascii()
    ][:_MODULES]
    raw = sum(len(encode((folder / name).read_text(encoding="utf-8"))) for name in names)
    record.add("contracts", "modules", "raw", [raw], "tokens")
    table = []
    with Workspace(folder) as workspace:
        for name in NAMES:
            spent = [_delivered(workspace, name, folder, module, encode) for module in names]
            shown = record.add("contracts", "modules", name, [sum(tokens for tokens, _ in spent)], "tokens")
            calls = record.add("contracts", "calls", name, [sum(calls for _, calls in spent)], "count")
            schemas = record.add("contracts", "tools/list", name, [_schemas(name, encode)], "tokens")
            table.append([name, f"{shown:,.0f}", f"{shown / raw:.3f}", f"{calls:.0f}", f"{schemas:,.0f}"])
    table.sort(key=lambda row: float(row[2]))
    record.say(f"{len(names)} modules of the standard library, {raw:,} tokens raw:")
    record.table(["contract", "tokens", "to raw", "calls", "tools/list, tokens"], table)


def _delivered(
    workspace: Workspace, name: str, folder: Path, module: str, encode: Callable[[str], list[int]]
) -> tuple[int, int]:
    """Tokens and calls until the contract has nothing more to continue with; every line has been shown."""
    tool, path = _READ.get(name, ("read_file", "path"))
    arguments: Any = {path: str(folder / module) if name == "coder" else module}
    tokens, shown = 0, ""
    for calls in range(1, _MOST_CALLS):
        reply = workspace.call(tool, arguments, contract_name=name)
        tokens += len(encode(json.dumps(arguments))) + len(encode(reply.text))
        shown += reply.text
        facts: Any = reply.facts
        following = facts["error"]["next"] if reply.is_error else facts.get("next")
        if following is None:
            _require_all(folder / module, shown, reply.is_error)
            return tokens, calls
        tool, arguments = following["tool"], following["arguments"]
    raise RuntimeError(f"{name} does not come to the end of {module}")


def _require_all(path: Path, shown: str, failed: bool) -> None:
    # Objects carry the text as JSON, whose escapes are the same in both.
    lines = path.read_text(encoding="utf-8").splitlines()
    missing = [
        line
        for line in lines
        if line not in shown and json.dumps(line, ensure_ascii=False)[1:-1] not in shown
    ]
    if failed or missing:
        raise RuntimeError(f"{path.name} was not delivered: {missing[:3]}")


def _schemas(name: str, encode: Callable[[str], list[int]]) -> int:
    tools = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in contract(name).tools
    ]
    return len(encode(json.dumps(tools)))
