"""The Everruns tool `bash`, and the words for its results.

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
from readroom.contracts.everruns.requests import READ, RUN, calls
from readroom.contracts.everruns.words import notes_of, render_error
from readroom.core.contracts import json_replies
from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import changes as native_command
from readroom.core.limits import RUN_MAX_TIMEOUT_S
from readroom.core.values import Cap, Fact, OutputMeasure, Reply
from readroom.core.values.commands import SHOWN_BYTES, Output, OutputLine, RunRequest, RunResult, Verbosity

_DEFAULT: Verbosity = "concise"
_MODES: tuple[Verbosity, ...] = (*SHOWN_BYTES, "full")

_KIB = 1024

MEASURE = OutputMeasure(None, gap_bytes=len("\\n[... 1000000000 bytes omitted ...]\\n\\n"), escapes=True)


def verbosity(name: str) -> Verbosity:
    """The mode of that name; the default for any other word."""
    return next((mode for mode in _MODES if mode == name), _DEFAULT)


class EverrunsRun(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of bash."""

    command: str
    output: Annotated[str, Meta(description=f"How much to show: {', '.join(_MODES)}")] = _DEFAULT
    timeout_s: Annotated[float, Meta(gt=0, le=RUN_MAX_TIMEOUT_S)] | None = None
    tool_call_id: Annotated[str, Meta(description="Names the kept output")] | None = None


def _to_run(arguments: EverrunsRun) -> RunRequest:
    mode = verbosity(arguments.output)
    return RunRequest(
        arguments.command, output=mode, timeout_s=arguments.timeout_s, name=arguments.tool_call_id
    )


def bash(names: Names) -> Tool:
    """The tool."""
    return Tool(
        name=RUN,
        title="Run a command",
        description=(
            "Run a command in bash (sh if missing). The output is shortened, errors first; all of it is kept "
            f"under /.outputs, for {READ}."
        ),
        arguments=EverrunsRun,
        to_request=_to_run,
        read_only=False,
        idempotent=False,
        render_error=partial(render_error, names, tool=RUN),
    )


def render(names: Names, result: RunResult, cap: Cap) -> Reply:
    """The reply for a command; its lines were selected under `cap`."""
    out, err = (words(names, output, kept=result.kept, failed=result.failed) for output in result.outputs)
    fields = _fields(names, result, out, err)
    while json_replies.size(fields) > cap.size and (out or err):
        # The result is always reported; the kept output has everything.
        out, err = out[: len(out) // 2], err[: len(err) // 2]
        fields = _fields(names, result, out, err)
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


def _fields(names: Names, result: RunResult, out: str, err: str) -> dict[str, Fact]:
    stdout = result.outputs[0]
    fields: dict[str, Fact] = {
        "stdout": out,
        "stderr": err,
        "exit_code": result.exit_code,
        "success": not result.failed,
    }
    if result.timed_out:
        fields["timed_out"] = True
    if result.kept:
        fields["full_output"] = names.shown(stdout.path)
    fields["total_lines"] = stdout.total_lines
    if result.kept:
        fields["output_files"] = [names.shown(output.path) for output in result.outputs]
    notes: list[Fact] = [] if result.shell == "bash" else [f"Run by {result.shell}."]
    notes += notes_of(result.warnings)
    if not result.kept and any(output.cut and not output.binary for output in result.outputs):
        notes.append(native_command.not_kept(result))
    return {**fields, json_replies.NOTES: notes} if notes else fields
