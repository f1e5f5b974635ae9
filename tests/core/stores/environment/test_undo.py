"""Changes in a sandbox are taken back as those of a folder are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from readroom.core.stores.environment import EnvironmentStore
from tests.core.history.pasts import Past, tree
from tests.core.stores.environment.machines import ShellMachine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "a").write_text("one\n")
    return folder


@pytest.fixture
def past(root: Path, tmp_path: Path) -> Iterator[Past]:
    made = Past(EnvironmentStore(ShellMachine(root)), tmp_path / "history")
    yield made
    made.close()


def _known(past: Past) -> str:
    return str(past.workspace.read("d/a").facts["content_hash"])


def _moved_into_new_folders(past: Past) -> None:
    past.change(action="move", path="d/a", to="n/m/a", expected_hash=_known(past))


def _deleted_into_the_trash(past: Past) -> None:
    past.change(action="delete", path="d/a", expected_hash=_known(past))


def _written_into_new_folders(past: Past) -> None:
    past.write("n/m/b", "two\n")


@pytest.mark.parametrize(
    "change", [_moved_into_new_folders, _deleted_into_the_trash, _written_into_new_folders]
)
def test_folders_that_a_change_made_go_with_what_it_put_there(
    change: Callable[[Past], None], past: Past, root: Path
) -> None:
    """One commit takes the file out of the folder, and then the folder away."""
    before = tree(root)
    change(past)
    assert tree(root) != before
    past.undo(change=past.changes()[0].id)
    assert tree(root) == before
