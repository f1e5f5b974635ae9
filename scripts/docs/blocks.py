"""Blocks of the documentation that come from tables in the code."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from textwrap import dedent
from typing import Any

from msgspec.structs import fields

from readroom.cli.exits import MEANING, OF_RUN
from readroom.cli.failures import exit_code
from readroom.core import config, limits
from readroom.core.contracts import NAMES, contract
from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import NATIVE
from readroom.core.contracts.schema import in_words
from readroom.core.errors import ReadroomError
from readroom.core.formats.kinds import WINDOWS
from readroom.core.policy.commands import DEVICES, SYSTEM, SYSTEM_FACTS, SYSTEM_PATTERNS
from readroom.core.policy.executed import REPOSITORY, ROWS
from readroom.core.policy.rules import RULES
from readroom.core.quoting import RULES as NAME_RULES
from readroom.core.search.pattern import DIFFERENCES
from readroom.core.values import Kind
from readroom.mcp.server import CLIENTS
from readroom.server.http.header_names import READ, WRITTEN
from scripts.docs.facts import FACTS
from scripts.docs.tables import fenced, table


def tools_table() -> str:
    rows = [[f"`{tool.name}`", tool.description] for tool in NATIVE.tools]
    rows += [[f"`{tool.name}`", f"{tool.description} Off unless allowed."] for tool in NATIVE.commands]
    return table(["tool", "what it does"], rows)


def tools() -> str:
    return "\n\n".join(tool_section(tool) for tool in NATIVE.offered(commands=True))


def tool_section(tool: Tool) -> str:
    """A tool's words and arguments."""
    schema = tool.input_schema
    rows = [
        [
            f"`{argument}`",
            in_words(field) + ("" if argument not in schema.get("required", ()) else ", required"),
            _default(tool.arguments, argument),
            _meaning(field),
        ]
        for argument, field in schema.get("properties", {}).items()
    ]
    return (
        f"## {tool.name}\n\n{tool.description}\n\n{table(['argument', 'type', 'default', 'meaning'], rows)}"
    )


def _meaning(field: Mapping[str, Any]) -> str:
    branches = [field, *field.get("anyOf", ())]
    return next((branch["description"] for branch in branches if "description" in branch), "")


def _default(arguments: type, argument: str) -> str:
    import msgspec

    fields = msgspec.structs.fields(arguments) if isinstance(arguments, type) else ()
    field = next((f for f in fields if f.encode_name == argument), None)
    # A list that is made anew for every call is empty, which is the same as leaving it out.
    if field is None or field.default in (None, msgspec.NODEFAULT):
        return ""
    # As a call has it: `false`, not `False`.
    return f"`{field.default if isinstance(field.default, str) else json.dumps(field.default)}`"


def facts() -> str:
    parts = []
    for tool, meanings in FACTS.items():
        rows = [[f"`{name}`", meaning] for name, meaning in meanings.items()]
        parts.append(f"## {tool}\n\n{table(['fact', 'meaning'], rows)}")
    return "\n\n".join(parts)


def error_tree() -> str:
    return fenced("\n".join(_branch(ReadroomError)))


def _branch(kind: type[ReadroomError]) -> Iterator[str]:
    yield kind.__name__
    below = kind.__subclasses__()
    for inner in below:
        fork, line = ("└── ", "    ") if inner is below[-1] else ("├── ", "│   ")
        first, *rest = _branch(inner)
        yield f"{fork}{first}"
        yield from (f"{line}{row}" for row in rest)


def error_classes() -> Iterator[type[ReadroomError]]:
    """Every class of the tree, in its order."""
    pending = [ReadroomError]
    while pending:
        kind = pending.pop()
        yield kind
        pending += reversed(kind.__subclasses__())


def error_table() -> str:
    rows = [
        [f"`{kind.code}`", f"`{kind.__name__}`", _first_sentence(kind), str(int(exit_code(kind)))]
        for kind in error_classes()
    ]
    return table(["code", "class", "what happened", "exit code"], rows)


