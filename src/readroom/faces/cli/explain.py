"""explain: whether a path may be read and changed, which rule decides, and what else is to be known."""

from __future__ import annotations

import click
from msgspec import Struct

from readroom.errors import NotFound, Protected, ReadroomError, RefusedError
from readroom.faces.cli.call import Where, finish, json_option, place_options
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.options import path_argument
from readroom.paths import WorkPath
from readroom.policy.changes import WriteTargets
from readroom.policy.guard import Guard
from readroom.policy.ignore_files import IgnoreTree
from readroom.policy.rules import Rule
from readroom.quoting import quote
from readroom.values import EntryKind, Fact, Reply

_CONFINED = {
    "kernel": "links cannot lead out: the kernel resolves every path beneath the root (openat2)",
    "walk": "links cannot lead out: every part of a path is opened by itself, following no link",
}


class _Finding(Struct, frozen=True):
    """What a read of the path would meet, in its order: a refusal, another failure, or a file or folder."""

    path: str
    confinement: str
    failure: ReadroomError | None = None
    real: WorkPath | None = None
    kind: EntryKind | None = None
    hidden_by: Rule | None = None
    protection: Protected | None = None

    @property
    def allowed(self) -> bool:
        return not isinstance(self.failure, RefusedError)


def _explain(path: str, root: str | None, config: str | None, as_json: bool) -> ExitCode:
    """Say whether PATH may be read and changed, and which rule decides.

    Policy is asked as a read asks it; no content is shown.  That a path is denied
    is an answer, so the exit code is 0.
    """
    with Where(root, config).open() as workspace:
        found = _find(workspace.guard, workspace.places, path_argument(path))
    return finish(Reply("\n".join(_lines(found)), lambda: _facts(found)), as_json=as_json)


def _find(guard: Guard, places: WriteTargets, given: str) -> _Finding:
    confinement = guard.store.confinement
    try:
        path = guard.parse(given)
    except RefusedError as error:
        return _Finding(given, confinement, error)
    try:
        real, stat = guard.stat(path)
    except ReadroomError as error:
        return _Finding(quote(path), confinement, error, protection=places.protection(path, folder=False))
    folder = stat.kind is EntryKind.FOLDER
    hidden_by = IgnoreTree(guard).rule(real, folder=folder)
    try:
        (guard.open_folder if folder else guard.open)(path).close()
    except ReadroomError as error:
        return _Finding(quote(path), confinement, error, real, stat.kind, hidden_by)
    protection = places.protection(real, folder=folder)
    return _Finding(quote(path), confinement, None, real, stat.kind, hidden_by, protection)


def _lines(found: _Finding) -> list[str]:
    lines = [f"{found.path}: {'allowed' if found.allowed else 'refused'}"]
    if found.failure is None:
        lines.append("no rule denies it")
    elif isinstance(found.failure, NotFound):
        lines.append("no rule denies the name; nothing is there")
    else:
        lines.append(found.failure.message)
    if found.protection is not None and found.allowed:
        lines += [found.protection.message, found.protection.advice]
    if found.real is not None and quote(found.real) != found.path:
        lines.append(f"real name: {quote(found.real)}")
    if found.hidden_by is not None:
        rule = found.hidden_by
        lines.append(f"hidden from search and listing by {rule.pattern!r} of {quote(rule.source)}")
    if found.confinement in _CONFINED:
        lines.append(_CONFINED[found.confinement])
    return lines


def _facts(found: _Finding) -> dict[str, Fact]:
    failure = found.failure
    return {
        "path": found.path,
        "allowed": found.allowed,
        "refused_by": None if failure is None else {"code": failure.code, **failure.facts},
        "protected_by": None if found.protection is None else dict(found.protection.facts),
        "real_path": None if found.real is None else quote(found.real),
        "kind": None if found.kind is None else found.kind.value,
        "hidden_by": None
        if found.hidden_by is None
        else {"pattern": found.hidden_by.pattern, "source": found.hidden_by.source},
        "confinement": found.confinement,
    }


explain = click.Command(
    "explain",
    params=[
        click.Argument(
            ["path"], type=click.Path(readable=False), help="Relative to the root, or absolute inside it."
        ),
        json_option(),
        *place_options(),
    ],
    callback=_explain,
    help=_explain.__doc__,
)
