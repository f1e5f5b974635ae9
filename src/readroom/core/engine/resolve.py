"""Resolve the links of a path, also of one that does not exist yet: the real name that a write would get.

The store follows the links to something that is there.  For anything else the links on the way are followed
here, name by name, and what is missing is kept.  The rules are asked about the path as it was asked for,
and about the real name and the folders above it.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Job, Services
from readroom.core.limits import LINK_HOPS
from readroom.core.paths import ROOT, WorkPath, ancestors, join, parent, parts, require_normal
from readroom.core.policy.guard import Guard
from readroom.core.values.files import ResolveRequest, ResolveResult


def perform(services: Services, job: Job[ResolveRequest]) -> ResolveResult:
    """The path without links.

    Raises:
        Denied: A rule denies the path or the name that it really has.
        OutsideRoot: It leads out of the workspace.
        TooManyLinks: It leads through more links than are followed, or a loop.
        NotAFolder: It leads through a file.
        NoPermission, BadPath, StoreFailed: As the store says.
    """
    path, guard = require_normal(job.request.path), services.guard
    try:
        return ResolveResult(path, guard.stat(path)[0])
    except (errors.NotFound, errors.NotAFolder, errors.BadPath):
        pass
    own, root = guard.own(path)  # links do not lead from one root into another
    try:
        real = _Walk(own, root.inner(path), path, job.deadline).end()
        _require(own, real, path)
    except errors.Denied as denied:
        # The path as it was asked for: a link must not reveal names that are denied.
        raise errors.Denied(path, denied.rule, denied.source, denied.reason) from None
    return ResolveResult(path, root.outer(real))


def _require(guard: Guard, real: WorkPath, path: WorkPath) -> None:
    """Raise Denied unless a missing name may be seen, whatever it will be."""
    for name, folder in (*((above, True) for above in ancestors(real)), (real, False), (real, True)):
        rule = guard.decide(name, folder=folder).rule
        if rule is not None:
            raise errors.Denied(path, rule.pattern, rule.source, rule.reason)


class _Walk:
    """One walk along a path."""

    def __init__(self, guard: Guard, path: WorkPath, asked: WorkPath, deadline: Deadline) -> None:
        """`path` is that in the root of the guard, `asked` that of the workspace, for errors."""
        self._guard = guard
        self._path = asked
        self._deadline = deadline
        self._pending = parts(path)[::-1]
        self._hops = 0

    def end(self) -> WorkPath:
        """The name at which it ends."""
        found = ROOT
        while self._pending:
            self._deadline.check()
            part = self._pending.pop()
            if part == "..":
                if found == ROOT:
                    raise errors.OutsideRoot(self._path, "a link on the way leads above the root")
                found = parent(found)
                continue
            target = self._target(found, part)
            if target is None:
                found = join(found, part)
                continue
            self._hops += 1
            if self._hops > LINK_HOPS:
                raise errors.TooManyLinks(self._path)
            if target.startswith("/"):
                found, target = ROOT, self._below(target)
            self._pending += [name for name in reversed(target.split("/")) if name not in ("", ".")]
        return found

    def _target(self, folder: WorkPath, name: str) -> str | None:
        """The target of a link in a folder; None if the name is something else, or nothing."""
        try:
            with self._guard.open_folder(folder) as opened:
                return opened.target(name)
        except errors.NotFound:
            return None

    def _below(self, target: str) -> str:
        """An absolute target from the root of the workspace on."""
        roots: Sequence[str] = [root.rstrip("/") for root in self._guard.roots]
        for root in roots:
            if target == root or target.startswith(f"{root}/"):
                return target[len(root) :]
        raise errors.OutsideRoot(self._path, "a link on the way leads to an absolute path elsewhere")
