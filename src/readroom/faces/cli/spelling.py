"""Native calls as commands of a shell: what a person types to send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from readroom.contracts.native.calls import EDIT, FIND, GREP, LIST, READ, RUN, WRITE
from readroom.values import Call, Fact

COMMANDS: Mapping[str, str] = {
    READ: "read", GREP: "grep", FIND: "find", LIST: "ls", EDIT: "edit", WRITE: "write", RUN: "run",
}  # fmt: skip
"""The command for each tool of the native contract."""

POSITIONAL: Mapping[str, tuple[str, ...]] = {
    READ: ("path",),
    GREP: ("pattern", "path"),
    FIND: ("query", "path"),
    LIST: ("path",),
    EDIT: ("path",),
    WRITE: ("path",),
    RUN: ("command",),
}
"""Arguments that a command takes without an option's name."""


def command(call: Call | Mapping[str, Fact], root: str | None) -> str:
    """A native call, {tool, arguments} among the facts, as a command that a shell takes as it stands."""
    import shlex  # most replies name no call

    if not isinstance(call, Call):
        sent = call["arguments"]
        assert isinstance(sent, Mapping)
        call = Call(str(call["tool"]), dict(sent))
    place = [] if root is None else ["--root", root]
    if call.tool not in COMMANDS:
        import json

        text = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
        return shlex.join(["readroom", "call", call.tool, text, *place])
    positional = POSITIONAL[call.tool]
    names = [str(call.arguments[name]) for name in positional if name in call.arguments]
    options = [
        word
        for name, value in call.arguments.items()
        if name not in positional
        for word in (_edits(value) if name == "edits" else _option(name, value))
    ]
    options += place
    words = ["readroom", COMMANDS[call.tool]]
    if any(name.startswith("-") for name in names):
        return shlex.join([*words, *options, "--", *names])
    return shlex.join([*words, *names, *options])


def _edits(edits: Fact) -> Iterator[str]:
    """Pairs of options where they can say it: one --replace-all is meant for all pairs of a command."""
    items = [item for item in edits if isinstance(item, Mapping)] if isinstance(edits, list) else []
    if len({bool(item.get("replace_all")) for item in items}) != 1:
        import json

        yield from ("--edits", json.dumps(edits, ensure_ascii=False, separators=(",", ":")))
        return
    for item in items:
        # One word each: a text may begin with a dash.
        yield from (f"--old={item['old_text']}", f"--new={item['new_text']}")
    if items[0].get("replace_all"):
        yield "--replace-all"


def _option(name: str, value: Fact) -> Iterator[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        yield flag
    elif isinstance(value, (str, int, float)):
        yield from (flag, str(value))
    elif value is not None:
        for item in value:
            yield from (flag, str(item))
