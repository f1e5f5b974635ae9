"""Writing to a local folder: in one step, with what the old file had, and nothing left over."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import astuple

from readroom.core.deadline import Deadline
from readroom.core.errors import NoSpace, ReadOnlyPlace
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from readroom.core.stores.local import LocalStore, rename, unfinished
from readroom.core.values import Version
from tests.core.stores import write_cases
from tests.core.stores.worlds import WAYS, LocalWorld
from tests.core.stores.write_cases import create, names, nothing

LEFT_OVER = ".readroom-0123456789abcdef.tmp"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount, and become another user")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="extended attributes as Linux has them")


@pytest.fixture(params=WAYS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> LocalWorld:
    return LocalWorld(tmp_path, request.param)


def replace(world: LocalWorld, path: str, data: bytes = b"new") -> list[str]:
    """The codes of the warnings."""
    with world.store.place(WorkPath(path)) as place:
        place.enter(Deadline(), make_folders=False)
        with place.open() as source:
            return [warning.code for warning in place.put([data], source, nothing)]


class TestPlacing(write_cases.Placing):
    """The same as everywhere."""


class TestPlacingThroughLinks(write_cases.PlacingThroughLinks):
    """The same as everywhere."""


class TestExcluding(write_cases.Excluding):
    """The same as everywhere."""


class TestKeeping:
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444, 0o1755])
    def test_the_mode_is_kept(self, world: LocalWorld, mode: int) -> None:
        world.file("f", b"old")
        (world.root / "f").chmod(mode)
        assert replace(world, "f") == []
        assert stat.S_IMODE((world.root / "f").stat().st_mode) == mode

    def test_a_new_file_has_what_the_umask_leaves(self, world: LocalWorld) -> None:
        create(world, "folder/f")
        (world.root / "plain").touch()
        (world.root / "also").mkdir()
        assert (world.root / "folder/f").stat().st_mode == (world.root / "plain").stat().st_mode
        assert (world.root / "folder").stat().st_mode == (world.root / "also").stat().st_mode

    @pytest.mark.parametrize(
        ("mode", "left"), [(0o4755, 0o755), (0o2755, 0o755), (0o6711, 0o711), (0o2644, 0o2644)]
    )
    def test_a_changed_program_no_longer_runs_as_its_owner(
        self, world: LocalWorld, mode: int, left: int
    ) -> None:
        world.file("f", b"old")
        (world.root / "f").chmod(mode)
        assert replace(world, "f") == (["mode_not_kept"] if left != mode else [])
        assert stat.S_IMODE((world.root / "f").stat().st_mode) == left

    @as_root
    def test_the_owner_is_kept(self, world: LocalWorld) -> None:
        world.file("f", b"old")
        os.chown(world.root / "f", 1234, 5678)
        assert replace(world, "f") == []
        found = (world.root / "f").stat()
        assert (found.st_uid, found.st_gid) == (1234, 5678)

    @on_linux
    def test_extended_attributes_are_kept(self, world: LocalWorld) -> None:
        world.file("f", b"old")
        os.setxattr(world.root / "f", "user.note", b"value")
        assert replace(world, "f") == []
        assert os.getxattr(world.root / "f", "user.note") == b"value"

    @on_linux
    def test_access_lists_are_kept(self, world: LocalWorld) -> None:
        world.file("f", b"old")
        entries = [(0x01, 6, -1), (0x02, 6, 1234), (0x04, 4, -1), (0x10, 6, -1), (0x20, 4, -1)]
        listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        os.setxattr(world.root / "f", "system.posix_acl_access", listed)
        assert replace(world, "f") == []
        assert os.getxattr(world.root / "f", "system.posix_acl_access") == listed

    @on_linux
    def test_what_a_folder_gives_new_files_opens_no_old_one(self, world: LocalWorld) -> None:
        """The new file begins with the folder's list, in which others may be named."""
        world.file("f", b"old")
        (world.root / "f").chmod(0o640)
        entries = [(0x01, 6, -1), (0x02, 6, 1234), (0x04, 0, -1), (0x10, 6, -1), (0x20, 0, -1)]
        listed = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
        os.setxattr(world.root, "system.posix_acl_default", listed)
        (world.root / "new").touch()
        assert "system.posix_acl_access" in os.listxattr(world.root / "new")
        assert replace(world, "f") == []
        assert "system.posix_acl_access" not in os.listxattr(world.root / "f")
        assert stat.S_IMODE((world.root / "f").stat().st_mode) == 0o640


