"""Read the files of a revision of git: `@HEAD~3/src/app.py`, and other spellings of it.

A revision is a folder in front of the names of the workspace, and replies name it so; `src/app.py@HEAD~3` and
git's own `HEAD~3:src/app.py` mean the same.  A file or folder of such a name has precedence.  Verbs that read
need no knowledge of it: they get a guard of the revision under the rules of today.

Knows: which paths lead into a revision, and which files of it may be seen.
Does not know: how git keeps it, and what is done with a file.
May be touched: with a security review.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors, values
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Act, Job, Services
from readroom.core.engine.suggest import with_near_names, with_warnings
from readroom.core.errors.git import NoRepository, NoSuchRevision
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Rules
from readroom.core.quoting import first_of, quote
from readroom.core.repository.place import named
from readroom.core.repository.repositories import Repository, Revision
from readroom.core.repository.trees import FOLDER, SUBMODULE, RevisionTree
from readroom.core.stores.revision import RevisionStore
from readroom.core.values.files import Warn
from readroom.core.values.verbs import BY_REQUEST, is_edit

SIGN = "@"
"""Begins the folder that a revision is."""

ID_DIGITS = 10
"""Digits of a commit's id that replies show: git shows 7 to 12, by the size of the repository."""

_LINES = re.compile(r"[\d:-]*\Z")
"""After a colon these are lines, as programs print them, and no path."""

_NO_NAME = re.compile(r"\AHEAD\b|[~^]|\A[0-9a-f]{7,40}\Z")
"""Spellings of revisions that names of files do not have."""

_MOST_SLASHES = 6
"""Slashes in the name of a revision, such as `origin/team/topic`."""


class Meant(Struct, frozen=True):
    """A path at a revision: the name of the revision, and the path in the workspace.

    With `certain` the spelling means nothing else.
    """

    revision: str
    path: WorkPath
    certain: bool


def meanings(path: WorkPath, top: WorkPath) -> Iterator[Meant]:
    """The meanings that a path of a root may have, the likeliest first; `top` is the path of the root."""
    prefix = "" if top == ROOT else f"{top}/"
    own = path.removeprefix(prefix) if prefix else str(path)
    if own.startswith(SIGN):
        words = own[1:].split("/")
        for count in range(1, min(len(words), _MOST_SLASHES) + 1):
            yield Meant("/".join(words[:count]), _below(prefix, "/".join(words[count:])), certain=True)
        return
    before, colon, after = own.partition(":")
    if colon and before and not _LINES.match(after):
        yield Meant(before, _below(prefix, after.removeprefix("./")), certain=False)
    for at in (found.start() for found in re.finditer(SIGN, own)):
        before, rest = own[:at].rstrip("/"), own[at + 1 :].split("/")
        for count in range(1, min(len(rest), _MOST_SLASHES) + 1):
            inner = "/".join(rest[count:])
            name = f"{before}/{inner}" if inner else before
            yield Meant("/".join(rest[:count]), _below(prefix, name), certain=False)


def _below(prefix: str, path: str) -> WorkPath:
    path = "" if path == "." else path.strip("/")
    return WorkPath(f"{prefix}{path}".rstrip("/") or ROOT)


def perform(services: Services, job: Job[values.Request], act: Act) -> values.Result:
    """Perform a request with `act`, at the revision that its path leads into, if any.

    Raises:
        Protected: The request would change a revision.
        NoSuchRevision, NoRepository, RepositoryRefused, MissingProgram, RepositoryFailed: From git.
    """
    request, guard = job.request, services.guard
    path = WorkPath(request.path)
    if _is_there(guard, path):
        return act(services, job)
    entered = _entered(services, path, job.deadline)
    if entered is None:
        return act(services, job)
    inner, real = entered
    if is_edit(request):
        raise errors.Protected(path, "it is at a revision of git, which is read, not changed")
    if BY_REQUEST[type(request)].traces != "none":
        return act(services, job)
    assert isinstance(inner.store, RevisionStore)
    own = replace(job, request=replace(request, path=inner.spelled(real)))
    try:
        result = act(replace(services, guard=inner), own)
    except errors.NotFound as error:
        raise with_near_names(error, replace(services, guard=inner), own.request, job.deadline) from None
    return with_warnings(result, notes(inner.store))


def notes(store: RevisionStore) -> Sequence[Warn]:
    """The commit that a revision is, and the files of it that are no content."""
    commit = store.revision.commit
    said = [Warn("revision", f"{store.revision.name} is commit {brief(commit.id)} of {day(commit.time)}")]
    if store.pointers:
        names = first_of([quote(path) for path in store.pointers[:3]], 3, len(store.pointers))
        said.append(Warn("lfs", f"a pointer of git LFS, whose content git does not have: {names}"))
    if store.tree.left_out:
        said.append(Warn("names", f"{store.tree.left_out:,} names of the revision cannot be used"))
    return said


def brief(commit: str) -> str:
    """An id as replies show it."""
    return commit[:ID_DIGITS]


