"""Archives as folders: `lib.zip!/org/x.py` is a member, `lib.zip!` the folder of all members.

An archive is opened through the guard, and its members get a guard of their own: a store of members
(`store`) under the rules for members.  An archive inside an archive is opened through the guard of the
outer one.  The verbs that read, list and search need no knowledge of archives.  Where a file or folder
on disk has such a name, it takes precedence.  Nothing is ever written under a member's name.

Knows: which paths lead into an archive, which requests are about members, and what a listing says about
    an archive.
Does not know: archive formats (`formats.containers`), and what is done with a member.
May be touched: with a security review: `Archives` and `store` apply the policy to members.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core import errors, values
from readroom.core.deadline import Deadline
from readroom.core.engine.read.classify import AsBytes, classify
from readroom.core.engine.services import Act, Job, Services
from readroom.core.engine.suggest import with_near_names, with_note
from readroom.core.engine.unsearched import CUT_SHORT, UNUSABLE
from readroom.core.formats.compressed import MAGIC_BYTES, by_magic
from readroom.core.formats.kinds import is_archive_name
from readroom.core.limits import HEAD_BYTES as SAMPLE_BYTES
from readroom.core.limits import Limits
from readroom.core.lru import LruCache
from readroom.core.paths import BORDER, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import inside
from readroom.core.quoting import first_of, quote
from readroom.core.secrets import unmasked
from readroom.core.session.expansions import Expansions, NotText
from readroom.core.stores.base import Source
from readroom.core.text.line_index import Shrunk
from readroom.core.values.verbs import BY_REQUEST, is_edit
from readroom.documents.archives.store import Contents, MemberStore, Origin
from readroom.documents.containers import HEAD_BYTES, form_of, open_container, recognise
from readroom.documents.containers.members import BadContainer, Container
from readroom.documents.limits import CONTAINER_NAME_BYTES, CONTAINER_NAME_DEPTH
from readroom.documents.reading.fetching import fetching

_UNPACKED = (
    "Its list of members is not in one place: ask the user to unpack it, or to pack it as a ZIP, of which "
    "only the list and the members that are asked for are fetched."
)

_NAMED_PROBLEMS = 5
"""Reasons for unreadable members that a listing names."""


def perform(services: Services, job: Job[values.Request], act: Act) -> values.Result:
    """Perform a request with `act`, inside the archive that its path leads into, if any. Raises Protected."""
    with fetching():
        return _inside(services, job, act)


def _inside(services: Services, job: Job[values.Request], act: Act) -> values.Result:
    guard, request = services.guard, job.request
    if is_edit(request):
        _require_outside(services, request, job.deadline)
    verb = BY_REQUEST[type(request)]
    if verb.in_archives == "no":
        return act(services, job)
    inner = services.archives().entered(guard, WorkPath(request.path), job.deadline)
    if inner is not None:
        with closing(inner):
            services = replace(services, guard=inner)
            path = inner.spelled(WorkPath(request.path))
            if path == request.path:
                return _as_folder(services, job, act) or _performed(services, job, act)
            job = replace(job, request=replace(request, path=path))
            return with_note(_as_folder(services, job, act) or _performed(services, job, act))
    return _as_folder(services, job, act) or act(services, job)


def _as_folder(services: Services, job: Job[values.Request], act: Act) -> values.Result | None:
    """The result of `act` on an archive's members; None if the path names no archive or means the file."""
    request = job.request
    if BY_REQUEST[type(request)].in_archives != "folder" or not is_archive_name(request.path):
        return None
    inside = services.archives().folder(services.guard, WorkPath(request.path), job.deadline)
    return None if inside is None else _in_folder(services, job, act, *inside)


def instead(
    services: Services, job: Job[values.Request], act: Act, error: errors.Binary | errors.NotAFolder
) -> values.Result:
    """List a file that proved to be an archive; raise an error if it was to be read."""
    with fetching():
        return _instead(services, job, act, error)


