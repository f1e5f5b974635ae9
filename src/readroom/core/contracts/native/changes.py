"""Native tools that change something, edits and commands, and the words for their results.

Edits are declared destructive, for hosts that ask before such calls, and idempotent: a repeated call finds
the file in another state than it names, and changes nothing.

Every line of a command's output comes after its number, so none can pass for the header or the closing line.
The numbers are those of the kept output, where gaps can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import calls as native_calls
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import (
    CHECK,
    EDIT,
    RUN,
    WRITE,
    closing,
    shown,
    spells_tools,
)
from readroom.core.contracts.native.render import reply, short, warning_parts
from readroom.core.contracts.native.several import EditArguments, to_edit
from readroom.core.contracts.native.words import (
    facts_of_name,
    hunks_left_out,
    name_changed,
    short_hash,
    what_changed,
)
from readroom.core.contracts.schema import EXPLAINED, NEVER_ZERO, into
from readroom.core.limits import MAX_OMITTED, RUN_MAX_TIMEOUT_S, Limits
from readroom.core.paths import OUTPUTS
from readroom.core.quoting import as_value, joined
from readroom.core.text.select import byte_size
from readroom.core.values import Call, Cap, Fact, Omission, ReadRequest, Reply, Request, changes
from readroom.core.values.commands import (
    SIGNALLED,
    Output,
    OutputLine,
    RunRequest,
    RunResult,
    StartRequest,
    Verbosity,
)


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write_file."""

    path: str
    content: str
    expected_hash: Annotated[
        str, Meta(description=f'"{changes.ABSENT}" creates; the current hash replaces', extra=EXPLAINED)
    ]
    encoding: str | None = None


EDIT_FILE = Tool(
    name=EDIT,
    title="Edit files",
    description=(
        "Replace or insert text at a unique old_text, lines or a symbol of files that still have the "
        "expected hash. Edits match the original files; all are made or none. Keeps encoding and line ends; "
        "shows diffs and new hashes."
    ),
    arguments=EditArguments,
    to_request=to_edit,
    read_only=False,
)

WRITE_FILE = Tool(
    name=WRITE,
    title="Write a file",
    description="Create a file, with its folders, or replace its whole content.",
    arguments=WriteArguments,
    to_request=partial(into, changes.WriteRequest),
    read_only=False,
)


def render_edit(result: changes.EditResult, cap: Cap) -> Reply:
    """The reply for an edit, whose diff was selected under `cap`."""
    known = short_hash(result.content_hash or result.previous_hash)
    header = f"{short(result.path, cap)} | {what_changed(result)} | {known}"
    body = f"{header}\n{result.diff.text}"
    parts = [*hunks_left_out(result), *warning_parts(result.warnings)]
    if result.dry_run:
        parts.append("Dry run: nothing was changed.")
    text = body + closing(parts or ["end of diff"], cap.size - byte_size(body))
    return reply(text, partial(native_facts.of_edit, result))


def render_write(result: changes.WriteResult, cap: Cap) -> Reply:
    """The reply for a file that was written."""
    lines = f"{result.total_lines} line{'' if result.total_lines == 1 else 's'}"
    if result.previous_lines not in (None, result.total_lines):
        lines += f", {result.previous_lines} before"
    about = [
        short(result.path, cap),
        f"{'created' if result.previous_hash is None else 'replaced'}, {lines}",
        short_hash(result.content_hash),
    ]
    if result.encoding != "utf-8" or result.bom:
        about.append(result.encoding + (" with BOM" if result.bom else ""))
    if result.ends.form == "crlf":
        about.append("CRLF")
    about += result.ends.unusual
    header = " | ".join(about)
    parts = [f"Folders created: {joined(result.folders)}."] if result.folders else []
    parts += warning_parts(result.warnings)
    text = f"{header}\n{closing(parts, cap.size - byte_size(header) - 1)}" if parts else header
    return reply(text, partial(native_facts.of_write, result))


# -----------------------------------------------------------------------------
# Deleting, moving and their like in native words, though no native tool does them.
#
# Other contracts have such tools; here is what the ledger records for their calls, what a
# hint that means one falls back to, and words for results that no other contract words.
# -----------------------------------------------------------------------------


