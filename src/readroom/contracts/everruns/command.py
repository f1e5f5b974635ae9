"""The Everruns tool `bash`, and the words for its results.

The call chooses the form: `command` that of its document, `commands` that of today, which shows as much as
the end of a command asks for, and names the kept output only where something is left out.

The shown part has errors first if the command failed. Gaps are marked in place, and can be read in the kept
output, which is named after the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.requests import MS, READ, RUN, TIMEOUT_MOST_MS, TIMEOUT_MS, at_most, calls
from readroom.contracts.everruns.words import notes_of, render_error
from readroom.core.contracts import json_replies
from readroom.core.contracts.base import Tool, Wording
from readroom.core.contracts.native import changed
from readroom.core.contracts.native import changes as native_command
from readroom.core.contracts.schema import OFFERED, UNLISTED
from readroom.core.errors import BadValue, MissingArgument
from readroom.core.limits import RUN_MAX_TIMEOUT_S, VALUE_CHARS
from readroom.core.values import Cap, Fact, OutputMeasure, Reply
from readroom.core.values.commands import (
    SHOWN_BYTES,
    Output,
    OutputLine,
    RunRequest,
    RunResult,
    Shown,
    Verbosity,
)

_OLDER: Verbosity = "concise"
"""The verbosity of the form in its document, and what any unknown word means there."""

_TODAY: Shown = "auto"
_MODES: tuple[Shown, ...] = (_TODAY, *SHOWN_BYTES, "full")

_KIB = 1024

MEASURE = OutputMeasure(None, gap_bytes=len("\\n[... 1000000000 bytes omitted ...]\\n\\n"), escapes=True)


def verbosity(name: str) -> Shown:
    """The mode of that name; that of its document for any other word."""
    return next((mode for mode in _MODES if mode == name), _OLDER)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of bash: those of today, and those that its document leaves open, from before."""

    commands: Annotated[str, Meta(extra=OFFERED)] | None = None
    working_dir: str = "."
    timeout_ms: (
        Annotated[
            int,
            at_most(TIMEOUT_MOST_MS, f"{TIMEOUT_MS} by default"),
        ]
        | None
    ) = None
    output: Annotated[str, Meta(extra_json_schema={"enum": [*_MODES]}, description="auto by default")] = ""
    command: Annotated[str, Meta(extra=UNLISTED)] | None = None
    timeout_s: Annotated[float, Meta(gt=0, le=RUN_MAX_TIMEOUT_S, extra=UNLISTED)] | None = None
    tool_call_id: Annotated[str, Meta(extra=UNLISTED)] | None = None

    @property
    def is_today(self) -> bool:
        """Whether it is a call of today, with the defaults and refusals of today."""
        return self.commands is not None


def _to_run(names: Names, arguments: Run) -> RunRequest:
    script = arguments.command if arguments.commands is None else arguments.commands
    if script is None:
        raise MissingArgument(RUN, "commands")
    if arguments.command not in (None, script):
        raise BadValue(
            "command", _short(arguments.command), "is not that of commands", "Send commands alone."
        )
    return RunRequest(
        script,
        path=names.work_path(arguments.working_dir) or ".",
        output=_output(arguments),
        timeout_s=_seconds(arguments),
        name=arguments.tool_call_id,
    )


def _short(text: str | None) -> str:
    return (text or "")[:VALUE_CHARS]


def _output(arguments: Run) -> Shown:
    if not arguments.output:
        return _TODAY if arguments.is_today else _OLDER
    if arguments.is_today and arguments.output not in _MODES:
        words = f"Use one of {', '.join(_MODES)}."
        raise BadValue("output", _short(arguments.output), "is not known", words)
    return verbosity(arguments.output)


def _seconds(arguments: Run) -> float | None:
    """The time limit; None for that of the workspace."""
    ms, seconds = arguments.timeout_ms, arguments.timeout_s
    if ms is not None and seconds is not None and ms != seconds * MS:
        raise BadValue("timeout_s", seconds, f"is not that of timeout_ms={ms}", "Send timeout_ms alone.")
    if seconds is not None:
        return seconds
    if ms is None and arguments.is_today:
        ms = TIMEOUT_MS
    return None if ms is None else min(ms, TIMEOUT_MOST_MS) / MS


def bash(names: Names) -> Tool:
    """The tool."""

    def wording(arguments: Run) -> Wording:
        own = names.today if arguments.is_today else names
        words = partial(render_error, own, tool=RUN)
        return Wording(partial(render, own, today=arguments.is_today), words)

    return Tool(
        name=RUN,
        title="Run a command",
        description=(
            "Run commands in bash (sh if missing). The output is shortened, errors first when they fail; "
            f"all of it is kept, for {READ}."
        ),
        arguments=Run,
        to_request=partial(_to_run, names),
        read_only=False,
        idempotent=False,
        render_error=partial(render_error, names, tool=RUN),
        wording=wording,
    )


