"""init: a commented `readroom.toml` for a folder, after a look at its names.

It looks as a model would, through the workspace and its policy, so that the new file names nothing that is
denied.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from readroom.cli import output
from readroom.cli.answers import Where
from readroom.cli.exits import ExitCode
from readroom.cli.options import flag, folder_argument, subcommand
from readroom.core.errors import BadConfig
from readroom.core.limits import LIST_MAX_DEPTH, Limits
from readroom.core.workspace import Workspace

NAME = "readroom.toml"

_SECRET = ("*.har", "*.pcap", "*.pcapng", "*.dmp", "*.agilekeychain")
"""Names that often hold credentials, and that projects also have for other reasons: not denied by default."""

_DUMPS = ("*.sql", "*.dump", "*.sqlite", "*.sqlite3", "*.db", "*.bak", "*.mdb", "*.rdb")
"""Names of whole databases, with everything that is in them."""

_LOOK_AT = 5000
"""Names are looked at, in pages; a larger folder is judged by its first ones."""


def _init(folder: str, only_print: bool) -> ExitCode:
    """Write a commented readroom.toml for DIR, after a look at the names in it.

    All lines are comments, except for a list of names to deny. Edit it as you like.
    """
    place = os.path.join(folder, NAME)
    if os.path.lexists(place) and not only_print:
        advice = "Nothing was changed. `readroom init --print` shows what a new one would contain."
        raise BadConfig(place, "", "it already exists", advice)
    with Where(folder).open() as workspace:
        entries, ignored, denied = _look(workspace)
    text = configuration(entries)
    if only_print:
        output.show(text.rstrip("\n"))
        return ExitCode.OK
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else "it cannot be created"
        raise BadConfig(place, "", problem, "Name a folder that you may write to.") from None
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    names = f"{len(entries):,} name{'' if len(entries) == 1 else 's'}"
    names += ", and there are more" if len(entries) >= _LOOK_AT else ""
    secret = _matching(entries, _SECRET)
    output.show(f"Created {place} after looking at {names} ({ignored:,} ignored, {denied:,} denied already).")
    if secret:
        output.show(f"It denies {', '.join(secret)}: such files often hold credentials.")
    output.show("`readroom explain PATH` shows the rule for a file; `readroom connect` configures a client.")
    return ExitCode.OK


def _look(workspace: Workspace) -> tuple[list[Mapping[str, Any]], int, int]:
    """Entries of the folder, and how many more are ignored and denied."""
    entries: list[Mapping[str, Any]] = []
    ignored = denied = 0
    call: Any = {"tool": "list_directory", "arguments": {"path": ".", "depth": LIST_MAX_DEPTH, "limit": 1000}}
    while call is not None and len(entries) < _LOOK_AT:
        facts: Any = workspace.perform(call["tool"], call["arguments"]).facts
        entries += facts["entries"]
        ignored, denied = facts["ignored"], facts["denied"]
        call = facts["next"]
    return entries, ignored, denied


def configuration(entries: Sequence[Mapping[str, Any]]) -> str:
    """The file for a folder with these entries, `path`, `kind` and `size_bytes` of each."""
    secret, dumps = _matching(entries, _SECRET), _matching(entries, _DUMPS)
    folders = sorted(
        entry["path"] for entry in entries if entry["kind"] == "folder" and "/" not in entry["path"]
    )
    allow = [f"{name}/" for name in folders if not name.startswith(".")][:6] or ["src/", "docs/"]
    deny = f"deny = {_list(secret)}" if secret else f"# deny = {_list(['private/', '*.dump'])}"
    noted = f"  Found here, and not denied: {', '.join(dumps)}." if dumps else ""
    plain = Limits()
    return f"""\
# What agents may see and do in this folder. It comes with the folder, so it can only restrict what the person
# who starts readroom allows. Credentials, keys, environment files and the internals of version control are
# denied already, whatever is written here; `readroom explain PATH` names the rule that decides.

[policy]
# Names that no tool shows, in the syntax of .gitignore.{noted}
{deny}
# If given, only these are shown, and the folders that lead to them.
# allow = {_list(allow)}
# A file with several names (hard links) is read with a warning; "refuse" if others can write here.
# hardlinks = "refuse"

[changes]
# Nothing can be edited or written.
# read_only = true

[commands]
# No commands, even if the person who starts readroom allows them.
# enabled = false

[index]
# Keep no index of large files on disk; their first page then takes longer every time.
# keep = false

[limits]
# The size of one reply in bytes: smaller ones cost a model more calls, and less at once.
# reply_bytes = 16384
# Seconds for one read and one search.
# read_timeout_s = {plain.read_timeout_s:g}
# list_timeout_s = {plain.list_timeout_s:g}
"""


def _matching(entries: Sequence[Mapping[str, Any]], patterns: Sequence[str]) -> list[str]:
    """The patterns that name a file here."""
    names = {entry["path"].rpartition("/")[2].lower() for entry in entries if entry["kind"] == "file"}
    return [pattern for pattern in patterns if any(fnmatch.fnmatchcase(name, pattern) for name in names)]


def _list(texts: Sequence[str]) -> str:
    """A list of texts as TOML, whose basic strings are those of JSON but for DEL."""
    return json.dumps(list(texts), ensure_ascii=False).replace("\x7f", "\\u007f")


init = subcommand(
    "init", _init, folder_argument(), flag("--print only_print", "Show the file without writing it.")
)
