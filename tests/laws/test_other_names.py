"""The law that a file is protected under all its names: hard links, and names by way of links to folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom.core import config
from readroom.core.deadline import Deadline
from readroom.core.errors import BadConfig, Protected, ReadroomError
from readroom.core.values import Cap, Reply
from readroom.core.values.changes import MoveRequest
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.sandbox.cells import CANARY, in_each_confinement

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


LINKED = (
    # the link, what it leads to, the file that is written
    (".vscode", "config/vscode", "config/vscode/settings.json"),
    ("deep/app/.vscode", "../../config/vscode", "config/vscode/launch.json"),
    (".mcp.json", "config/mcp.json", "config/mcp.json"),
    ("deep/.husky", "../src", "src/pre-push"),
    (".husky/_", "../src/inner", "src/inner/husky.sh"),
    (".claude", "settings", "settings/hooks/a.sh"),
    (".kiro/settings", "../config/kiro", "config/kiro/mcp.json"),
    ("bare/hooks", "../src", "src/post-checkout"),
    (".git/hooks", "../src", "src/post-checkout"),
    ("bare/hooks/post-merge", "../../src/run", "src/run"),
    (".git/hooks/post-merge", "../../src/run", "src/run"),
    (".bashrc", "config/bash", "config/bash"),
    (".vscode", ".", "tasks.json"),
    ("src/.vscode", "../src", "src/tasks.json"),
    ("objects/.VSCode", "../config", "config/launch.json"),
    (".readroomignore", "config/ignore", "config/ignore"),
    ("readroom.toml", "config/readroom", "config/readroom"),
    (".env", "config/env", "config/env"),
    ("x.code-workspace", "config/work", "config/work"),
)


@pytest.mark.parametrize("made", [False, True], ids=["dangling", "made"])
@pytest.mark.parametrize(("link", "target", "path"), LINKED)
def test_no_tool_writes_a_file_that_a_link_gives_a_protected_name(
    link: str, target: str, path: str, made: bool, root: Path
) -> None:
    for folder in ((root / link).parent, (root / path).parent):
        folder.mkdir(parents=True, exist_ok=True)
    if made:
        (root / path).write_text("# harmless\n")
    with Workspace(root) as workspace:
        (root / link).symlink_to(target)
        with pytest.raises(ReadroomError) as caught:
            workspace.write(path, "x\n", "absent")
        assert caught.value.code == "protected"
    assert not made or (root / path).read_text() == "# harmless\n"


def test_links_of_links_and_absolute_ones_count(root: Path) -> None:
    (root / "config").mkdir()
    (root / ".kiro").symlink_to("one")
    (root / "one").mkdir()
    (root / "one/settings").symlink_to(root / "config")
    with Workspace(root) as workspace, pytest.raises(Protected):
        workspace.write("config/mcp.json", "x\n", "absent")
    with Workspace(root) as workspace:
        workspace.write("config/other.json", "x\n", "absent")


def test_many_links_and_links_in_circles_hide_none(root: Path) -> None:
    for folder in ("a", "b", "config"):
        (root / folder).mkdir()
    (root / "a/config").symlink_to("../b")
    (root / "b/config").symlink_to("../a")
    (root / "src/hooks").symlink_to(".")
    with Workspace(root) as workspace:
        workspace.write("a/x.txt", "x\n", "absent")
        workspace.write("src/hooks.txt", "x\n", "absent")
    for number in range(1100):
        (root / f"open/{number}").mkdir()
        (root / f"open/{number}/config").symlink_to(root / "config")
    (root / "open/z").mkdir()
    (root / "open/z/.vscode").symlink_to(root / "config")
    with Workspace(root) as workspace, pytest.raises(Protected):
        workspace.write("config/tasks.json", "x\n", "absent")


def test_a_folder_is_not_moved_to_where_a_link_leads(root: Path) -> None:
    (root / "prepared").mkdir()
    (root / "prepared/tasks.json").write_text("x\n")
    (root / ".vscode").symlink_to("config")
    with Workspace(root) as workspace:
        engine, record = workspace.engine, workspace.contract("native")
        cap = Cap(10_000, record.measure)
        with pytest.raises(ReadroomError):
            engine.perform(MoveRequest("prepared", "config"), cap, Deadline())
    assert (root / "prepared/tasks.json").exists()


@in_each_confinement
@pytest.mark.parametrize(
    ("link", "target", "path"), [row for row in LINKED if not row[0].startswith(".git/")]
)
def test_no_command_changes_what_a_link_gives_a_protected_name(
    confinement: Confinement, link: str, target: str, path: str, root: Path
) -> None:
    for folder in ((root / link).parent, (root / path).parent):
        folder.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("# harmless\n")
    (root / link).symlink_to(target)
    with opened(root, confinement) as workspace:
        ran(workspace, f"echo more >> {path}; echo more >> {link}; cp src/a.txt {path}")
    assert (root / path).read_text() == "# harmless\n"


@in_each_confinement
def test_a_write_does_not_fill_what_a_command_linked_before(confinement: Confinement, root: Path) -> None:
    (root / ".git").rename(root.parent / "git")
    (root / "bare/HEAD").unlink()
    with opened(root, confinement) as workspace:
        ran(workspace, "mkdir -p src/config; cd src; ln -s config .vscode")
        assert (root / "src/.vscode").is_symlink()
        with pytest.raises(Protected):
            workspace.write("src/config/tasks.json", "x\n", "absent")
    assert not (root / "src/config/tasks.json").exists()


def test_an_exception_of_the_operator_holds_for_the_real_name(root: Path) -> None:
    (root / ".vscode").symlink_to("config")
    (root.parent / "op.toml").write_text('[changes]\nexceptions = ["/config/settings.json"]\n')
    store = config.open_store(root)
    with Workspace(store, settings=config.load(store, root.parent / "op.toml")) as workspace:
        workspace.write("config/settings.json", "x\n", "absent")
        with pytest.raises(Protected) as caught:
            workspace.write("config/tasks.json", "x\n", "absent")
    assert "/config/tasks.json" in caught.value.advice


def test_links_that_name_nothing_protected_change_nothing(root: Path) -> None:
    (root / "current").symlink_to("open")
    (root / "src/config").symlink_to("../open")
    with Workspace(root) as workspace:
        workspace.write("open/settings.json", "x\n", "absent")
        workspace.write("open/hooks.txt", "x\n", "absent")
