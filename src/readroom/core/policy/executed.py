"""Files that other programs execute, which are not changed unless the operator allows it.

Whoever can change one of them can run programs as the person who works in the folder: starting an
editor, an agent or a shell, making a commit, or entering the folder is enough, without any question.
The table lists files for which that is so, unless developers edit them with an agent every day.
Therefore scripts of package.json, Makefiles, test and build code and CI workflows stay writable: people
run them knowingly, or elsewhere after a review.  So do rules, skills and commands of agents, which are
prose.  Files whose program asks again after a change (direnv), that need settings of git to have any
effect (.gitmodules), or that are never shown (.git, .npmrc, .envrc) need no row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from typing import final

from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.policy.rules import Denials, Rule
from readroom.core.policy.rules.gitignore import PatternList, byte_text, patterns
from readroom.core.policy.rules.names import foldable, names_with_others, other_names

SOURCE = "defaults"

_CLIENT = "clients of agents start the servers and hooks it names"
_EDITOR = "editors run the tasks and programs it names"
_GIT = "git runs the hooks and filters it names"
_CONTAINER = "editors also run its commands outside the container"
_PACKAGES = "package managers run what it names before anything is installed"
_ENTERED = "shells run it when they enter the folder"
_LOGIN = "shells, debuggers and desktops run it when they start"

ROWS: dict[str, Sequence[str]] = {
    _CLIENT: (
        ".mcp.json",
        ".claude.json",
        "**/.claude/settings.json",
        "**/.claude/settings.local.json",
        "**/.claude/hooks/",
        "claude_desktop_config.json",
        "**/.codex/config.toml",
        "**/.codex/hooks.json",
        "**/.gemini/settings.json",
        "**/.qwen/settings.json",
        "opencode.json",
        "opencode.jsonc",
        "**/.opencode/plugin/",
        "**/.opencode/plugins/",
        "**/.opencode/tool/",
        "**/.opencode/tools/",
        "**/.cursor/mcp.json",
        "**/.cursor/hooks.json",
        "**/.cursor/hooks/",
        "**/.windsurf/mcp_config.json",
        "**/.windsurf/hooks.json",
        "**/.codeium/windsurf/mcp_config.json",
        "**/.kilocode/mcp.json",
        "**/.roo/mcp.json",
        "**/.kiro/settings/mcp.json",
        "**/.kiro/hooks/",
        "**/.amazonq/mcp.json",
        "**/.continue/config.yaml",
        "**/.continue/config.json",
        "**/.continue/mcpServers/",
    ),
    _EDITOR: (
        "**/.vscode/settings.json",
        "**/.vscode/tasks.json",
        "**/.vscode/launch.json",
        "**/.vscode/mcp.json",
        "*.code-workspace",
        "**/Code/User/settings.json",
        "**/Code/User/tasks.json",
        "**/Code/User/mcp.json",
        ".idea/",
        "**/.zed/settings.json",
        "**/.zed/tasks.json",
        "**/.config/zed/settings.json",
        ".exrc",
        ".nvimrc",
        ".nvim.lua",
        ".dir-locals.el",
    ),
    _CONTAINER: (".devcontainer/", ".devcontainer.json"),
    _GIT: (
        ".gitattributes",
        ".gitconfig",
        "**/.config/git/",
        ".husky/",
        ".githooks/",
        ".git-hooks/",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".lefthook.yml",
        "lefthook-local.yml",
        ".lefthook-local.yml",
    ),
    _PACKAGES: (
        ".yarnrc",
        ".yarnrc.yml",
        "**/.yarn/releases/",
        "**/.yarn/plugins/",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        ".pnpmfile.cjs",
    ),
    _ENTERED: ("mise.toml", ".mise.toml", ".mise.local.toml", "mise.local.toml", ".autoenv.zsh"),
    _LOGIN: (
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        "**/.config/fish/",
        ".xprofile",
        ".xinitrc",
        ".xsession",
        ".vimrc",
        "**/.config/nvim/",
        ".emacs",
        ".tmux.conf",
        ".gdbinit",
        ".lldbinit",
        ".pdbrc",
        "**/.config/autostart/",
        "**/.config/systemd/",
        "**/Library/LaunchAgents/",
    ),
}

REPOSITORY = Rule(
    "HEAD, objects/, refs/", SOURCE, "git runs the hooks of a bare repository and what its config names"
)
"""A folder with these names is a git repository: asking for its status there runs what its config says."""

_MAKES = ("head", "objects", "refs")
"""The names that make a folder a repository, folded."""

_RUNS = ("config", "config.worktree", "hooks")
"""The names in it that git executes."""

_NAMES = ("HEAD", "objects", "refs")

RULES: tuple[Rule, ...] = tuple(
    Rule(pattern, SOURCE, reason) for reason, patterns in ROWS.items() for pattern in patterns
)


_PARTS = frozenset(part for rule in RULES for part in rule.pattern.lower().split("/")) | {*_MAKES, *_RUNS}
"""The names that protected names are made of, folded."""


@final
class ExecutedNames:
    """The table without the operator's exceptions. Safe to share between threads."""

    def __init__(self, exceptions: Sequence[Rule] = (), above: Sequence[str] = ()) -> None:
        """Make the table for one workspace.

        Args:
            exceptions: Patterns of names that may be changed, with everything below them.
            above: Absolute names of the root.
        """
        self._list = Denials(RULES, everywhere=True).placed(above)
        self._of_root = self._list.of_root()
        if any(
            _in_repository(WorkPath(name.strip("/")), lambda path: os.path.lexists(f"/{path}"))
            for name in above
        ):
            self._of_root = REPOSITORY
        self._exceptions = PatternList(
            patterns([foldable(rule.pattern) for rule in exceptions], fold=True), fold=True
        )

    def rule(
        self, path: WorkPath, *, folder: bool, exists: Callable[[WorkPath], bool] | None = None
    ) -> Rule | None:
        """The rule that protects a name; None if it is not protected.

        Args:
            path: The name.
            folder: What it is.
            exists: Whether something has a name; without it nothing is said of repositories.
        """
        folded = byte_text(foldable(path).lower())
        rule = self._of_root
        ends = [at for at, char in enumerate(folded) if char == "/"] + [len(folded)]
        for end in ends:
            is_folder = folder or end < len(folded)
            if self._exceptions.deciding(folded[:end], folder=is_folder) is not None:
                return None
            for name in (folded[:end], *other_names(folded[:end])):
                rule = rule or self._list.decide(name, name, folder=is_folder)
        if rule is None and exists is not None and _in_repository(path, exists):
            return REPOSITORY
        return rule

    def excepted(self, path: WorkPath, *, folder: bool) -> bool:
        """Whether the operator allows changes of a name, or of a folder above it."""
        folded = byte_text(foldable(path).lower())
        ends = [at for at, char in enumerate(folded) if char == "/"]
        return any(
            self._exceptions.deciding(folded[:end], folder=folder or end < len(folded)) is not None
            for end in (*ends, len(folded))
        )

    def parts_among(self, folder: WorkPath, names: Sequence[str]) -> set[str]:
        """The names in a folder that can be a part of a protected name."""
        in_hooks = any(foldable(part).lower() in _RUNS for part in folder.split("/"))
        if in_hooks or self.rule(folder, folder=True) is not None:
            return set(names)
        folded = [byte_text(foldable(name).lower()) for name in names]
        ends = {*self._list.concerned(folded), *names_with_others(folded)}
        return {name for at, name in enumerate(names) if at in ends or folded[at] in _PARTS}

    def among(self, folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The protected names in a folder that is not protected itself."""
        folded = [byte_text(foldable(name).lower()) for name in names]
        if self._of_root is not None:
            protected = set(names)
        else:
            protected = {names[at] for at in (*self._list.concerned(folded), *names_with_others(folded))}
        if not {*_NAMES}.difference(names):
            protected.update(name for name, low in zip(names, folded, strict=True) if low in _RUNS)
        known = {join(folder, name) for name in names}
        return {
            name
            for name in protected
            if self.rule(join(folder, name), folder=name in folders, exists=known.__contains__)
        }


def _in_repository(path: WorkPath, exists: Callable[[WorkPath], bool]) -> bool:
    """Whether a path has a part in a folder that is, or would become, a git repository."""
    parts = path.split("/")
    for at, part in enumerate(parts):
        low = foldable(part).lower()
        if low in _MAKES or low in _RUNS:
            above = WorkPath("/".join(parts[:at])) if at else ROOT
            others = (name for name in _NAMES if name.lower() != low)
            if all(exists(join(above, name)) for name in others):
                return True
    return False
