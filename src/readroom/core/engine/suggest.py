"""Suggestions for a path that does not exist: similar names, and what it may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from readroom.core import values
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.errors import AbsentError, NotFound, OutsideRoot, ReadroomError
from readroom.core.formats.compressed import by_magic
from readroom.core.formats.kinds import is_archive_name
from readroom.core.limits import HEAD_BYTES, LIST_MAX_DEPTH, NEAR_SCAN_NAMES
from readroom.core.log import log
from readroom.core.paths import BORDER, OUTPUTS, ROOT, WorkPath, ancestors, basename, join, parent
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.stores.base import Leftover
from readroom.core.values.changes import EditFilesResult
from readroom.core.values.commands import StartedResult
from readroom.core.values.files import OTHER_SPELLING, BytesResult, ResolveResult, Warn
from readroom.core.values.many import ReadManyResult
from readroom.core.values.packing import PackResult
from readroom.core.values.steps import Suggests
from readroom.core.values.verbs import BY_REQUEST, Suggestion

_WILD = re.compile(r"[*?]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
"""A path with one of these is taken for a glob; brackets are common in names, and `{cwd}` is a variable."""

_SIGNS = re.compile(r"[*?{}\[\]!,\\]")
"""Characters with a meaning in a glob."""

_SLASHES = re.compile(r"[/\\]")

NEAR_PARTS = 16
"""How many parts at the end of a path outside the workspace are looked up inside it."""

_WITH_LINES = re.compile(
    r"(?P<path>(?:.*/)?(?!\.{1,2}[:#])[^/]+?)(?::(?P<line>[1-9]\d{0,8})(?:-(?P<last>\d{1,9})|:\d+)?:?|#L(?P<mark>[1-9]\d{0,8})(?:-L?(?P<end>\d{1,9}))?)",
    re.DOTALL,
)
"""A path with line numbers, as programs print it: `a.c:7`, `a.c:7:2`, `a.c:7-9`, `a.c#L7-L9`."""


def with_near_names(
    error: NotFound, services: Services, request: values.Request, deadline: Deadline, *, archives: bool = True
) -> NotFound:
    """The error with names that would have worked, if it is about the requested path.

    Args:
        error: The failure.
        services: What may be seen, and where outputs of the caller's commands are kept.
        request: What was asked for.
        deadline: Ends the search for names.
        archives: Whether the contract has paths into archives.
    """
    if error.path != request.path or error.facts.get("near"):
        return error
    kept = WorkPath(f"/{request.path}")
    commands = services.commands
    if commands is not None and request.path.startswith(f"{OUTPUTS[1:]}/") and commands.holds(kept):
        return NotFound(request.path, [kept])
    if (target := _dangling(services.guard, WorkPath(request.path))) is not None:
        return NotFound(request.path, link_to=target)
    inside = _file_above(services.guard, WorkPath(request.path))
    pattern = _by_glob(request, services.guard) if inside is None else None
    if pattern is not None:
        return NotFound(request.path, next_request=pattern)
    verb = BY_REQUEST[type(request)]
    asked = _without_lines(request)
    is_wanted = partial(_can_be_read, services.guard) if isinstance(request, values.ReadRequest) else _any
    near = services.guard.near(asked.path, verb.near, deadline, is_wanted)
    if archives and (archive := _archive_in(services.guard, request.path)) is not None:
        return NotFound(request.path, next_request=values.ListRequest(archive + BORDER), inside=inside)
    if not near and "\\" in asked.path and (meant := _by_its_end(services.guard, asked.path)) is not None:
        near = [meant]
    if inside is not None and not near and values.EntryKind.FILE in verb.near and is_wanted(inside):
        near = [inside]
    if near and near[0] == asked.path:
        near = near[:1]
    following = (
        _next(verb.suggestion, asked, near[0])
        if near
        else _in_large_folder(services.guard, WorkPath(asked.path))
    )
    return NotFound(request.path, near, advice=error.advice, next_request=following, inside=inside)


def with_siblings(error: NotFound, guard: Guard, request: values.Request, suggests: Suggests) -> NotFound:
    """The error with names of the same folder, those that a contract chooses and that may be seen."""
    path = WorkPath(request.path)
    if error.path != path:
        return error
    try:
        with guard.open_folder(parent(path)) as folder:
            names = sorted(guard.visible(folder).kinds)
    except ReadroomError:
        names = []
    return NotFound(path, [join(parent(path), name) for name in suggests(basename(path), names)])


def with_place_inside(error: OutsideRoot, guard: Guard, request: values.Request, spelled: str) -> OutsideRoot:
    """The error with the path in the workspace that the end of an outside path names, if any."""
    meant = None if error.next is not None else _by_its_end(guard, spelled)
    if meant is None or spelled != getattr(request, "path", None):
        return error
    following = _next(BY_REQUEST[type(request)].suggestion, request, meant)
    return OutsideRoot(spelled, str(error.facts["how"]), meant=meant, next_request=following)


_PLACELESS = (BytesResult, PackResult, ReadManyResult, ResolveResult, StartedResult)
"""Results that have no place for warnings."""


def with_note(result: values.Result) -> values.Result:
    """The result with the remark that the name in it is spelled otherwise than it was asked for."""
    if isinstance(result, (*_PLACELESS, EditFilesResult)):
        return result  # they have no place for it, and each of several files has its own
    return replace(result, warnings=(OTHER_SPELLING, *result.warnings))


def about(leftover: Leftover) -> Warn:
    """The warning about what of an interrupted call could not be undone; the log has it, too."""
    warn = Warn("half_done", f"{quote(leftover.path)}: {leftover.problem}")
    log().warning("%s", warn.detail)
    return warn


def with_warnings(result: values.Result, warns: Sequence[Warn]) -> values.Result:
    """The result with more warnings, if it has a place for them."""
    if isinstance(result, _PLACELESS):
        return result
    if isinstance(result, EditFilesResult):
        first, *others = result.files
        return replace(result, files=[replace(first, warnings=(*warns, *first.warnings)), *others])
    return replace(result, warnings=(*warns, *result.warnings))


def _by_its_end(guard: Guard, path: str) -> WorkPath | None:
    """The longest end of a path, with either kind of slashes, that names a visible file or folder."""
    parts = [part for part in _SLASHES.split(path) if part.strip(".")][-NEAR_PARTS:]
    for at in range(len(parts)):
        try:
            end = guard.parse(quote("/".join(parts[at:])))
            guard.stat(end)
        except ReadroomError:
            continue
        return end
    return None


def _archive_in(guard: Guard, path: str) -> WorkPath | None:
    """The archive that a path leads into, when it is not written with `!/`."""
    for above in (*ancestors(WorkPath(path)), *(WorkPath(path[:at]) for at in _borders(path))):
        if is_archive_name(above):
            try:
                _, stat = guard.stat(above)
            except ReadroomError:
                continue
            if stat.kind is values.EntryKind.FILE:
                return above
    return None


def _borders(path: str) -> Iterator[int]:
    return (at for at, char in enumerate(path) if char == BORDER and not path[at + 1 :].startswith("/"))


def _in_large_folder(guard: Guard, path: WorkPath) -> values.ListRequest | None:
    """The listing of names like that of a path, if some names in its folder were not compared."""
    try:
        folder = guard.open_folder(parent(path))
    except ReadroomError:
        return None
    with folder:
        is_large = next(islice(folder.entries(), NEAR_SCAN_NAMES, None), None) is not None
    stem = _SIGNS.sub("?", basename(path).rpartition(".")[0] or basename(path))
    return values.ListRequest(parent(path), glob=(f"*{stem}*",)) if is_large else None


def _dangling(guard: Guard, path: WorkPath) -> str | None:
    """The target of a link that leads nowhere; None without one, or if the target is not to be named."""
    try:
        folder = guard.open_folder(parent(path))
    except ReadroomError:
        return None
    try:
        return guard.link_target(folder, basename(path))
    except ReadroomError:
        return None
    finally:
        folder.close()


def _file_above(guard: Guard, path: WorkPath) -> WorkPath | None:
    """The file on the way to a path, where a folder would have to be."""
    for above in reversed(ancestors(path)):
        try:
            _, stat = guard.stat(above)
        except AbsentError:
            continue
        except ReadroomError:
            return None
        return above if stat.kind is values.EntryKind.FILE else None
    return None


def _any(name: WorkPath) -> bool:
    return True


def _can_be_read(guard: Guard, name: WorkPath) -> bool:
    """Whether a read would show the file; others are not suggested."""
    from readroom.core.engine.read.classify import AsBytes, classify  # needed for wrong paths only

    try:
        with guard.open(name) as source:
            head = source.read_at(0, HEAD_BYTES)
            if by_magic(head) is not None or is_archive_name(name):
                return True
            return not isinstance(classify(source, head, values.ReadRequest(name), None), AsBytes)
    except ReadroomError:
        return False


def _by_glob(request: values.Request, guard: Guard) -> values.Request | None:
    """The request for the files that a path with wildcards matches; None for another path."""
    if not isinstance(
        request, (values.FindRequest, values.GrepRequest, values.ListRequest, values.ReadRequest)
    ):
        return None
    parts = request.path.split("/")
    at = next((at for at, part in enumerate(parts) if _WILD.search(part)), None)
    if at is None:
        return None
    folder, glob = "/".join(parts[:at]) or ROOT, "/".join(parts[at:])
    try:
        guard.open_folder(WorkPath(folder)).close()
    except ReadroomError:
        return None
    if isinstance(request, values.ReadRequest):
        request = values.ListRequest()
    if isinstance(request, values.ListRequest):
        request = replace(request, depth=LIST_MAX_DEPTH if "/" in glob else request.depth)
    return None if request.glob else replace(request, path=folder, glob=(glob,), cursor=None)


def _without_lines(request: values.Request) -> values.Request:
    """The request for a path like `a.py:12`, with the line numbers as arguments instead."""
    lines = _WITH_LINES.fullmatch(request.path)
    if lines is None:
        return request
    first, last = lines["line"] or lines["mark"], lines["last"] or lines["end"]
    request = replace(request, path=lines["path"])
    if not isinstance(request, values.ReadRequest) or request.offset is not None or request.view != "text":
        return request
    if last is not None and int(last) >= int(first):
        request = replace(request, limit=int(last) - int(first) + 1)
    return replace(request, offset=int(first))


def _next(suggestion: Suggestion, request: values.Request, name: WorkPath) -> values.Request | None:
    match suggestion:
        case "none" if isinstance(request, values.ReadRequest) and basename(name) == basename(
            WorkPath(request.path)
        ):
            return replace(request, path=name)
        case "again":
            again = {"cursor": None} if "cursor" in request.__struct_fields__ else {}
            return replace(request, path=name, **again)
        case "list":
            # Do not suggest the command again: that is the caller's decision.
            return values.ListRequest(name)
        case "above":
            # Nor a change: show where the first name is instead.
            return values.ListRequest(parent(name))
    return None
