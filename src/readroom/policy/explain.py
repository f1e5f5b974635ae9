"""Why a path may or may not be seen, for the person who wrote the rules."""

from __future__ import annotations

from msgspec import Struct

from readroom.errors import ReadroomError, RefusedError
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.policy.ignore_files import IgnoreTree
from readroom.policy.rules import Rule
from readroom.values import EntryKind


class Explanation(Struct, frozen=True):
    """What policy, confinement and ignore files say of one path.

    Attributes:
        path: In normal form; as it was given when it is outside.
        allowed: Whether a tool may use it, if it is there.
        rule: The rule that denies it.
        denied_name: The name that the rule means: the path itself or what is behind a link.
        real: What it is called after following links; None when nothing was looked up or found.
        kind: What it is.
        links: How many names the file has.
        problem: Why it cannot be used although no rule denies it.
        hidden: The pattern that hides it from search and listing; it can still be read by its name.
        confinement: What keeps links inside the root: "kernel", "walk", or "none" without an outside.
    """

    path: str
    allowed: bool
    confinement: str
    rule: Rule | None = None
    denied_name: WorkPath | None = None
    real: WorkPath | None = None
    kind: EntryKind | None = None
    links: int = 1
    problem: ReadroomError | None = None
    hidden: Rule | None = None


def explain(guard: Guard, path: str) -> Explanation:
    """What is to be said of a path.

    Raises:
        BadPath: No file can have that name.
        BadConfig: An ignore file of the root cannot be used.
    """
    confinement = guard.store.confinement
    try:
        requested = guard.parse(path)
    except RefusedError as outside:
        return Explanation(path, False, confinement, problem=outside)
    rule = guard.decide(requested, folder=False).rule
    if rule is not None:
        return Explanation(requested, False, confinement, rule, requested)
    try:
        real, stat = guard.store.stat(requested)
    except ReadroomError as problem:
        rule = guard.decide(requested, folder=True).rule
        allowed = rule is None and not isinstance(problem, RefusedError)
        return Explanation(
            requested, allowed, confinement, rule, None if rule is None else requested, problem=problem
        )
    folder = stat.kind is EntryKind.FOLDER
    for name in (requested, real):
        rule = guard.decide(name, folder=folder).rule
        if rule is not None:
            return Explanation(requested, False, confinement, rule, name, real, stat.kind, stat.links)
    problem_found = None if folder else _problem(guard, requested)
    hidden = IgnoreTree(guard).rule(real, folder=folder)
    return Explanation(
        requested,
        problem_found is None,
        confinement,
        real=real,
        kind=stat.kind,
        links=1 if folder else stat.links,
        problem=problem_found,
        hidden=hidden,
    )


def _problem(guard: Guard, path: WorkPath) -> ReadroomError | None:
    try:
        guard.open(path).close()
    except ReadroomError as problem:
        return problem
    return None
