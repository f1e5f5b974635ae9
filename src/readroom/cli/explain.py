"""explain: whether a path may be read and changed, and which rule decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from readroom.cli.answers import Where, finish, path_argument
from readroom.cli.exits import ExitCode
from readroom.cli.options import json_option, subcommand, where_options
from readroom.core.errors import NotFound, Protected, ReadroomError, RefusedError
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.policy.rules import Rule
from readroom.core.quoting import quote
from readroom.core.stores.promises import Promises, in_words
from readroom.core.values import EntryKind, Fact, Reply

if TYPE_CHECKING:
    from readroom.core.config.roots.told import FolderFacts


class _Finding(Struct, frozen=True):
    """The result of a read of the path: a refusal, another failure, or a file or folder."""

    path: str
    promises: Promises
    folders: Sequence[FolderFacts] = ()
    failure: ReadroomError | None = None
    real: WorkPath | None = None
    kind: EntryKind | None = None
    hidden_by: Rule | None = None
    protection: Protected | None = None

    @property
    def allowed(self) -> bool:
        return not isinstance(self.failure, RefusedError)


def _explain(path: str, root: str | None, config: str | None, as_json: bool) -> ExitCode:
    """Show whether PATH may be read and changed, and which rule decides.

    The same check as for a read; no content is shown.  The exit code is 0 even if the path
    is denied.
    """
    with Where(root, config).open() as workspace:
        finding = _find(workspace.guard, workspace.targets, path_argument(path))
        finding = replace(finding, folders=workspace.folders)
    return finish(Reply("\n".join(_lines(finding)), lambda: _facts(finding)), as_json=as_json)


def _find(guard: Guard, places: WriteTargets, text: str) -> _Finding:
    promises = guard.store.promises
    try:
        path = guard.spelled(guard.parse(text))
    except RefusedError as error:
        return _Finding(text, promises, failure=error)
    promises = guard.own(path)[0].store.promises
    try:
        real, stat = guard.stat(path)
    except ReadroomError as error:
        protection = places.protection(path, folder=False)
        return _Finding(quote(path), promises, failure=error, protection=protection)
    folder = stat.kind is EntryKind.FOLDER
    hidden_by = IgnoreTree(guard).rule(real, folder=folder)
    try:
        (guard.open_folder if folder else guard.open)(path).close()
    except ReadroomError as error:
        return _Finding(quote(path), promises, (), error, real, stat.kind, hidden_by)
    protection = places.protection(real, folder=folder)
    return _Finding(quote(path), promises, (), None, real, stat.kind, hidden_by, protection)


def _lines(finding: _Finding) -> list[str]:
    lines = [f"{finding.path}: {'allowed' if finding.allowed else 'refused'}"]
    if finding.failure is None:
        lines.append("no rule denies it")
    elif isinstance(finding.failure, NotFound):
        lines.append("no rule denies the name; nothing is there")
    else:
        lines.append(finding.failure.message)
    if finding.protection is not None and finding.allowed:
        lines += [finding.protection.message, finding.protection.advice]
    if finding.real is not None and quote(finding.real) != finding.path:
        lines.append(f"real name: {quote(finding.real)}")
    if finding.hidden_by is not None:
        rule = finding.hidden_by
        lines.append(f"hidden from search and listing by {rule.pattern!r} of {quote(rule.source)}")
    lines.append(in_words(finding.promises))
    own = _folder(finding)
    if own is not None:
        rights = "is read-only" if own.read_only else "can be changed"
        lines.append(f"it is in the folder {own.name} ({own.path}), which {rights}")
    return lines


def _folder(finding: _Finding) -> FolderFacts | None:
    """The one of several folders that the path is in."""
    top = finding.path.partition("/")[0]
    named = {one.name: one for one in finding.folders}
    return named.get(top, named.get(ROOT))


def _facts_of(own: FolderFacts | None) -> dict[str, Fact]:
    if own is None:
        return {}
    return {"folder": {"name": own.name, "path": own.path, "read_only": own.read_only}}


def _facts(finding: _Finding) -> dict[str, Fact]:
    failure, rule, own = finding.failure, finding.hidden_by, _folder(finding)
    return {
        "path": finding.path, "allowed": finding.allowed,
        "refused_by": None if failure is None else {"code": failure.code, **failure.facts},
        "protected_by": None if finding.protection is None else dict(finding.protection.facts),
        "real_path": None if finding.real is None else quote(finding.real),
        "kind": None if finding.kind is None else finding.kind.value,
        "hidden_by": None if rule is None else {"pattern": rule.pattern, "source": rule.source},
        "confinement": finding.promises.confinement,
        "promises": finding.promises.facts,
        **_facts_of(own),
    }  # fmt: skip


_PATH = click.Argument(
    ["path"], type=click.Path(readable=False), help="Relative to the root, or absolute inside it."
)
explain = subcommand("explain", _explain, _PATH, json_option(), *where_options())
