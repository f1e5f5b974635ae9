"""The contract of coder's workspace agent: lines of files under absolute paths.

One read has two tools: one for a chat loop, one for MCP clients. Over HTTP this read and other calls have
addresses of their own (`routes`). Lines keep their carriage return. More than a reply can hold is refused,
not cut.

Knows: the tools and addresses of the original, and where ours differ.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.contracts.coder import processes
from readroom.contracts.coder.edit_tools import edit_tools
from readroom.contracts.coder.read import Bounds, CoderForm, measure, read_request, read_steps
from readroom.contracts.coder.routes import routes_of
from readroom.contracts.coder.words import READ, RESPONSE_LINES, WORKSPACE_READ, own_calls
from readroom.core.contracts import Setup, json_replies
from readroom.core.contracts.base import Contract, Tool, Wording
from readroom.core.errors import MissingArgument
from readroom.core.values import ReadRequest
from readroom.core.values.steps import Steps

REPLY_BYTES = 72 * 1024
"""The JSON around RESPONSE_BYTES, in which a line feed, a tab and a quote take two bytes each."""

_OFFSET = Meta(ge=0, description="First line, from 1 (default: 1)")
_LIMIT = Meta(ge=0, description=f"Lines (default: {RESPONSE_LINES})")
_PATH = Meta(description="Absolute path")


class CoderRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read_file."""

    path: Annotated[str, _PATH]
    offset: Annotated[int, _OFFSET] = 0
    limit: Annotated[int, _LIMIT] = 0


class WorkspaceReadArguments(CoderRead, frozen=True, kw_only=True):
    """Arguments of coder_workspace_read_file."""

    workspace: Annotated[str, Meta(description="Any name: one workspace is served")]


def made(setup: Setup) -> Contract:
    """The contract for a workspace that callers know by this root."""
    root = setup.root
    plain, chat = CoderForm(root, chat=False), CoderForm(root, chat=True)

    def to_request(arguments: CoderRead) -> ReadRequest:
        return read_request(root, arguments.path, arguments.offset, arguments.limit, Bounds())

    def to_chat_request(arguments: CoderRead) -> ReadRequest:
        if not arguments.path:
            raise MissingArgument(READ, "path")
        return to_request(arguments)

    def steps(arguments: CoderRead) -> Steps:
        return read_steps(root, arguments.offset, arguments.limit, Bounds())

    def worded(form: CoderForm, arguments: CoderRead) -> Wording:
        return form.wording(arguments.path, arguments.offset)

    return Contract(
        name="coder",
        title="coder",
        instructions="Read files by their absolute paths; page through large ones with offset and limit.",
        tools=(
            Tool(
                name=WORKSPACE_READ,
                title="Read a file",
                description=_DESCRIPTION,
                arguments=WorkspaceReadArguments,
                to_request=to_request,
                render_error=plain.plainly,
                wording=lambda arguments: worded(plain, arguments),
                steps=steps,
            ),
            Tool(
                name=READ,
                title="Read a file",
                description=_DESCRIPTION,
                arguments=CoderRead,
                to_request=to_chat_request,
                render_error=chat.without_path,
                wording=lambda arguments: worded(chat, arguments),
                steps=steps,
            ),
            *edit_tools(root),
        ),
        reply_bytes=REPLY_BYTES,
        measure=measure(root),
        render=chat.read,
        render_error=chat.plainly,
        to_call=own_calls(root),
        routes=(*routes_of(root), *processes.routes_of(root)),
        remark=json_replies.remark,
    )


_DESCRIPTION = (
    "Read a file from the workspace. Returns line-numbered content. The offset parameter is a 1-based line "
    f"number (default: 1). The limit parameter is the number of lines to return (default: "
    f"{RESPONSE_LINES}). For large files, use offset and limit to paginate."
)