def _instead(
    services: Services, job: Job[values.Request], act: Act, error: errors.Binary | errors.NotAFolder
) -> values.Result:
    request = job.request
    if BY_REQUEST[type(request)].in_archives != "inside":
        raise error
    try:
        inside = services.archives().folder(services.guard, WorkPath(request.path), job.deadline)
    except errors.BrokenData:
        if isinstance(error, errors.Binary):
            raise error from None  # it only starts like an archive
        raise
    if inside is None:
        raise error if isinstance(error, errors.Binary) else _unlisted(services.guard, error)
    if isinstance(error, errors.Binary):
        inside[0].close()
        raise _listed(error, inside[1])
    return _in_folder(services, job, act, *inside)


def _unlisted(guard: Guard, error: errors.NotAFolder) -> errors.NotAFolder:
    """The error for listing a file, which suggests reading it only if a read would show something."""
    if not isinstance(error.next, values.ReadRequest):
        return error
    try:
        with guard.open(WorkPath(error.next.path)) as source:
            sample = source.read_at(0, SAMPLE_BYTES)
            sort = classify(source, sample, error.next, None)
    except errors.ReadroomError:
        return error  # the read says why it cannot be read
    readable = not isinstance(sort, AsBytes) or by_magic(sample[:MAGIC_BYTES]) is not None
    return error if readable else errors.NotAFolder(error.next.path, "file", readable=False)


def _in_folder(
    services: Services, job: Job[values.Request], act: Act, inner: Guard, path: WorkPath
) -> values.Result:
    with closing(inner):
        request = replace(job.request, path=path)
        return _performed(replace(services, guard=inner), replace(job, request=request), act)


def _performed(services: Services, job: Job[values.Request], act: Act) -> values.Result:
    """Perform a request whose path is in the archive of the guard."""
    inner, path = services.guard, WorkPath(job.request.path)
    assert isinstance(inner.store, MemberStore)
    try:
        result = act(services, job)
    except (errors.Binary, errors.NotAFolder) as error:
        return instead(services, job, act, error)
    except errors.NotFound as error:
        raise with_near_names(error, services, job.request, job.deadline) from None
    if isinstance(result, values.ListResult):
        notes = _about(inner, inner.store.origin, path)
        return replace(result, warnings=(*result.warnings, *notes))
    if isinstance(result, (values.GrepResult, values.FindResult)):
        missed = [
            values.Warn("unreadable", f"{quote(inner.store.name)}: {why}") for why in inner.store.missed
        ]
        return replace(result, warnings=[*result.warnings, *missed])
    return result


def _missed(container: Container) -> tuple[str, ...]:
    """Clauses about members that no search of an archive finds."""
    cut = (CUT_SHORT,) if container.is_cut else ()
    return (*cut, UNUSABLE) if container.left_out_count else cut


def _require_outside(services: Services, request: values.Request, deadline: Deadline) -> None:
    """Raise Protected if a request would change a member."""
    for name in (getattr(request, field) for field in BY_REQUEST[type(request)].paths):
        inner = services.archives().entered(services.guard, WorkPath(name), deadline)
        if inner is not None:
            inner.close()
            raise errors.Protected(name, "it is in an archive, whose members are read, not changed")


def _about(guard: Guard, origin: Origin, path: WorkPath) -> tuple[values.Warn, ...]:
    """Notes for the listing of a whole archive, in addition to its members."""
    container = origin.container
    if path != f"{origin.path}{BORDER}":
        return ()
    files = [member for member in container.members.values() if member.kind == "file"]
    size, packed = sum(member.size for member in files), origin.source.size
    ratio = f", {size / packed:.1f} times the size of the archive" if size > packed > 0 else ""
    count_of_files = f"{len(files):,} file{'' if len(files) == 1 else 's'}"
    sentences = [f"{origin.form}: {count_of_files}, {size:,} bytes unpacked{ratio}"]
    sentences += container.notes
    if container.left_out_count:
        sentences.append(_left_out(guard, origin))
    unread = Counter(member.problem for member in files if member.problem)
    named = unread.most_common(_NAMED_PROBLEMS)
    sentences += [f"{count:,} cannot be read: {problem}" for problem, count in named]
    if others := unread.total() - sum(count for _, count in named):
        sentences.append(f"{others:,} more cannot be read for other reasons, which reading one shows")
    return (values.Warn("archive", "; ".join(sentences)),)


