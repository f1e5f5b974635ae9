"""The native tool for commands that run on after their call, and the words for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import CHECK, closing, shown
from readroom.core.contracts.native.changes import (
    missing_of,
    output_facts,
    row_of,
    signal_of,
    size_of,
    unshown,
)
from readroom.core.contracts.native.render import reply, warning_parts
from readroom.core.contracts.schema import NEVER_ZERO
from readroom.core.limits import RUN_WAIT_S
from readroom.core.paths import OUTPUTS
from readroom.core.quoting import as_value
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, ListRequest, ReadRequest, Reply, Request
from readroom.core.values.commands import (
    Background,
    EndRequest,
    Signal,
    StartedRequest,
    StartedResult,
    Verbosity,
    WatchRequest,
    WatchResult,
)


class CheckArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of check_command."""

    id: Annotated[str, Meta(description="Without it, list them")] | None = None
    wait_s: Annotated[float, Meta(gt=0, le=RUN_WAIT_S, extra=NEVER_ZERO)] | None = None
    until: Annotated[str, Meta(description="Regex of a line to wait for")] | None = None
    signal: Annotated[Signal, Meta(description="End it")] | None = None
    output: Verbosity = "concise"


_NEXT_S = 30
"""The wait that a reply suggests."""

UNTIL_S = 60.0
"""How long a line is waited for where the call does not say; MCP clients give up after that."""

END_S = 8.0
"""How long the end of a command is waited for that was asked to end: it is forced after 2 s."""


def _to_request(arguments: CheckArguments) -> Request:
    if not arguments.id:
        return StartedRequest()
    if arguments.signal is not None:
        return EndRequest(arguments.id, arguments.signal, arguments.wait_s or END_S, arguments.output)
    wait_s = arguments.wait_s or (0.0 if arguments.until is None else UNTIL_S)
    return WatchRequest(arguments.id, wait_s, arguments.until, arguments.output)


CHECK_COMMAND = Tool(
    name=CHECK,
    title="Check a background command",
    description="Look at a background command, wait for its end or a line of output, or end it.",
    arguments=CheckArguments,
    to_request=_to_request,
    read_only=False,
)


def render(result: WatchResult, cap: Cap) -> Reply:
    """The reply about one command; its lines were selected under `cap`."""
    rows = [_header(result)]
    if result.outputs:
        out, err = result.outputs
        rows += map(row_of, out.lines)
        if err.lines:
            rows += ["stderr:", *map(row_of, err.lines)]
    body = "\n".join(rows)
    text = f"{body}\n{closing(_closing(result), cap.size - byte_size(body) - 1)}"
    return reply(text, partial(facts_of, result))


def _header(result: WatchResult) -> str:
    state = result.state
    network = "network" if state.network else "no network"
    confinement = "not confined" if state.confinement == "none" else f"{state.confinement}, {network}"
    sizes = [size_of(output) for output in result.outputs if output.size_bytes]
    if not sizes and not any(state.sizes) and result.outputs:
        sizes = ["no output"]
    parts = [state.id, f"{_status(state)}, {result.age_s:.1f} s", *sizes, f"{state.shell}, {confinement}"]
    return " | ".join(parts)


def _status(state: Background) -> str:
    if state.running:
        return "running" if state.asked is None else f"running (asked to end: {state.asked})"
    if state.problem:
        return "failed"
    if state.timed_out:
        return f"time limit, ended (exit {state.exit_code})"
    name = signal_of(state.exit_code or 0)
    return f"exit {state.exit_code}{f' ({name})' if name else ''}"


def _closing(result: WatchResult) -> list[str]:
    state = result.state
    parts = list(_waited(result))
    if state.problem:
        parts.append(f"{state.problem}.")
    parts += [part for output in result.outputs for part in missing_of(output)]
    if state.left:
        parts.append(f"Ended with it: {state.left} process{'' if state.left == 1 else 'es'}.")
    if state.changes:
        from readroom.core.contracts.native import changed  # readers do not need it

        parts += changed.sentences(state.changes)
    parts += warning_parts(result.warnings)
    if not result.outputs:
        parts.append(f"Its output grows in {OUTPUTS}/{state.id}.stdout and .stderr.")
    following = _next(result)
    if following is not None:
        parts.append(f"Next: {shown(following)}")
    return parts or ["end of output"]


def _waited(result: WatchResult) -> Iterator[str]:
    if result.matched is not None:
        number, _, stream = result.matched
        yield f"Line {number} of {stream} matches."
    elif result.waited == "time":
        yield "The wait is over, and it still runs."


def _next(result: WatchResult) -> Request | None:
    first = unshown(result.outputs)
    if not result.state.running or result.matched is not None:
        return first
    if not result.outputs or first is None:
        return WatchRequest(result.state.id, _NEXT_S)
    return ReadRequest(first.path, offset=-100)


def facts_of(result: WatchResult) -> dict[str, Fact]:
    """The facts of a command that runs on."""
    from readroom.core.contracts.native import changed

    matched = result.matched
    return {
        **facts_of_state(result.state),
        "age_s": round(result.age_s, 3),
        "waited": result.waited,
        "matched": None
        if matched is None
        else {"line": matched[0], "text": matched[1], "stream": matched[2]},
        "outputs": [output_facts(output, kept=True) for output in result.outputs],
        "changes": changed.facts(result.state.changes),
        **native_facts.common((), _next(result), result.warnings),
    }


def facts_of_state(state: Background) -> dict[str, Fact]:
    """The facts of a command in a list of them."""
    return {
        "id": state.id,
        "command": state.command,
        "cwd": as_value(state.path),
        "running": state.running,
        "exit_code": state.exit_code,
        "signal": signal_of(state.exit_code or 0),
        "timed_out": state.timed_out,
        "began": state.began,
        "ended": state.ended,
        "limit_s": state.limit_s,
        "asked": state.asked,
        "problem": state.problem,
        "shell": state.shell,
        "confinement": state.confinement,
        "network": state.network,
    }


_COMMAND_CHARS = 120
"""How much of a command line a list shows."""


def render_list(result: StartedResult, cap: Cap) -> Reply:
    """The reply that lists the commands, as many as fit."""
    count = len(result.commands)
    running = sum(state.running for state in result.commands)
    header = f"{count} background command{'' if count == 1 else 's'}, {running} running"
    rows, room = [header], cap.size - byte_size(header) - 200
    for state in result.commands:
        command = " ".join(state.command.split())
        cut = command if len(command) <= _COMMAND_CHARS else f"{command[:_COMMAND_CHARS]}..."
        row = f"{state.id} | {_status(state)} | {cut}"
        room -= byte_size(row) + 1
        if room < 0:
            break
        rows.append(row)
    shown_count = len(rows) - 1
    parts = [f"{count - shown_count} more are not shown."] if shown_count < count else []
    first = next((state for state in result.commands if state.running), None)
    following: Request = ListRequest(OUTPUTS) if first is None else WatchRequest(first.id, _NEXT_S)
    if count:
        parts.append(f"Next: {shown(following)}")
    text = "\n".join(rows)
    facts = partial(_facts_of_list, result, shown_count)
    return reply(f"{text}\n{closing(parts or ['end of list'], cap.size - byte_size(text) - 1)}", facts)


def _facts_of_list(result: StartedResult, shown_count: int) -> dict[str, Fact]:
    return {
        "commands": [facts_of_state(state) for state in result.commands[:shown_count]],
        "total": len(result.commands),
        **native_facts.common((), None, ()),
    }
