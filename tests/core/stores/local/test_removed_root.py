"""A root that is removed while it is served is no empty folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.stores.local import Confinement, LocalStore
from tests.laws.driving import fact


@pytest.mark.parametrize("confinement", ["auto", "walk"])
@pytest.mark.parametrize("made_anew", [False, True])
def test_nothing_looks_empty_or_missing_in_a_root_that_is_gone(
    tmp_path: Path, confinement: Confinement, made_anew: bool
) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "a").write_text("x\n", encoding="utf-8")
    with Workspace(LocalStore(root, confinement)) as workspace:
        assert not workspace.call("read_file", {"path": "a"}).is_error
        shutil.rmtree(root)
        if made_anew:
            root.mkdir()
            (root / "a").write_text("x\n", encoding="utf-8")
        for tool, arguments in (
            ("read_file", {"path": "a"}),
            ("list_directory", {}),
            ("list_directory", {"path": "d"}),
            ("grep_files", {"pattern": "x"}),
            ("find_relevant", {"query": "x"}),
            ("write_file", {"path": "n", "content": "x", "expected_hash": "absent"}),
        ):
            reply = workspace.call(tool, arguments)
            assert fact(reply, "error")["code"] == "store_failed"
            assert "was removed" in reply.text
    assert sorted(path.name for path in root.glob("*")) == (["a"] if made_anew else [])


@pytest.mark.parametrize("by_link", [False, True])
def test_a_root_is_not_served_when_its_name_means_another_folder(tmp_path: Path, by_link: bool) -> None:
    """A change would go into the folder that was put aside, and be missed in the one that is there."""
    old, new, name = tmp_path / "old", tmp_path / "new", tmp_path / "name"
    for folder in (old, new):
        folder.mkdir()
        (folder / "a").write_text(f"{folder.name}\n", encoding="utf-8")
    if by_link:
        name.symlink_to(old)
    else:
        old.rename(name)
    with Workspace(name) as workspace:
        assert "old" in workspace.call("read_file", {"path": "a"}).text
        if by_link:
            name.unlink()
            name.symlink_to(new)
        else:
            name.rename(old)
            assert "old" in workspace.call("read_file", {"path": "a"}).text, "it was only moved"
            new.rename(name)
        for tool, arguments in (
            ("read_file", {"path": "a"}),
            ("grep_files", {"pattern": "o"}),
            ("write_file", {"path": "n", "content": "x", "expected_hash": "absent"}),
        ):
            reply = workspace.call(tool, arguments)
            assert fact(reply, "error")["code"] == "store_failed"
            assert "start readroom again" in reply.text
    assert not (old / "n").exists()
