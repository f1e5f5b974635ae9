"""Files that other programs execute can be read, and not changed unless the operator says so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import Denied, HoldsDenied, Protected, ReadroomError
from readroom.core.paths import parse
from readroom.core.policy.changes import ChangePolicy
from readroom.core.policy.executed import ROWS
from readroom.core.policy.rules import Rule
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    MoveRequest,
    NameRequest,
    TrashRequest,
)
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import room as running
from tests.core.engine.edit.changing import STORES, Room, made
from tests.core.engine.naming import perform
from tests.core.sandbox.cells import in_each_confinement
from tests.each import each

PATTERNS = [pattern for found in ROWS.values() for pattern in found]

OTHERS = [
    "package.json",
    "Makefile",
    ".github/workflows/ci.yml",
    ".claude/commands/deploy.md",
    "CLAUDE.md",
    ".cursor/rules/style.mdc",
    ".vscode/extensions.json",
    "claude/settings.json",
    "src/hooks/useThing.ts",
    "src/config",
    "refs/notes",
    "x/husky/pre-commit",
    ".gitignore",
    "docs/HEAD",
]


def name_of(pattern: str) -> str:
    """A file that a pattern of the table means, two folders down."""
    plain = pattern.removeprefix("**/").replace("*", "name")
    return f"one/two/{plain}{'name' if plain.endswith('/') else ''}"


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


def protected(room: Room, path: str) -> Protected:
    """What is said; the file is as it was before every kind of change, and can be read."""
    known = room.file(path, "old\n")
    room.file("other", "evil\n")
    calls: list[NameRequest] = [
        DeleteRequest(path),
        MoveRequest(path, "away"),
        MoveRequest("other", path, overwrite=True),
        TrashRequest(path),
    ]
    for request in calls:
        with pytest.raises(Protected):
            perform(room.workspace, request)
    with pytest.raises(Protected):
        room.write(path, "evil\n", known)
    with pytest.raises(Protected) as caught:
        room.workspace.edit(path, known, [{"old_text": "old", "new_text": "evil"}])
    assert "1\told" in room.workspace.read(path).text
    assert room.data(path) == b"old\n"
    return caught.value


@each("pattern", PATTERNS)
def test_every_row_of_the_table_protects_at_any_depth_and_in_any_case(pattern: str) -> None:
    room = Room(made("memory", Path()))
    if not room.workspace.guard.decide(parse(name_of(pattern)), folder=False).allowed:
        room.file(name_of(pattern), "old\n")  # denied by default; the table holds where it is allowed
        with pytest.raises(Denied):
            perform(room.workspace, DeleteRequest(name_of(pattern)))
        return
    error = protected(room, name_of(pattern))
    assert error.facts["pattern"] == pattern
    protected(Room(made("memory", Path())), name_of(pattern).upper())


@pytest.mark.parametrize("path", [".mcp.json", "a/.vscode/tasks.json", ".husky/_/pre-commit"])
def test_they_are_protected_in_every_store(room: Room, path: str) -> None:
    protected(room, path)


@pytest.mark.parametrize("path", [".mcp.json", ".claude/settings.json", "x/.husky/pre-commit"])
def test_they_are_not_created(room: Room, path: str) -> None:
    with pytest.raises(Protected):
        room.write(path, "x", "absent")
    room.file("f", "x")
    with pytest.raises(Protected):
        perform(room.workspace, MoveRequest("f", path))


def test_a_folder_is_not_moved_to_a_name_under_which_what_is_in_it_would_be_run(room: Room) -> None:
    room.file("a/settings.json", "{}")
    room.file("b/pre-commit", "evil")
    for request in (MoveRequest("a", ".claude"), MoveRequest("b", ".husky"), MakeFolderRequest(".husky")):
        with pytest.raises(Protected):
            perform(room.workspace, request)


def test_a_folder_that_holds_one_is_not_deleted_or_moved(room: Room) -> None:
    room.file("a/.vscode/tasks.json", "{}")
    for request in (DeleteRequest("a", recursive=True), MoveRequest("a", "b"), TrashRequest("a")):
        with pytest.raises((Protected, HoldsDenied)):
            perform(room.workspace, request)
    assert room.data("a/.vscode/tasks.json") == b"{}"


def test_links_do_not_lead_to_them(tmp_path: Path) -> None:
    world = made("walk", tmp_path)
    world.file(".claude/settings.json", b"{}")
    world.link("innocent", ".claude")
    world.link("file", ".claude/settings.json")
    room = Room(world, changes=ChangePolicy(follow_links=True))
    for path in ("innocent/settings.json", "file"):
        with pytest.raises(Protected):
            room.write(path, "evil", str(room.workspace.read(path).facts["content_hash"]))


@pytest.mark.parametrize("path", OTHERS)
def test_what_developers_write_every_day_stays_writable(room: Room, path: str) -> None:
    room.write(path, "x", "absent")
    room.write(path, "y", str(room.workspace.read(path).facts["content_hash"]))
    perform(room.workspace, DeleteRequest(path))


class TestRepositories:
    """A folder with HEAD, objects and refs is a repository to git, whose config and hooks are run."""

    @pytest.mark.parametrize("path", ["config", "config.worktree", "hooks/post-checkout", "Hooks/x", "HEAD"])
    def test_what_git_runs_of_one_is_protected(self, room: Room, path: str) -> None:
        for name in ("HEAD", "objects/x", "refs/heads/x"):
            room.file(f"lib/repo/{name}", "x")
        assert protected(room, f"lib/repo/{path}").facts["pattern"] == "HEAD, objects/, refs/"

    @pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x"])
    def test_none_is_put_together(self, room: Room, last: str) -> None:
        """Each part by itself is harmless, and whichever comes last is refused."""
        parts = ["config", "hooks/post-checkout", "HEAD", "objects/x", "refs/x"]
        parts.remove(last)
        for part in parts:
            room.write(f"repo/{part}", "x", "absent")
        with pytest.raises(Protected):
            room.write(f"repo/{last}", "x", "absent")
        room.file("aside/x", "x")
        with pytest.raises(Protected):
            perform(room.workspace, MoveRequest("aside", f"repo/{last.partition('/')[0]}"))
        with pytest.raises(Protected):
            perform(room.workspace, MoveRequest("aside/x", f"repo/{last}"))


SENTENCE = re.compile(r"exceptions = \[.*\] under \[changes\] of the file given with --config")


@each(
    "path",
    [
        ".mcp.json",
        "a/.vscode/tasks.json",
        ".husky/pre-commit",
        "[id]/.mcp.json",
        "a b/.mcp.json",
        'it\'s "so"/.mcp.json',
        "back\\slash/.mcp.json",
        "ü*?/.mcp.json",
        "repo/hooks/post-checkout",
    ],
)
def test_the_sentence_that_says_how_to_allow_it_works(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    for name in (path, "repo/HEAD", "repo/objects/x", "repo/refs/x", "other/.mcp.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("old\n", encoding="utf-8")

    def write(operator: Path | None, path: str) -> Reply:
        store = LocalStore(root)
        with Workspace(store, settings=config.load(store, operator)) as workspace:
            known = workspace.read(path).facts["content_hash"]
            return workspace.call("write_file", {"path": path, "content": "new\n", "expected_hash": known})

    refused = write(None, path)
    assert refused.is_error
    found = SENTENCE.search(refused.text)
    assert found is not None, refused.text
    line = found[0].partition(" under ")[0]
    assert tomllib.loads(line)
    operator = tmp_path / "operator.toml"
    operator.write_text(f"[changes]\n{line}\n", encoding="utf-8")
    allowed = write(operator, path)
    assert not allowed.is_error, allowed.text
    assert (root / path).read_text(encoding="utf-8") == "new\n"
    assert write(operator, "other/.mcp.json").is_error, "no more is allowed than was asked for"


def test_an_exception_may_be_a_folder_or_a_pattern(tmp_path: Path) -> None:
    rules = tuple(Rule(pattern, "test", "") for pattern in (".husky/", "*/.vscode/tasks.json"))
    room = Room(made("memory", tmp_path), changes=ChangePolicy(exceptions=rules))
    for path in (".husky/pre-commit", ".husky/_/x", "a/.vscode/tasks.json"):
        room.write(path, "x", "absent")
    for path in (".vscode/tasks.json", "a/.vscode/launch.json", ".githooks/x"):
        with pytest.raises(Protected):
            room.write(path, "x", "absent")


def test_a_file_in_the_workspace_allows_nothing(tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text('[changes]\nexceptions = [".mcp.json"]\n', encoding="utf-8")
    with pytest.raises(ReadroomError, match="cannot take back built-in protections"):
        Workspace(tmp_path)


@in_each_confinement
def test_commands_read_them_and_change_nothing(tmp_path: Path, confinement: Confinement) -> None:
    kept = {
        "a/.mcp.json": "one\n",
        "a/.husky/pre-commit": "two\n",
        "b/repo/HEAD": "ref: refs/heads/main\n",
        "b/repo/objects/x": "",
        "b/repo/refs/x": "",
        "b/repo/config": "three\n",
        "b/repo/hooks/x": "four\n",
    }
    for name, text in kept.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with running(tmp_path, confinement) as workspace:
        read = workspace.run("cat a/.mcp.json a/.husky/pre-commit b/repo/config b/repo/hooks/x")
        assert read.facts["exit_code"] == 0, read.text
        for path in ("a/.mcp.json", "a/.husky/pre-commit", "b/repo/config", "b/repo/hooks/x"):
            for command in (f"echo evil > {path}", f"rm -f {path}", f"mv -f {path} b/away"):
                assert workspace.run(command).facts["exit_code"] != 0, command
        assert workspace.run("echo evil > a/.husky/post-commit").facts["exit_code"] != 0
        assert workspace.run("echo evil > b/repo/hooks/post-checkout").facts["exit_code"] != 0
        assert workspace.run("echo new > b/repo/refs/y").facts["exit_code"] == 0
    for name, text in kept.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    assert sorted(path.name for path in (tmp_path / "a" / ".husky").iterdir()) == ["pre-commit"]


@pytest.mark.parametrize("path", [".mcp.json", ".husky/pre-commit"])
def test_a_refusal_says_why_and_how_to_allow_it(tmp_path: Path, path: str) -> None:
    with Workspace(tmp_path) as workspace:
        arguments = {"path": path, "content": "x", "expected_hash": "absent"}
        reply = workspace.call("write_file", arguments)
    assert reply.is_error
    assert not (tmp_path / path).exists()
    assert "cannot be changed" in reply.text
    assert "under [changes] of the file given with --config" in reply.text
