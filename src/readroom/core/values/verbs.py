"""The table of verbs: for each kind of request, what performs it and what budgets make of it.

Rows name functions as `module:function`, which are imported on first use.  So the table can lie below
everything that it names, and a call imports only what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import values
from readroom.core.values.changes import (
    ChangesRequest,
    ChangesResult,
    DeleteRequest,
    DeleteResult,
    EditFilesRequest,
    EditFilesResult,
    EditRequest,
    EditResult,
    FolderResult,
    MakeFolderRequest,
    MoveRequest,
    MoveResult,
    StatRequest,
    StatResult,
    TrashRequest,
    TrashResult,
    WriteRequest,
    WriteResult,
)
from readroom.core.values.commands import (
    EndRequest,
    RunRequest,
    RunResult,
    StartedRequest,
    StartedResult,
    StartRequest,
    WatchRequest,
    WatchResult,
)
from readroom.core.values.files import BytesRequest, BytesResult, ResolveRequest, ResolveResult
from readroom.core.values.git import (
    GitBlameRequest,
    GitBlameResult,
    GitChangesRequest,
    GitChangesResult,
    GitLogRequest,
    GitLogResult,
)
from readroom.core.values.history import (
    DiffRequest,
    DiffResult,
    ForgetRequest,
    ForgetResult,
    HistoryRequest,
    HistoryResult,
    UndoRequest,
    UndoResult,
)
from readroom.core.values.many import ReadManyRequest, ReadManyResult
from readroom.core.values.packing import PackRequest, PackResult

Traces: TypeAlias = Literal["none", "command", "edit"]
"""The effects of a verb: none, those of a command, or an edit, which stays possible when only edits are."""

Suggestion: TypeAlias = Literal["none", "again", "list", "above"]
"""The next step for a name similar to a missing one: none, the same request, a listing of it, or a listing of
its folder."""


InArchives: TypeAlias = Literal["no", "inside", "folder"]
"""Whether a verb looks into archives: no, at a path inside one, or, for searches, also at an archive as a
folder."""


class Verb(Struct, frozen=True):
    """One kind of request.

    Attributes:
        request: The type of the request.
        result: The type of the result.
        perform: `(Services, Job) -> Result`, in the engine.
        degraded: `(Request, Level) -> Request`, the reduced request for a low budget; None never reduces.
        counted: `(Result, Request) -> Result`, the part of the result that has only counts; None if the
            reduced request already gives that.
        shown: `(Result) -> Sequence[ShownLines]`, the lines of files that a reply shows; None if none.
        traces: What performing it leaves behind; nothing with `dry_run`.
        near: The kinds of names to suggest for a missing one.
        suggestion: The next step with a suggested name.
        paths: The fields that name a file or folder; the first decides where it is performed.
        in_archives: Whether it looks into archives.
        time_limit: The field of `Limits` that limits it; None if the verb limits itself.
    """

    request: type[values.Request]
    result: type[values.Result]
    perform: str
    degraded: str | None = None
    counted: str | None = None
    shown: str | None = None
    traces: Traces = "none"
    near: frozenset[values.EntryKind] = frozenset((values.EntryKind.FILE,))
    suggestion: Suggestion = "none"
    paths: tuple[str, ...] = ("path",)
    in_archives: InArchives = "no"
    time_limit: str | None = None


_ENGINE = "readroom.core.engine."
_METER = "readroom.core.session.meter:"
_SHOWN = "readroom.core.session.conversation:"
_FOLDER = frozenset((values.EntryKind.FOLDER,))
_ANY = frozenset((values.EntryKind.FILE, values.EntryKind.FOLDER))


def _change(request: type[values.Request], result: type[values.Result], perform: str, **more: Any) -> Verb:
    """The row of a change of content."""
    perform = _ENGINE + perform
    return Verb(request, result, perform, traces="edit", time_limit="change_timeout_s", **more)


def _of_names(request: type[values.Request], result: type[values.Result], name: str, **more: Any) -> Verb:
    """The row of a change of names: what is deleted, moved or made."""
    return _change(request, result, f"files:{name}", near=_ANY, suggestion="above", **more)


def _of_background(
    request: type[values.Request], name: str, result: type[values.Result] = WatchResult, **more: Any
) -> Verb:
    """The row of a call about commands that run on. A wait must not be repeated to make its reply smaller."""
    perform = f"{_ENGINE}command.background:{name}"
    return Verb(
        request, result, perform, traces="command", shown=_SHOWN + "shown_by_run", **{"paths": (), **more}
    )


def _of_past(request: type[values.Request], result: type[values.Result], name: str, **more: Any) -> Verb:
    """The row of a call about the history. It names its paths itself: what they meant may be gone."""
    perform = f"{_ENGINE}past.{name}" if ":" in name else f"{_ENGINE}past:{name}"
    return Verb(
        request,
        result,
        perform,
        **{"traces": "edit", "paths": (), "near": frozenset(), "time_limit": "change_timeout_s", **more},
    )


def _of_git(request: type[values.Request], result: type[values.Result], name: str) -> Verb:
    """The row of a question to git; its path may be one that only a revision has."""
    return Verb(
        request,
        result,
        f"{_ENGINE}git.{name}:perform",
        counted=f"{_ENGINE}git.counts:of_{name}",
        near=_ANY,
        suggestion="again",
        time_limit="read_timeout_s",
    )


VERBS = (
    Verb(
        values.ReadRequest,
        values.ReadResult,
        perform=_ENGINE + "read:perform",
        degraded=_METER + "less_of_read",
        counted=_METER + "counts_of_read",
        shown=_SHOWN + "shown_by_read",
        in_archives="inside",
        time_limit="read_timeout_s",
    ),
    Verb(
        ReadManyRequest,
        ReadManyResult,
        perform=_ENGINE + "read.many:perform",
        counted=_METER + "counts_of_reads",
        shown=_SHOWN + "shown_by_reads",
        paths=(),
    ),
    Verb(
        values.GrepRequest,
        values.GrepResult,
        perform=_ENGINE + "grep:perform",
        degraded=_METER + "less_of_grep",
        shown=_SHOWN + "shown_by_grep",
        in_archives="folder",
        near=_ANY,
        suggestion="again",
    ),
    Verb(
        values.FindRequest,
        values.FindResult,
        perform=_ENGINE + "find:perform",
        degraded=_METER + "less_of_find",
        shown=_SHOWN + "shown_by_find",
        in_archives="folder",
        near=_ANY,
        suggestion="again",
    ),
    Verb(
        values.ListRequest,
        values.ListResult,
        perform=_ENGINE + "list:perform",
        degraded=_METER + "less_of_list",
        in_archives="inside",
        time_limit="list_timeout_s",
        near=_FOLDER,
        suggestion="again",
    ),
    Verb(
        BytesRequest,
        BytesResult,
        perform=_ENGINE + "read.as_bytes:perform",
        shown=_SHOWN + "shown_by_bytes",
    ),
    Verb(PackRequest, PackResult, perform=_ENGINE + "pack:perform", shown=_SHOWN + "shown_by_pack"),
    Verb(
        ResolveRequest,
        ResolveResult,
        perform=_ENGINE + "resolve:perform",
        near=_ANY,
        suggestion="above",
        time_limit="read_timeout_s",
    ),
    _change(EditRequest, EditResult, "edit:perform", shown=_SHOWN + "shown_by_change"),
    _change(EditFilesRequest, EditFilesResult, "edit.batch:perform", shown=_SHOWN + "shown_by_edit_files"),
    _change(ChangesRequest, ChangesResult, "edit.several:perform", shown=_SHOWN + "shown_by_changes"),
    _change(WriteRequest, WriteResult, "edit.write:perform", shown=_SHOWN + "shown_by_change"),
    Verb(
        RunRequest,
        RunResult,
        perform=_ENGINE + "command:perform",
        degraded=_METER + "less_of_run",
        shown=_SHOWN + "shown_by_run",
        traces="command",
        near=_FOLDER,
        suggestion="list",
    ),
    _of_background(StartRequest, "start", near=_FOLDER, suggestion="list", paths=("path",)),
    _of_background(WatchRequest, "watch", degraded=_METER + "less_of_output"),
    _of_background(EndRequest, "end", degraded=_METER + "less_of_output"),
    replace(_of_background(StartedRequest, "started", result=StartedResult), traces="none", shown=None),
    replace(_of_names(StatRequest, StatResult, "stat"), traces="none", time_limit=None),
    _of_names(DeleteRequest, DeleteResult, "delete"),
    _of_names(MakeFolderRequest, FolderResult, "make_folder"),
    _of_names(MoveRequest, MoveResult, "move", paths=("path", "destination")),
    _of_names(TrashRequest, TrashResult, "trash"),
    _of_past(HistoryRequest, HistoryResult, "listing", traces="none"),
    _of_past(DiffRequest, DiffResult, "diff", traces="none"),
    _of_past(UndoRequest, UndoResult, "undo:perform"),
    _of_past(ForgetRequest, ForgetResult, "forget"),
    _of_git(GitChangesRequest, GitChangesResult, "changes"),
    _of_git(GitLogRequest, GitLogResult, "log"),
    _of_git(GitBlameRequest, GitBlameResult, "blame"),
)

BY_REQUEST: Mapping[type[values.Request], Verb] = MappingProxyType({verb.request: verb for verb in VERBS})
BY_RESULT: Mapping[type[values.Result], Verb] = MappingProxyType({verb.result: verb for verb in VERBS})


@cache
def function(name: str) -> Callable[..., Any]:
    """What a row names as `module:function`; its module is imported the first time."""
    module, _, attribute = name.partition(":")
    __import__(module)  # not by importlib, whose imports `python -X importtime` does not show
    target: Callable[..., Any] = getattr(sys.modules[module], attribute)
    return target


def changes(request: values.Request) -> bool:
    """Whether performing it leaves traces, so that it must not be done twice."""
    if BY_REQUEST[type(request)].traces == "none":
        return False
    return not getattr(request, "dry_run", False)


def is_edit(request: values.Request) -> bool:
    """Whether it is what remains possible when only changes are."""
    return BY_REQUEST[type(request)].traces == "edit"
