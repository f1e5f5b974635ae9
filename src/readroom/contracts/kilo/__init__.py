"""The contract of Kilo Code: one tool, read_file, as its documentation has it.

A range comes first, then auto-truncation of files above a threshold, then the whole
file.  `column` is ours: without it, the rest of a line that no reply holds could not
be reached.

Knows: the tool as its documentation has it, and where we differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.base import Contract, Tool, Wording
from readroom.contracts.kilo import render as kilo_render
from readroom.contracts.kilo.render import READ, bounded_call
from readroom.contracts.setup import NEVER, KiloSetup, Setup
from readroom.errors import BadRange, BadValue
from readroom.limits.contracts import KILO_OUTLINE_BYTES, KILO_REPLY_BYTES
from readroom.values import ReadRequest
from readroom.values.options import ReadOptions
from readroom.values.steps import Steps, no_documents

_STEPS = Steps(no_documents, expands=False)

_ALL = 2**53 - 1
"""More lines than any file has."""

_WHOLE = ReadOptions(
    line_chars=0,
    header=False,
    outline_bytes=KILO_OUTLINE_BYTES,
    flat="window",
    rests=False,
)
_RANGE = replace(_WHOLE, outline_bytes=0)
_TRUNCATED = replace(_WHOLE, flat="whole")


class KiloRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: str
    start_line: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    end_line: Annotated[int, Meta(ge=1, description="Last line, inclusive")] | None = None
    auto_truncate: bool | None = None
    column: Annotated[int, Meta(ge=1, description="Of a line that was cut: its first character")] = 1


def _request(setup: KiloSetup, arguments: KiloRead) -> ReadRequest:
    """What a call means: the first of its strategies that applies."""
    start, end = arguments.start_line, arguments.end_line
    if arguments.column > 1:
        return _rest_of_line(arguments)
    if start is not None or end is not None:
        first = start or 1
        if end is not None and first > end:
            raise BadRange(
                f"start_line ({first}) must be less than or equal to end_line ({end})",
                f"Use an end_line of {first} or more, or a start_line from 1 to {end}.",
                next_request=ReadRequest(arguments.path, end, first - end + 1, options=_RANGE),
            )
        return ReadRequest(arguments.path, first, _ALL if end is None else end - first + 1, options=_RANGE)
    truncates = setup.auto_truncate if arguments.auto_truncate is None else arguments.auto_truncate
    if truncates and setup.max_read_file_line != NEVER:
        return ReadRequest(arguments.path, 1, setup.max_read_file_line, options=_TRUNCATED)
    return ReadRequest(arguments.path, 1, _ALL, options=_WHOLE)


def _rest_of_line(arguments: KiloRead) -> ReadRequest:
    start, end = arguments.start_line, arguments.end_line
    rest = ReadRequest(arguments.path, start or 1, 1, arguments.column, options=_RANGE)
    if start is None or end not in (None, start):
        raise BadValue(
            "column",
            arguments.column,
            "is a place in one line",
            "Name that line with start_line, and no other with end_line.",
            next_request=rest,
        )
    return rest


def _wording(arguments: KiloRead) -> Wording:
    """The words for one call, which repeat its path and its lines."""
    call = kilo_render.KiloRequest(arguments.path, arguments.start_line, arguments.end_line)
    return Wording(partial(kilo_render.render, call), partial(kilo_render.render_error, call))


def _tool(setup: KiloSetup) -> Tool:
    threshold = setup.max_read_file_line
    truncates = (
        ""
        if threshold == NEVER
        else f" With auto_truncate{' (the default)' if setup.auto_truncate else ''}, of a file of more "
        f"than {threshold} lines: its first {threshold}, and line ranges of definitions in the rest."
    )
    return Tool(
        name=READ,
        title="Read a file",
        description=(
            "Read a file with line numbers (`1 | text`); PDF, DOCX and IPYNB as text. Whole, or the lines "
            f"from start_line to end_line.{truncates} The end of a reply says what it leaves out."
        ),
        arguments=KiloRead,
        to_request=partial(_request, setup),
        reports_progress=True,
        wording=_wording,
        steps=lambda _: _STEPS,
    )


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    plain = kilo_render.KiloRequest("")
    return Contract(
        name="kilo",
        title="Kilo Code",
        instructions="read_file shows files with line numbers; where it cuts, it says the next start_line.",
        tools=(_tool(setup.kilo),),
        reply_bytes=KILO_REPLY_BYTES,
        raisable=True,
        measure=kilo_render.MEASURE,
        render=partial(kilo_render.render, plain),
        render_error=partial(kilo_render.render_error, plain),
        to_call=bounded_call,
        by_lines=True,
    )
