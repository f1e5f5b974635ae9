"""Commands in a workspace of several roots: where they start, and what they can read and change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.values import Reply
from tests.core.sandbox.cells import in_each_confinement

MINE = Caller(session="one", face="mcp")


class Roots:
    """The first root, one that can be changed and one that is read-only, each with a secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first, self.free, self.fixed = (folder / name for name in ("a", "free", "fixed"))
        for root in (self.first, self.free, self.fixed):
            (root / "sub").mkdir(parents=True)
            (root / "sub" / "f.txt").write_text(f"from {root.name}\n")
            (root / ".env").write_text("SECRET=canary\n")
        (folder / "outside").mkdir()
        (folder / "outside" / "o.txt").write_text("canary\n")

    @contextmanager
    def open(self, confinement: str, text: str = "") -> Iterator[Workspace]:
        file = self.folder / "operator.toml"
        file.write_text(f'[commands]\nenabled = true\nconfinement = "{confinement}"\n{text}')
        others = (f"free={self.free}", f"fixed={self.fixed}:ro")
        store, options = config.open_roots(str(self.first), others)
        settings = config.loaded(store, options, str(file))
        store.close()
        with Workspace(str(self.first), *others, settings=settings) as workspace:
            yield workspace


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path)


def run(workspace: Workspace, command: str, **options: Any) -> Reply:
    return workspace.call("run_command", {"command": command, "output": "full", **options}, caller=MINE)


@in_each_confinement
def test_a_command_starts_in_the_folder_that_its_path_names(roots: Roots, confinement: str) -> None:
    expected = {
        None: roots.first,
        "sub": roots.first / "sub",
        "free": roots.free,
        "free/sub": roots.free / "sub",
        "fixed/sub": roots.fixed / "sub",
        str(roots.free): roots.free,
        str(roots.fixed / "sub"): roots.fixed / "sub",
    }
    with roots.open(confinement) as workspace:
        for cwd, folder in expected.items():
            reply = run(workspace, "pwd -P", **({} if cwd is None else {"cwd": cwd}))
            assert f"\t{folder}\n" in f"{reply.text}\n", (cwd, reply.text)
        for cwd in ("none", "free/none", "../outside", str(roots.folder / "outside"), "free/../../outside"):
            assert run(workspace, "pwd -P", cwd=cwd).is_error, cwd


@in_each_confinement
def test_every_root_is_read_at_its_path_and_no_secret_of_any(roots: Roots, confinement: str) -> None:
    with roots.open(confinement) as workspace:
        for cwd in (".", "free", "fixed"):
            for root in (roots.first, roots.free, roots.fixed):
                assert f"from {root.name}" in run(workspace, f"cat {root}/sub/f.txt", cwd=cwd).text
                assert "canary" not in run(workspace, f"cat {root}/.env; cat {root}/.e*", cwd=cwd).text
            assert "canary" not in run(workspace, f"cat {roots.folder}/outside/o.txt", cwd=cwd).text


@in_each_confinement
def test_a_read_only_root_cannot_be_changed_from_any_folder(roots: Roots, confinement: str) -> None:
    fixed, free = roots.fixed / "sub", roots.free / "sub"
    attempts = [
        f"echo x > {fixed}/new.txt",
        f"echo x >> {fixed}/f.txt",
        f": > {fixed}/f.txt",
        f"rm {fixed}/f.txt",
        f"mv {fixed}/f.txt {fixed}/g.txt",
        f"mv {fixed}/f.txt {free}/stolen.txt",
        f"mv {free}/f.txt {fixed}/f.txt",
        f"mkdir {fixed}/d",
        f"chmod 777 {fixed}/f.txt",
        f"ln {fixed}/f.txt {free}/hard.txt && echo x >> {free}/hard.txt",
        f"ln -s {fixed}/f.txt {free}/soft.txt && echo x >> {free}/soft.txt",
        f"cd {fixed} && echo x > ../sub/new.txt",
    ]
    with roots.open(confinement) as workspace:
        for cwd in (".", "free/sub", "fixed/sub"):
            for attempt in attempts:
                run(workspace, attempt, cwd=cwd)
                assert [entry.name for entry in fixed.iterdir()] == ["f.txt"], attempt
                assert (fixed / "f.txt").read_text() == "from fixed\n", attempt
                assert (fixed / "f.txt").stat().st_mode & 0o777 != 0o777, attempt


@in_each_confinement
def test_the_other_roots_can_be_changed_and_the_reply_names_what_was(roots: Roots, confinement: str) -> None:
    with roots.open(confinement) as workspace:
        for cwd in (".", "free", "fixed"):
            for root in (roots.first, roots.free):
                name = f"of-{cwd.strip('.')}.txt"
                run(workspace, f"echo new > {root}/sub/{name}", cwd=cwd)
                assert (root / "sub" / name).read_text() == "new\n"


@in_each_confinement
def test_a_root_whose_own_file_forbids_commands_is_not_seen_by_them(roots: Roots, confinement: str) -> None:
    (roots.free / "readroom.toml").write_text("[commands]\nenabled = false\n")
    with roots.open(confinement) as workspace:
        for cwd in (".", "fixed"):
            assert "from free" not in run(workspace, f"cat {roots.free}/sub/f.txt", cwd=cwd).text
        assert "from first" not in run(workspace, "cat sub/f.txt", cwd="free").text
        assert "from a" in run(workspace, "cat sub/f.txt").text
