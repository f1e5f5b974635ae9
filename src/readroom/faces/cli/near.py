"""Suggest the command or option that a person meant who typed an unknown one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("cat", "head", "less", "more", "show", "view", "open", "sed", "bat"), "readroom read FILE"
    ),
    "tail": "readroom read FILE --offset -50",
    **dict.fromkeys(("tree",), "readroom ls --depth 3"),
    **dict.fromkeys(("dir", "list", "stat", "file"), "readroom ls DIR"),
    **dict.fromkeys(("glob", "fd", "locate"), "readroom ls --glob '**/NAME'"),
    **dict.fromkeys(("search", "rg", "ag", "ack", "egrep", "fgrep", "query"), "readroom grep PATTERN"),
    **dict.fromkeys(("ask", "relevant", "semantic"), "readroom find QUESTION"),
    **dict.fromkeys(("symbols", "tags", "ctags", "toc"), "readroom outline FILE"),
    **dict.fromkeys(("replace", "patch", "apply"), "readroom edit FILE --now --old TEXT --new TEXT"),
    **dict.fromkeys(("create", "put", "tee", "touch"), "readroom write FILE --new"),
    **dict.fromkeys(("exec", "bash", "sh", "shell"), "readroom run COMMAND"),
    **dict.fromkeys(("start", "server", "http", "web"), "readroom serve DIR"),
    "stdio": "readroom mcp DIR",
    **dict.fromkeys(("install", "setup", "add", "configure", "config"), "readroom connect CLIENT DIR"),
    **dict.fromkeys(("check", "status", "health"), "readroom doctor"),
    **dict.fromkeys(("report", "stats", "usage", "cost"), "readroom audit --here"),
    **dict.fromkeys(("log", "logs", "history"), "readroom ledger"),
    "replay": "readroom ledger replay",
    "verify": "readroom ledger verify",
    **dict.fromkeys(("dashboard", "gui", "browser"), "readroom ui"),
    **dict.fromkeys(("tool", "tools"), "readroom call TOOL JSON"),
    **dict.fromkeys(("why", "policy", "rules"), "readroom explain PATH"),
    "help": "readroom --help",
    "version": "readroom --version",
}
"""Words of other programs, and the line that does it here."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("--lines", "--line", "--range"), ("--offset", "--limit")),
    **dict.fromkeys(("-n", "--head", "--max", "--max-count", "-m", "--top"), ("--limit",)),
    **dict.fromkeys(("--tail", "--start", "--from", "--skip"), ("--offset",)),
    **dict.fromkeys(("--end", "--to", "--count-lines"), ("--limit",)),
    **dict.fromkeys(("-l", "--files-with-matches"), ("--output files",)),
    **dict.fromkeys(("-c", "--count"), ("--output count",)),
    "--hidden": ("--include hidden",),
    "--all": ("--include",),
    **dict.fromkeys(("--no-ignore", "--ignored"), ("--include ignored",)),
    **dict.fromkeys(("-a", "--text", "--binary"), ("--include binary",)),
    **dict.fromkeys(("--iglob", "--name", "--pattern"), ("--glob",)),
    **dict.fromkeys(("--lang", "--language"), ("--type",)),
    **dict.fromkeys(("-F", "--fixed-strings", "--literal"), ("--fixed",)),
    **dict.fromkeys(("-L", "--level", "--max-depth", "--recursive", "-r", "-R"), ("--depth",)),
    **dict.fromkeys(("--definition", "--function", "--class"), ("--symbol",)),
    **dict.fromkeys(("--page",), ("--pages",)),
    **dict.fromkeys(("--hash",), ("--expected-hash",)),
    **dict.fromkeys(
        ("--dir", "--cwd", "-C", "--folder", "--directory", "--workspace", "--path"), ("--root",)
    ),
    **dict.fromkeys(("--timeout",), ("--timeout-s",)),
    **dict.fromkeys(("--tokens", "--budget"), ("--budget-tokens",)),
    **dict.fromkeys(("--force", "-f"), ("--now",)),
    **dict.fromkeys(("--dry", "-d"), ("--dry-run",)),
}
"""Options of other programs, and those that do it here, where a command has them."""

NEEDLESS: Mapping[str, frozenset[str]] = {
    "grep": frozenset(("-r", "-R", "--recursive", "-n", "--line-number", "-H", "-E", "-P")),
    "ls": frozenset(("-l", "-a", "-A", "--all", "--hidden")),
    "read": frozenset(("--number", "--line-numbers")),
}
"""Options of other programs that ask for what a command does in any case."""


def instead_of(option: str, command: click.Command) -> str:
    """What to type for an option that a command does not have; empty where nothing is known."""
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
    return f"Use {' and '.join(meant)}." if meant else ""


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question that names the closest of the known names; empty where none is close."""
    from difflib import get_close_matches

    words = {word.lower().replace("_", "").replace("-", ""): word for word in known}
    close = get_close_matches(name.lower().replace("_", "").replace("-", ""), words, n=1, cutoff=0.6)
    return f"Did you mean {words[close[0]]}? " if close else ""