def day(seconds: int) -> str:
    """A time of git as a day, in UTC."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return "an unknown day"


def _is_there(guard: Guard, path: WorkPath) -> bool:
    try:
        guard.store.stat(path)
    except (errors.NotFound, errors.NotAFolder):
        return False
    except errors.ReadroomError:
        return True  # opening it says why it cannot be seen
    return True


def _entered(services: Services, path: WorkPath, deadline: Deadline) -> tuple[Guard, WorkPath] | None:
    """The guard of the revision that a path leads into, and the path there; None if it leads into none."""
    guard = services.guard
    top = guard.top_of(path)
    failure: errors.ReadroomError | None = None
    tried: list[str] = []
    for meant in meanings(path, top):
        if not meant.certain and not _is_meant(guard, meant):
            continue
        try:
            repository = repository_of(services, meant.path)
            revision = repository.resolve(meant.revision, deadline)
        except NoRepository as error:
            # Without a repository any other spelling is the name of a file that is not there.
            failure = failure or (error if meant.revision.startswith("HEAD") and meant.certain else None)
            continue
        except NoSuchRevision as error:
            failure = failure or error
            tried.append(meant.revision)
            continue
        return at(guard, repository, revision, meant.path, deadline)
    if isinstance(failure, NoSuchRevision):
        raise _with_names(failure, tried, repository, deadline)
    if failure is not None:
        raise failure
    return None


def _is_meant(guard: Guard, meant: Meant) -> bool:
    """Whether a spelling that may be a name of its own means a revision: the rest of it is a name here, or
    the revision is spelled as no name is."""
    return _is_there(guard, meant.path) or _NO_NAME.search(meant.revision) is not None


def _with_names(
    error: NoSuchRevision, tried: Sequence[str], repository: Repository, deadline: Deadline
) -> NoSuchRevision:
    """The error with names of branches and tags that are similar."""
    if error.why:
        return error
    from difflib import get_close_matches

    refs = repository.refs(deadline)
    near = [name for one in tried for name in get_close_matches(one, refs, 1, 0.7)][-3:]
    if not near:
        return error
    advice = f"There is {first_of([quote(name) for name in near], 3, len(near))}."
    return NoSuchRevision(error.path, error.revision, error.why, advice)


def repository_of(services: Services, path: WorkPath) -> Repository:
    """The repository of a path. Raises NoRepository, RepositoryRefused."""
    guard, root = services.guard.own(path)
    store = guard.store
    folder = store.folder or next(iter(store.roots), None)
    with root.naming():
        return services.repositories().of(folder, root.inner(path))


def at(
    guard: Guard, repository: Repository, revision: Revision, path: WorkPath, deadline: Deadline
) -> tuple[Guard, WorkPath]:
    """A guard of a revision, and a path of the workspace as it is called there."""
    top = guard.top_of(path)
    mount = join(top, SIGN + revision.name)
    own = path if top == ROOT else WorkPath(path[len(top) + 1 :] or ROOT)
    rules = guard.rules_at(path).below(mount)
    unseen = partial(unseen_at, repository, rules, mount, revision, deadline)
    store = RevisionStore(repository, revision, mount, deadline, unseen)
    inner = Guard(store, rules, guard.hardlinks, ignore_files=(), masks=guard.masks)
    return inner, mount if own == ROOT else join(mount, own)


# -----------------------------------------------------------------------------
# Files of which another name is denied: in the revision itself, or in HEAD.
# -----------------------------------------------------------------------------


def unseen_at(
    repository: Repository, rules: Rules, mount: WorkPath, revision: Revision, deadline: Deadline
) -> Set[str]:
    """The ids of files that have a denied name in a revision, in HEAD, or in the commit before.

    A file that the commit itself renamed from a denied name is one of them, also if it changed a little.
    """
    key = (revision.commit.id, mount, _layers(rules))
    known = repository.kept.get(key)
    if known is not None:
        renamed: Set[str] = known[0]
    else:
        renamed = _renamed(repository, rules, mount, revision, deadline)
        repository.kept.put(key, (renamed, rules.layers))
    return unseen_in(repository, rules, mount, (revision.tree,), deadline) | renamed


def _renamed(
    repository: Repository, rules: Rules, mount: WorkPath, revision: Revision, deadline: Deadline
) -> Set[str]:
    """The ids on both sides of a denied name that the commit took away."""
    parents = [parent for parent in revision.commit.parents[:1] if parent not in repository.place.shallow]
    if not parents or revision.commit.id in repository.place.shallow:
        return frozenset()
    place, ids = repository.place, set[str]()
    for delta in repository.deltas(parents[0], revision.commit.id, deadline):
        if (
            delta.letter != "A"
            and not rules.decide(join(mount, named(place, delta.old)), folder=False).allowed
        ):
            ids |= {delta.old_id, delta.new_id} if delta.letter == "R" else {delta.old_id}
    return ids


def _layers(rules: Rules) -> tuple[int, ...]:
    """Tells rules apart while they are kept."""
    return tuple(map(id, rules.layers))


def unseen_in(
    repository: Repository, rules: Rules, mount: WorkPath, trees: Sequence[str], deadline: Deadline
) -> Set[str]:
    """The ids of files that have a denied name in one of some trees, or in HEAD."""
    unseen: set[str] = set()
    every = list(trees)
    with suppress(NoSuchRevision):
        every.append(repository.resolve("HEAD", deadline).tree)
    for name in dict.fromkeys(every):
        key = (name, mount, _layers(rules))
        known = repository.kept.get(key)
        if known is None:
            tree = repository.tree(name, deadline)
            known = (frozenset(_denied(repository, tree, rules, mount)), rules.layers)
            repository.kept.put(key, known)
        unseen |= known[0]
    return unseen


def _denied(repository: Repository, tree: RevisionTree, rules: Rules, mount: WorkPath) -> Iterator[str]:
    prefix = mount if repository.place.top == ROOT else join(mount, repository.place.top)
    for folder, names in tree.folders.items():
        above = join(prefix, folder) if folder else prefix
        folders = {name for name, node in names.items() if node.mode == FOLDER}
        for name in rules.denied(above, list(names), folders):
            if names[name].mode not in (FOLDER, SUBMODULE):
                yield names[name].id
