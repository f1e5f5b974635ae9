"""The meaning of a request about git: the repository, the revisions, and the names that may be seen."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.revision import repository_of, unseen_in
from readroom.core.engine.services import Services
from readroom.core.paths import ROOT, WorkPath, require_normal
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Rules
from readroom.core.repository.place import named, within
from readroom.core.repository.repositories import Repository, Revision
from readroom.core.stores.roots.names import Place
from readroom.core.values import EntryKind


class GitQuestion(Struct, frozen=True, dict=True):
    """A path of the workspace and the repository that has it.

    Attributes:
        guard: Of the workspace.
        rules: Those of the root that has the repository.
        root: Where that root is.
        repository: The repository.
        path: The path in the workspace.
        inner: The same in the trees of the repository; "" for its top.
    """

    guard: Guard
    rules: Rules
    root: Place
    repository: Repository
    path: WorkPath
    inner: str
    deadline: Deadline

    def named(self, inner: str) -> WorkPath:
        """The path in the workspace of a path in a tree."""
        return self.root.outer(named(self.repository.place, inner))

    def allows(self, inner: str, *, folder: bool = False) -> bool:
        """Whether the rules allow a path of a tree to be seen."""
        return self.rules.decide(self.named(inner), folder=folder).allowed

    def holds(self, inner: str) -> bool:
        """Whether a path of a tree is what was asked about, or below it."""
        return not self.inner or inner == self.inner or inner.startswith(f"{self.inner}/")

    def exists(self, *revisions: Revision) -> None:
        """Raises NotFound if nothing has the path, on disk, in HEAD or in one of the revisions."""
        if not self.inner or _kind(self.guard, self.path) is not None:
            return
        trees = {one.tree for one in (*revisions, self.revision("HEAD"))}
        if all(self.repository.tree(tree, self.deadline).node(self.inner) is None for tree in trees):
            raise errors.NotFound(self.path, advice=_ABSENT)

    def revision(self, name: str, base: str = "") -> Revision:
        """The commit of that name; with `base`, the last that both have in common. Raises NoSuchRevision."""
        return self.repository.resolve(name or "HEAD", self.deadline, base)

    def unseen(self, *trees: str) -> Set[str]:
        """The ids of files that have a denied name in one of the trees, or in HEAD."""
        return unseen_in(self.repository, self.rules, self.root.at, trees, self.deadline)

    @cached_property
    def prefix(self) -> WorkPath:
        """The folder of the repository in the workspace."""
        return self.root.outer(self.repository.place.top)


_ABSENT = "A revision is sent as `revision`: HEAD~1..HEAD, main, v1.2."

PATIENCE_S = 6.0
"""Time of one page of a log or a blame: half of what a call has, so that what is known by then is shown."""


def patience(deadline: Deadline) -> float:
    """The seconds that a walk may take."""
    left = deadline.remaining
    return PATIENCE_S if left is None else min(PATIENCE_S, left / 2)


def asked(services: Services, path: str, deadline: Deadline) -> GitQuestion:
    """Find the repository and the names that a request is about.

    Raises:
        Denied: A rule denies the path.
        NoRepository, RepositoryRefused: There is no repository, or it is not to be opened.
    """
    own, guard = require_normal(path), services.guard
    is_folder = own == ROOT or _kind(guard, own) is EntryKind.FOLDER
    rule = guard.decide(own, folder=is_folder).rule or guard.decide(own, folder=False).rule
    if rule is not None:
        raise errors.Denied(own, rule.pattern, rule.source, rule.reason)
    repository = repository_of(services, own)
    _, root = guard.own(own)
    inner = within(repository.place, root.inner(own))
    return GitQuestion(guard, guard.rules_at(own), root, repository, own, inner, deadline)


def _kind(guard: Guard, path: WorkPath) -> EntryKind | None:
    """The kind of what is on disk; None for nothing that may be seen."""
    try:
        return guard.stat(path)[1].kind
    except errors.ReadroomError:
        return None
