"""The law that a file is protected under all its names: hard links, and names by way of links to folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom import config
from readroom.errors import BadConfig
from readroom.values import Reply
from readroom.values.commands import Confinement
from readroom.workspace import Workspace
from tests.sandbox.cells import CANARY, in_each_confinement

EXECUTED = (
    ".mcp.json",
    ".vscode/tasks.json",
    "deep/er/.vscode/launch.json",
    ".git/hooks/pre-commit",
    ".husky/pre-push",
    ".devcontainer/a/b.sh",
    "bare/config",
    ".bashrc",
)
"""Files that other programs execute, by their names or by the folder that they are in."""

POLICY = (".readroomignore", ".kilocodeignore", "readroom.toml")

CHANGES = (
    ": > open/notes.txt",
    "echo more >> open/notes.txt",
    "python3 -c \"open('open/notes.txt', 'r+').write('x')\"",
    "truncate -s 0 open/notes.txt",
    "cp src/a.txt open/notes.txt",
    "ln open/notes.txt open/again; echo more >> open/again",
    "mv open/notes.txt src/moved; echo more >> src/moved",
    "chmod 777 open/notes.txt",
)
"""Commands that change a file in its place, by another of its names."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("open", "src", "private", "bare/objects", "bare/refs", ".git/objects", ".git/refs"):
        (root / name).mkdir(parents=True)
    for name in ("bare/HEAD", ".git/HEAD"):
        (root / name).write_text("ref: refs/heads/main\n")
    (root / "src/a.txt").write_text("a\n")
    (root / "private/a.txt").write_text(f"{CANARY}\n")
    return root


@contextmanager
def opened(root: Path, confinement: Confinement) -> Iterator[Workspace]:
    store = config.open_store(root)
    settings = config.load(store, allow_commands=True)
    commands = replace(settings.commands, confinement=confinement, version_control="read")
    with Workspace(store, settings=replace(settings, commands=commands)) as workspace:
        yield workspace


def ran(workspace: Workspace, command: str) -> Reply:
    return workspace.call("run_command", {"command": command})


@in_each_confinement
@pytest.mark.parametrize("name", EXECUTED)
def test_no_command_changes_a_protected_file_by_a_hard_link(
    confinement: Confinement, name: str, root: Path
) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("harmless\n")
    before = (root / name).stat().st_mode
    for command in CHANGES:
        for left in ("open/notes.txt", "src/moved", "open/again"):
            (root / left).unlink(missing_ok=True)
        os.link(root / name, root / "open/notes.txt")
        with opened(root, confinement) as workspace:
            ran(workspace, command)
        assert (root / name).read_text() == "harmless\n", command
        assert (root / name).stat().st_mode == before, command


@in_each_confinement
def test_what_a_command_links_first_it_does_not_fill_later(confinement: Confinement, root: Path) -> None:
    with opened(root, confinement) as workspace:
        ran(workspace, "echo '{}' > open/x; ln open/x src/.mcp.json")
        ran(workspace, "echo '{\"mcpServers\": {}}' > open/x")
    assert (root / "src/.mcp.json").read_text() == "{}\n"


@pytest.mark.parametrize("name", POLICY)
def test_a_file_of_policy_with_several_names_closes_the_workspace(name: str, root: Path) -> None:
    text = '[policy]\ndeny = ["private/"]\n' if name == "readroom.toml" else "private/\n"
    (root / name).write_text(text)
    os.link(root / name, root / "open/notes.txt")
    with pytest.raises(BadConfig, match=r"it has 2 names \(hard links\)") as caught:
        Workspace(root)
    assert f"cp {name} x && mv x {name}" in caught.value.advice
    (root / name).unlink()
    (root / name).write_text(text)
    with Workspace(root) as workspace:
        assert "denied" in workspace.call("read_file", {"path": "private/a.txt"}).text


@in_each_confinement
def test_policy_is_not_emptied_by_a_link_made_before_it(confinement: Confinement, root: Path) -> None:
    """The owner adds rules in place to a file that a command made, with another name for itself."""
    with opened(root, confinement) as workspace:
        ran(workspace, "echo '# nothing' > open/x; ln open/x .readroomignore")
        with open(root / ".readroomignore", "a", encoding="utf-8") as file:
            file.write("private/\n")
        ran(workspace, ": > open/x")
        assert CANARY not in workspace.call("read_file", {"path": "private/a.txt"}).text
        assert "private/" in (root / ".readroomignore").read_text()


@in_each_confinement
def test_a_denied_file_is_not_read_by_its_name_in_a_protected_folder(
    confinement: Confinement, root: Path
) -> None:
    (root / ".env").write_text(f"{CANARY}\n")
    (root / ".husky").mkdir()
    os.link(root / ".env", root / ".husky/x")
    with opened(root, confinement) as workspace:
        assert CANARY not in ran(workspace, "cat .husky/x").text
