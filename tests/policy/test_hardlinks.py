"""How long a search for denied files with several names stands, by clocks of the test's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from readroom.errors import HardLinked
from readroom.limits import HARDLINK_SCAN_KEPT_S, HARDLINK_SCAN_S
from readroom.paths import WorkPath
from readroom.policy.defaults import denials
from readroom.policy.hardlinks import HardLinks
from readroom.policy.rules import Rules
from readroom.stores.local import LocalStore

HOUR_NS = 3600 * 10**9


class Clock:
    """Seconds that pass when the test says so, or a step at every look."""

    def __init__(self, step: float = 0) -> None:
        self.now = 1000.0
        self._steps: Iterator[float] = count(0, step)

    def seconds(self) -> float:
        return self.now + next(self._steps)


class Tree:
    """Two allowed files with two names each, and a denied one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("a", "b", ".env"):
            (root / name).write_bytes(b"data")
        os.link(root / "a", root / "a2")
        os.link(root / "b", root / "b2")
        self.store = LocalStore(root)
        self.rules = Rules([denials()])
        # File times are before any search by far, unless the test changes a file.
        self.newest = max(os.stat(root / name).st_ctime_ns for name in os.listdir(root))

    def check(self, links: HardLinks, name: str) -> None:
        with self.store.open(WorkPath(name)) as source:
            links.check(source, WorkPath(name), self.rules)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_search_stands_for_files_that_were_not_changed_since(tree: Tree) -> None:
    """Told by a name that became denied without any file being changed: the folder was renamed."""
    clock = Clock()
    (tree.root / "folder").mkdir()
    os.link(tree.root / "a", tree.root / "folder" / "a3")
    later = os.stat(tree.root / "a").st_ctime_ns + HOUR_NS
    links = HardLinks(tree.store, wall_ns=lambda: later, clock_s=clock.seconds)
    tree.check(links, "a")
    (tree.root / "folder").rename(tree.root / ".ssh")
    tree.check(links, "a")
    clock.now += HARDLINK_SCAN_KEPT_S
    with pytest.raises(HardLinked):
        tree.check(links, "a")


def test_a_file_changed_since_the_search_is_searched_for_again(tree: Tree) -> None:
    clock = Clock()
    links = HardLinks(tree.store, wall_ns=lambda: tree.newest, clock_s=clock.seconds)
    tree.check(links, "a")
    (tree.root / "sub").mkdir()
    (tree.root / "sub" / ".env").write_bytes(b"later")
    os.link(tree.root / "sub" / ".env", tree.root / "innocent")
    with pytest.raises(HardLinked):
        tree.check(links, "innocent")


def test_a_link_to_a_known_denied_file_is_caught_whatever_the_clocks_say(tree: Tree) -> None:
    """The file server's clock is an hour behind: the new link looks older than the search."""
    clock = Clock()
    links = HardLinks(tree.store, wall_ns=lambda: tree.newest + HOUR_NS, clock_s=clock.seconds)
    tree.check(links, "a")
    os.link(tree.root / ".env", tree.root / "innocent")
    with pytest.raises(HardLinked):
        tree.check(links, "innocent")


def test_when_there_are_too_many_files_such_files_are_refused(tree: Tree) -> None:
    clock = Clock(step=HARDLINK_SCAN_S)
    links = HardLinks(tree.store, clock_s=clock.seconds)
    with pytest.raises(HardLinked, match="too many files"):
        tree.check(links, "a")


def test_folders_behind_links_are_not_searched(tree: Tree) -> None:
    (tree.root / "loop").symlink_to(".")
    (tree.root / "out").symlink_to("/")
    tree.check(HardLinks(tree.store), "a")


def test_a_folder_that_is_closed_to_us_does_not_end_the_search(tree: Tree) -> None:
    (tree.root / "closed").mkdir(mode=0)
    tree.check(HardLinks(tree.store), "a")
    (tree.root / "closed").chmod(0o700)
