"""What every store does with a place for a new file. A store's own file gives the world."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, NotAFile, NotAFolder, NotFound, OutsideRoot, TimedOut
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from readroom.core.values import EntryKind
from tests.core.stores.cases import ODD_NAMES, read
from tests.core.stores.worlds import World


class _GaveUp(Exception):
    pass


def give_up() -> None:
    raise _GaveUp


def nothing() -> None:
    pass


def names(world: World, folder: str = ".") -> list[str]:
    with world.store.open_folder(WorkPath(folder)) as opened:
        return sorted(entry.name for entry in opened.entries())


def create(world: World, path: str, data: bytes = b"new") -> None:
    with world.store.place(WorkPath(path)) as place:
        place.enter(Deadline(), make_folders=True)
        place.put([data], None, nothing)


class Placing:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_a_new_file_has_its_bytes_and_nothing_else_is_there(self, world: World, name: str) -> None:
        with world.store.place(WorkPath(name)) as place:
            assert place.look() is None
            place.enter(Deadline(), make_folders=False)
            place.put([b"one", b"", b"two"], None, nothing)
            assert place.real == name
        assert read(world, name) == b"onetwo"
        assert names(world) == [name]

    def test_a_file_is_replaced(self, world: World) -> None:
        world.file("a/f", b"old")
        with world.store.place(WorkPath("a/f")) as place:
            place.enter(Deadline(), make_folders=False)
            with place.open() as source:
                assert source.read_at(0, 10) == b"old"
                place.put([b"new"], source, nothing)
        assert read(world, "a/f") == b"new"
        assert names(world, "a") == ["f"]

    def test_what_is_there_is_not_created_again(self, world: World) -> None:
        world.file("f", b"old")
        with world.store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=False)
            with pytest.raises(Moved):
                place.put([b"new"], None, nothing)
        assert read(world, "f") == b"old"
        assert names(world) == ["f"]

    def test_a_file_that_was_changed_meanwhile_is_not_replaced(self, world: World) -> None:
        world.file("f", b"old")
        with world.store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=False)
            with place.open() as source, pytest.raises(Moved):
                place.put([b"new"], source, lambda: world.file("f", b"theirs"))
        assert read(world, "f") == b"theirs"
        assert names(world) == ["f"]

    def test_a_file_that_was_removed_meanwhile_stays_away(self, world: World) -> None:
        world.file("f", b"old")
        with world.store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=False)
            with place.open() as source, pytest.raises(Moved):
                place.put([b"new"], source, lambda: world.delete("f"))
        assert names(world) == []

    def test_giving_up_at_the_last_moment_changes_nothing(self, world: World) -> None:
        with world.store.place(WorkPath("a/b/f")) as place:
            place.enter(Deadline(), make_folders=True)
            with pytest.raises(_GaveUp):
                place.put([b"new"], None, give_up)
        assert names(world) == []

    def test_giving_up_while_bytes_arrive_changes_nothing(self, world: World) -> None:
        world.file("f", b"old")

        def pieces() -> Iterator[bytes]:
            yield b"half"
            give_up()

        with world.store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=True)
            with place.open() as source, pytest.raises(_GaveUp):
                place.put(pieces(), source, nothing)
        assert read(world, "f") == b"old"
        assert names(world) == ["f"]

    def test_missing_folders_are_made_when_asked_for(self, world: World) -> None:
        world.folder("a")
        with world.store.place(WorkPath("a/b/c/f")) as place:
            assert place.folders == ()
            place.enter(Deadline(), make_folders=True)
            place.put([b"new"], None, nothing)
            assert list(place.folders) == ["a/b", "a/b/c"]
        assert read(world, "a/b/c/f") == b"new"

    def test_missing_folders_are_not_made_otherwise(self, world: World) -> None:
        with world.store.place(WorkPath("a/f")) as place, pytest.raises(NotFound):
            place.enter(Deadline(), make_folders=False)
        assert names(world) == []

    def test_finding_a_place_changes_nothing(self, world: World) -> None:
        world.store.place(WorkPath("a/b/f")).close()
        assert names(world) == []

    def test_a_file_on_the_way_is_no_folder(self, world: World) -> None:
        world.file("f")
        for path in ("f/g", "f/g/h"):
            with pytest.raises(NotAFolder):
                world.store.place(WorkPath(path))

    def test_the_root_is_no_file(self, world: World) -> None:
        with pytest.raises(NotAFile):
            world.store.place(WorkPath("."))

    def test_closing_twice_is_closing_once(self, world: World) -> None:
        place = world.store.place(WorkPath("f"))
        place.enter(Deadline(), make_folders=False)
        place.close()
        place.close()
        create(world, "f")


class PlacingThroughLinks:
    def test_a_link_to_a_folder_inside_is_followed_and_the_real_name_told(self, world: World) -> None:
        world.folder("real")
        world.link("link", "real")
        create(world, "link/f")
        create(world, "link/deep/g")
        assert read(world, "real/f") == b"new"
        with world.store.place(WorkPath("link/deep/g")) as place:
            assert place.real == "real/deep/g"

    @pytest.mark.parametrize("target", ["../outside", "/etc", "..", "real/../../outside"])
    def test_a_link_to_a_folder_outside_is_refused(self, world: World, target: str) -> None:
        world.folder("real")
        world.link("link", target)
        for path in ("link/f", "link/new/f"):
            with pytest.raises(OutsideRoot):
                world.store.place(WorkPath(path))

    def test_a_link_at_the_name_is_seen_and_not_followed(self, world: World) -> None:
        world.file("f", b"old")
        world.link("link", "f")
        with world.store.place(WorkPath("link")) as place:
            found = place.look()
            assert found is not None
            assert found.kind is EntryKind.LINK
            place.enter(Deadline(), make_folders=False)
            with pytest.raises(Moved):
                place.open()
            with pytest.raises(Moved):
                place.put([b"new"], None, nothing)
        assert read(world, "f") == b"old"


class Excluding:
    def test_a_second_writer_waits_until_its_time_is_over(self, world: World) -> None:
        with world.store.place(WorkPath("f")) as first, world.store.place(WorkPath("f")) as second:
            first.enter(Deadline(), make_folders=False)
            with pytest.raises(TimedOut):
                second.enter(Deadline(0.01), make_folders=False)

    def test_a_waiting_writer_can_be_cancelled(self, world: World) -> None:
        deadline = Deadline()
        deadline.cancel()
        with world.store.place(WorkPath("f")) as first, world.store.place(WorkPath("f")) as second:
            first.enter(Deadline(), make_folders=False)
            with pytest.raises(Cancelled):
                second.enter(deadline, make_folders=False)

    def test_a_waiting_writer_goes_on_when_the_first_is_done(self, world: World) -> None:
        first, entered = world.store.place(WorkPath("f")), threading.Event()
        first.enter(Deadline(), make_folders=False)

        def wait() -> None:
            with world.store.place(WorkPath("f")) as second:
                entered.set()
                second.enter(Deadline(), make_folders=False)

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(wait)
            assert entered.wait(10)
            first.close()
            waiting.result(10)

    def test_of_many_writers_each_sees_the_work_of_the_one_before(self, world: World) -> None:
        world.file("f", b"0")

        def add(_: int) -> None:
            with world.store.place(WorkPath("f")) as place:
                place.enter(Deadline(), make_folders=False)
                with place.open() as source:
                    number = int(source.read_at(0, 10))
                    place.put([b"%d" % (number + 1)], source, nothing)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(40)))
        assert read(world, "f") == b"40"
        assert names(world) == ["f"]
