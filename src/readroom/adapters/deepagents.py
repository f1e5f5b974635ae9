"""A workspace as the backend of deepagents (extra `deepagents`).

    from deepagents import create_deep_agent
    from readroom import Workspace
    from readroom.adapters.deepagents import backend

    agent = create_deep_agent(model, backend=backend(Workspace(".")))

The agent keeps its file tools: ls, read_file, write_file, edit_file, glob, grep and delete all see the same
guarded files.  deepagents words their replies: numbers, words and limits are its own.  A contract that is
not served decides what they see and what is refused.  The text of its replies is content alone,
for budgets and the ledger; their facts are the fields of the results of deepagents.  Paths begin at "/", the
root of the workspace; offsets count from 0; an edit needs no hash, because deepagents has none.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeVar, final

from msgspec import Meta, Struct

from readroom.core.async_workspace import in_thread
from readroom.core.caller import Caller
from readroom.core.contracts.base import Contract, Tool
from readroom.core.contracts.native import facts as native_facts
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.extras import needs
from readroom.core.limits import CLOSING_BYTES, LIST_MAX_DEPTH
from readroom.core.text.select import MARK_BYTES, byte_size
from readroom.core.values import (
    Call,
    Cap,
    EntryKind,
    Fact,
    GrepRequest,
    ListEntry,
    ListMeasure,
    ListRequest,
    Measure,
    ReadMeasure,
    ReadRequest,
    Reply,
    Request,
    SearchMeasure,
)
from readroom.core.values import GrepResult as Found
from readroom.core.values import ListResult as Listed
from readroom.core.values import ReadResult as Window
from readroom.core.values.changes import DeleteRequest, Edit, EditRequest, WriteRequest
from readroom.core.values.changes import DeleteResult as Deleted
from readroom.core.values.changes import EditResult as Edited
from readroom.core.values.changes import WriteResult as Written
from readroom.core.values.files import BytesRequest, BytesResult
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Steps, no_documents
from readroom.core.workspace import Workspace

with needs("deepagents"):
    from deepagents.backends import BackendProtocol, CompositeBackend, StateBackend
    from deepagents.backends.protocol import (
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )

P = ParamSpec("P")
T = TypeVar("T")

# -----------------------------------------------------------------------------
# The contract.
# -----------------------------------------------------------------------------

_REPLY_BYTES = 1024 * 1024
"""deepagents cuts its own output; a page of this size is more than it ever shows."""

_ENTRIES = 10_000
"""Maximum names of one listing that fit a reply."""

_IMAGE: Final = "image"
"""The fact of a read that is not a field of a result."""

_TEXT = ReadOptions(line_chars=0, flat="window", header=False, outline_bytes=0, past_end="empty")
"""Whole lines, numbered through; of documents those that can be read as one text."""

_OTHER_TOOLS = re.compile(r"\b(grep_files|list_directory|run_command|known_hash|expected_hash|symbol)\b")
"""Advice that names arguments these tools do not have is dropped."""

_OUR_WORDS = {"edits[0].old_text": "old_string", "old_text": "old_string", "new_text": "new_string"}


class PathArguments(Struct, frozen=True, kw_only=True):
    """A call about one path."""

    path: str = "/"


class ReadArguments(Struct, frozen=True, kw_only=True):
    """Lines of a file."""

    path: str
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1)] = 2000


class GrepArguments(Struct, frozen=True, kw_only=True):
    """Lines with a text."""

    pattern: str
    path: str = "/"
    glob: str | None = None
    limit: Annotated[int, Meta(ge=1)]


class GlobArguments(Struct, frozen=True, kw_only=True):
    """Names of files."""

    pattern: str
    path: str = "/"


class WriteArguments(Struct, frozen=True, kw_only=True):
    """A whole file."""

    path: str
    content: str


class EditArguments(Struct, frozen=True, kw_only=True):
    """Replacement of a text, once or everywhere."""

    path: str
    old_string: str
    new_string: str
    replace_all: bool = False


def _within(path: str) -> str:
    """The path within the workspace of one that begins at its root."""
    return path.lstrip("/") or "."


def _spelled(path: str, folder: str = ".") -> str:
    """A path of the workspace, or one relative to a folder of it, as deepagents writes it."""
    return "/" + "/".join(part for part in (_within(folder), path) if part != ".")


def _to_read(arguments: ReadArguments) -> ReadRequest:
    return ReadRequest(_within(arguments.path), arguments.offset + 1, arguments.limit, options=_TEXT)


def _to_list(arguments: PathArguments) -> ListRequest:
    return ListRequest(_within(arguments.path), include=frozenset(("ignored",)), limit=_ENTRIES)


def _to_glob(arguments: GlobArguments) -> ListRequest:
    globs = (arguments.pattern,)
    return ListRequest(_within(arguments.path), globs, depth=LIST_MAX_DEPTH, limit=_ENTRIES)


def _to_grep(arguments: GrepArguments) -> GrepRequest:
    path, globs = _within(arguments.path), () if arguments.glob is None else (arguments.glob,)
    return GrepRequest(arguments.pattern, path, globs, fixed=True, sort="path", limit=arguments.limit)


def _to_edit(arguments: EditArguments) -> EditRequest:
    edit = Edit(arguments.old_string, arguments.new_string, arguments.replace_all)
    return EditRequest(_within(arguments.path), None, (edit,))


def _reply(text: str, **fields: Any) -> Reply:
    return Reply(text, lambda: fields)


def _render_read(result: Window, cap: Cap) -> Reply:
    """Lines, with how much is missing of one that is longer than a reply."""
    lines = list(result.lines)
    for number, cut in result.cuts.items():
        if cut.last < cut.total:
            lines[number - result.start] += f" [+{cut.total - cut.last} chars]"
    fields: dict[str, Any] = {"file_data": FileData(content="\n".join(lines), encoding="utf-8")}
    if lines:
        fields |= {"total_lines": result.total_lines, "start_line": result.start, "end_line": result.end}
        fields["next_offset"] = None if result.end == result.total_lines else result.end
    if result.image is not None:
        data = b64encode(result.image.data).decode("ascii")
        fields[_IMAGE] = {"data": data, "media_type": result.image.media_type}
    return _reply("\n".join(result.lines), **fields)


def _info(entry: ListEntry, folder: str) -> dict[str, Fact]:
    is_folder = entry.kind is EntryKind.FOLDER
    path = _spelled(entry.path, folder)
    info: dict[str, Fact] = {"path": f"{path}/" if is_folder else path, "is_dir": is_folder}
    if not is_folder:
        info["size"] = entry.size or 0
    if entry.mtime_ns is not None:
        info["modified_at"] = datetime.fromtimestamp(entry.mtime_ns / 1e9, UTC).isoformat()
    return info


def _infos(result: Listed, kinds: tuple[EntryKind, ...] = tuple(EntryKind)) -> list[Fact]:
    return [_info(entry, result.request.path) for entry in result.entries if entry.kind in kinds]


def _render_list(result: Listed, cap: Cap) -> Reply:
    return _reply("\n".join(entry.path for entry in result.entries), entries=_infos(result))


def _render_glob(result: Listed, cap: Cap) -> Reply:
    cut = result.reason is not None
    names = "\n".join(entry.path for entry in result.entries)
    files = _infos(result, (EntryKind.FILE,))
    return _reply(names, matches=files, truncated=cut, truncation_reason="budget" if cut else None)


def _render_grep(result: Found, cap: Cap) -> Reply:
    lines = [(_spelled(file.path), line) for file in result.files for line in file.lines]
    matches = [
        {"path": path, "line": line.number, "text": line.text} for path, line in lines if line.is_match
    ]
    text = "\n".join(line.text for _, line in lines)
    return _reply(text, matches=matches, truncated=not result.complete)


def _render_bytes(result: BytesResult, cap: Cap) -> Reply:
    return Reply("", dict, stream=result.stream)


def _render_change(result: Edited | Written | Deleted, cap: Cap) -> Reply:
    fields = {"occurrences": result.replacements} if isinstance(result, Edited) else {}
    return _reply("", path=_spelled(result.path), **fields)


def _render_error(error: ReadroomError, cap: Cap) -> Reply:
    """The error and its advice, in the words of these tools."""
    text = error.message if _OTHER_TOOLS.search(error.advice or "") else str(error)
    for ours, theirs in _OUR_WORDS.items():
        text = text.replace(ours, theirs)
    return Reply(text, partial(native_facts.of_error, error, _no_call), is_error=True)


def _no_call(request: Request) -> Call | None:
    return None


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


DEEPAGENTS = Contract(
    name="deepagents",
    title="deepagents backend",
    instructions="",
    tools=(
        _tool("ls", PathArguments, _to_list, _render_list),
        _tool("read", ReadArguments, _to_read, _render_read, steps=Steps(no_documents)),
        _tool("read_bytes", PathArguments, lambda given: BytesRequest(_within(given.path)), _render_bytes),
        _tool("grep", GrepArguments, _to_grep, _render_grep),
        _tool("glob", GlobArguments, _to_glob, _render_glob),
        _tool(
            "write",
            WriteArguments,
            lambda given: WriteRequest(_within(given.path), given.content, None),
            _render_change,
            read_only=False,
        ),
        _tool("edit", EditArguments, _to_edit, _render_change, read_only=False),
        _tool(
            "delete",
            PathArguments,
            lambda given: DeleteRequest(_within(given.path), recursive=True),
            _render_change,
            read_only=False,
        ),
    ),
    reply_bytes=_REPLY_BYTES,
    # Content alone: deepagents adds everything else.
    measure=Measure(
        frame=lambda path: CLOSING_BYTES,
        read=ReadMeasure(numbered=lambda number: 1, outlined=lambda row: 0, mark_bytes=MARK_BYTES),
        search=SearchMeasure(
            file=lambda file: byte_size(file.path), line=lambda line: byte_size(line.text) + 1
        ),
        list=ListMeasure(lambda entry: byte_size(entry.path) + 1),
    ),
    render=_render_read,  # type: ignore[arg-type]  # every tool has its own
    render_error=_render_error,
    to_call=_no_call,
)

# -----------------------------------------------------------------------------
# The backend.
# -----------------------------------------------------------------------------

CALLER = Caller(agent="deepagents")

OWN: Final = "/.deepagents"
"""Paths that deepagents keeps in the state of the run: long results and summarized conversations."""

_MATCHES: Final = 1000
"""Matches of one search that names no number."""

_BINARY_BYTES: Final = 8 * 1024 * 1024
"""The largest file that is handed to the model as it is; providers refuse larger ones."""

_IMAGES: Final = (".png", ".jpeg", ".jpg", ".webp", ".gif")
"""Endings of images that are made small enough for a model here."""

_MEDIA: Final = (
    *_IMAGES,
    *(".heic", ".heif", ".mp4", ".mpeg", ".mov", ".avi", ".flv", ".mpg", ".webm", ".wmv", ".3gpp", ".mkv"),
    *(".wav", ".mp3", ".aiff", ".aac", ".ogg", ".flac", ".pdf", ".ppt", ".pptx"),
)
"""Endings whose files deepagents passes on as bytes, whatever a backend gives; its own table is private."""

_CODES: Final = {
    "not_found": "file_not_found",
    "denied": "permission_denied",
    "outside_root": "permission_denied",
    "no_permission": "permission_denied",
    "not_a_file": "is_directory",
    "bad_path": "invalid_path",
}
"""Failures of files that are moved in bulk have names of their own."""


def backend(workspace: Workspace, *, caller: Caller = CALLER) -> CompositeBackend:
    """The backend of a workspace; its opener closes it.

    Nothing that deepagents keeps for itself is written into the workspace.
    """
    return CompositeBackend(
        WorkspaceBackend(workspace, caller=caller), {f"{OWN}/": StateBackend()}, artifacts_root=OWN
    )


def _awaited(
    method: Callable[Concatenate[WorkspaceBackend, P], T],
) -> Callable[Concatenate[WorkspaceBackend, P], Coroutine[Any, Any, T]]:
    """The method for event loops: a cancelled task ends its call."""

    @wraps(method)
    async def run(self: WorkspaceBackend, /, *arguments: P.args, **options: P.kwargs) -> T:
        deadline = Deadline()
        ending = WorkspaceBackend(self._workspace, caller=self._caller, deadline=deadline)
        return await in_thread(lambda: method(ending, *arguments, **options), deadline)

    return run


@final
class WorkspaceBackend(BackendProtocol):
    """The files of a workspace, "/" being its root. Safe to share between threads."""

    def __init__(
        self, workspace: Workspace, *, caller: Caller = CALLER, deadline: Deadline | None = None
    ) -> None:
        """Serve a workspace; its ledger names `caller`, and calls end with the deadline."""
        self._workspace, self._caller, self._deadline = workspace, caller, deadline

    def ls(self, path: str) -> LsResult:
        """The names in a folder; ignored ones too, denied ones never."""
        reply = self._call("ls", path=path)
        # deepagents recognizes a folder by this word.
        if reply.is_error and _code(reply) == "not_a_folder":
            return LsResult(error=f"{reply.text} (not_a_directory)")
        return _result(LsResult, reply)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a text, or the bytes of an image or another file that models take as it is."""
        if file_path.lower().endswith(_MEDIA):
            return self._media(file_path)
        if limit < 1:
            return ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)
        return _result(ReadResult, self._call("read", path=file_path, offset=max(0, offset), limit=limit))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Lines that hold a text."""
        limit = _MATCHES if max_count is None else max(1, max_count)
        return _result(
            GrepResult, self._call("grep", pattern=pattern, path=path or "/", glob=glob, limit=limit)
        )

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files whose names fit."""
        return _result(GlobResult, self._call("glob", pattern=pattern, path=path or "/"))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace its content."""
        return _result(WriteResult, self._call("write", path=file_path, content=content))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replace a text that occurs once, or everywhere."""
        texts = {"old_string": old_string, "new_string": new_string, "replace_all": replace_all}
        return _result(EditResult, self._call("edit", path=file_path, **texts))

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, or a folder with all that is in it."""
        return _result(DeleteResult, self._call("delete", path=file_path))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The bytes of files, as far as they are small enough to be held."""
        return [self._downloaded(path) for path in paths]

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Texts written to files; other bytes are refused, for no tool of a workspace writes them."""
        return [self._uploaded(path, data) for path, data in files]

    als, aread, agrep, aglob = _awaited(ls), _awaited(read), _awaited(grep), _awaited(glob)
    awrite, aedit, adelete = _awaited(write), _awaited(edit), _awaited(delete)
    adownload_files, aupload_files = _awaited(download_files), _awaited(upload_files)

    def _call(self, tool: str, **arguments: Any) -> Reply:
        return self._workspace.call(
            tool, arguments, contract_name="deepagents", caller=self._caller, deadline=self._deadline
        )

    def _media(self, path: str) -> ReadResult:
        """A file for the model as it is; an image in the size that models are shown."""
        if path.lower().endswith(_IMAGES):
            reply = self._call("read", path=path)
            if reply.is_error:
                return ReadResult(error=reply.text)
            image: Any = reply.facts.get(_IMAGE)
            if image is not None and image["media_type"] == mimetypes.guess_type(path)[0]:
                return ReadResult(file_data=FileData(content=image["data"], encoding="base64"))
        downloaded = self._downloaded(path)
        if downloaded.content is None:
            return ReadResult(error=downloaded.error)
        data = b64encode(downloaded.content).decode("ascii")
        return ReadResult(file_data=FileData(content=data, encoding="base64"))

    def _downloaded(self, path: str) -> FileDownloadResponse:
        reply = self._call("read_bytes", path=path)
        if reply.is_error or reply.stream is None:
            return FileDownloadResponse(path, error=_CODES.get(_code(reply), reply.text))
        try:
            size = reply.stream.left
            if size > _BINARY_BYTES:
                return FileDownloadResponse(
                    path, error=f"{path} has {size:,} bytes, more than {_BINARY_BYTES:,}"
                )
            return FileDownloadResponse(path, reply.stream.read(size))
        finally:
            reply.stream.close()

    def _uploaded(self, path: str, data: bytes) -> FileUploadResponse:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return FileUploadResponse(path, f"{path}: only text in UTF-8 can be written")
        reply = self._call("write", path=path, content=text)
        return FileUploadResponse(path, _CODES.get(_code(reply), reply.text) if reply.is_error else None)


def _code(reply: Reply) -> str:
    error: Any = reply.facts.get("error")
    return str(error["code"])


def _result(kind: Callable[..., T], reply: Reply) -> T:
    """The result of deepagents for a reply."""
    if reply.is_error:
        return kind(error=reply.text)
    return kind(**{name: value for name, value in reply.build_facts().items() if name != _IMAGE})
