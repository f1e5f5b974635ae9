"""Environments that hang, lie, cut, add, change in the middle or lack programs: errors of ours, in time."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.deadline import Deadline
from readroom.core.errors import NotFound, ReadroomError, StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from readroom.core.stores.environment import EnvironmentStore, Ran
from readroom.core.stores.environment.base import failed
from readroom.core.stores.environment.scripts import PROGRAMS, escaped
from tests.core.stores.environment.machines import ShellMachine
from tests.core.stores.write_cases import create, names, nothing

ODD = (
    "new\nline",
    "$(touch pwned)",
    "`id`",
    "-rf",
    "--",
    "'quoted'",
    '"',
    "\\0101",
    "a b ",
    "\udcff\udcfe",
    "%s%n",
    "é",
)


class World:
    """A folder, and the store that reaches it through a client."""

    def __init__(
        self, root: Path, answer: Callable[[Ran], Ran] | None = None, path: str | None = None
    ) -> None:
        self.root = root
        self.machine = ShellMachine(root, answer=answer, path=path)
        self.store = EnvironmentStore(self.machine)

    def file(self, path: str, data: bytes = b"") -> None:
        (self.root / path).write_bytes(data)

    def folder(self, path: str) -> None:
        (self.root / path).mkdir()

    def link(self, path: str, target: str) -> None:
        (self.root / path).symlink_to(target)

    def delete(self, path: str) -> None:
        (self.root / path).unlink()


def content(world: World, path: str) -> bytes:
    with world.store.open(WorkPath(path)) as source:
        return source.read_at(0, source.size)


@pytest.mark.parametrize("name", ODD)
def test_any_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    create(world, f"{name}/{name}", b"one")
    assert content(world, f"{name}/{name}") == b"one"
    assert names(world) == [name]
    assert os.listdir(os.fsencode(tmp_path)) == [os.fsencode(name)]
    with world.store.place(WorkPath(f"{name}/{name}")) as place:
        place.hold(_deadline())
        place.remove(None)
    assert names(world, name) == []


def test_every_argument_of_a_command_is_plain_text(tmp_path: Path) -> None:
    world = World(tmp_path)
    create(world, "ü\n\udcff", b"\0\xff")
    assert all(part.isascii() and "\0" not in part for command in world.machine.ran for part in command)
    assert re.fullmatch(r"[A-Za-z0-9_/.,:@=\\-]*", escaped("$(a)'\"`;&|<> \n\t*?[]{}~!#é"))


@pytest.mark.parametrize("size", [0, 1, 24_576, 24_577, 49_152, 49_153, 200_000, 2_000_001])
def test_bytes_arrive_as_they_are(tmp_path: Path, size: int) -> None:
    world = World(tmp_path)
    data = os.urandom(size)
    world.file("f", data)
    assert content(world, "f") == data
    create(world, "g", data)
    assert (tmp_path / "g").read_bytes() == data


# --- what clients make of output ------------------------------------------------------------------


def test_what_a_client_adds_to_an_answer_is_no_part_of_it(tmp_path: Path) -> None:
    def noisy(ran: Ran) -> Ran:
        return Ran(ran.code, f"Welcome!\r\nlast login: </x> <1 2>\r\n{ran.text}\n\nExit code: 0\n")

    world = World(tmp_path, noisy)
    world.file("f", b"text")
    assert content(world, "f") == b"text"


@pytest.mark.parametrize("most", [70_000, 100_000, 300_000])
def test_a_client_that_cuts_output_is_asked_for_less(tmp_path: Path, most: int) -> None:
    def cut(ran: Ran) -> Ran:
        return ran if len(ran.text) <= most else Ran(ran.code, ran.text[:most] + "\n\n... Output truncated.")

    world = World(tmp_path, cut)
    for number in range(3000):
        world.file(f"{number:0200}")
    data = os.urandom(1_000_000)
    world.file("data", data)
    assert len(names(world)) == 3001
    assert content(world, "data") == data


def test_a_client_that_passes_on_next_to_nothing_is_told_from_one_that_fails(tmp_path: Path) -> None:
    world = World(tmp_path, lambda ran: Ran(ran.code, ran.text[:60]))
    with pytest.raises(StoreFailed) as caught:
        world.store.stat(WorkPath("f"))
    assert "64 KiB" in caught.value.advice


@pytest.mark.parametrize(
    "change", [lambda text: text.replace("A", "B"), lambda text: "", lambda text: "garbage"]
)
def test_an_answer_that_is_not_whole_is_no_answer(tmp_path: Path, change: Callable[[str], str]) -> None:
    world = World(tmp_path, lambda ran: Ran(ran.code, change(ran.text)))
    world.file("f", b"A" * 90)
    with pytest.raises(StoreFailed) as caught:
        content(world, "f")
    assert caught.value.advice


def test_lines_that_a_client_leaves_out_in_the_middle_are_noticed(tmp_path: Path) -> None:
    def folded(ran: Ran) -> Ran:
        return Ran(ran.code, re.sub(r"[A-Za-z0-9+/=]{200}", lambda found: found[0][:50], ran.text))

    world = World(tmp_path, folded)
    for number in range(50):
        world.file(f"name{number}")
    with pytest.raises(StoreFailed):
        names(world)


def test_a_client_that_does_not_answer_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    class Hanging(ShellMachine):
        def run(self, command: Sequence[str], seconds: float) -> Ran:
            raise failed(self.name, f"it did not answer within {seconds:g} s")

    with pytest.raises(StoreFailed) as caught:
        Workspace(EnvironmentStore(Hanging(tmp_path)))
    assert "sandbox still runs" in caught.value.advice


def test_missing_programs_are_named(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in {*PROGRAMS.split(), "sh", "grep", "tar"} - {"sha256sum", "base64"}:
        (programs / name).symlink_to(str(shutil.which(name)))
    world = World(tmp_path, path=str(programs))
    with pytest.raises(StoreFailed) as caught:
        world.store.stat(WorkPath("."))
    assert caught.value.advice


def test_a_root_that_vanishes_is_an_error_and_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    world = World(root)
    world.file("f", b"here")
    assert content(world, "f") == b"here"
    root.rename(tmp_path / "away")
    with pytest.raises(StoreFailed) as caught:
        world.store.stat(WorkPath("f"))
    assert "start the sandbox again" in caught.value.advice
    (tmp_path / "away").rename(root)
    assert content(world, "f") == b"here"


# --- changes in the middle ------------------------------------------------------------------------


def test_a_file_that_is_replaced_while_it_is_read_is_not_mixed_with_its_successor(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file("f", b"a" * 3_000_000)
    with world.store.open(WorkPath("f")) as source:
        assert source.read_at(0, 10) == b"a" * 10
        world.file("new", b"b" * 3_000_000)
        (tmp_path / "new").rename(tmp_path / "f")
        with pytest.raises(NotFound):
            source.read_at(2_900_000, 10)
        assert source.current() != source.version


def test_a_link_that_takes_the_place_of_a_folder_leads_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "f").write_bytes(b"theirs")
    world = World(root)
    world.folder("d")
    world.file("d/f", b"ours")

    def swap() -> None:
        (root / "d").rename(root / "was")
        (root / "d").symlink_to(outside)

    with world.store.place(WorkPath("d/new")) as place:
        place.hold(_deadline())
        with pytest.raises(Moved):
            place.put([b"new"], None, swap)
    assert sorted(os.listdir(outside)) == ["f"]
    with pytest.raises(ReadroomError):
        world.store.open(WorkPath("d/f"))


def test_what_came_to_a_name_meanwhile_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file("f", b"old")
    with world.store.place(WorkPath("f")) as place:
        place.hold(_deadline())
        with place.open() as source:
            world.file("other", b"old")

            def swap() -> None:
                (tmp_path / "other").rename(tmp_path / "f")

            with pytest.raises(Moved):
                place.put([b"new"], source, swap)
    assert names(world) == ["f"]
    assert content(world, "f") == b"old"


def test_without_room_nothing_is_changed_and_nothing_is_left(tmp_path: Path) -> None:
    class Full(ShellMachine):
        def run(self, command: Sequence[str], seconds: float) -> Ran:
            full = "base64 -d" in command[2]
            return super().run(
                ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *command] if full else command, seconds
            )

    world = World(tmp_path)
    world.store = EnvironmentStore(Full(tmp_path))
    world.file("f", b"old")
    with world.store.place(WorkPath("f")) as place:
        place.hold(_deadline())
        with place.open() as source, pytest.raises((StoreFailed, Moved)):
            place.put([b"x" * 100_000], source, nothing)
    assert content(world, "f") == b"old"
    assert names(world) == ["f"]


def test_an_answer_that_is_lost_says_that_the_outcome_is_not_known(tmp_path: Path) -> None:
    lost = threading.Event()

    class Losing(ShellMachine):
        def run(self, command: Sequence[str], seconds: float) -> Ran:
            ran = super().run(command, seconds)
            if lost.is_set() and "trap" in command[2]:
                raise failed(self.name, "it did not answer")
            return ran

    world = World(tmp_path)
    world.store = EnvironmentStore(Losing(tmp_path))
    with world.store.place(WorkPath("f")) as place:
        place.hold(_deadline())
        lost.set()
        with pytest.raises(StoreFailed) as caught:
            place.put([b"new"], None, nothing)
    assert "not known" in caught.value.problem
    assert names(world) == ["f"]


def _deadline() -> Deadline:

    return Deadline()
