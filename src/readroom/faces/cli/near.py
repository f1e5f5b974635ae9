"""Suggest the command or option that a person meant who typed an unknown one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
    **dict.fromkeys(("-l", "--files-with-matches", "-c", "--count"), ("--output",)),
    **dict.fromkeys(("--hidden", "--no-ignore", "-a", "--all", "--text", "--binary"), ("--include",)),
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


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question that names the closest of the known names; empty where none is close."""
    from difflib import get_close_matches

    words = {word.lower().replace("_", "").replace("-", ""): word for word in known}
    close = get_close_matches(name.lower().replace("_", "").replace("-", ""), words, n=1, cutoff=0.5)
    return f"Did you mean {words[close[0]]}? " if close else ""
