"""Services and jobs for tests that perform a request without a workspace."""

from __future__ import annotations

from typing import TypeVar

from readroom.deadline import Deadline
from readroom.engine.archives import Archives
from readroom.engine.documents.cache import DocumentCache
from readroom.engine.find.kept import KeptTexts
from readroom.engine.services import Job, Services
from readroom.errors import CommandsOff
from readroom.limits import Limits
from readroom.policy.changes import WriteTargets
from readroom.policy.guard import Guard
from readroom.session.caches import OutlineCache, TextCache
from readroom.session.index_cache import IndexCache
from readroom.values import Cap

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
        documents=DocumentCache,
        archives=lambda: Archives(limits, indexes.expansions),
        commands=None,
        commands_off=lambda: CommandsOff("the operator has not allowed them"),
    )


def job(request: R, cap: Cap, deadline: Deadline | None = None) -> Job[R]:
    """A request by itself."""
    return Job(request, cap, deadline or Deadline())
