"""A workspace as the backend of deepagents (extra `deepagents`).

    from deepagents import create_deep_agent
    from readroom import Workspace
    from readroom.adapters.deepagents import backend

    agent = create_deep_agent(model, backend=backend(Workspace(".")))

The agent keeps its file tools: ls, read_file, write_file, edit_file, glob, grep and delete all see the same
guarded files.  deepagents words their replies; what they see and what they are refused is decided here.
"""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, Final, final

from readroom.async_workspace import AsyncWorkspace
from readroom.caller import Caller
from readroom.contracts.deepagents import IMAGE, LINES, NEXT
from readroom.extras import needs
from readroom.values import Reply
from readroom.workspace import Workspace

with needs("deepagents"):
    from deepagents.backends import BackendProtocol, CompositeBackend, StateBackend
    from deepagents.backends.protocol import (
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )

CALLER = Caller(agent="deepagents")

OWN: Final = "/.deepagents"
"""What deepagents keeps for itself, long results and summarized conversations, is in the state of the run."""

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


def backend(workspace: Workspace, *, caller: Caller = CALLER) -> CompositeBackend:
    """The backend of a workspace; its opener closes it.

    Nothing that deepagents keeps for itself is written into the workspace.
    """
    return CompositeBackend(
        WorkspaceBackend(workspace, caller=caller), {f"{OWN}/": StateBackend()}, artifacts_root=OWN
    )