def _first_sentence(thing: object) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def exit_codes() -> str:
    rows = [[str(int(code)), meaning] for code, meaning in MEANING.items()]
    return f"{table(['exit code', 'meaning'], rows)}\n\n{OF_RUN}."


def windows() -> str:
    shown = {kind: window for kind, window in WINDOWS.items() if window.lines}
    rows = [
        [f"`{kind}`", str(window.lines), "the end" if window.tail else "line 1", _carries(kind)]
        for kind, window in shown.items()
    ]
    return table(["kind", "lines", "from", "also"], rows)


def _carries(kind: Kind) -> str:
    return "the header line above every later window" if WINDOWS[kind].header else ""


def settable_limits() -> str:
    own = f"`{limits.REPLY_BYTES}`; of another contract its own"  # where the default is None
    rows = [
        [f"`{field.name}`", own if field.default is None else f"`{field.default}`"]
        for field in fields(limits.Limits)
    ]
    return table(["key in [limits]", "default"], rows)


def clients() -> str:
    """What arrives: of the client's cap and the contract's the smaller one."""
    caps = [contract(name).reply_bytes for name in NAMES]
    rows = [
        [one.title, f"`{one.prefix}`", *(f"{min(one.chars or cap, cap):,}" for cap in caps)]
        for one in CLIENTS
    ]
    heads = ["client", "name starts with", *(f"`{name}`" for name in NAMES)]
    return table(heads, [*rows, ["any other", "", *(f"{cap:,}" for cap in caps)]])


def headers_read() -> str:
    return table(["header", "of a request"], [[f"`{name}`", words] for name, words in READ.items()])


def headers_written() -> str:
    return table(["header", "of an answer"], [[f"`{name}`", words] for name, words in WRITTEN.items()])


def denials() -> str:
    by_reason: dict[str, list[str]] = {}
    for rule in RULES:
        by_reason.setdefault(rule.reason, []).append(f"`{rule.pattern}`")
    return table(["reason", "patterns"], [[reason, " ".join(names)] for reason, names in by_reason.items()])


def executed() -> str:
    rows = [[reason, " ".join(f"`{name}`" for name in names)] for reason, names in ROWS.items()]
    repository = "`config`, `hooks/` beside `HEAD`, `objects/`, `refs/`, and the last of these three"
    rows.append([REPOSITORY.reason, repository])
    return table(["reason", "patterns"], rows)


def command_places() -> str:
    by_reason: dict[str, list[str]] = {}
    for place in (*SYSTEM, *SYSTEM_PATTERNS):
        by_reason.setdefault(place.reason, []).append(f"`{place.path}`")
    rows = [[reason, " ".join(paths)] for reason, paths in by_reason.items()]
    rows.append(["devices", " ".join(f"`{path}`" for path in DEVICES)])
    rows.append(["facts about the machine (with Landlock)", " ".join(f"`{path}`" for path in SYSTEM_FACTS)])
    return table(["what for", "places"], rows)


def configuration() -> str:
    doc = (inspect.getdoc(config) or "").partition("\n\nKnows:")[0]
    lines = [line for line in doc.split("\n") if line.startswith("    ") or not line]
    return fenced(dedent("\n".join(lines)).strip(), "toml")


def regex_differences() -> str:
    rows = [[f"`` {syntax} ``", what] for syntax, what in DIFFERENCES.items()]
    return table(["syntax", "on a store without files"], rows)


def name_rules() -> str:
    """What has a name quoted."""
    return "\n".join(f"- {words};" for words, _ in NAME_RULES[:-1]) + f"\n- {NAME_RULES[-1][0]}."


BLOCKS: Mapping[str, Callable[..., str]] = {
    "regex-differences": regex_differences,
    "tools-table": tools_table,
    "tools": tools,
    "facts": facts,
    "error-tree": error_tree,
    "error-table": error_table,
    "exit-codes": exit_codes,
    "windows": windows,
    "settable-limits": settable_limits,
    "clients": clients,
    "headers-read": headers_read,
    "headers-written": headers_written,
    "denials": denials,
    "executed": executed,
    "name-rules": name_rules,
    "configuration": configuration,
    "command-places": command_places,
}
