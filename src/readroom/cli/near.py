"""Suggest the intended command or option for an unknown one."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from readroom.core.values import Fact

_COMMANDS = {
    "readroom read FILE": "cat head less more show view open sed bat",
    "readroom read FILE --offset -50": "tail",
    "readroom ls --depth 3": "tree",
    "readroom ls DIR": "dir list stat file",
    "readroom ls --glob '**/NAME'": "glob fd locate",
    "readroom grep PATTERN": "search rg ag ack egrep fgrep query",
    "readroom refs NAME": "references usages uses callers who-calls xref",
    "readroom find QUESTION": "ask relevant semantic",
    "readroom outline FILE": "symbols tags ctags toc",
    "readroom edit FILE --now --old TEXT --new TEXT": "replace",
    "readroom patch FILE": "apply apply_patch git-apply",
    "readroom rm PATH": "del delete remove unlink rmdir",
    "readroom mv PATH NEW": "move rename",
    "readroom cp PATH NEW": "copy",
    "readroom write FILE --new": "create put tee touch",
    "readroom run COMMAND": "exec bash sh shell",
    "readroom serve DIR": "start server http web",
    "readroom mcp DIR": "stdio",
    "readroom connect CLIENT DIR": "install setup add configure config",
    "readroom doctor": "check health",
    "readroom audit --here": "report stats usage cost",
    "readroom git log": "log",
    "readroom git blame FILE": "blame annotate praise",
    "readroom git changes": "status",
    "readroom ledger": "logs",
    "readroom history": "changes",
    "readroom undo CHANGE": "revert restore rollback undelete checkpoint rewind",
    "readroom ledger replay": "replay",
    "readroom ledger verify": "verify",
    "readroom ui": "dashboard gui browser",
    "readroom call TOOL JSON": "tool tools",
    "readroom explain PATH": "why policy rules",
    "readroom --help": "help",
    "readroom --version": "version",
}
COMMANDS: Mapping[str, str] = {word: line for line, words in _COMMANDS.items() for word in words.split()}
"""Words of other programs, and the line that does it here."""

_OPTIONS = {
    ("--offset", "--limit"): "--lines --line --range",
    ("--limit",): "-n --head --max --max-count -m --top --end --to --count-lines",
    ("--offset",): "--tail --start --from --skip",
    ("--output files",): "-l --files-with-matches",
    ("--output count",): "-c --count",
    ("--include hidden",): "--hidden",
    ("--include",): "--all",
    ("--include ignored",): "--no-ignore --ignored",
    ("--include binary",): "-a --text --binary",
    ("--glob",): "--iglob --name --pattern",
    ("--type",): "--lang --language",
    ("--fixed",): "-F --fixed-strings --literal",
    ("--depth",): "-L --level --max-depth --recursive -r -R",
    ("--symbol",): "--definition --function --class",
    ("--pages",): "--page",
    ("--expected-hash",): "--hash",
    ("--root",): "--dir --cwd -C --folder --directory --workspace --path",
    ("--timeout-s",): "--timeout",
    ("--budget-tokens",): "--tokens --budget",
    ("--now",): "--force -f",
    ("--dry-run",): "--dry -d",
}
OPTIONS: Mapping[str, tuple[str, ...]] = {
    name: ours for ours, names in _OPTIONS.items() for name in names.split()
}
"""Options of other programs, and those that do it here, where a command has them."""

_OF_COMMANDS = {
    "readroom call TOOL JSON": "--contract --max-chars --front-matter",
    "readroom serve DIR": (
        "--port --host --socket --workers --allow-host --allow-origin --require-token --open --access-log"
    ),
    "readroom run COMMAND": "--allow-commands",
    "readroom doctor": "--client",
}
OF_COMMANDS: Mapping[str, str] = {
    name: line for line, names in _OF_COMMANDS.items() for name in names.split()
}
"""Options that some commands have, and a command that has them."""

_SETTINGS = {
    (
        "--config",
        "Set mask = true under [secrets] in a file outside the folder, and name it with --config.",
    ): ("--mask-secrets --mask --redact"),
    ("--root", "Write --root DIR:ro."): "--read-only --readonly --ro",
}
SETTINGS: Mapping[str, tuple[str, str]] = {
    name: pair for pair, names in _SETTINGS.items() for name in names.split()
}
"""Options for what is set in another way: an option that a command must have for it, and a sentence."""

ARGUMENTS: Mapping[str, str] = {
    "diff": "`readroom history` lists the changes.",
    "edit": "Give the texts with --old and --new.",
}
"""By command: what to type if an argument is missing, or one too many."""

NEEDLESS: Mapping[str, frozenset[str]] = {
    "grep": frozenset(("-r", "-R", "--recursive", "-n", "--line-number", "-H", "-E", "-P")),
    "ls": frozenset(("-l", "-a", "-A", "--all", "--hidden", "--long")),
    **dict.fromkeys(("rm", "cp"), frozenset(("-r", "-R", "--recursive"))),
    "mkdir": frozenset(("-p", "--parents")),
    "read": frozenset(("--number", "--line-numbers")),
}
"""Options of other programs for the default behavior of a command."""


def command_for(words: Sequence[str], known: Collection[str]) -> str:
    """The command line for words that begin with no command; empty if nothing is known."""
    import shlex

    first = words[0]
    if first == "help" and len(words) > 1 and words[1] in known:
        return f"readroom {words[1]} --help"
    if first not in COMMANDS and os.path.exists(first):
        return shlex.join(["readroom", "ls" if os.path.isdir(first) else "read", *words])
    return COMMANDS.get(first, "")


def _elsewhere(address: str) -> str:
    """A line about an address in the place of a path."""
    import shlex

    from readroom.core.stores.bucket.address import is_bucket

    if not is_bucket(address):
        return "`--at ADDRESS` works on another machine."
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    return f"`{shlex.join([key or '.', '--root', f'{scheme}://{bucket}'])}` names it in a bucket."


def in_place(arguments: Mapping[str, Fact]) -> str:
    """A line about a path that is not there: an address, a word of a question, or a pattern was meant."""
    import shlex

    path, query, pattern = (str(arguments.get(name, "")) for name in ("path", "query", "pattern"))
    if "://" in path:
        return _elsewhere(path)
    if query and path.isalnum() and " " not in query:
        return f"Quote a question of several words: readroom find {shlex.quote(f'{query} {path}')}"
    if pattern and os.path.exists(pattern):
        command = "refs" if arguments.get("output") == "references" else "grep"
        return f"The path comes last: {shlex.join(['readroom', command, path, pattern])}"
    return ""


def instead_of(option: str, command: click.Command) -> str:
    """What to type for an option that a command does not have; empty if nothing is known."""
    has = {name: parameter for parameter in command.params for name in parameter.opts}
    argument = has.get(option.lstrip("-"))
    if argument is not None and option.startswith("--"):
        return f"Give {option[2:].upper()} without an option."
    if option in NEEDLESS.get(command.name or "", ()):
        return f"Leave it out: `readroom {command.name}` does that."
    meant = []
    for line in OPTIONS.get(option, ()):
        name, _, value = line.partition(" ")
        if name in has:
            known = getattr(has[name].type, "choices", ())
            meant.append(line if value in known else name)
    if meant:
        return f"Use {' and '.join(meant)}."
    needed, sentence = SETTINGS.get(option, ("", ""))
    if needed in has:
        return sentence
    return f"`{OF_COMMANDS[option]}` has it." if option in OF_COMMANDS else ""


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question that names the closest of the known names; empty where none is close."""
    from difflib import get_close_matches

    words = {word.lower().replace("_", "").replace("-", ""): word for word in known}
    close = get_close_matches(name.lower().replace("_", "").replace("-", ""), words, n=1, cutoff=0.6)
    return f"Did you mean {words[close[0]]}? " if close else ""