@final
class WorkspaceBackend(BackendProtocol):
    """The files of a workspace, "/" being its root. Safe to share between threads."""

    def __init__(self, workspace: Workspace, *, caller: Caller = CALLER) -> None:
        """Serve a workspace; its ledger names `caller`."""
        self._workspace = workspace
        self._awaited = AsyncWorkspace(workspace)
        self._caller = caller

    def ls(self, path: str) -> LsResult:
        """The names in a folder; ignored ones too, denied ones never."""
        return _listed(self._call("ls", path=path))

    async def als(self, path: str) -> LsResult:
        """As `ls`."""
        return _listed(await self._acall("ls", path=path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a text, or the bytes of an image or another file that models take as it is."""
        if file_path.lower().endswith(_MEDIA):
            return self._media(
                file_path, self._call("read", path=file_path) if file_path.lower().endswith(_IMAGES) else None
            )
        if limit < 1:
            return _NOTHING
        return _text(self._call("read", path=file_path, offset=max(0, offset), limit=limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """As `read`."""
        if file_path.lower().endswith(_MEDIA):
            seen = await self._acall("read", path=file_path) if file_path.lower().endswith(_IMAGES) else None
            return self._media(file_path, seen)
        if limit < 1:
            return _NOTHING
        return _text(await self._acall("read", path=file_path, offset=max(0, offset), limit=limit))

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Lines that hold a text."""
        return _found(self._call("grep", **_search(pattern, path, glob, max_count)))

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """As `grep`; a cancelled task ends the search."""
        return _found(await self._acall("grep", **_search(pattern, path, glob, max_count)))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files whose names fit."""
        return _globbed(self._call("glob", pattern=pattern, path=path or "/"))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """As `glob`."""
        return _globbed(await self._acall("glob", pattern=pattern, path=path or "/"))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace its content."""
        reply = self._call("write", path=file_path, content=content)
        return WriteResult(error=reply.text) if reply.is_error else WriteResult(path=_path(reply))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """As `write`."""
        reply = await self._acall("write", path=file_path, content=content)
        return WriteResult(error=reply.text) if reply.is_error else WriteResult(path=_path(reply))

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replace a text that occurs once, or everywhere."""
        return _edited(self._call("edit", **_replacement(file_path, old_string, new_string, replace_all)))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """As `edit`."""
        replacement = _replacement(file_path, old_string, new_string, replace_all)
        return _edited(await self._acall("edit", **replacement))

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, or a folder with all that is in it."""
        reply = self._call("delete", path=file_path)
        return DeleteResult(error=reply.text) if reply.is_error else DeleteResult(path=_path(reply))

    async def adelete(self, file_path: str) -> DeleteResult:
        """As `delete`."""
        reply = await self._acall("delete", path=file_path)
        return DeleteResult(error=reply.text) if reply.is_error else DeleteResult(path=_path(reply))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The bytes of files, as far as they are small enough to be held."""
        return [self._downloaded(path) for path in paths]

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Texts written to files; other bytes are refused, for no tool of a workspace writes them."""
        return [self._uploaded(path, data) for path, data in files]

    def _call(self, tool: str, **arguments: Any) -> Reply:
        return self._workspace.call(tool, arguments, contract_name="deepagents", caller=self._caller)

    async def _acall(self, tool: str, **arguments: Any) -> Reply:
        return await self._awaited.call(tool, arguments, contract_name="deepagents", caller=self._caller)

    def _media(self, path: str, seen: Reply | None) -> ReadResult:
        """A file for the model as it is; an image, as `seen`, in the size that models are shown."""
        if seen is not None and seen.is_error:
            return ReadResult(error=seen.text)
        image: Any = None if seen is None else seen.facts.get(IMAGE)
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
            return FileDownloadResponse(path, error=_known(reply))
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
        return FileUploadResponse(path, _known(reply) if reply.is_error else None)


_NOTHING: Final = ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)

_CODES: Final = {
    "not_found": "file_not_found",
    "denied": "permission_denied",
    "outside_root": "permission_denied",
    "no_permission": "permission_denied",
    "not_a_file": "is_directory",
    "bad_path": "invalid_path",
}
"""Failures of files that are moved in bulk have names of their own."""


def _known(reply: Reply) -> str:
    error: Any = reply.facts.get("error")
    return _CODES.get(error["code"], reply.text)


def _path(reply: Reply) -> str:
    return str(reply.facts["path"])


def _search(pattern: str, path: str | None, glob: str | None, max_count: int | None) -> dict[str, Any]:
    limit = _MATCHES if max_count is None else max(1, max_count)
    return {"pattern": pattern, "path": path or "/", "glob": glob, "limit": limit}


def _replacement(path: str, old: str, new: str, everywhere: bool) -> dict[str, Any]:
    return {"path": path, "old_string": old, "new_string": new, "replace_all": everywhere}


def _text(reply: Reply) -> ReadResult:
    if reply.is_error:
        return ReadResult(error=reply.text)
    facts: Any = reply.facts
    data = FileData(content="\n".join(facts[LINES]), encoding="utf-8")
    if not facts[LINES]:
        return ReadResult(file_data=data)
    return ReadResult(
        file_data=data,
        total_lines=facts["total"],
        start_line=facts["start"],
        end_line=facts["end"],
        next_offset=facts[NEXT],
    )


def _info(entry: Any) -> FileInfo:
    info = FileInfo(path=entry["path"] + ("/" if entry["is_folder"] else ""), is_dir=entry["is_folder"])
    if not entry["is_folder"]:
        info["size"] = entry["size"]
    if entry["mtime_ns"] is not None:
        info["modified_at"] = datetime.fromtimestamp(entry["mtime_ns"] / 1e9, UTC).isoformat()
    return info


def _listed(reply: Reply) -> LsResult:
    if reply.is_error:
        return LsResult(error=_listing_error(reply))
    facts: Any = reply.facts
    return LsResult(entries=[_info(entry) for entry in facts["entries"]])


def _listing_error(reply: Reply) -> str:
    """deepagents tells a file from a folder by this word."""
    error: Any = reply.facts.get("error")
    return f"{reply.text} (not_a_directory)" if error["code"] == "not_a_folder" else reply.text


def _globbed(reply: Reply) -> GlobResult:
    if reply.is_error:
        return GlobResult(error=reply.text)
    facts: Any = reply.facts
    files = [_info(entry) for entry in facts["entries"] if entry["is_file"]]
    cut = facts["reason"] is not None
    return GlobResult(matches=files, truncated=cut, truncation_reason="budget" if cut else None)


def _found(reply: Reply) -> GrepResult:
    if reply.is_error:
        return GrepResult(error=reply.text)
    facts: Any = reply.facts
    return GrepResult(matches=[_match(match) for match in facts["matches"]], truncated=not facts["complete"])


def _match(match: Any) -> GrepMatch:
    return GrepMatch(path=match["path"], line=match["line"], text=match["text"])


def _edited(reply: Reply) -> EditResult:
    if reply.is_error:
        return EditResult(error=reply.text)
    facts: Any = reply.facts
    return EditResult(path=facts["path"], occurrences=facts["occurrences"])
