"""Archives as folders: `lib.zip!/org/x.py` is a member, `lib.zip!` the folder of all of them.

An archive is opened through the guard, and what is inside has a guard of its own: a store of members
(`store`) under the rules for members.  Reading, listing and searching need to know nothing of it.
What has such a name on disk is that, not a member.  Bytes of members are kept by `content`; nothing is
ever written under their names.

Knows: which requests are about members, and what a listing says of an archive.
Does not know: how archives are made (`formats.containers`), and what is done with a member.
May be touched: with a security review: policy for members hangs on `opening` and `store`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.archives.store import MemberStore, Origin
from readroom.engine.services import Act, Job, Services
from readroom.engine.suggest import with_near_names
from readroom.errors import Binary, BrokenData, NotAFolder, NotFound, Protected
from readroom.formats.holding import is_archive_name
from readroom.paths import BORDER, WorkPath
from readroom.policy.guard import Guard
from readroom.quoting import joined, quote
from readroom.values import (
    ListRequest,
    ListResult,
    Request,
    Result,
    Warn,
)
from readroom.values.verbs import BY_REQUEST, is_edit

_NAMED_PROBLEMS = 5
"""Reasons why members cannot be read that a listing names."""


def perform(services: Services, job: Job[Request], act: Act) -> Result:
    """What `act` makes of a request, with the guard of what its path leads into.

    Raises:
        Protected: It would change a member.
    """
    guard, request = services.guard, job.request
    if is_edit(request):
        _require_outside(services, request, job.deadline)
    verb = BY_REQUEST[type(request)]
    if verb.in_archives == "no":
        return act(services, job)
    inner = services.archives().entered(guard, WorkPath(request.path), job.deadline)
    if inner is not None:
        with closing(inner):
            return _performed(replace(services, guard=inner), job, act)
    if verb.in_archives == "folder" and is_archive_name(request.path):
        inside = services.archives().folder(guard, WorkPath(request.path), job.deadline)
        if inside is not None:
            return _in_folder(services, job, act, *inside)
    return act(services, job)


def instead(services: Services, job: Job[Request], act: Act, error: Binary | NotAFolder) -> Result:
    """The listing of a file that is an archive; of one that was to be read, the failure that names it."""
    request = job.request
    if BY_REQUEST[type(request)].in_archives != "inside":
        raise error
    try:
        inside = services.archives().folder(services.guard, WorkPath(request.path), job.deadline)
    except BrokenData:
        if isinstance(error, Binary):
            raise error from None  # it only begins like an archive
        raise
    if inside is None:
        raise error
    if isinstance(error, Binary):
        inside[0].close()
        raise _listed(error, inside[1])
    return _in_folder(services, job, act, *inside)


def _in_folder(services: Services, job: Job[Request], act: Act, inner: Guard, path: WorkPath) -> Result:
    with closing(inner):
        request = replace(job.request, path=path)
        return _performed(replace(services, guard=inner), replace(job, request=request), act)


def _performed(services: Services, job: Job[Request], act: Act) -> Result:
    """What `act` makes of a request whose path lies in the archive of the guard."""
    inner, path = services.guard, WorkPath(job.request.path)
    assert isinstance(inner.store, MemberStore)
    try:
        result = act(services, job)
    except (Binary, NotAFolder) as error:
        return instead(services, job, act, error)
    except NotFound as error:
        raise with_near_names(error, services, job.request, job.deadline) from None
    if isinstance(result, ListResult):
        notes = _about(inner, inner.store.origin, path)
        return replace(result, warnings=(*result.warnings, *notes))
    return result


def _require_outside(services: Services, request: Request, deadline: Deadline) -> None:
    """Return when what is to be changed is not a member. Raises Protected."""
    for name in (getattr(request, field) for field in BY_REQUEST[type(request)].paths):
        inner = services.archives().entered(services.guard, WorkPath(name), deadline)
        if inner is not None:
            inner.close()
            raise Protected(name, "it is in an archive, whose members are read, not changed")


def _about(guard: Guard, origin: Origin, path: WorkPath) -> tuple[Warn, ...]:
    """What the listing of a whole archive says beside its members."""
    container = origin.container
    if path != f"{origin.path}{BORDER}":
        return ()
    files = [member for member in container.members.values() if member.kind == "file"]
    size, packed = sum(member.size for member in files), origin.source.size
    ratio = f", {size / packed:.1f} times as many as packed" if size > packed > 0 else ""
    sentences = [f"{origin.form}: {len(files):,} files of {size:,} bytes{ratio}"]
    sentences += container.notes
    if container.left_out_count:
        sentences.append(_left_out(guard, origin))
    unread = Counter(member.problem for member in files if member.problem)
    sentences += [
        f"{count:,} cannot be read: {problem}" for problem, count in unread.most_common(_NAMED_PROBLEMS)
    ]
    return (Warn("archive", "; ".join(sentences)),)


def _left_out(guard: Guard, origin: Origin) -> str:
    """How many names are left out, and those of the first that may be seen."""
    container = origin.container
    named = [name for name in container.left_out if _may_be_named(guard, origin.path, name)]
    more = container.left_out_count - len(named)
    which = f": {joined(named)}" + (f" and {more:,} more" if more else "") if named else ""
    verb = "names lead" if container.left_out_count > 1 else "name leads"
    return f"{container.left_out_count:,} {verb} out of it or cannot be used{which}"


def _may_be_named(guard: Guard, archive: WorkPath, name: str) -> bool:
    """Whether the rules let a name be seen that no path can have: by what it would be inside."""
    parts = [part for part in name.replace("\0", "").split("/") if part not in ("", ".", "..")]
    path = WorkPath("/".join([f"{archive}{BORDER}", *parts]))
    return guard.allows(path, folder=False) and guard.allows(path, folder=True)


def _listed(error: Binary, path: WorkPath) -> Binary:
    """The failure of an archive that was to be read as a file, with the way to its members."""
    advice = f"List its members; each is read as {quote(f'{path}/NAME')}."
    return Binary(error.path, error.media_type, error.size_bytes, advice, next_request=ListRequest(path))