def render_file_change(result: changes.NameResult, cap: Cap) -> Reply:
    """The reply for a result: one line, and a second one for warnings."""
    header = f"{short(result.path, cap)} | {name_changed(result, cap)}"
    parts = warning_parts(result.warnings)
    text = f"{header}\n{closing(parts, cap.size - byte_size(header) - 1)}" if parts else header
    return reply(text, partial(facts_of_name, result))


_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
"""What shells return for a program that cannot be started, and one that is not there."""


class RunArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of run_command."""

    command: str
    output: Annotated[Verbosity, Meta(description="How much to show")] = "concise"
    timeout_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=RUN_MAX_TIMEOUT_S,
                description=f"Seconds, {Limits().run_timeout_s:g} by default",
                extra=NEVER_ZERO,
            ),
        ]
        | None
    ) = None
    cwd: str = "."
    background: Annotated[bool, Meta(description=f"Do not wait; then use {CHECK}")] = False


def _to_run(arguments: RunArguments) -> Request:
    if not arguments.background:
        return into(RunRequest, arguments, path=arguments.cwd)
    return into(StartRequest, arguments, path=arguments.cwd)


RUN_COMMAND = Tool(
    name=RUN,
    title="Run a command",
    description=(
        "Run a command in bash, else sh; its processes end with it. Errors come first; all output is "
        f"in {OUTPUTS}."
    ),
    arguments=RunArguments,
    to_request=_to_run,
    read_only=False,
    idempotent=False,
)


def render(result: RunResult, cap: Cap) -> Reply:
    """The reply for a command; its lines were selected under `cap`."""
    return reply(_text(result, cap), partial(facts_of, result))


def _text(result: RunResult, cap: Cap) -> str:
    rows = [_header(result)]
    out, err = result.outputs
    rows += map(row_of, out.lines)
    if err.lines:
        rows += ["stderr:", *map(row_of, err.lines)]
    body = "\n".join(rows)
    return f"{body}\n{closing(_closing(result), cap.size - byte_size(body) - 1)}"


def _header(result: RunResult) -> str:
    parts = [_status(result), f"{result.duration_s:.1f} s"]
    parts += [size_of(output) for output in result.outputs if output.size_bytes] or ["no output"]
    network = "network" if result.network else "no network"
    confinement = "not confined" if result.confinement == "none" else f"{result.confinement}, {network}"
    parts.append(f"{result.shell}, {confinement}")
    return " | ".join(parts)


def _status(result: RunResult) -> str:
    if result.timed_out:
        return f"time limit, ended (exit {result.exit_code})"
    name = signal_of(result.exit_code)
    return f"exit {result.exit_code}{f' ({name})' if name else ''}"


def signal_of(code: int) -> str | None:
    """The name of the signal in an exit code; None if there is none."""
    try:
        import signal

        return signal.Signals(code - SIGNALLED).name
    except ValueError:
        return None


def size_of(output: Output) -> str:
    """How much a command wrote to a stream."""
    if output.binary:
        return f"{output.stream} {output.size_bytes:,} bytes, binary (not shown)"
    lines = f"{output.total_lines:,} line{'' if output.total_lines == 1 else 's'}"
    return f"{output.stream} {lines}{' (cut)' if output.cut else ''}"


def row_of(line: OutputLine) -> str:
    """A shown line with its number."""
    return f"{line.number}\t{line.text}" + (f" [+{line.left} chars]" if line.left else "")


def _closing(result: RunResult) -> list[str]:
    parts = [part for output in result.outputs for part in missing_of(output)]
    if result.ended:
        left = "process" if result.ended == 1 else "processes"
        parts.append(f"{result.ended} {left} left behind and ended.")
    if result.exit_code == _NOT_FOUND and not result.timed_out:
        parts.append("127: the command finds no program of that name, or cannot read it.")
    if result.exit_code == _NOT_EXECUTABLE and not result.timed_out:
        parts.append("126: that file is not a program or must not be run.")
    if result.timed_out:
        parts.append(f"{'timeout_s' if spells_tools() else '--timeout-s'} gives it more time.")
    if result.changes:
        from readroom.core.contracts.native import changed  # readers do not need it

        parts += changed.sentences(result.changes)
    parts += warning_parts(result.warnings)
    following = _next(result)
    if following is not None:
        parts.append(f"Next: {shown(following)}")
    elif any(output.cut and not output.binary for output in result.outputs):
        parts.append(not_kept(result))
    return parts or ["end of output"]


def not_kept(result: RunResult) -> str:
    """How more is shown of outputs that cannot be read later."""
    if result.request.output == "full":
        return "Output is not kept here: write it to a file to read the rest."
    full = 'output="full"' if spells_tools() else "--output full"
    return f"Output is not kept here; {full} shows more."


def missing_of(output: Output) -> Iterator[str]:
    """Sentences about what of a stream is not shown."""
    if output.binary and output.size_bytes:
        yield f"{output.stream}: to use it, have the command write it to a file."
    left = sum(last - first + 1 for first, last in output.gaps)
    if left:
        yield f"{output.stream}: {left:,} line{'' if left == 1 else 's'} not shown."
    if output.lost is not None:
        yield f"{output.stream}: {output.lost.bytes:,} bytes after line {output.lost.after} were not kept."


def _next(result: RunResult) -> ReadRequest | None:
    """The kept output from the first line on that is not shown whole."""
    return unshown(result.outputs) if result.kept else None


def unshown(outputs: Sequence[Output]) -> ReadRequest | None:
    """The read of the first line of a kept output that is not shown whole."""
    for output in outputs:
        first = [first for first, _ in output.gaps[:1]]
        first += [line.number for line in output.lines if line.left][:1]
        if first:
            return ReadRequest(output.path, offset=min(first))
    return None


# --- facts ---------------------------------------------------------------------------------------


def facts_of(
    result: RunResult, to_call: Callable[[Request], Call | None] = native_calls.to_call
) -> dict[str, Fact]:
    """The facts of a command, with the calls of a contract."""
    from readroom.core.contracts.native import changed

    omitted = list(islice(_omitted(result), MAX_OMITTED))
    return {
        "command": result.request.command,
        "cwd": as_value(result.request.path),
        "call_id": result.call_id,
        "exit_code": result.exit_code,
        "signal": signal_of(result.exit_code),
        "timed_out": result.timed_out,
        "duration_s": round(result.duration_s, 3),
        **native_facts.named(result, "ended", "shell", "confinement", "network"),
        "outputs": [output_facts(output, result.kept) for output in result.outputs],
        "changes": changed.facts(result.changes),
        **native_facts.common(omitted, _next(result), result.warnings, to_call),
    }


def output_facts(output: Output, kept: bool) -> dict[str, Fact]:
    """The facts of a stream."""
    lost = output.lost
    return {
        "stream": output.stream,
        "path": output.path if kept else None,
        **native_facts.named(output, "size_bytes", "kept_bytes", "total_lines"),
        "shown": _spans(output.lines),
        "lost": None if lost is None else {"from": lost.first, "bytes": lost.bytes, "after_line": lost.after},
        "binary": output.binary,
    }


def _spans(lines: Sequence[OutputLine]) -> list[Fact]:
    spans: list[list[int]] = []
    for line in lines:
        if spans and spans[-1][1] == line.number - 1:
            spans[-1][1] = line.number
        else:
            spans.append([line.number, line.number])
    return [{"start": start, "end": end} for start, end in spans]


def _omitted(result: RunResult) -> Iterator[Omission]:
    for output in result.outputs:

        def read(first: int, last: int, path: str = output.path) -> ReadRequest | None:
            return ReadRequest(path, offset=first, limit=last - first + 1) if result.kept else None

        if output.binary:
            yield Omission("bytes", 1, output.size_bytes, "binary")
        for first, last in output.gaps:
            yield Omission("lines", first, last, "output", request=read(first, last))
        for line in output.lines:
            if line.left:
                last = line.first + len(line.text) - 1
                request = read(line.number, line.number)
                yield Omission("columns", last + 1, line.total, "line_cap", line.number, request)
        if output.lost is not None:
            lost = output.lost
            yield Omission("bytes", lost.first, lost.first + lost.bytes - 1, "not_kept")
