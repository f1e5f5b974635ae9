"""The contract behind the deepagents adapter; it is not served.

deepagents makes what models see: numbers, words and limits. So the text of a reply is content alone, for
budgets and the ledger, and the adapter takes everything else from facts. Paths begin at "/", the root of the
workspace; offsets count from 0; an edit needs no hash, because deepagents has none.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.base import Contract, Tool
from readroom.contracts.native import facts as native_facts
from readroom.errors import ReadroomError
from readroom.limits import CLOSING_BYTES, LIST_MAX_DEPTH
from readroom.text.select import MARK_BYTES
from readroom.values import (
    Call,
    Cap,
    EntryKind,
    Fact,
    GrepRequest,
    GrepResult,
    ListMeasure,
    ListRequest,
    ListResult,
    Measure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    Result,
    SearchMeasure,
)
from readroom.values.changes import (
    DeleteRequest,
    DeleteResult,
    Edit,
    EditRequest,
    EditResult,
    WriteRequest,
    WriteResult,
)
from readroom.values.files import BytesRequest, BytesResult
from readroom.values.options import ReadOptions
from readroom.values.steps import Steps, no_documents

REPLY_BYTES = 1024 * 1024
"""deepagents cuts what it shows itself; a page of this size is more than it ever shows."""

LINES, IMAGE, NEXT = "lines", "image", "next_offset"
"""Facts of a read."""

_TEXT = ReadOptions(line_chars=0, flat="window", header=False, outline_bytes=0, past_end="empty")
"""Whole lines, numbered through; of documents those that can be read as one text."""

_OTHER_TOOLS = re.compile(r"\b(grep_files|list_directory|run_command|known_hash|expected_hash|symbol)\b")
"""Advice that names what these tools do not have is dropped."""

_OUR_WORDS = {"edits[0].old_text": "old_string", "old_text": "old_string", "new_text": "new_string"}


class BackendPath(msgspec.Struct, frozen=True, kw_only=True):
    """A call about one path."""

    path: str = "/"


class BackendRead(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file."""

    path: str
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1)] = 2000


class BackendGrep(msgspec.Struct, frozen=True, kw_only=True):
    """Lines with a text."""

    pattern: str
    path: str = "/"
    glob: str | None = None
    limit: Annotated[int, Meta(ge=1)]


class BackendGlob(msgspec.Struct, frozen=True, kw_only=True):
    """Names of files."""

    pattern: str
    path: str = "/"


class BackendWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file."""

    path: str
    content: str


class BackendReplace(msgspec.Struct, frozen=True, kw_only=True):
    """Replacement of a text, once or everywhere."""

    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


def path_of(path: str) -> str:
    """The path within the workspace of one that begins at its root."""
    return path.lstrip("/") or "."


def spelled(path: str, folder: str = ".") -> str:
    """A path of the workspace, or one relative to a folder of it, as deepagents writes it."""
    return "/" + "/".join(part for part in (path_of(folder), path) if part != ".")


def _read(arguments: BackendRead) -> ReadRequest:
    return ReadRequest(path_of(arguments.path), arguments.offset + 1, arguments.limit, options=_TEXT)


def _list(arguments: BackendPath) -> ListRequest:
    return ListRequest(path_of(arguments.path), include=frozenset(("ignored",)), limit=_ENTRIES)


def _glob(arguments: BackendGlob) -> ListRequest:
    globs = (arguments.pattern,)
    return ListRequest(path_of(arguments.path), globs, depth=LIST_MAX_DEPTH, limit=_ENTRIES)


def _grep(arguments: BackendGrep) -> GrepRequest:
    globs = () if arguments.glob is None else (arguments.glob,)
    return GrepRequest(
        arguments.pattern, path_of(arguments.path), globs, fixed=True, sort="path", limit=arguments.limit
    )


_ENTRIES = 10_000
"""Names of one listing: as many as a reply has room for."""


# --- replies -----------------------------------------------------------------------------------


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


MEASURE = Measure(
    frame=lambda path: CLOSING_BYTES,
    read=ReadMeasure(numbered=lambda number: 1, outlined=lambda row: 0, mark_bytes=MARK_BYTES),
    search=SearchMeasure(file=lambda file: _size(file.path), line=lambda line: _size(line.text) + 1),
    list=ListMeasure(lambda entry: _size(entry.path) + 1),
)
"""Content alone: deepagents adds everything else."""


def render(result: Result, cap: Cap) -> Reply:
    """The content as the text, and what the adapter needs as facts."""
    match result:
        case ReadResult():
            return _reply("\n".join(result.lines), _of_read(result))
        case ListResult():
            return _reply("\n".join(item.path for item in result.entries), _of_list(result))
        case GrepResult():
            matches = [item.text for file in result.files for item in file.lines]
            return _reply("\n".join(matches), {"matches": _matches(result), "complete": result.complete})
        case BytesResult():
            return _of_bytes(result)
        case EditResult():
            return _reply("", {"path": spelled(result.path), "occurrences": result.replacements})
        case WriteResult():
            return _reply("", {"path": spelled(result.path), "occurrences": 0})
        case DeleteResult():
            return _reply("", {"path": spelled(result.path)})
    raise AssertionError("no tool of this contract has another result")


def _of_read(result: ReadResult) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        LINES: [_whole(result, number, text) for number, text in enumerate(result.lines, result.start)],
        "start": result.start if result.lines else 0,
        "end": result.end,
        "total": result.total_lines,
        NEXT: result.end if _goes_on(result) else None,
        "final_newline": result.ends.final,
        "encoding": result.encoding,
    }
    if result.image is not None:
        data = b64encode(result.image.data).decode("ascii")
        facts[IMAGE] = {"data": data, "media_type": result.image.media_type}
    return facts


def _goes_on(result: ReadResult) -> bool:
    return bool(result.lines) and (result.total_lines is None or result.end < result.total_lines)


def _whole(result: ReadResult, number: int, text: str) -> str:
    """A line, with how much is missing if it is longer than a reply."""
    cut = result.cuts.get(number)
    return text if cut is None or cut.last >= cut.total else f"{text} [+{cut.total - cut.last} chars]"


def _of_list(result: ListResult) -> dict[str, Fact]:
    entries: list[Fact] = [
        {
            "path": spelled(entry.path, result.request.path),
            "is_folder": entry.kind is EntryKind.FOLDER,
            "is_file": entry.kind is EntryKind.FILE,
            "size": entry.size or 0,
            "mtime_ns": entry.mtime_ns,
        }
        for entry in result.entries
    ]
    return {"entries": entries, "reason": result.reason, "denied": result.denied}


def _matches(result: GrepResult) -> list[Fact]:
    return [
        {"path": spelled(file.path), "line": line.number, "text": line.text}
        for file in result.files
        for line in file.lines
        if line.is_match
    ]


def _of_bytes(result: BytesResult) -> Reply:
    facts: dict[str, Fact] = {"size": result.size_bytes}
    return Reply("", lambda: facts, stream=result.stream)


def _reply(text: str, facts: dict[str, Fact]) -> Reply:
    return Reply(text, lambda: facts)


def render_error(error: ReadroomError, cap: Cap) -> Reply:
    """What happened and what to do, in the words of these tools."""
    text = error.message if _OTHER_TOOLS.search(error.advice or "") else str(error)
    for ours, theirs in _OUR_WORDS.items():
        text = text.replace(ours, theirs)
    return Reply(text, partial(native_facts.of_error, error, _no_call), is_error=True)


def _no_call(request: Request) -> Call | None:
    return None


def _tool(name: str, arguments: type[msgspec.Struct], to_request: object, *, read_only: bool = True) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=f"{name} of a backend of deepagents.",
        arguments=arguments,
        to_request=to_request,  # type: ignore[arg-type]  # a function of these arguments
        read_only=read_only,
        destructive=not read_only,
    )


DEEPAGENTS = Contract(
    name="deepagents",
    title="deepagents backend",
    instructions="",
    tools=(
        _tool("ls", BackendPath, _list),
        replace(_tool("read", BackendRead, _read), steps=lambda _: Steps(no_documents)),
        _tool("read_bytes", BackendPath, lambda given: BytesRequest(path_of(given.path))),
        _tool("grep", BackendGrep, _grep),
        _tool("glob", BackendGlob, _glob),
        _tool(
            "write",
            BackendWrite,
            lambda given: WriteRequest(path_of(given.path), given.content, None),
            read_only=False,
        ),
        _tool(
            "edit",
            BackendReplace,
            lambda given: EditRequest(
                path_of(given.path), None, (Edit(given.old_string, given.new_string, given.replace_all),)
            ),
            read_only=False,
        ),
        _tool(
            "delete",
            BackendPath,
            lambda given: DeleteRequest(path_of(given.path), recursive=True),
            read_only=False,
        ),
    ),
    reply_bytes=REPLY_BYTES,
    measure=MEASURE,
    render=render,
    render_error=render_error,
    to_call=_no_call,
)