def _left_out(guard: Guard, origin: Origin) -> str:
    """How many names are left out, and the first of them that may be shown."""
    container = origin.container
    named = [name for name in container.left_out if _may_be_named(guard, origin.path, name)]
    which = f": {first_of(named, len(named), container.left_out_count)}" if named else ""
    verb = "names point" if container.left_out_count > 1 else "name points"
    return f"{container.left_out_count:,} {verb} outside it or cannot be used{which}"


def _may_be_named(guard: Guard, archive: WorkPath, name: str) -> bool:
    """Whether the rules let a name be shown that is not a valid path; rules take none that long or deep."""
    parts = [part for part in name.replace("\0", "").split("/") if part not in ("", ".", "..")]
    if len(name) > CONTAINER_NAME_BYTES or len(parts) > CONTAINER_NAME_DEPTH:
        return False
    path = WorkPath("/".join([f"{archive}{BORDER}", *parts]))
    return guard.allows(path, folder=False) and guard.allows(path, folder=True)


def _listed(error: errors.Binary, path: WorkPath) -> errors.Binary:
    """The error for reading an archive as a file, with the request that lists it."""
    advice = f"List its members; each is read as {quote(f'{path}/NAME')}."
    return errors.Binary(
        error.path, error.media_type, error.size_bytes, advice, next_request=values.ListRequest(path)
    )


# -----------------------------------------------------------------------------
# Which paths lead into an archive, and the guard of its members.
# -----------------------------------------------------------------------------


_Key: TypeAlias = tuple[values.Version, str]


CONTAINER_NESTING = 3
"""Nested archives that are opened: a distribution in an image in a backup."""

CONTAINERS_OPEN = 8
"""Archives whose lists of members a workspace caches; each has at most CONTAINER_MEMBERS."""