def render(names: Names, result: RunResult, cap: Cap, *, today: bool = False) -> Reply:
    """The reply for a command; its lines were selected under `cap`."""
    out, err = (words(names, output, kept=result.kept, failed=result.failed) for output in result.outputs)
    fields = _fields(names, result, out, err, today=today)
    while json_replies.size(fields) > cap.size and (out or err):
        # The result is always reported; the kept output has everything.
        out, err = out[: len(out) // 2], err[: len(err) // 2]
        fields = _fields(names, result, out, err, today=today)
    return json_replies.reply(fields, partial(native_command.facts_of, result, calls(names)))


def words(names: Names, output: Output, *, kept: bool, failed: bool) -> str:
    """The shown part of one stream, and the path of all of it.

    The middle is missing, in bytes if the command succeeded; if it failed, in lines.
    """
    if output.binary and output.size_bytes:
        return f"[{output.size_bytes} bytes of binary output]"
    gaps = output.gaps
    middle = not failed and len(gaps) == 1 and 1 < gaps[0][0] <= output.lines[-1].number
    rows = list(_around_middle(output, *gaps[0]) if middle else _rows(output, dict(gaps)))
    if output.cut and kept:
        size = -(-output.kept_bytes // _KIB)
        rows.append(
            f"[full output saved to {names.named(output.path)} ({size} KiB) — use {READ} with offset/limit]"
        )
    return "\n".join(rows)


def _around_middle(output: Output, first: int, last: int) -> Iterator[str]:
    """The beginning and the end, with a mark on lines of its own between them."""
    shown_bytes = sum(len(line.text.encode("utf-8", "replace")) + 1 for line in output.lines)
    for line in output.lines:
        if line.number > first and line.number == last + 1:
            yield f"\n[... {max(1, output.size_bytes - shown_bytes)} bytes omitted ...]\n"
        yield _row(line)


def _row(line: OutputLine) -> str:
    return line.text + (f" [+{line.left} chars]" if line.left else "")


def _rows(output: Output, gaps: Mapping[int, int]) -> Iterator[str]:
    if 1 in gaps:
        yield _gap(1, gaps[1], output.total_lines)
    for line in output.lines:
        yield _row(line)
        last = gaps.get(line.number + 1)
        if last is not None:
            yield _gap(line.number + 1, last, output.total_lines)
    if output.lost is not None:
        yield f"[... {output.lost.bytes} bytes are not kept ...]"


def _gap(first: int, last: int, total: int) -> str:
    where = "above" if first == 1 else "below" if last == total else "omitted"
    return f"[... {last - first + 1} lines {where} ...]"


def _fields(names: Names, result: RunResult, out: str, err: str, *, today: bool) -> dict[str, Fact]:
    fields: dict[str, Fact] = {
        "stdout": out,
        "stderr": err,
        "exit_code": result.exit_code,
        "success": not result.failed,
    }
    if result.timed_out:
        fields["timed_out"] = True
    fields |= _pointers(names, result) if today else _kept(names, result)
    notes: list[Fact] = [] if result.shell == "bash" else [f"Run by {result.shell}."]
    if today and result.timed_out:
        notes.append(f"Command timed out after {round((result.request.timeout_s or 0) * MS)}ms")
    notes += notes_of(result.warnings)
    notes += changed.sentences(result.changes, names.spelled)
    if not result.kept and any(output.cut and not output.binary for output in result.outputs):
        notes.append(native_command.not_kept(result))
    return {**fields, json_replies.NOTES: notes} if notes else fields


def _kept(names: Names, result: RunResult) -> dict[str, Fact]:
    """The paths of the kept output, however much of it is shown."""
    paths: list[Fact] = [names.shown(output.path) for output in result.outputs]
    lines: dict[str, Fact] = {"total_lines": result.outputs[0].total_lines}
    return {"full_output": paths[0], **lines, "output_files": paths} if result.kept else lines


def _pointers(names: Names, result: RunResult) -> dict[str, Fact]:
    """Whether something was left out, and the paths at which that is kept."""
    cut = [output for output in result.outputs if output.cut]
    paths: list[Fact] = [names.shown(output.path) for output in cut]
    fields: dict[str, Fact] = {"truncated": bool(cut), "total_lines": result.outputs[0].total_lines}
    if not result.kept or not cut:
        return fields
    if cut[0] is result.outputs[0]:
        fields["full_output"] = paths[0]
    return {**fields, "output_files": paths}
