"""The tool bash: what a command printed, its end if it is long."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from readroom.contracts.opencode.render import Replies
from readroom.contracts.opencode.requests import TIMEOUT_MS, BashArguments
from readroom.core.contracts.native import changed
from readroom.core.contracts.native import changes as native_command
from readroom.core.contracts.native import render as native_render
from readroom.core.values import Cap, OutputMeasure, Reply
from readroom.core.values.commands import RunResult

MEASURE = OutputMeasure(None)

_NONE = "(no output)"


class Command(Struct, frozen=True):
    """The wording of what commands did."""

    replies: Replies

    def render(self, arguments: BashArguments, result: RunResult, cap: Cap) -> Reply:
        """The reply for a command; its lines were selected under `cap`."""
        output = result.outputs[0]
        body = "\n".join(line.text for line in output.lines)
        if output.lines and output.ended:
            body += "\n"
        if output.binary and output.size_bytes:
            body = f"({output.size_bytes} bytes of binary output)"
        text = body or _NONE
        if output.cut and not output.binary:
            saved = f"Full output saved to: {output.path}\n\n" if result.kept else ""
            text = f"...output truncated...\n\n{saved}{text}"
        notes = _metadata(arguments, result)
        if notes:
            text += "\n\n<shell_metadata>\n" + "\n".join(notes) + "\n</shell_metadata>"
        return native_render.reply(text, partial(native_command.facts_of, result, self.replies.call))


def _metadata(arguments: BashArguments, result: RunResult) -> list[str]:
    notes = []
    if result.timed_out:
        limit = arguments.timeout or TIMEOUT_MS
        notes.append(
            f"shell tool terminated command after exceeding timeout {limit} ms. If this command is expected "
            "to take longer and is not waiting for interactive input, retry with a larger timeout value in "
            "milliseconds."
        )
    lost = result.outputs[0].lost
    if lost is not None:
        notes.append(f"{lost.bytes} bytes of the output after line {lost.after} were not kept.")
    notes += changed.sentences(result.changes)
    notes += native_render.warning_parts(result.warnings)
    return notes
