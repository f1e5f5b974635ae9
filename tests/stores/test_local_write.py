"""Writing to a local folder: in one step, with what the old file had, and nothing left over."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.deadline import Deadline
from readroom.errors import NoSpace, ReadOnlyPlace
from readroom.model import Version
from readroom.paths import WorkPath
from readroom.stores import locks, renames
from readroom.stores.base import Moved
from readroom.stores.local import LocalStore
from tests.stores import write_cases
from tests.stores.worlds import WAYS, LocalWorld
from tests.stores.write_cases import create, names, nothing

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


def version(path: Path) -> Version:
    found = path.stat()
    return Version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class TestPlacing(write_cases.Placing):
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


NOBODY = """
import json, os, sys
from readroom.deadline import Deadline
from readroom.errors import ReadroomError
from readroom.paths import WorkPath
from readroom.stores.local import LocalStore
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
    for folder in (root, *root.parents):
        if folder.stat().st_mode & 0o5 != 0o5:
            folder.chmod(folder.stat().st_mode | 0o5)
    done = subprocess.run(
        [sys.executable, "-c", NOBODY, str(root), path], capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@as_root
class TestAnotherUser:
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


class TestLeftOvers:
    def test_what_a_crashed_writer_left_is_removed_by_the_next(self, world: LocalWorld) -> None:
        world.file(LEFT_OVER, b"half")
        create(world, "f")
        assert names(world) == ["f"]

    def test_what_a_living_writer_holds_stays(self, world: LocalWorld) -> None:
        world.file(LEFT_OVER, b"half")
        with open(world.root / LEFT_OVER, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            create(world, "f")
        assert names(world) == [LEFT_OVER, "f"]

    @pytest.mark.parametrize(
        "name", [".readroom-.tmp", ".readroom-0123456789abcdef.tmp.txt", "readroom.tmp", ".readroom-xyz.tmp"]
    )
    def test_other_names_stay(self, world: LocalWorld, name: str) -> None:
        world.file(name)
        create(world, "f")
        assert names(world) == sorted([name, "f"])

    def test_only_files_are_removed(self, world: LocalWorld) -> None:
        world.file("kept", b"kept")
        world.folder(LEFT_OVER)
        world.link(LEFT_OVER.replace("0", "1"), "kept")
        os.mkfifo(world.root / LEFT_OVER.replace("0", "2"))
        create(world, "f")
        assert len(names(world)) == 5
        assert (world.root / "kept").read_bytes() == b"kept"


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
            renames.exchange(fd, "t", "f", expected)
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
            renames.exchange(fd, "t", "f", expected)
        os.close(fd)
        assert (tmp_path / "f").is_dir()

    def test_what_was_expected_is_gone_afterwards(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"old")
        (tmp_path / "t").write_bytes(b"ours")
        fd = os.open(tmp_path, os.O_RDONLY)
        assert renames.exchange(fd, "t", "f", version(tmp_path / "f"))
        os.close(fd)
        assert os.listdir(tmp_path) == ["f"]
        assert (tmp_path / "f").read_bytes() == b"ours"


def test_a_lock_ends_though_a_forked_process_has_the_folder_open(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert locks.try_lock(first)
    copy = os.dup(first)  # what a fork does
    locks.unlock(first)
    os.close(first)
    assert locks.try_lock(second)
    os.close(copy)
    os.close(second)


def test_temporary_names_are_known_in_any_case() -> None:
    assert locks.is_temporary(locks.temporary_name())
    assert locks.is_temporary(locks.temporary_name().upper())
    assert locks.temporary_name() != locks.temporary_name()
