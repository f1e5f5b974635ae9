"""The tools that the backend calls: their arguments, and the fields of the results of deepagents.

No client is served this contract; it decides what the backend sees and what is refused.  The text of its
replies is content alone, for budgets and the ledger.  Paths are those of the workspace, and offsets count
from 0; an edit needs no hash, because deepagents has none.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from readroom.core.contracts.base import Contract, Tool
from readroom.core.contracts.native import facts as native_facts
from readroom.core.errors import ReadroomError
from readroom.core.limits import CLOSING_BYTES, LIST_MAX_DEPTH, RUN_MAX_TIMEOUT_S
from readroom.core.text.select import MARK_BYTES, byte_size
from readroom.core.values import (
    Call,
    Cap,
    EntryKind,
    Fact,
    GrepRequest,
    GrepResult,
    ListEntry,
    ListMeasure,
    ListRequest,
    ListResult,
    Measure,
    OutputMeasure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
    SearchMeasure,
)
from readroom.core.values.changes import (
    DeleteRequest,
    DeleteResult,
    Edit,
    EditRequest,
    EditResult,
    WriteRequest,
    WriteResult,
)
from readroom.core.values.commands import Output, OutputLine, RunRequest, RunResult
from readroom.core.values.files import BytesRequest, BytesResult
from readroom.core.values.options import ReadOptions, SearchOptions
from readroom.core.values.steps import Steps, no_documents

NAME: Final = "deepagents"

_REPLY_BYTES = 1024 * 1024
"""deepagents cuts its own output; a page of this size is more than it ever shows."""

ENTRIES: Final = 10_000
"""Maximum names of one listing that fit a reply."""

_PREVIEW_CHARS = 5000
"""Characters of a line that a search shows; deepagents breaks a longer line into rows."""

_ROW_BYTES = 40
"""The least that a line of output counts: which of millions of short ones to show would take seconds."""

IMAGE: Final = "image"
"""The fact of a read of an image: its data in base64, and its media type."""

ADVICE: Final = "advice"
"""The fact of a failure: its next step."""

_TEXT = ReadOptions(
    line_chars=0, flat="window", header=False, outline_bytes=0, past_end="shown", blank_whole=True
)
"""Whole lines, numbered through; of documents those that can be read as one text."""

_SEARCH = SearchOptions(preview_chars=_PREVIEW_CHARS)

_UNREADABLE = ("no_permission", "unreadable")
"""Warnings about names that are there and were not looked into."""

_OTHER_TOOLS = re.compile(
    r"\b(grep_files|list_directory|run_command|known_hash|expected_hash|symbol|multiline)\b"
)
"""Advice that names arguments these tools do not have is dropped."""

_OUR_WORDS = {"edits[0].old_text": "old_string", "old_text": "old_string", "new_text": "new_string"}


# -----------------------------------------------------------------------------
# Arguments.
# -----------------------------------------------------------------------------


class PathArguments(Struct, frozen=True, kw_only=True):
    """A call about one path."""

    path: str = "."


class ListArguments(Struct, frozen=True, kw_only=True):
    """Names in a folder, after those of the pages before."""

    path: str = "."
    cursor: str | None = None


class ReadArguments(Struct, frozen=True, kw_only=True):
    """Lines of a file; a negative offset counts from its end."""

    path: str
    offset: int = 0
    limit: Annotated[int, Meta(ge=1)] = 2000


class GrepArguments(Struct, frozen=True, kw_only=True):
    """Lines with a text, and the lines around them."""

    pattern: str
    path: str = "."
    glob: str | None = None
    limit: Annotated[int, Meta(ge=1)]
    around: Annotated[int, Meta(ge=0)] = 0


class GlobArguments(Struct, frozen=True, kw_only=True):
    """Names below a folder, those that a glob takes."""

    path: str = "."
    globs: list[str] = []
    cursor: str | None = None


class WriteArguments(Struct, frozen=True, kw_only=True):
    """A whole file."""

    path: str
    content: str


class UploadArguments(Struct, frozen=True, kw_only=True):
    """A whole file as bytes, here in base64."""

    path: str
    data: bytes


class EditArguments(Struct, frozen=True, kw_only=True):
    """Replacement of a text, once or everywhere."""

    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class ExecuteArguments(Struct, frozen=True, kw_only=True):
    """A command for the shell."""

    command: str
    timeout_s: Annotated[float, Meta(gt=0, le=RUN_MAX_TIMEOUT_S)] | None = None


def _to_read(arguments: ReadArguments) -> ReadRequest:
    first = arguments.offset + 1 if arguments.offset >= 0 else arguments.offset
    return ReadRequest(arguments.path, first, arguments.limit, options=_TEXT)


def _to_list(arguments: ListArguments) -> ListRequest:
    path, cursor = arguments.path, arguments.cursor
    return ListRequest(path, include=frozenset(("ignored",)), limit=ENTRIES, cursor=cursor)


def _to_glob(arguments: GlobArguments) -> ListRequest:
    globs, cursor = tuple(arguments.globs), arguments.cursor
    return ListRequest(arguments.path, globs, depth=LIST_MAX_DEPTH, limit=ENTRIES, cursor=cursor)


def _to_grep(arguments: GrepArguments) -> GrepRequest:
    globs = () if arguments.glob is None else (arguments.glob,)
    return GrepRequest(
        arguments.pattern,
        arguments.path,
        globs,
        before=arguments.around,
        after=arguments.around,
        fixed=True,
        sort="path",
        limit=arguments.limit,
        options=_SEARCH,
    )


def _to_edit(arguments: EditArguments) -> EditRequest:
    edit = Edit(arguments.old_string, arguments.new_string, arguments.replace_all)
    return EditRequest(arguments.path, None, (edit,))


def _to_run(arguments: ExecuteArguments) -> RunRequest:
    return RunRequest(arguments.command, output="full", timeout_s=arguments.timeout_s)


# -----------------------------------------------------------------------------
# Results.
# -----------------------------------------------------------------------------


def _reply(text: str, **fields: Any) -> Reply:
    return Reply(text, lambda: fields)


def _render_read(result: ReadResult, cap: Cap) -> Reply:
    """Lines, with how much is missing of one that is longer than a reply; and those of the whole file."""
    lines = list(result.lines)
    for number, cut in result.cuts.items():
        if cut.last < cut.total:
            lines[number - result.start] += f" [+{cut.total - cut.last} chars]"
    text, total = "\n".join(lines), result.total_lines
    if lines and (result.end != total or result.ends.final is not False):
        text += "\n"
    fields: dict[str, Any] = {"content": text, "total_lines": total, "start": result.start, "end": result.end}
    if result.image is not None:
        data = b64encode(result.image.data).decode("ascii")
        fields[IMAGE] = {"data": data, "media_type": result.image.media_type}
    return _reply("\n".join(result.lines), **fields)


def _info(entry: ListEntry) -> dict[str, Fact]:
    """A name as deepagents describes it, and whether it is a link: then its target is to be looked at."""
    info: dict[str, Fact] = {
        "path": entry.path,
        "is_dir": entry.kind is EntryKind.FOLDER,
        "size": entry.size or 0,
        "kind": entry.kind.value,
    }
    if entry.mtime_ns is not None:
        info["modified_at"] = datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC).isoformat()
    return info


def _render_list(result: ListResult, cap: Cap) -> Reply:
    fields: dict[str, Any] = {"entries": [_info(entry) for entry in result.entries]}
    fields["cursor"] = None if result.next is None else result.next.cursor
    fields["complete"] = result.reason is None
    fields["unreadable"] = _unreadable(result)
    return _reply("\n".join(entry.path for entry in result.entries), **fields)


def _unreadable(result: ListResult | GrepResult) -> str:
    """The files and folders that could not be opened, in words; empty if there are none."""
    return "; ".join(warn.detail for warn in result.warnings if warn.code in _UNREADABLE)


def _render_grep(result: GrepResult, cap: Cap) -> Reply:
    files = [
        {
            "path": file.path,
            "lines": [
                {"line": line.number, "text": line.text, "is_match": line.is_match} for line in file.lines
            ],
        }
        for file in result.files
    ]
    text = "\n".join(line.text for file in result.files for line in file.lines)
    return _reply(text, files=files, complete=result.complete, unreadable=_unreadable(result))


def _render_bytes(result: BytesResult, cap: Cap) -> Reply:
    return Reply("", dict, stream=result.stream)


def _render_change(result: EditResult | WriteResult | DeleteResult, cap: Cap) -> Reply:
    return _reply("", occurrences=result.replacements if isinstance(result, EditResult) else None)


def _render_run(result: RunResult, cap: Cap) -> Reply:
    """Both streams in one text, as `LocalShellBackend` writes it: lines of the second are marked."""
    out, err = result.outputs
    parts = [_shown(out), *(f"[stderr] {line}" for line in _shown(err).rstrip("\n").split("\n") if line)]
    cut = [output for output in result.outputs if output.cut]
    parts += [f"[all of {output.stream} is in {output.path}]" for output in cut if result.kept]
    text = "\n".join(part for part in parts if part)
    return _reply(text, exit_code=result.exit_code, truncated=bool(cut), timed_out=result.timed_out)


def _shown(output: Output) -> str:
    """The shown lines of one stream, with a mark in the place of each gap."""
    if output.binary:
        return f"[{output.size_bytes} bytes of binary output]\n" if output.size_bytes else ""
    gaps, rows = dict(output.gaps), list[str]()
    if 1 in gaps:
        rows.append(_gap(1, gaps[1]))
    for line in output.lines:
        rows.append(_row(line))
        if line.number + 1 in gaps:
            rows.append(_gap(line.number + 1, gaps[line.number + 1]))
    return "".join(f"{row}\n" for row in rows)


def _row(line: OutputLine) -> str:
    return line.text + (f" [+{line.left} chars]" if line.left else "")


def _gap(first: int, last: int) -> str:
    return f"[... {last - first + 1} lines omitted ...]"


def _render_error(error: ReadroomError, cap: Cap) -> Reply:
    """The error and its advice, in the words of these tools; the advice alone is a fact, too."""
    advice = "" if _OTHER_TOOLS.search(error.advice) else error.advice
    message = error.message
    for ours, theirs in _OUR_WORDS.items():
        message, advice = message.replace(ours, theirs), advice.replace(ours, theirs)
    text = f"{message}. {advice}" if advice else message

    def build() -> dict[str, Fact]:
        return {**native_facts.of_error(error, _no_call, text), ADVICE: advice}

    return Reply(text, build, is_error=True)


def _no_call(request: Request) -> Call | None:
    return None


# -----------------------------------------------------------------------------
# The record.
# -----------------------------------------------------------------------------


def _tool(
    name: str,
    arguments: type[Struct],
    to_request: Callable[[Any], Request],
    render: Callable[[Any, Cap], Reply],
    *,
    read_only: bool = True,
    steps: Steps | None = None,
) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=f"{name} of a backend of deepagents.",
        arguments=arguments,
        to_request=to_request,
        read_only=read_only,
        render=render,
        steps=None if steps is None else lambda _: steps,
    )


def _change(name: str, arguments: type[Struct], to_request: Callable[[Any], Request]) -> Tool:
    return _tool(name, arguments, to_request, _render_change, read_only=False)


DEEPAGENTS = Contract(
    name=NAME,
    title="deepagents backend",
    instructions="",
    tools=(
        _tool("ls", ListArguments, _to_list, _render_list),
        _tool("read", ReadArguments, _to_read, _render_read, steps=Steps(no_documents)),
        _tool("read_bytes", PathArguments, lambda given: BytesRequest(given.path), _render_bytes),
        _tool("grep", GrepArguments, _to_grep, _render_grep),
        _tool("glob", GlobArguments, _to_glob, _render_list),
        _change("write", WriteArguments, lambda given: WriteRequest(given.path, given.content, None)),
        _change("upload", UploadArguments, lambda given: WriteRequest(given.path, "", None, data=given.data)),
        _change("edit", EditArguments, _to_edit),
        _change("delete", PathArguments, lambda given: DeleteRequest(given.path, recursive=True)),
    ),
    commands=(_tool("execute", ExecuteArguments, _to_run, _render_run, read_only=False),),
    reply_bytes=_REPLY_BYTES,
    # Content alone: deepagents adds everything else.
    measure=Measure(
        frame=lambda path: CLOSING_BYTES,
        read=ReadMeasure(numbered=lambda number: 1, outlined=lambda row: 0, mark_bytes=MARK_BYTES),
        search=SearchMeasure(
            file=lambda file: byte_size(file.path), line=lambda line: byte_size(line.text) + 1
        ),
        list=ListMeasure(lambda entry: byte_size(entry.path) + 1),
        output=OutputMeasure(lambda number: _ROW_BYTES, gap_bytes=len("[... 1000000 lines omitted ...]\n")),
    ),
    render=_render_read,  # type: ignore[arg-type]  # every tool has its own
    render_error=_render_error,
    to_call=_no_call,
)
