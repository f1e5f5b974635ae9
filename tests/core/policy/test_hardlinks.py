"""How long a search for denied files with several names stands, by clocks of the test's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from readroom.core.errors import HardLinked
from readroom.core.paths import WorkPath
from readroom.core.policy.hardlinks import HARDLINK_SCAN_KEPT_S, HARDLINK_SCAN_S, HardLinks
from readroom.core.policy.rules import Rules, denials
from readroom.core.stores.local import LocalStore

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
        (root / "far").mkdir()
        os.link(root / "a", root / "far" / "a2")
        os.link(root / "b", root / "far" / "b2")
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


def test_a_search_says_nothing_once_the_clock_was_set_back(tree: Tree) -> None:
    """A file that is made after it then looks older than the search."""
    wall = [tree.newest + 2 * HOUR_NS]
    links = HardLinks(tree.store, wall_ns=lambda: wall[0], clock_s=Clock().seconds)
    tree.check(links, "a")
    wall[0] = tree.newest + HOUR_NS
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


def test_a_long_search_is_refused_in_parts_and_goes_on_with_the_next_call(tree: Tree) -> None:
    """Two folders in every part of it, of 22 in all."""
    for number in range(20):
        (tree.root / f"d{number}").mkdir()
    os.link(tree.root / ".env", tree.root / "innocent")
    clock = Clock(step=HARDLINK_SCAN_S / 3)
    later = os.stat(tree.root / ".env").st_ctime_ns + HOUR_NS
    links = HardLinks(tree.store, wall_ns=lambda: later, clock_s=clock.seconds)
    said = []
    for _ in range(4):
        with pytest.raises(HardLinked, match="it is not known yet") as caught:
            tree.check(links, "a")
        assert not caught.value.known
        assert "Send the same call again" in caught.value.advice
        said.append(caught.value.message)
        with pytest.raises(HardLinked, match="one of the others is denied"):
            tree.check(links, "innocent")  # the folder that it is in was searched first
    assert len(set(said)) == 4, "every part comes further"
    for _ in range(20):
        with suppress(HardLinked):
            tree.check(links, "a")
            break
    else:
        pytest.fail("the search never ends")


def test_a_file_whose_names_are_all_in_one_folder_needs_no_search(tree: Tree) -> None:
    os.link(tree.root / "far" / "a2", tree.root / "far" / "a3")
    (tree.root / "here").write_bytes(b"")
    os.link(tree.root / "here", tree.root / "here2")
    for number in range(20):
        (tree.root / f"d{number}").mkdir()
    links = HardLinks(tree.store, clock_s=Clock(step=HARDLINK_SCAN_S / 3).seconds)
    tree.check(links, "here")
    with pytest.raises(HardLinked, match="not known yet"):
        tree.check(links, "far/a3")  # whose third name is elsewhere
    os.link(tree.root / "here", tree.root / "id_rsa")
    with pytest.raises(HardLinked):
        tree.check(links, "here")


def test_a_long_search_stands_for_long(tree: Tree) -> None:
    clock = Clock(step=HARDLINK_SCAN_S * 0.9)
    later = tree.newest + HOUR_NS
    links = HardLinks(tree.store, wall_ns=lambda: later, clock_s=clock.seconds)
    for number in range(30):
        (tree.root / f"d{number}").mkdir()
    while True:
        with suppress(HardLinked):
            tree.check(links, "a")
            break
    clock.now += HARDLINK_SCAN_KEPT_S + 1
    tree.check(links, "a")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
class TestFileSystems:
    """Names of one file are on one file system, wherever that is mounted."""

    @pytest.fixture
    def mounted(self, tree: Tree) -> Iterator[Tree]:
        for place, kind in (("disk", ["-t", "tmpfs", "none"]),):
            (tree.root / place).mkdir()
            subprocess.run(["mount", *kind, str(tree.root / place)], check=True)
        yield tree
        subprocess.run(["umount", "-R", str(tree.root / "disk")], check=True)

    def test_others_are_not_searched(self, mounted: Tree) -> None:
        """A thousand folders there, and the one here is done in one part."""
        for number in range(1000):
            (mounted.root / "disk" / f"d{number}").mkdir()
        mounted.check(HardLinks(mounted.store, clock_s=Clock(step=HARDLINK_SCAN_S / 6).seconds), "a")

    @pytest.mark.parametrize("what", ["folder", "file"])
    def test_the_same_one_mounted_below_another_is(
        self, mounted: Tree, tmp_path_factory: Any, what: str
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        (outside / ".env").write_bytes(b"denied here, and linked to there")
        os.link(outside / ".env", mounted.root / "innocent")
        place = mounted.root / "disk" / "with blank"
        if what == "folder":
            place.mkdir()
            subprocess.run(["mount", "--bind", str(outside), str(place)], check=True)
        else:
            place.mkdir()
            (place / ".env").touch()
            subprocess.run(["mount", "--bind", str(outside / ".env"), str(place / ".env")], check=True)
        with pytest.raises(HardLinked, match="one of the others is denied"):
            mounted.check(HardLinks(mounted.store), "innocent")

    def test_a_file_of_the_other_one_is_looked_for_there(self, mounted: Tree) -> None:
        (mounted.root / "disk" / ".env").write_bytes(b"")
        os.link(mounted.root / "disk" / ".env", mounted.root / "disk" / "innocent")
        with pytest.raises(HardLinked, match="one of the others is denied"):
            mounted.check(HardLinks(mounted.store), "disk/innocent")


def test_folders_behind_links_are_not_searched(tree: Tree) -> None:
    (tree.root / "loop").symlink_to(".")
    (tree.root / "out").symlink_to("/")
    tree.check(HardLinks(tree.store), "a")


def test_a_folder_that_is_closed_to_us_does_not_end_the_search(tree: Tree) -> None:
    (tree.root / "closed").mkdir(mode=0)
    tree.check(HardLinks(tree.store), "a")
    (tree.root / "closed").chmod(0o700)
