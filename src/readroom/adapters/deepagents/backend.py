"""The files of a workspace as a `BackendProtocol`."""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterator
from copy import copy
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from readroom.adapters.deepagents import words
from readroom.adapters.deepagents.contract import ENTRIES, IMAGE, NAME
from readroom.adapters.deepagents.names import Paths, include, matcher, surroundings
from readroom.core.caller import Caller
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, NoFolder, ReadroomError
from readroom.core.extras import needs
from readroom.core.paths import WorkPath, quote
from readroom.core.policy.guard import Guard
from readroom.core.tasks import in_thread
from readroom.core.values import EntryKind, Reply
from readroom.core.workspace import Workspace

with needs("deepagents"):
    from deepagents.backends.protocol import (
        INVALID_PATH,
        BackendProtocol,
        ContextLine,
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GlobTruncationReason,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import EMPTY_CONTENT_WARNING, EMPTY_OLD_STRING_ERROR

B = TypeVar("B", bound="WorkspaceBackend")
P = ParamSpec("P")
T = TypeVar("T")

CALLER = Caller(agent=NAME)

_MATCHES: Final = 100_000
"""Matches of one search that names no number: more than fit a reply."""

_AROUND: Final = 1000
"""Maximum lines around a match."""

_BINARY_BYTES: Final = 8 * 1024 * 1024
"""The largest file that is handed to the model as it is; providers refuse larger ones."""

_DOWNLOAD_BYTES: Final = 64 * 1024 * 1024
"""The largest file that is handed to a program; it is held in memory."""

_IMAGES: Final = (".png", ".jpeg", ".jpg", ".webp", ".gif")
"""Endings of images that are made small enough for a model here."""

_MEDIA: Final = (
    *_IMAGES,
    *(".heic", ".heif", ".mp4", ".mpeg", ".mov", ".avi", ".flv", ".mpg", ".webm", ".wmv", ".3gpp", ".mkv"),
    *(".wav", ".mp3", ".aiff", ".aac", ".ogg", ".flac", ".pdf", ".ppt", ".pptx"),
)
"""Endings whose files deepagents passes on as bytes, whatever a backend gives; its own table is private."""


def awaited(method: Callable[Concatenate[B, P], T]) -> Callable[Concatenate[B, P], Coroutine[Any, Any, T]]:
    """The method for event loops: a cancelled task ends its call."""

    @wraps(method)
    async def run(self: B, /, *arguments: P.args, **options: P.kwargs) -> T:
        deadline = Deadline()
        ending = self.ending_with(deadline)
        return await in_thread(lambda: method(ending, *arguments, **options), deadline)

    return run


class WorkspaceBackend(BackendProtocol):
    """The files of a workspace. Safe to share between threads."""

    def __init__(self, workspace: Workspace, *, virtual_mode: bool = True, caller: Caller = CALLER) -> None:
        """Serve a workspace.

        Args:
            workspace: Its files; its opener closes it.
            virtual_mode: As of `FilesystemBackend`: "/" is the root of the workspace.  Without it, paths are
                those of this machine, and relative ones begin in the folder; nothing else is in reach.
            caller: The caller in the ledger.

        Raises:
            NoFolder: The workspace is not in a folder, so there are no paths of this machine.
        """
        folder = workspace.guard.folder
        if folder is None and not virtual_mode:
            raise NoFolder(workspace.guard.store.name)
        self.virtual_mode = virtual_mode
        self._workspace, self._caller = workspace, caller
        self._paths = Paths("/" if virtual_mode or folder is None else workspace.setup().real)
        self._deadline: Deadline | None = None

    @property
    def _seen(self) -> Guard:
        """The files as the caller sees them."""
        return self._workspace.view(self._caller).services.guard

    def ending_with(self: B, deadline: Deadline) -> B:
        """The same backend, for calls that end with the deadline."""
        ending = copy(self)
        ending._deadline = deadline
        return ending

    def ls(self, path: str) -> LsResult:
        """The names in a folder; ignored ones too, denied ones and links that lead nowhere never."""
        within = self._paths.within(path)
        entries, loops, cursor = list[FileInfo](), list[str](), None
        while True:
            reply = self._call("ls", path=within, cursor=cursor)
            if reply.is_error:
                return LsResult(error=words.of_list(path, reply))
            entries += self._infos(within, reply)
            loops += [] if entries else self._loops(within, reply)
            following: Any = reply.build_facts()["cursor"]
            if following is None:
                break
            cursor = following
        if loops and not entries:
            # An empty listing would say that nothing is there; next to others, a loop is left out.
            return LsResult(error="\n".join(map(words.of_loop, loops)), entries=entries)
        return LsResult(entries=sorted(entries, key=lambda info: info["path"]))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a text, or the bytes of an image or another file that models take as it is."""
        if file_path.lower().endswith(_MEDIA):
            return self._media(file_path)
        offset, asked = max(0, int(offset)), max(0, int(limit))
        path = self._paths.within(file_path)
        reply = self._call("read", path=path, offset=offset if asked else 0, limit=max(1, asked))
        if reply.is_error:
            return ReadResult(error=words.of_file("read", file_path, reply, self._near(reply)))
        window: Any = reply.build_facts()
        text, total, start, end = window["content"], window["total_lines"], window["start"], window["end"]
        if total == 0 or (start == 1 and end == total and not text.strip()):
            return ReadResult(file_data=FileData(content=EMPTY_CONTENT_WARNING, encoding="utf-8"))
        if not asked:
            return ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)
        if not end:
            return ReadResult(error=words.past_end(offset, total))
        return ReadResult(
            file_data=FileData(content=text, encoding="utf-8"),
            total_lines=total,
            start_line=start,
            end_line=end,
            next_offset=None if end == total else end,
        )

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
        context_lines: int = 0,
    ) -> GrepResult:
        """Lines that hold a text; with `context_lines`, those around each that do not hold it, too."""
        if context_lines < 0:
            raise ValueError("context_lines must be non-negative")
        asked = path or "/"
        try:
            takes = None if glob is None else matcher(glob)
            within = self._paths.within(asked)
        except ValueError as error:
            return GrepResult(error=str(error), matches=[])
        reply = self._call(
            "grep",
            pattern=pattern,
            path=within,
            glob=None if glob is None else include(glob),
            limit=_MATCHES if max_count is None else max(1, max_count),
            around=min(context_lines, _AROUND),
        )
        if reply.is_error:
            return GrepResult(error=words.of_search("searching", asked, reply), matches=[])
        found: Any = reply.build_facts()
        matches = [
            match
            for file in found["files"]
            if takes is None or takes(_relative(file["path"], within))
            for match in self._matches(file, pattern, context_lines)
        ]
        unread = words.of_unread(found["unreadable"]) if found["unreadable"] else None
        kept = matches if max_count is None else matches[: max(0, max_count)]
        is_cut = not found["complete"] or len(kept) < len(matches)
        return GrepResult(error=unread, matches=kept, truncated=is_cut)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files whose names fit."""
        try:
            takes = matcher(pattern)
        except ValueError as error:
            return GlobResult(error=str(error))
        within = self._paths.within(path or "/")
        below, globs = surroundings(pattern)
        folder = below or "." if within == "." else f"{within}/{below}".rstrip("/")
        begin = f"{below}/" if below else ""
        matches = list[FileInfo]()
        page: Any = {"cursor": None}
        while True:
            reply = self._call("glob", path=folder, globs=globs, cursor=page["cursor"])
            if reply.is_error:
                return self._no_names(path or "/", below, reply, matches)
            page = reply.build_facts()
            infos = self._infos(folder, reply, lambda name: takes(begin + name))
            matches += (info for info in infos if not info["is_dir"])
            if page["cursor"] is None or len(matches) >= ENTRIES:
                break
        matches = sorted(matches[:ENTRIES], key=lambda info: info["path"])
        if page["complete"] and not page["unreadable"]:
            return GlobResult(matches=matches)
        reason: GlobTruncationReason = "unreadable" if page["unreadable"] else "budget"
        return GlobResult(matches=matches, truncated=True, truncation_reason=reason)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace its content."""
        reply = self._call("write", path=self._paths.within(file_path), content=content)
        if reply.is_error:
            return WriteResult(error=words.of_file("write", file_path, reply))
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replace a text that occurs once, or everywhere; line ends make no difference."""
        path = self._paths.within(file_path)
        if not old_string:
            return EditResult(error=EMPTY_OLD_STRING_ERROR)
        old = old_string.replace("\r\n", "\n")
        new = new_string.replace("\r\n", "\n")
        texts = {"old_string": old, "new_string": new, "replace_all": replace_all}
        reply = self._call("edit", path=path, **texts)
        if reply.is_error:
            if words.code(reply) == "no_match" and (times := self._without_newline(path, old)):
                return EditResult(error=words.without_newline(times))
            return EditResult(error=words.of_edit(file_path, old_string, reply, self._near(reply)))
        occurrences: Any = reply.build_facts()["occurrences"]
        return EditResult(path=file_path, occurrences=occurrences)

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, a link, or a folder with all that is in it."""
        reply = self._call("delete", path=self._paths.within(file_path))
        if reply.is_error:
            return DeleteResult(error=words.of_delete(file_path, reply, self._near(reply)))
        return DeleteResult(path=file_path)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The bytes of files, as far as they are small enough to be held."""
        return [self._downloaded(path, _DOWNLOAD_BYTES) for path in paths]

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Bytes written to files as they are; folders that are missing are made."""
        return [self._uploaded(path, data) for path, data in files]

    als, aread, agrep, aglob = awaited(ls), awaited(read), awaited(grep), awaited(glob)
    awrite, aedit, adelete = awaited(write), awaited(edit), awaited(delete)
    adownload_files, aupload_files = awaited(download_files), awaited(upload_files)

    def _call(self, tool: str, **arguments: Any) -> Reply:
        return self._workspace.call(
            tool, arguments, contract_name=NAME, caller=self._caller, deadline=self._deadline
        )

    # --- names ---------------------------------------------------------------------------------------

    def _infos(
        self, within: str, reply: Reply, takes: Callable[[str], bool] = lambda _: True
    ) -> Iterator[FileInfo]:
        """The listed names that are taken, links as what they lead to."""
        folder = self._real(within)
        entries: Any = reply.build_facts()["entries"]
        for entry in entries:
            if not takes(entry["path"]):
                continue
            path = entry["path"] if folder == "." else f"{folder}/{entry['path']}"
            kind = EntryKind(entry.pop("kind"))
            if kind is EntryKind.LINK:
                kind, entry["size"] = self._led_to(path)
            if kind not in (EntryKind.FILE, EntryKind.FOLDER):
                continue
            is_dir = kind is EntryKind.FOLDER
            spelled = self._paths.spelled(path, folder=is_dir)
            info: FileInfo = entry
            info["path"], info["is_dir"] = spelled, is_dir
            yield info

    def _loops(self, within: str, reply: Reply) -> Iterator[str]:
        """The listed links that lead back to themselves."""
        folder = self._real(within)
        entries: Any = reply.build_facts()["entries"]
        for entry in entries:
            path = entry["path"] if folder == "." else f"{folder}/{entry['path']}"
            if self._is_loop(quote(path)):
                yield self._paths.spelled(path)

    def _is_loop(self, path: str) -> bool:
        """Whether a name of the workspace is a link that leads back to itself."""
        try:
            self._seen.stat(self._seen.parse(path))
        except BadPath:
            return True
        except ReadroomError:
            pass
        return False

    def _real(self, within: str) -> str:
        return self._seen.parse(within)

    def _led_to(self, path: str) -> tuple[EntryKind, int]:
        """The kind and size of the target of a link; a link where they may not be seen."""
        try:
            _, stat = self._seen.stat(WorkPath(path))
        except ReadroomError:
            return EntryKind.LINK, 0
        return stat.kind, stat.size if stat.kind is EntryKind.FILE else 0

    def _near(self, reply: Reply) -> list[str]:
        """The paths that may have been meant instead of a missing one."""
        return [self._paths.spelled(name) for name in words.facts(reply).get("near", ())]

    def _no_names(self, asked: str, below: str, reply: Reply, matches: list[FileInfo]) -> GlobResult:
        """The result of a listing that failed."""
        code = words.code(reply)
        if below and code in ("not_found", "not_a_folder"):
            return GlobResult(matches=[])
        if code == "timed_out":
            return GlobResult(matches=matches, truncated=True, truncation_reason="budget")
        return GlobResult(error=words.of_search("globbing", asked, reply))

    # --- content -------------------------------------------------------------------------------------

    def _matches(self, file: dict[str, Any], pattern: str, around: int) -> Iterator[GrepMatch]:
        path = self._paths.spelled(file["path"])
        plain = [line for line in file["lines"] if not line["is_match"] and pattern not in line["text"]]
        for line in file["lines"]:
            if not line["is_match"]:
                continue
            match = GrepMatch(path=path, line=line["line"], text=line["text"])
            if around:
                here = line["line"]
                context = [
                    ContextLine(line=each["line"], text=each["text"])
                    for each in plain
                    if abs(each["line"] - here) <= around
                ]
                match["context_before"] = [each for each in context if each["line"] < here]
                match["context_after"] = [each for each in context if each["line"] > here]
            yield match

    def _without_newline(self, path: str, old: str) -> int:
        """How often a text occurs without its final line feed, if the end of the file lacks just that."""
        text = old.removesuffix("\n")
        if text == old or not text:
            return 0
        reply = self._call("read", path=path, limit=_MATCHES)
        window: Any = {} if reply.is_error else reply.build_facts()
        if window.get("end") != window.get("total_lines"):
            return 0  # longer than a page: the sentence of the workspace says what is similar
        content: str = window.get("content", "")
        return content.count(text) if content.endswith(text) and not content.endswith("\n") else 0

    def _media(self, file_path: str) -> ReadResult:
        """A file for the model as it is; an image in the size that models are shown."""
        if file_path.lower().endswith(_IMAGES):
            reply = self._call("read", path=self._paths.within(file_path))
            image: Any = None if reply.is_error else reply.facts.get(IMAGE)
            if image is not None and image["media_type"] == mimetypes.guess_type(file_path)[0]:
                return ReadResult(file_data=FileData(content=image["data"], encoding="base64"))
        reply = self._call("read_bytes", path=self._paths.within(file_path))
        if reply.is_error:
            return ReadResult(error=words.of_file("read", file_path, reply, self._near(reply)))
        data = _held(reply, _BINARY_BYTES)
        if data is None:
            return ReadResult(error=words.too_large(file_path, _BINARY_BYTES))
        return ReadResult(file_data=FileData(content=b64encode(data).decode("ascii"), encoding="base64"))

    def _downloaded(self, path: str, maximum: int) -> FileDownloadResponse:
        try:
            reply = self._call("read_bytes", path=self._absolute(path))
        except ValueError:
            return FileDownloadResponse(path, error=INVALID_PATH)
        if reply.is_error:
            return FileDownloadResponse(path, error=words.token(reply))
        data = _held(reply, maximum)
        return FileDownloadResponse(path, data, None if data is not None else words.too_large(path, maximum))

    def _uploaded(self, path: str, data: bytes) -> FileUploadResponse:
        try:
            within = self._absolute(path)
        except ValueError:
            return FileUploadResponse(path, INVALID_PATH)
        reply = self._call("upload", path=within, data=b64encode(data).decode("ascii"))
        if not reply.is_error:
            return FileUploadResponse(path)
        return FileUploadResponse(path, INVALID_PATH if self._is_loop(within) else words.token(reply))

    def _absolute(self, path: str) -> str:
        """The path of a transfer, which is absolute. Raises ValueError."""
        if not path.startswith("/"):
            raise ValueError(f"not an absolute path: {path}")
        return self._paths.within(path)


def _relative(path: str, within: str) -> str:
    """A path of the workspace relative to the searched folder, or the name of the searched file."""
    if within == ".":
        return path
    return path.removeprefix(f"{within}/") if path != within else path.rpartition("/")[2]


def _held(reply: Reply, maximum: int) -> bytes | None:
    """The bytes of an opened file; None if they are too many."""
    stream = reply.stream
    assert stream is not None, "the tool opens files"
    try:
        return stream.read(stream.left) if stream.left <= maximum else None
    finally:
        stream.close()
