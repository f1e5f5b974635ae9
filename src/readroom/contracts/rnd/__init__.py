"""The `read` command with front matter: read(path, offset, limit) -> ok, content, lines_read, total_lines.

Lines are counted from 1; the content is the text as in the file, without numbers.
Limits and path lists are those of the command file.

Knows: the command as its file has it, and where we differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.contracts import json_replies
from readroom.contracts.base import Contract, Tool, Wording
from readroom.contracts.front_matter import FrontMatter, published
from readroom.contracts.rnd import render as rnd_render
from readroom.contracts.rnd.render import READ
from readroom.contracts.setup import Setup
from readroom.policy.rules import AllowList, Denials, Layer, Rule
from readroom.values import ReadRequest
from readroom.values.options import ReadOptions
from readroom.values.steps import Steps, TextUpTo

_OPTIONS = ReadOptions(line_chars=0, header=False, outline_bytes=0, rests=False)

_MAGIC = frozenset("*?[")


class RndRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read."""

    path: Annotated[str, Meta(description="Relative to the project root, or absolute inside it")]
    offset: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    command = setup.rnd.command or published()

    def to_request(arguments: RndRead) -> ReadRequest:
        return ReadRequest(
            arguments.path,
            offset=arguments.offset or 1,
            limit=min(arguments.limit or command.max_lines, command.max_lines),
            options=_OPTIONS,
        )

    def steps(arguments: RndRead) -> Steps:
        whole = arguments.offset is arguments.limit is None
        return Steps(TextUpTo(command.max_bytes if whole else None), expands=False)

    def wording(arguments: RndRead) -> Wording:
        call = rnd_render.RndRequest(arguments.path, arguments.offset or 1, arguments.limit, command)
        return Wording(partial(rnd_render.render, call), partial(rnd_render.render_error, call))

    tool = Tool(
        name=READ,
        title="Read a file",
        description=(
            f"Read file contents: raw text, at most {command.max_lines:,} lines at once. Files above "
            f"{rnd_render.megabytes(command.max_bytes)[0]} need offset or limit. "
            "warnings say what is not shown and how to go on."
        ),
        arguments=RndRead,
        to_request=to_request,
        reports_progress=True,
        wording=wording,
        steps=steps,
    )
    nowhere = rnd_render.RndRequest("", 1, None, command)
    return Contract(
        name="rnd",
        title="read command",
        instructions="Read files in parts: each answer says in its warnings where to go on.",
        tools=(tool,),
        reply_bytes=rnd_render.reply_bytes(command),
        measure=rnd_render.MEASURE,
        render=partial(rnd_render.render, nowhere),
        render_error=partial(rnd_render.render_error, nowhere),
        to_call=rnd_render.to_call,
        remark=partial(json_replies.remark, field="warnings"),
        layers=_layers(command),
        seconds=command.timeout_seconds,
    )


def _layers(command: FrontMatter) -> tuple[Layer, ...]:
    """Denials first, so that their reason is the one that is given."""
    denied = Denials(Rule(text, command.source, "denied_paths") for text in command.denied_paths)
    allowed = []
    for text in command.allowed_paths:
        allowed.append(text)
        last = text.rstrip("/").rpartition("/")[2]
        if not _MAGIC & set(last):  # the name of a folder means what is in it
            allowed.append(f"{text.rstrip('/') if '/' in text.rstrip('/') else '**/' + text.rstrip('/')}/**")
    return (denied, AllowList(allowed, command.source, below_matches=False))
