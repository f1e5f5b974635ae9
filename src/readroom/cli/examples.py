"""Lines that people can copy, shown at the end of the help of each command."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "read": ("read README.md", "read logs/app.log --offset -50", "read report.pdf --pages 3-5"),
    "outline": ("outline src/orders.py",),
    "grep": ("grep 'TODO|FIXME' src --type py -C 2", "grep needle --output count"),
    "refs": ("refs shipping src --kinds call",),
    "find": ("find 'where are prices rounded' src", "find 'payment refused' --output files"),
    "ls": ("ls --depth 3", "ls src --glob '*.py' --sort size"),
    "git": ("git changes --by definition", "git log src --limit 5", "git blame src/orders.py --lines 10-20"),
    "edit": ("edit src/orders.py --now --old 'basic = 5' --new 'basic = 6'",),
    "write": ("write notes/today.md --new --content 'Call Ada.'",),
    "patch": ("patch change.diff --dry-run", "patch < change.diff"),
    "mv": ("mv old.py src/new.py --now",),
    "cp": ("cp template.md notes/today.md --now",),
    "rm": ("rm build --now --dry-run",),
    "mkdir": ("mkdir notes/2026",),
    "history": ("history src --since 2h", "history --agent claude-code"),
    "history forget": ("history forget notes/private.md",),
    "diff": ("diff 12",),
    "undo": ("undo 12", "undo --since 30m --dry-run"),
    "run": ("run --allow-commands 'make test'",),
    "review": ("review", "review show 3", "review accept 3"),
    "explain": ("explain .env",),
    "call": ("""call read_file '{"path": "README.md", "limit": 20}'""",),
    "ledger": ("ledger totals --by tool --since 7d", "ledger verify", "ledger export --format csv"),
    "init": ("init --print",),
    "doctor": ("doctor", "doctor --client claude-code"),
    "connect": ("connect claude-code . --write", "connect cursor ~/project --user"),
    "ui": ("ui", "ui ledger.db"),
    "audit": ("audit --since 30d", "audit --here --html audit.html", "audit sessions/ --fail-on secrets"),
    "mcp": ("mcp .", "mcp ~/project docs=~/handbook:ro"),
    "serve": ("serve . --port 8787", "serve . --allow-commands --workers 2"),
    "budget list": ("budget list",),
    "budget reset": ("budget reset --scope session --name chat-17",),
    "token create": ("token create build-agent --tool read_file --expires 7d",),
    "token show": ("token show",),
    "token renew": ("token renew",),
    "token list": ("token list --json",),
    "token revoke": ("token revoke 3f9a",),
}
"""By command; a line is what stands after `readroom`."""


def of(name: str) -> str:
    """The examples of a command as the paragraph of a help; of a group those of its commands."""
    lines = [
        f"  readroom {line}"
        for command, some in EXAMPLES.items()
        if command == name or (command.startswith(f"{name} ") and name not in EXAMPLES)
        for line in some
    ]
    return "\n".join(["\b", f"Example{'' if len(lines) == 1 else 's'}:", *lines])
