"""review: what agents have changed and nobody has agreed to yet; accept or reject it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from typing import Any

import click

from readroom.cli import output
from readroom.cli.answers import Where, path_argument
from readroom.cli.exits import ExitCode
from readroom.cli.options import flag, place_options, subcommand
from readroom.core.errors import UsageError
from readroom.core.errors.review import NoReview, NoSuchReview
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote
from readroom.core.review import Reviews, Waiting, deciding, showing
from readroom.core.workspace import Workspace

_ACTIONS = ("list", "show", "accept", "reject")


def _review(
    action: str,
    chosen: Sequence[str],
    every: bool,
    root: str | None,
    config: str | None,
    as_json: bool,
) -> ExitCode:
    """Show, accept or reject the changes that wait for review.

    \b
    readroom review                          list the sets, one for each conversation
    readroom review show [SET] [PATH...]     what would change, and what no longer fits
    readroom review accept SET [PATH...]     make these changes, all or none
    readroom review reject SET [PATH...]     drop them

    SET is the id of a set, or its beginning; it may be left out where only one waits.  PATH is a file, or a
    folder with everything in it.  With --all the whole set is meant, as without PATH.
    """
    with Where(root, config).open() as workspace:
        reviews = workspace.reviews
        if reviews is None:
            raise NoReview
        if action == "list":
            found = showing.listed(reviews)
            _tell({"sets": found}, "\n".join(map(_set_line, found)) or "Nothing waits.", as_json=as_json)
            return ExitCode.OK if found else ExitCode.NOTHING_FOUND
        one, names = _meant(workspace, reviews, action, chosen)
        if action == "show":
            facts = showing.shown(workspace.engine.services, one, names)
            _tell(facts, _shown(facts), as_json=as_json)
            return ExitCode.OK if facts["changes"] else ExitCode.NOTHING_FOUND
        return _decide(workspace, one, action, [] if every else names, as_json=as_json)


def _meant(
    workspace: Workspace, reviews: Reviews, action: str, chosen: Sequence[str]
) -> tuple[Waiting, list[WorkPath]]:
    """The set and the names that are meant. Raises NoSuchReview."""
    words = list(chosen)
    sets = reviews.all()
    if words:
        try:
            one = reviews.named(words[0])
            return one, [_name(workspace, word) for word in words[1:]]
        except NoSuchReview:
            if action != "show" or len(sets) != 1:
                raise
    if len(sets) > 1:
        raise UsageError(f"{len(sets)} sets wait", "Name one of those that `readroom review` lists.")
    if not sets:
        raise NoSuchReview("any id")
    return sets[0], [_name(workspace, word) for word in words]


def _name(workspace: Workspace, text: str) -> WorkPath:
    return workspace.guard.spelled(workspace.guard.parse(path_argument(text)))


def _decide(
    workspace: Workspace, one: Waiting, action: str, names: Sequence[WorkPath], *, as_json: bool
) -> ExitCode:
    services = workspace.engine.services
    if action == "reject":
        outcome = deciding.reject(services, one.waiting, names)
    else:
        deciding.require_here(one)
        outcome = deciding.accept(services, one.waiting, names, deciding.Decider(_user(), "cli"))
    facts = showing.decided(outcome)
    lines = [_change_line(row) for row in facts["changes"]]
    word = "accepted" if action == "accept" else "rejected"
    count = len(lines)
    lines.append(f"[{count} change{'' if count == 1 else 's'} {word}, {facts['left']} left waiting]")
    lines += [f"[Warning: {warn['detail']}]" for warn in facts["warnings"]]
    _tell(facts, "\n".join(lines), as_json=as_json)
    return ExitCode.OK


def _user() -> str:
    """The name of the person, as this machine knows it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def _tell(facts: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        output.write_json(facts)
    else:
        output.show(text)


def _set_line(one: dict[str, Any]) -> str:
    whose = quote(one["agent"]) if one["agent"] else "an agent without a name"
    if one["session"]:
        whose += f", conversation {quote(one['session'])}"
    if one["token"]:
        whose += f", token {one['token']}"
    problem = f" | {one['problem']}" if one["problem"] else ""
    names = f"{one['names']} name{'' if one['names'] == 1 else 's'}"
    return f"{one['id']} | {names} | changed {one['changed']} | {whose}{problem}"


def _change_line(row: dict[str, Any]) -> str:
    slash = "/" if row["kind"] == "folder" else ""
    name = quote(row["path"] + slash)
    if row["from"] is not None:
        name = f"{quote(row['from'] + slash)} -> {name}"
    more = f" and {row['names']} more in it" if row["names"] else ""
    return f"{row['action']} {name}{more}" + ("" if row["fits"] else f" | no longer fits: {row['problem']}")


def _shown(facts: dict[str, Any]) -> str:
    lines = [_set_line(facts)]
    for row in facts["changes"]:
        lines.append(_change_line(row))
        if row["diff"]:
            lines.append(row["diff"])
        elif row["note"]:
            lines.append(f"[{row['note']}]")
    if facts["hidden"]:
        lines.append(f"[{facts['hidden']} more are of names that policy denies]")
    lines.append(f"[readroom review accept {facts['id']} makes them, reject drops them]")
    return "\n".join(lines)


review = subcommand(
    "review",
    _review,
    click.Argument(["action"], required=False, default="list", type=click.Choice(_ACTIONS)),
    click.Argument(["chosen"], nargs=-1, metavar="[SET] [PATH]..."),
    flag("--all every", "The whole set"),
    flag("--json as_json", "Print one JSON object"),
    *place_options(),
)