NOBODY = """
import json, os, sys
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.paths import WorkPath
from readroom.core.stores.local import LocalStore
import readroom.core.stores.local.place  # imported when used, and Python may be where nobody else can read it
os.setgroups([]); os.setgid(65534); os.setuid(65534)
store = LocalStore(sys.argv[1])
try:
    with store.place(WorkPath(sys.argv[2])) as place:
        writable = place.writable
        place.enter(Deadline(), make_folders=True)
        with place.open() as source:
            warnings = [w.code for w in place.put([b"new"], source, lambda: None)]
    print(json.dumps({"writable": writable, "warnings": warnings}))
except ReadroomError as error:
    print(json.dumps({"error": error.code, "text": str(error)}))
"""


def as_nobody(root: Path, path: str) -> dict[str, object]:
    root.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", NOBODY, str(root), path], capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@as_root
class TestAnotherUser:
    @pytest.fixture(params=WAYS)
    def world(self, request: pytest.FixtureRequest, anyones: Path) -> LocalWorld:
        return LocalWorld(anyones, request.param)

    def test_an_owner_that_cannot_be_kept_is_told_and_gives_nobody_access(self, world: LocalWorld) -> None:
        world.file("d/f", b"old")
        (world.root / "d").chmod(0o777)
        os.chown(world.root / "d/f", 1234, 5678)
        (world.root / "d/f").chmod(0o664)
        assert as_nobody(world.root, "d/f")["warnings"] == ["owner_not_kept", "group_not_kept"]
        found = (world.root / "d/f").stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (65534, 0o644)

    def test_a_file_that_may_only_be_read_is_told_apart(self, world: LocalWorld) -> None:
        world.file("d/f", b"old")
        (world.root / "d").chmod(0o777)
        (world.root / "d/f").chmod(0o644)
        assert as_nobody(world.root, "d/f")["writable"] is False

    def test_a_folder_that_may_not_be_written_is_no_permission(self, world: LocalWorld) -> None:
        world.file("d/f", b"old")
        found = as_nobody(world.root, "d/f")
        assert found["error"] == "no_permission"
        assert "change" in str(found["text"])
        assert (world.root / "d/f").read_bytes() == b"old"
        assert names(world, "d") == ["f"]


def test_a_file_whose_mode_lets_nobody_write_is_not_writable_even_for_root(world: LocalWorld) -> None:
    world.file("f", b"old")
    with world.store.place(WorkPath("f")) as place:
        assert place.writable
        (world.root / "f").chmod(0o444)
        assert not place.writable


class TestFullAndReadOnly:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        folder = tmp_path / "small"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True)
        yield folder
        subprocess.run(["umount", "-l", str(folder)], check=True)

    @as_root
    @pytest.mark.parametrize("way", WAYS)
    def test_a_full_disk_changes_nothing(self, small: Path, way: str) -> None:
        store = LocalStore(small, way)  # type: ignore[arg-type]  # one of the ways
        (small / "f").write_bytes(b"old")
        for path, over in (("f", True), ("a/g", False)):
            with store.place(WorkPath(path)) as place:
                place.enter(Deadline(), make_folders=True)
                source = place.open() if over else None
                with pytest.raises(NoSpace):
                    place.put([b"x" * 10_000] * 20, source, nothing)
                if source:
                    source.close()
        assert (small / "f").read_bytes() == b"old"
        assert os.listdir(small) == ["f"]

    @as_root
    @pytest.mark.parametrize("way", WAYS)
    def test_a_disk_that_is_mounted_read_only_changes_nothing(self, small: Path, way: str) -> None:
        (small / "f").write_bytes(b"old")
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        store = LocalStore(small, way)  # type: ignore[arg-type]  # one of the ways
        with store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=False)
            with place.open() as source, pytest.raises(ReadOnlyPlace):
                place.put([b"new"], source, nothing)
        with store.place(WorkPath("a/f")) as place, pytest.raises(ReadOnlyPlace):
            place.enter(Deadline(), make_folders=True)


def version(path: Path) -> Version:
    found = path.stat()
    return Version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


