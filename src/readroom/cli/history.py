"""history, diff and undo: what was changed, and how to have it back.

Every command is a call of the contract history.  At a terminal a person sees first what an undo would do, and
what changes while they read is not taken along.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from readroom.cli import options, output
from readroom.cli.answers import Where, answer, failure, finish, path_argument
from readroom.cli.exits import ExitCode
from readroom.cli.options import flag, json_option, subcommand, where_options
from readroom.core.contracts.history import CONTRACT, FORGET, LIST, SHOW, UNDO
from readroom.core.contracts.history.record import LIST_CHANGES, UNDO_CHANGES
from readroom.core.errors import ReadroomError, UsageError
from readroom.core.values import Fact, Reply

_YES = "--yes"


def _answer(where: Where, call: str, arguments: Mapping[str, Fact], *, as_json: bool) -> Reply:
    return answer(where, call, arguments, contract_name=CONTRACT, for_person=not as_json)


def _history(root: str | None, config: str | None, as_json: bool, **values: object) -> ExitCode:
    """List what was changed here, newest first: the change, when, by whom, with what, and which files.

    PATH is a file, or a folder with everything below it.  `readroom diff CHANGE` shows what a change did,
    `readroom undo CHANGE` takes it back, and `readroom history forget PATH` removes the past of a file.
    """
    where = Where(root, config)
    reply = _answer(where, LIST, options.given(values), as_json=as_json)
    code = finish(reply, as_json=as_json, root=root)
    return ExitCode.NOTHING_FOUND if code is ExitCode.OK and not reply.build_facts()["changes"] else code


def _diff(change: int, path: str | None, root: str | None, config: str | None, as_json: bool) -> ExitCode:
    """Show what CHANGE did: each file with the lines before and after, or PATH alone."""
    arguments = options.given({"change": change, "path": path})
    return finish(_answer(Where(root, config), SHOW, arguments, as_json=as_json), as_json=as_json, root=root)


def _undo(
    chosen: Sequence[str],
    yes: bool,
    dry_run: bool,
    root: str | None,
    config: str | None,
    as_json: bool,
    **values: object,
) -> ExitCode:
    """Take back CHANGE, the changes of a conversation, those since a time, or the last change of PATH.

    Nothing is undone if that would lose what was changed since: both sides are shown, and --parts takes back
    what still fits.  PATH after CHANGE, or with --session or --since, takes back only what is there.  An undo
    is a change, and can be undone.  At a terminal you are asked first.
    """
    where = Where(root, config)
    try:
        arguments = {**options.given(values), **_selected(chosen, values)}
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    if dry_run:
        arguments["dry_run"] = True
    elif _asks(yes=yes, as_json=as_json):
        plan = _answer(where, UNDO, {**arguments, "dry_run": True}, as_json=as_json)
        if plan.is_error:
            return finish(plan, as_json=as_json, root=root)
        facts: Any = plan.facts
        if facts["undone"] and (arguments.get("parts") or not facts["conflicts"]):
            output.show(plan.text)
            if not _agreed("Undo this?"):
                return ExitCode.OK
            arguments["up_to"] = max(facts["changes"])
    return finish(_answer(where, UNDO, arguments, as_json=as_json), as_json=as_json, root=root)


def _selected(chosen: Sequence[str], values: Mapping[str, object]) -> dict[str, Fact]:
    """The change and the path that the words mean. Raises UsageError."""
    words = list(chosen)
    named = [name for name in ("session", "since") if values.get(name) is not None]
    selected: dict[str, Fact] = {}
    if words and words[0].isascii() and words[0].isdigit():
        if named:
            raise UsageError(f"CHANGE and --{named[0]} were both given", "Give one of them.")
        selected["change"] = int(words.pop(0))
    if len(words) > 1:
        raise UsageError(f"{len(words)} paths were given", "Give one.")
    if words:
        selected["path"] = path_argument(words[0])
    if not selected and not named:
        raise UsageError(
            "Nothing was chosen", "Give CHANGE, PATH, --session or --since; see `readroom history`."
        )
    return selected


def _forget(
    path: str | None, every: bool, yes: bool, root: str | None, config: str | None, as_json: bool
) -> ExitCode:
    """Remove the past of PATH, and of everything below it, at once and for good.

    The files themselves stay as they are.  At a terminal you are asked first.
    """
    arguments = options.given({"path": path, "all": every})
    if arguments and _asks(yes=yes, as_json=as_json):
        what = "everything in this workspace" if path is None else path
        output.complain(f"The past of {what} goes for good; the files stay as they are.")
        if not _agreed("Forget it?"):
            return ExitCode.OK
    reply = _answer(Where(root, config), FORGET, arguments, as_json=as_json)
    return finish(reply, as_json=as_json, root=root)


def _asks(*, yes: bool, as_json: bool) -> bool:
    """Whether a person is there who sees the plan and can answer."""
    return not yes and not as_json and all(one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr))


def _agreed(question: str) -> bool:
    agreed = click.confirm(question, err=True)
    if not agreed:
        output.complain("Nothing was changed.")
    return agreed


# -----------------------------------------------------------------------------
# The commands.
# -----------------------------------------------------------------------------


def _options_of(arguments: type, *names: str) -> list[click.Parameter]:
    every = options.parameters(arguments, ())
    return [parameter for parameter in every if parameter.name in names]


def _path(words: str = "[PATH]", **more: Any) -> click.Argument:
    return click.Argument(
        ["path"], **{"required": False, "type": click.Path(readable=False), "metavar": words, **more}
    )


def _yes() -> click.Option:
    return flag(f"{_YES} yes", "Do not ask")


class _WithForget(click.Group):
    """`history`, whose first word may be a command of its own instead of a path."""

    listing: click.Command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        at = self._first_word(args)
        if at is not None and args[at] in self.commands:
            # Options of the command may come before its name, as everywhere.
            words = [args[at], *args[:at], *args[at + 1 :]]
            return super().make_context(info_name, words, parent, **extra)
        self.listing.epilog = self.epilog
        return self.listing.make_context(info_name, args, parent, **{**self.context_settings, **extra})

    def _first_word(self, args: list[str]) -> int | None:
        """The place of the first word that is neither an option nor the value of one."""
        takes = {
            name
            for one in self.listing.params
            if isinstance(one, click.Option) and not one.is_flag
            for name in one.opts
        }
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            at += 2 if args[at] in takes else 1
        return at if at < len(args) and args[at] != "--" else None


forget = subcommand(
    "forget",
    _forget,
    _path(),
    flag("--all every", "The past of the whole workspace"),
    _yes(),
    json_option(),
    *where_options(),
)

history = _WithForget("history", help=_history.__doc__, commands=[forget])
history.listing = subcommand(
    "history",
    _history,
    _path(),
    *_options_of(LIST_CHANGES.arguments, "session", "agent", "since", "change", "limit", "cursor"),
    json_option(),
    *where_options(),
)

diff = subcommand(
    "diff",
    _diff,
    click.Argument(["change"], type=click.IntRange(1)),
    _path(),
    json_option(),
    *where_options(),
)

undo = subcommand(
    "undo",
    _undo,
    click.Argument(["chosen"], nargs=-1, type=click.Path(readable=False), metavar="[CHANGE] [PATH]"),
    *_options_of(UNDO_CHANGES.arguments, "session", "since", "up_to", "parts"),
    flag("--dry-run", "Only show what it would do"),
    _yes(),
    json_option(),
    *where_options(),
)
