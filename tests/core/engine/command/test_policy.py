"""What policy says of files holds for commands; what the operator opens to commands is open."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import changed, codes, lines, refused, room
from tests.core.sandbox.cells import in_each_confinement

CANARY = "canary7f3a"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    for name in ("src/a.txt", "docs/b.txt", "docs/c.md", ".git/HEAD", ".git/objects/x"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(f"{name}\n")
    return found


def configured(root: Path, confinement: Confinement, text: str = "", **policy: Any) -> Workspace:
    """A workspace whose own file says something."""
    if text:
        (root / "readroom.toml").write_text(text)
    store = config.open_store(root)
    settings = changed(config.load(store, allow_commands=True), confinement=confinement, **policy)
    return Workspace(store, settings=settings)


@in_each_confinement
def test_an_allow_list_holds_for_commands(root: Path, confinement: Confinement) -> None:
    text = '[policy]\nallow = ["src/", "docs/*.md"]\n'
    with configured(root, confinement, text) as workspace:
        assert lines(workspace.run("cat src/a.txt docs/c.md")) == ["src/a.txt", "docs/c.md"]
        reply = workspace.run("cat docs/b.txt; echo x > docs/new.txt; echo x > new.txt; echo x > src/new")
        assert "docs/b.txt" not in lines(reply)
        assert (root / "src" / "new").read_text() == "x\n"
    assert sorted(os.listdir(root)) == [".git", "docs", "readroom.toml", "src"]
    assert sorted(os.listdir(root / "docs")) == ["b.txt", "c.md"]


@in_each_confinement
@pytest.mark.parametrize(("mode", "reads", "writes"), [("hidden", 0, 0), ("read", 1, 0), ("write", 1, 1)])
def test_version_control_is_as_open_as_the_operator_says(
    root: Path, confinement: Confinement, mode: str, reads: int, writes: int
) -> None:
    with configured(root, confinement, version_control=mode) as workspace:
        reply = workspace.run("cat .git/HEAD; echo x > .git/index")
        assert lines(reply) == [".git/HEAD"] * reads
        assert workspace.call("read_file", {"path": ".git/HEAD"}).is_error
    assert (root / ".git" / "index").exists() == bool(writes)


@in_each_confinement
def test_a_read_only_workspace_is_read_only_to_commands(root: Path, confinement: Confinement) -> None:
    with configured(root, confinement, "[changes]\nread_only = true\n") as workspace:
        reply = workspace.run("cat src/a.txt; echo x > src/a.txt; chmod 777 src/a.txt; touch new; rm -r docs")
        assert lines(reply) == ["src/a.txt"]
        assert workspace.run("echo x > $TMPDIR/x && echo x > ~/x").facts["exit_code"] == 0
    assert (root / "src" / "a.txt").read_text() == "src/a.txt\n"
    assert (root / "src" / "a.txt").stat().st_mode & 0o777 != 0o777
    assert sorted(os.listdir(root)) == [".git", "docs", "readroom.toml", "src"]


@in_each_confinement
def test_places_outside_are_as_open_as_the_operator_says(root: Path, confinement: Confinement) -> None:
    for name in ("tools", "cache", "closed"):
        (root.parent / name).mkdir()
        (root.parent / name / "f").write_text(f"{name}\n")
    places: dict[str, Any] = {"read": (str(root.parent / "tools"),), "write": (str(root.parent / "cache"),)}
    with configured(root, confinement, **places) as workspace:
        reply = workspace.run(
            "cat ../tools/f ../cache/f ../closed/f; echo x > ../tools/g; echo x > ../cache/g"
        )
        assert lines(reply) == ["tools", "cache"]
        workspace.run("chmod 700 ../tools/f ../cache/f")
    assert [(root.parent / name / "g").exists() for name in ("tools", "cache")] == [False, True]
    modes = [(root.parent / name / "f").stat().st_mode & 0o777 for name in ("tools", "cache")]
    assert modes == [(root.parent / "closed" / "f").stat().st_mode & 0o777, 0o700]


@pytest.mark.parametrize("where", ["..", ".", "src"])
@pytest.mark.parametrize("key", ["read", "write"])
def test_a_place_outside_that_holds_the_workspace_is_refused(root: Path, key: str, where: str) -> None:
    places: dict[str, Any] = {key: (os.path.normpath(root / where),)}
    with room(root, **places) as workspace:
        error = refused(workspace, "true")
    assert isinstance(error, BadConfig)
    assert "holds the workspace" in str(error)


@in_each_confinement
@pytest.mark.parametrize("network", [True, False])
def test_the_network_is_as_open_as_the_operator_says(
    root: Path, confinement: Confinement, network: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        with configured(root, confinement, network=network) as workspace:
            reply = workspace.run(f'python3 -c "{code}"')
        assert (reply.facts["exit_code"] == 0) == network
        assert reply.facts["network"] == network


@in_each_confinement
def test_a_denied_file_that_comes_meanwhile_is_hidden_from_the_next_command(
    root: Path, confinement: Confinement
) -> None:
    """While a command runs its confinement stands; this is said on the page about commands."""
    with configured(root, confinement) as workspace:
        os.mkfifo(root / "gate")  # to open it waits for the other side

        def appear() -> None:
            with (root / "gate").open("w"):
                (root / "src" / ".env").write_text(CANARY)

        thread = threading.Thread(target=appear)
        thread.start()
        assert workspace.run("cat gate").facts["exit_code"] == 0
        thread.join()
        reply = workspace.run("cat src/.env; grep -r canary .")
        assert CANARY not in reply.text


@in_each_confinement
def test_what_a_command_makes_under_a_denied_name_is_not_shown(root: Path, confinement: Confinement) -> None:
    with configured(root, confinement) as workspace:
        workspace.run(f"echo {CANARY} > src/.env; mkdir -p src/.ssh; echo {CANARY} > src/.ssh/id")
        assert CANARY not in workspace.run("cat src/.env src/.ssh/id").text
        assert workspace.call("read_file", {"path": "src/.env"}).is_error


@in_each_confinement
def test_a_file_with_a_second_name_is_hidden_where_policy_refuses_such_files(
    root: Path, confinement: Confinement
) -> None:
    (root / "docs" / "two.txt").hardlink_to(root / "src" / "a.txt")
    store = config.open_store(root)
    settings = changed(config.load(store, allow_commands=True), confinement=confinement)
    with Workspace(store, settings=replace(settings, hardlinks="refuse")) as workspace:
        assert lines(workspace.run("cat docs/two.txt src/a.txt docs/b.txt")) == ["docs/b.txt"]


@pytest.mark.parametrize("confinement", ["landlock"])
def test_folders_in_which_landlock_allows_no_new_names_are_said(root: Path, confinement: Confinement) -> None:
    from readroom.core.sandbox import available

    if available("landlock"):
        return
    (root / "docs" / ".env").write_text(CANARY)
    with configured(root, confinement) as workspace:
        reply = workspace.run("touch docs/new; touch src/new; echo more >> docs/b.txt")
        assert "limited" in codes(reply)
        assert (
            "cannot create or delete files directly in ., docs, only in folders below; the tools"
            in reply.text
        )
    assert (root / "src" / "new").exists()
    assert (root / "docs" / "b.txt").read_text() == "docs/b.txt\nmore\n"
    assert not (root / "docs" / "new").exists()
