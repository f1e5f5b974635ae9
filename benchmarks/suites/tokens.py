"""What replies cost a model, in o200k tokens."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

from bpe_openai import get_encoding

from benchmarks import targets
from benchmarks.measure import Record, met
from readroom import Workspace
from readroom.core.contracts import contract

_MODULES = 40


def run(record: Record) -> None:
    """40 standard-library modules in pages as they come, and the schemas of the tools."""
    encode = get_encoding("o200k_base").encode
    folder = Path(sysconfig.get_path("stdlib"))
    names = [
        path.name
        for path in sorted(folder.glob("*.py"))
        if 4_000 < path.stat().st_size < 30_000 and path.name.isascii()
    ][:_MODULES]
    raw = shown = 0
    with Workspace(folder) as workspace:
        for name in names:
            raw += len(encode((folder / name).read_text(encoding="utf-8")))
            shown += len(encode(workspace.read(name).text))
    record.add("tokens", "modules", "raw", [raw], "tokens")
    record.add("tokens", "modules", "readroom", [shown], "tokens")
    tools = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in contract("native").tools
    ]
    schemas = record.add("tokens", "tools/list", "readroom", [len(encode(json.dumps(tools)))], "tokens")
    record.say(
        f"- {len(names)} modules of the standard library: {shown} tokens against {raw} raw: "
        f"{met(shown / raw, targets.READ_TOKENS)}",
        f"- Schemas and descriptions of all tools: {met(schemas, targets.SCHEMA_TOKENS)} tokens",
        "",
    )
