"""The tools that `backend` calls: their arguments, and what of the results it needs.

No client is served this contract; it decides what the backend sees and what is refused, and names its calls
in the ledger.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from readroom.core.contracts.base import Contract, Tool
from readroom.core.contracts.native import facts as native_facts
from readroom.core.errors import ReadroomError
from readroom.core.limits import CLOSING_BYTES
from readroom.core.text.select import MARK_BYTES, byte_size
from readroom.core.values import (
    Call,
    Cap,
    EntryKind,
    ListMeasure,
    ListRequest,
    ListResult,
    Measure,
    OutputMeasure,
    ReadMeasure,
    Reply,
    Request,
    SearchMeasure,
)
from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    StatRequest,
    StatResult,
    WriteRequest,
)
from readroom.core.values.files import BytesRequest, BytesResult, ResolveRequest, ResolveResult

NAME: Final = "sandbox"

NAMES: Final = 10_000
"""Names of one page of a listing."""

_REPLY_BYTES = 1024 * 1024


class PathArguments(Struct, frozen=True, kw_only=True):
    """A call about one path."""

    path: str


class ListArguments(Struct, frozen=True, kw_only=True):
    """Names in a folder, after those of the pages before."""

    path: str
    cursor: str | None = None


class WriteArguments(Struct, frozen=True, kw_only=True):
    """A whole file as bytes, here in base64, and the hash of the state that it replaces, if that matters."""

    path: str
    data: bytes
    expected_hash: Annotated[str, Meta(min_length=1)] | None = None


def _render_bytes(result: BytesResult, cap: Cap) -> Reply:
    return Reply("", dict, stream=result.stream)


def _render_stat(result: StatResult, cap: Cap) -> Reply:
    kind = None if result.kind is None else result.kind.value
    return _reply(exists=result.exists, kind=kind, size=result.size_bytes)


def _render_list(result: ListResult, cap: Cap) -> Reply:
    """Names with their kinds, which stand for the whole page."""
    entries = [
        {"path": entry.path, "kind": entry.kind.value, "size": entry.size}
        for entry in result.entries
        if entry.kind is not EntryKind.OTHER
    ]
    following = None if result.next is None else result.next.cursor
    return _reply("\n".join(entry.path for entry in result.entries), entries=entries, cursor=following)


def _render_real(result: ResolveResult, cap: Cap) -> Reply:
    return _reply(real=result.real)


def _render_done(result: Any, cap: Cap) -> Reply:
    return _reply()


def _reply(text: str = "", **fields: Any) -> Reply:
    return Reply(text, lambda: fields)


def _render_error(error: ReadroomError, cap: Cap) -> Reply:
    text = f"{error.message}. {error.advice}".rstrip()
    return Reply(text, lambda: dict(native_facts.of_error(error, _no_call, text)), is_error=True)


def _no_call(request: Request) -> Call | None:
    return None


def _tool(
    name: str, arguments: type[Struct], to_request: Any, render: Any, *, read_only: bool = True
) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=f"{name} of a workspace backend.",
        arguments=arguments,
        to_request=to_request,
        read_only=read_only,
        render=render,
    )


def _to_list(given: ListArguments) -> ListRequest:
    return ListRequest(given.path, include=frozenset(("ignored",)), limit=NAMES, cursor=given.cursor)


SANDBOX = Contract(
    name=NAME,
    title="Workspace backend",
    instructions="",
    tools=(
        _tool("read_bytes", PathArguments, lambda given: BytesRequest(given.path), _render_bytes),
        _tool("stat", PathArguments, lambda given: StatRequest(given.path), _render_stat),
        _tool("list_dir", ListArguments, _to_list, _render_list),
        _tool("realpath", PathArguments, lambda given: ResolveRequest(given.path), _render_real),
        _tool(
            "write_bytes",
            WriteArguments,
            lambda given: WriteRequest(given.path, "", given.expected_hash, data=given.data),
            _render_done,
            read_only=False,
        ),
        _tool(
            "make_dir",
            PathArguments,
            lambda given: MakeFolderRequest(given.path),
            _render_done,
            read_only=False,
        ),
        _tool(
            "remove",
            PathArguments,
            lambda given: DeleteRequest(given.path, recursive=True),
            _render_done,
            read_only=False,
        ),
    ),
    reply_bytes=_REPLY_BYTES,
    measure=Measure(
        frame=lambda path: CLOSING_BYTES,
        read=ReadMeasure(numbered=lambda number: 1, outlined=lambda row: 0, mark_bytes=MARK_BYTES),
        search=SearchMeasure(
            file=lambda file: byte_size(file.path), line=lambda line: byte_size(line.text) + 1
        ),
        list=ListMeasure(lambda entry: byte_size(entry.path) + 1),
        output=OutputMeasure(lambda number: 1, gap_bytes=MARK_BYTES),
    ),
    render=_render_done,
    render_error=_render_error,
    to_call=_no_call,
)
