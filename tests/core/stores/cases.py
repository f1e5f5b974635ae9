"""What every store does, by capability. A store's own file takes the classes that fit and gives the world."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from readroom.core.errors import BadPath, NotAFile, NotAFolder, NotFound, OutsideRoot, ReadroomError
from readroom.core.limits import LINK_HOPS
from readroom.core.paths import WorkPath
from readroom.core.values import EntryKind
from tests.core.stores.worlds import World

ODD_NAMES = ["line\nfeed", " blank ", '"quoted"', "-dash", "back\\slash", "é", "e\u0301", "\u202ename", "*?["]


def read(world: World, path: str) -> bytes:
    with world.store.open(WorkPath(path)) as source:
        return source.read_at(0, source.size)


class Reading:
    def test_a_file_is_read_whole_and_by_range(self, world: World) -> None:
        data = bytes(range(256)) * 9
        world.file("a/b", data)
        with world.store.open(WorkPath("a/b")) as source:
            assert source.size == len(data)
            assert source.real == "a/b"
            for offset, size in [
                (0, 1),
                (5, 100),
                (0, 10**6),
                (len(data) - 3, 10),
                (len(data), 5),
                (10**9, 5),
            ]:
                assert source.read_at(offset, size) == data[offset : offset + size]

    def test_a_buffer_is_filled_up_to_the_end(self, world: World) -> None:
        world.file("f", b"0123456789")
        with world.store.open(WorkPath("f")) as source:
            buffer = bytearray(6)
            assert source.read_into(2, memoryview(buffer)) == 6
            assert bytes(buffer) == b"234567"
            assert source.read_into(7, memoryview(buffer)) == 3
            assert bytes(buffer[:3]) == b"789"
            assert source.read_into(10, memoryview(buffer)) == 0

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_odd_names_are_names(self, world: World, name: str) -> None:
        world.file(f"{name}/{name}", name.encode())
        assert read(world, f"{name}/{name}") == name.encode()
        with world.store.open_folder(WorkPath(name)) as folder:
            assert [entry.name for entry in folder.entries()] == [name]

    @pytest.mark.parametrize("path", ["nothing", "a/nothing", "a/file/below", "nothing/below"])
    def test_what_is_not_there_is_not_found(self, world: World, path: str) -> None:
        world.file("a/file")
        for act in (world.store.open, world.store.open_folder, world.store.stat):
            with pytest.raises(NotFound) as caught:
                act(WorkPath(path))
            assert caught.value.path == path
        assert world.store.version(WorkPath(path)) is None

    @pytest.mark.parametrize("path", [".", "a"])
    def test_a_folder_is_no_file(self, world: World, path: str) -> None:
        world.folder("a")
        with pytest.raises(NotAFile) as caught:
            world.store.open(WorkPath(path))
        assert caught.value.facts["what"] == "folder"

    def test_a_change_changes_the_version(self, world: World) -> None:
        world.file("f", b"one")
        path = WorkPath("f")
        with world.store.open(path) as source:
            assert source.version == source.current() == world.store.version(path)
            world.file("f", b"three")
            assert source.current() != source.version
            assert source.current() == world.store.version(path)
            assert source.size == 3

    def test_the_same_bytes_elsewhere_have_another_version(self, world: World) -> None:
        world.file("f", b"same")
        world.file("g", b"same")
        assert world.store.version(WorkPath("f")) != world.store.version(WorkPath("g"))

    def test_the_stat_says_kind_and_size(self, world: World) -> None:
        world.file("d/f", b"12345")
        real, found = world.store.stat(WorkPath("d/f"))
        assert (real, found.kind, found.size, found.links) == ("d/f", EntryKind.FILE, 5, 1)
        assert world.store.stat(WorkPath("d"))[1].kind is EntryKind.FOLDER
        assert world.store.stat(WorkPath("."))[0] == "."
        with world.store.open(WorkPath("d/f")) as source:
            assert source.stat == found

    def test_threads_share_a_store_and_a_source(self, world: World) -> None:
        data = os.urandom(100_000)
        world.file("deep/er/f", data)
        with world.store.open(WorkPath("deep/er/f")) as source, ThreadPoolExecutor(8) as pool:
            parts = pool.map(lambda at: source.read_at(at, 1000), range(0, len(data), 1000))
            wholes = pool.map(lambda _: read(world, "deep/er/f"), range(40))
            assert b"".join(parts) == data
            assert set(wholes) == {data}

    def test_closing_twice_does_nothing(self, world: World) -> None:
        world.file("f")
        source, folder = world.store.open(WorkPath("f")), world.store.open_folder(WorkPath("."))
        for thing in (source, folder, source, folder):
            thing.close()


class Folders:
    def test_entries_come_with_their_kinds(self, world: World) -> None:
        world.file("d/file", b"12")
        world.folder("d/folder")
        world.link("d/link", "file")
        with world.store.open_folder(WorkPath("d")) as folder:
            found = {entry.name: entry.kind for entry in folder.entries()}
            assert found == {"file": EntryKind.FILE, "folder": EntryKind.FOLDER, "link": EntryKind.LINK}
            assert folder.real == "d"
            assert {name: folder.stat(name).kind for name in found} == found
            assert folder.stat("file").size == 2
            assert {name: folder.target(name) for name in found} == {
                "file": None,
                "folder": None,
                "link": "file",
            }

    @pytest.mark.parametrize("most", [1, 2, 100])
    def test_names_come_many_at_a_time(self, world: World, most: int) -> None:
        world.file("d/file")
        world.folder("d/folder")
        world.link("d/link", "file")
        with world.store.open_folder(WorkPath("d")) as folder:
            some = list(folder.names(most))
            assert sorted(name for names in some for name in names.names) == ["file", "folder", "link"]
            assert all(0 < len(names.names) <= most for names in some)
            kinds = {name: kind for names in some for name, kind in names.kinds.items()}
            assert kinds == {"folder": EntryKind.FOLDER, "link": EntryKind.LINK}

    def test_a_file_is_no_folder(self, world: World) -> None:
        world.file("f")
        with pytest.raises(NotAFolder) as caught:
            world.store.open_folder(WorkPath("f"))
        assert caught.value.facts["what"] == "file"

    def test_the_empty_root_has_no_entries(self, world: World) -> None:
        with world.store.open_folder(WorkPath(".")) as folder:
            assert list(folder.entries()) == []

    def test_a_name_that_is_gone_is_not_found(self, world: World) -> None:
        world.file("d/f")
        with world.store.open_folder(WorkPath("d")) as folder:
            world.delete("d/f")
            for act in (folder.stat, folder.target, folder.open):
                with pytest.raises(NotFound) as caught:
                    act("f")
                assert caught.value.path == "d/f"

    @pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/etc/passwd", "a\0b"])
    def test_only_names_of_the_folder_can_be_asked_for(self, world: World, name: str) -> None:
        world.file("a/b")
        with world.store.open_folder(WorkPath(".")) as folder:
            for act in (folder.stat, folder.target, folder.open):
                with pytest.raises(BadPath):
                    act(name)

    def test_a_file_is_opened_from_its_folder_as_by_its_path(self, world: World) -> None:
        world.file("a/b", b"bytes")
        with (
            world.store.open_folder(WorkPath("a")) as folder,
            folder.open("b") as source,
            world.store.open(WorkPath("a/b")) as other,
        ):
            assert source.real == "a/b"
            assert source.read_at(0, 9) == b"bytes"
            assert (source.stat, source.version) == (other.stat, other.version)

    def test_a_folder_is_not_opened_from_the_one_above(self, world: World) -> None:
        world.file("a/b/c")
        with world.store.open_folder(WorkPath("a")) as folder, pytest.raises(NotAFile):
            folder.open("b")


class Links:
    @pytest.fixture
    def tree(self, world: World) -> World:
        world.file("a/b/file", b"inside")
        world.link("to_file", "a/b/file")
        world.link("to_folder", "a/b")
        world.link("a/up", "..")
        world.link("a/b/over", "../../to_folder/../b/./file")
        world.link("chain", "to_chain")
        world.link("to_chain", "./a//up/to_file")
        world.link("folder_slash", "a/b/")
        world.link("here", ".")
        return world

    @pytest.mark.parametrize(
        "path",
        [
            "to_file",
            "to_folder/file",
            "a/up/a/b/file",
            "a/b/over",
            "chain",
            "folder_slash/file",
            "here/here/to_folder/file",
            "a/up/a/up/to_folder/over",
        ],
    )
    def test_links_inside_the_root_are_followed(self, tree: World, path: str) -> None:
        assert read(tree, path) == b"inside"
        with tree.store.open(WorkPath(path)) as source:
            assert source.real == "a/b/file"
        assert tree.store.stat(WorkPath(path))[0] == "a/b/file"
        assert tree.store.version(WorkPath(path)) == tree.store.version(WorkPath("a/b/file"))

    @pytest.mark.parametrize(
        ("path", "real"), [("to_folder", "a/b"), ("a/up", "."), ("here", "."), ("folder_slash", "a/b")]
    )
    def test_folders_behind_links_have_their_real_name(self, tree: World, path: str, real: str) -> None:
        with tree.store.open_folder(WorkPath(path)) as folder:
            assert folder.real == real
        assert tree.store.stat(WorkPath(path))[0] == real

    @pytest.mark.parametrize(
        "target",
        [
            "..",
            "../",
            "../secret",
            "../outside/file",
            "../root/f",
            "d/../../secret",
            "/",
            "/etc/passwd",
            "/proc/self/root/etc/passwd",
            "d/../../outside",
            "f/../../secret",
            "../" * 100 + "etc/passwd",
        ],
    )
    def test_links_out_of_the_root_are_refused(self, world: World, target: str) -> None:
        world.file("f")
        world.folder("d")
        world.link("out", target)
        world.link("d/out", target if target.startswith("/") else f"../{target}")
        world.link("to_out", "d/out")
        for path in ("out", "d/out", "to_out", "out/below"):
            for act in (world.store.open, world.store.open_folder, world.store.stat, world.store.version):
                # A file in the middle of a target is no way at all.
                error = NotFound if target.startswith("f/") else OutsideRoot
                if error is NotFound and act == world.store.version:
                    assert act(WorkPath(path)) is None
                    continue
                with pytest.raises(error) as caught:
                    act(WorkPath(path))
                assert caught.value.facts["path"] == path

    def test_a_link_to_nothing_is_not_found(self, world: World) -> None:
        world.link("dangling", "nowhere")
        world.link("d/dangling", "../nowhere/at/all")
        for path in ("dangling", "d/dangling", "dangling/below"):
            for act in (world.store.open, world.store.open_folder, world.store.stat):
                with pytest.raises(NotFound):
                    act(WorkPath(path))
            assert world.store.version(WorkPath(path)) is None

    @pytest.mark.parametrize("target", ["f/", "f/.", "f/..", "f/x"])
    def test_a_file_is_no_folder_in_a_target_either(self, world: World, target: str) -> None:
        world.file("f")
        world.link("l", target)
        with pytest.raises(NotFound):
            world.store.stat(WorkPath("l"))

    def test_loops_of_links_end(self, world: World) -> None:
        world.link("self", "self")
        world.link("ping", "pong")
        world.link("pong", "ping")
        world.link("d/deeper", "deeper/deeper")
        for path in ("self", "ping", "d/deeper", "self/below"):
            for act in (world.store.open, world.store.open_folder, world.store.stat, world.store.version):
                with pytest.raises(BadPath):
                    act(WorkPath(path))

    def test_as_many_links_are_followed_as_the_kernel_follows(self, world: World) -> None:
        world.file("0", b"end")
        for number in range(1, LINK_HOPS + 2):
            world.link(str(number), str(number - 1))
        assert read(world, str(LINK_HOPS)) == b"end"
        with pytest.raises(BadPath):
            world.store.open(WorkPath(str(LINK_HOPS + 1)))

    def test_a_link_is_listed_as_a_link(self, world: World) -> None:
        world.link("l", "../secret")
        with world.store.open_folder(WorkPath(".")) as folder:
            assert [entry.kind for entry in folder.entries()] == [EntryKind.LINK]
            assert folder.stat("l").kind is EntryKind.LINK
            assert folder.target("l") == "../secret"

    def test_a_link_is_not_followed_from_its_folder(self, world: World) -> None:
        world.file("d/file")
        world.link("d/l", "file")
        with world.store.open_folder(WorkPath("d")) as folder, pytest.raises(NotAFile):
            folder.open("l")


def outcome(world: World, path: str) -> tuple[object, ...]:
    """What opening says, in a form that stores can be compared by."""
    found: list[object] = []
    for act in (world.store.open, world.store.open_folder):
        try:
            with act(WorkPath(path)) as thing:
                found.append(thing.real)
        except ReadroomError as error:
            found.append(error.code)
    try:
        real, stat = world.store.stat(WorkPath(path))
        found += [real, stat.kind]
    except ReadroomError as error:
        found.append(error.code)
    return tuple(found)