WRITER = """
import json, os, signal, sys

from readroom.core.stores.local.unfinished import Draft, Notes
from readroom.core.values import Version

root, notes, old, nameless = json.loads(sys.argv[1])
state = None if old is None else Version(*old)
draft = Draft(os.open(root, os.O_RDONLY), Notes(notes), state, 0o600, nameless=nameless)
os.write(draft.fd, b"half")
print(draft.named(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A process that dies when it has written half of a file and given it a name."""


def crash(world: LocalWorld, old: Path | None = None) -> str:
    """Leave in the root what a writer leaves that dies half way, one that replaces `old` if any; its name."""
    state = None if old is None else astuple(version(old))
    order = [str(world.root), str(world.notes), state, world.store.confinement == "kernel"]
    writer = subprocess.run(
        [sys.executable, "-c", WRITER, json.dumps(order)], stdout=subprocess.PIPE, text=True, check=False
    )
    assert writer.returncode < 0
    return writer.stdout.strip()


class TestLeftOvers:
    def test_what_a_crashed_writer_left_is_removed_by_the_next(self, world: LocalWorld) -> None:
        assert crash(world) in names(world)
        create(world, "f")
        assert names(world) == ["f"]
        assert os.listdir(world.notes) == []

    def test_an_old_file_that_has_the_temporary_name_is_removed_by_the_next(self, world: LocalWorld) -> None:
        world.file("old", b"old")
        name = crash(world, world.root / "old")
        os.rename(world.root / "old", world.root / name)
        create(world, "f")
        assert names(world) == ["f"]

    def test_a_file_saved_by_another_program_is_not_taken_for_the_old_one(self, world: LocalWorld) -> None:
        """It got the temporary name in an exchange whose writer died before it looked at what came out."""
        world.file("old", b"old")
        name = crash(world, world.root / "old")
        (world.root / "old").write_bytes(b"saved since")
        os.rename(world.root / "old", world.root / name)
        create(world, "f")
        assert (world.root / name).read_bytes() == b"saved since"
        assert os.listdir(world.notes) == []

    def test_files_of_others_stay_whatever_they_are_called(self, world: LocalWorld) -> None:
        world.file(LEFT_OVER, b"theirs")
        create(world, "f")
        replace(world, "f")
        assert (world.root / LEFT_OVER).read_bytes() == b"theirs"

    def test_another_file_of_the_noted_name_stays(self, world: LocalWorld) -> None:
        name = crash(world)
        (world.root / name).rename(world.root / "moved away")
        world.file(name, b"theirs")
        create(world, "f")
        assert names(world) == sorted([name, "f", "moved away"])

    def test_a_copy_that_was_made_while_a_file_was_written_stays_complete(self, world: LocalWorld) -> None:
        name = crash(world)
        shutil.copytree(world.root, world.base / "copy")
        store = LocalStore(world.base / "copy", notes=str(world.notes))
        with store.place(WorkPath("f")) as place:
            place.enter(Deadline(), make_folders=False)
            place.put([b"new"], None, nothing)
        assert sorted(os.listdir(world.base / "copy")) == sorted([name, "f"])
        assert names(world) == [name]

    def test_what_a_living_writer_has_noted_stays(self, world: LocalWorld) -> None:
        name = crash(world)
        (note,) = world.notes.iterdir()
        with open(note, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            create(world, "f")
        assert names(world) == sorted([name, "f"])

    @pytest.mark.parametrize("data", [b"", b"new 1", b"new x y\n", b"\xff\n\n", b"old 1 2\nnew\n"])
    def test_a_note_that_was_cut_short_proves_nothing(self, world: LocalWorld, data: bytes) -> None:
        name = crash(world)
        (note,) = world.notes.iterdir()
        note.write_bytes(data)
        create(world, "f")
        assert names(world) == sorted([name, "f"])
        assert os.listdir(world.notes) == []

    def test_only_files_are_removed(self, world: LocalWorld) -> None:
        world.file("kept", b"kept")
        for made in (os.mkdir, os.mkfifo, lambda path: os.symlink("kept", path)):
            name = crash(world)
            (world.root / name).unlink()
            made(world.root / name)
        create(world, "f")
        assert len(names(world)) == 5
        assert (world.root / "kept").read_bytes() == b"kept"

    def test_without_a_place_for_notes_files_are_written_and_nothing_is_removed(
        self, world: LocalWorld
    ) -> None:
        name = crash(world)
        (world.base / "file").write_bytes(b"")
        for notes in (None, str(world.base / "file" / "notes")):
            store = LocalStore(world.root, notes=notes)
            with store.place(WorkPath("f")) as place:
                place.enter(Deadline(), make_folders=False)
                over = place.open() if place.look() else None
                place.put([b"new"], over, nothing)
                if over is not None:
                    over.close()
        assert names(world) == sorted([name, "f"])

    def test_notes_of_folders_nobody_writes_to_any_more_are_forgotten(self, world: LocalWorld) -> None:
        world.folder("d")
        crash(world)
        (note,) = world.notes.iterdir()
        create(world, "d/f")
        assert note.exists()
        os.utime(note, (0, 0))
        create(world, "d/g")
        assert not note.exists()


@pytest.mark.skipif("kernel" not in WAYS, reason="files without a name belong to confinement by the kernel")
def test_nothing_has_a_temporary_name_while_a_file_is_written(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    seen: list[list[str]] = []
    with store.place(WorkPath("f")) as place:
        place.enter(Deadline(), make_folders=False)
        place.put([b"new"], None, lambda: seen.append(os.listdir(tmp_path)))
    with store.place(WorkPath("f")) as place:
        place.enter(Deadline(), make_folders=False)
        with place.open() as source:
            place.put([b"newer"], source, lambda: seen.append(os.listdir(tmp_path)))
    assert seen == [[], ["f"]]
    assert (tmp_path / "f").read_bytes() == b"newer"


class TestMovedFolders:
    def test_a_folder_that_was_moved_out_gets_nothing(self, world: LocalWorld) -> None:
        world.file("d/f", b"old")
        elsewhere = world.base / "elsewhere"
        with world.store.place(WorkPath("d/f")) as place:
            place.enter(Deadline(), make_folders=False)
            with place.open() as source, pytest.raises(Moved):
                place.put([b"new"], source, lambda: os.rename(world.root / "d", elsewhere))
        assert (elsewhere / "f").read_bytes() == b"old"
        assert os.listdir(elsewhere) == ["f"]

    def test_a_folder_that_became_a_link_gets_nothing(self, world: LocalWorld) -> None:
        world.file("d/f", b"old")

        def swap() -> None:
            (world.root / "d").rename(world.root / "away")
            (world.root / "d").symlink_to("../outside")

        with world.store.place(WorkPath("d/g")) as place:
            place.enter(Deadline(), make_folders=False)
            with pytest.raises(Moved):
                place.put([b"new"], None, swap)
        assert os.listdir(world.base / "outside") == ["file"]
        assert os.listdir(world.root / "away") == ["f"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged on Linux only")
class TestExchanging:
    def test_a_file_that_was_saved_in_the_last_instant_is_put_back(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"old")
        expected = version(tmp_path / "f")
        (tmp_path / "theirs").write_bytes(b"theirs")
        (tmp_path / "theirs").rename(tmp_path / "f")
        (tmp_path / "t").write_bytes(b"ours")
        fd = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(Moved):
            rename.exchange(fd, "t", "f", expected)
        os.close(fd)
        assert (tmp_path / "f").read_bytes() == b"theirs"
        assert (tmp_path / "t").read_bytes() == b"ours"

    def test_a_folder_that_took_the_name_is_put_back(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"old")
        expected = version(tmp_path / "f")
        (tmp_path / "f").unlink()
        (tmp_path / "f").mkdir()
        (tmp_path / "t").write_bytes(b"ours")
        fd = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(Moved):
            rename.exchange(fd, "t", "f", expected)
        os.close(fd)
        assert (tmp_path / "f").is_dir()

    def test_what_was_expected_is_gone_afterwards(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"old")
        (tmp_path / "t").write_bytes(b"ours")
        fd = os.open(tmp_path, os.O_RDONLY)
        assert rename.exchange(fd, "t", "f", version(tmp_path / "f"))
        os.close(fd)
        assert os.listdir(tmp_path) == ["f"]
        assert (tmp_path / "f").read_bytes() == b"ours"


def test_a_lock_ends_though_a_forked_process_has_the_folder_open(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert unfinished.try_lock(first)
    copy = os.dup(first)  # what a fork does
    unfinished.unlock(first)
    os.close(first)
    assert unfinished.try_lock(second)
    os.close(copy)
    os.close(second)