@final
class Archives:
    """The archives of a workspace. Safe to share between threads."""

    def __init__(self, limits: Limits, expansions: Expansions) -> None:
        """`expansions` expands compressed tar files."""
        self._limits = limits
        self._expansions = expansions
        self._contents = Contents(limits.expanded_bytes)
        self._kept: LruCache[_Key, Container] = LruCache(CONTAINERS_OPEN)

    def close(self) -> None:
        self._contents.close()
        self._kept.clear()

    def entered(self, guard: Guard, path: WorkPath, deadline: Deadline) -> Guard | None:
        """The guard of the archive that a path leads into; None when it leads into none.

        The owner of the guard closes it.

        Raises:
            Denied, OutsideRoot, HardLinked, NoPermission: From opening the archive.
            NotAFolder: The file that should be the archive is of another kind.
            BrokenData: It is damaged, or nested too deeply in other archives.
            TimedOut, Cancelled: From the deadline.
        """
        current, at, depth = guard, -1, 0
        try:
            while (at := _border(path, at + 1)) >= 0:
                if _is_there(current, WorkPath(path[: at + 1])):
                    continue
                deeper = self._deeper(current, WorkPath(path[:at]), depth, deadline)
                if deeper is None:
                    continue
                depth += 1
                current = _chained(deeper, None if current is guard else current)
        except BaseException:
            if current is not guard:
                current.close()
            raise
        return None if current is guard else current

    def folder(self, guard: Guard, path: WorkPath, deadline: Deadline) -> tuple[Guard, WorkPath] | None:
        """The guard of a file that is an archive, and its path as a folder; None if it is not one.

        Raises as `entered` does.
        """
        inner = self._deeper(guard, path, path.count(f"{BORDER}/"), deadline, required=False)
        return None if inner is None else (inner, WorkPath(path + BORDER))

    def _deeper(
        self, guard: Guard, path: WorkPath, depth: int, deadline: Deadline, *, required: bool = True
    ) -> Guard | None:
        """The guard of the archive in a file; None if there is no such file."""
        try:
            source = unmasked(guard.open(path))
        except (errors.NotFound, errors.NotAFile):
            return None
        try:
            origin = self._opened(source, path, deadline)
            if origin is None:
                source.close()
                if required:
                    raise _unlisted(guard, errors.NotAFolder(path, "file"))
                return None
            if depth >= CONTAINER_NESTING:
                problem = f"it is nested in {depth} other archives, more than are opened"
                raise errors.BadDocument(path, origin.container.form, problem, "Ask the user to unpack it.")
            store = MemberStore(origin, self._contents, deadline, missed=_missed(origin.container))
            rules = guard.rules_at(path)
            # The results of an archive already name members, also those of archives inside it.
            within = rules if isinstance(guard.store, MemberStore) else inside(rules)
            return Guard(store, within, masks=guard.masks)
        except BaseException:
            source.close()
            raise

    def _opened(self, source: Source, path: WorkPath, deadline: Deadline) -> Origin | None:
        """The archive in an opened file; None when it is not one."""
        head = source.read_at(0, HEAD_BYTES)
        compression = by_magic(head[:MAGIC_BYTES])
        if compression is None:
            container = self._container(source, source, path, deadline, is_one=form_of(source) is not None)
            return None if container is None else Origin(path, source, source, container)
        try:
            expanded = self._expansions.opened(
                source, compression, self._limits.expanded_bytes, _is_tar, deadline
            )
        except NotText:
            return None
        except Shrunk:
            raise errors.BrokenData(
                path, compression, source.size, "it became shorter while it was read"
            ) from None
        except OSError as error:
            raise errors.store_failure(error, path) from None
        if isinstance(expanded.out_of_time, errors.TransferLimit):
            advice = f"{expanded.consumed:,} of {source.size:,} bytes were read; the same call continues."
            raise errors.TransferLimit(advice=advice, bound=expanded.out_of_time.bound)
        if expanded.out_of_time is not None:
            raise expanded.out_of_time
        container = self._container(source, expanded, path, deadline, is_one=True)
        if container is None:
            return None
        notes = () if expanded.stopped is None else (expanded.stopped.detail,)
        is_cut = container.is_cut or expanded.stopped is not None
        container = replace(container, notes=(*container.notes, *notes), is_cut=is_cut)
        return Origin(path, source, expanded, container, compression)

    def _container(
        self, source: Source, content: values.Bytes, path: WorkPath, deadline: Deadline, *, is_one: bool
    ) -> Container | None:
        """The members, from the cache or parsed now."""
        if not is_one:
            return None
        key = (source.version, source.real)
        container = self._kept.get(key)
        if container is not None:
            return replace(container, reader=container.reader.over(content))
        try:
            made = open_container(content, deadline.check)
        except BadContainer as error:
            if error.is_encrypted:
                advice = "Ask the user to unpack it."
                raise errors.EncryptedDocument(path, "archive", error.problem, advice) from None
            raise errors.BrokenData(path, "archive", source.size, error.problem) from None
        except errors.TransferLimit as error:
            raise errors.TransferLimit(advice=_UNPACKED, bound=error.bound) from None
        if made is not None:
            # Without its source, which is closed at the end of the call.
            self._kept.put(key, made)
        return made


def _is_tar(head: bytes, whole: bool) -> bool:
    return recognise(head[:HEAD_BYTES]) == "tar"


def _border(path: str, start: int) -> int:
    """The index of the next "!" that ends a part of the path, from `start` on; -1 for none."""
    at = path.find(BORDER, start)
    while at >= 0 and (path[at + 1 : at + 2] not in ("", "/") or path[at - 1 : at] in ("", "/")):
        at = path.find(BORDER, at + 1)
    return at


def _is_there(guard: Guard, path: WorkPath) -> bool:
    """Whether something on disk has exactly this name; it then takes precedence over a member.

    This asks the store, not the guard: an allow list need not contain this name, and its existence
    changes the answer only for names that cannot be read in either case.
    """
    try:
        guard.store.stat(path)
    except errors.NotFound:
        return False
    except errors.ReadroomError:
        return True  # opening it says why it cannot be seen
    return True


def _chained(inner: Guard, outer: Guard | None) -> Guard:
    """The inner guard, changed so that closing it also closes the outer one."""
    if outer is not None:
        assert isinstance(inner.store, MemberStore)
        inner.store.holds(outer)
    return inner
