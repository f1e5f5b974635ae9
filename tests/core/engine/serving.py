"""Services and jobs for tests that perform a request without a workspace."""

from __future__ import annotations

from typing import TypeVar

from readroom.core.deadline import Deadline
from readroom.core.engine.find.kept import KeptTexts
from readroom.core.engine.services import Job, Services
from readroom.core.errors import CommandsOff
from readroom.core.formats.registry import provided
from readroom.core.limits import Limits
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.repository.repositories import Repositories
from readroom.core.session.caches import OutlineCache, TextCache
from readroom.core.session.index_cache import IndexCache
from readroom.core.values import Cap

R = TypeVar("R")


def serving(guard: Guard, limits: Limits | None = None) -> Services:
    """All that a request may need, with nothing kept from before."""
    limits, indexes = limits or Limits(), IndexCache()
    return Services(
        guard=guard,
        targets=WriteTargets(guard),
        limits=limits,
        indexes=indexes,
        texts=TextCache(),
        outlines=OutlineCache(),
        found=KeptTexts,
        documents=lambda: provided("documents")(),
        archives=lambda: provided("archives")(limits, indexes.expansions),
        repositories=Repositories,
        commands=None,
        commands_off=lambda: CommandsOff("the operator has not allowed them"),
    )


def job(request: R, cap: Cap, deadline: Deadline | None = None) -> Job[R]:
    """A request by itself."""
    return Job(request, cap, deadline or Deadline())
