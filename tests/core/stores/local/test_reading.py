"""The store of a local folder, confined by the kernel and by the walk."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from readroom.core.errors import (
    BadPath,
    NotAFile,
    NotAFolder,
    NotFound,
    OutsideRoot,
    ReadroomError,
    StoreFailed,
)
from readroom.core.paths import WorkPath
from readroom.core.stores.local import Confinement, LocalStore
from readroom.core.values import EntryKind
from tests.core.stores import cases
from tests.core.stores.cases import read
from tests.core.stores.worlds import WAYS, LocalWorld, Way
from tests.each import each


@pytest.fixture(params=WAYS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> LocalWorld:
    return LocalWorld(tmp_path, request.param)


class TestReading(cases.Reading):
    """The same as everywhere."""


class TestFolders(cases.Folders):
    """The same as everywhere."""


class TestLinks(cases.Links):
    """The same as everywhere."""


# macOS refuses to make names that are not UTF-8.
UNDECODABLE = [b"\xff", b"a\xe9b", b"\xc3("] if sys.platform == "linux" else []


@pytest.mark.parametrize("name", UNDECODABLE)
def test_names_that_are_no_text_are_names(world: LocalWorld, name: bytes) -> None:
    path = os.fsencode(world.root) + b"/" + name
    with open(path, "wb") as file:
        file.write(b"data")
    os.symlink(name, path + b".link")
    assert read(world, os.fsdecode(name)) == b"data"
    with world.store.open(WorkPath(os.fsdecode(name + b".link"))) as source:
        assert source.real == os.fsdecode(name)
    with world.store.open_folder(WorkPath(".")) as folder:
        assert os.fsdecode(name) in {entry.name for entry in folder.entries()}


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)  # the address of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)
        os.close(here)


@pytest.mark.parametrize(("make", "what"), [(_pipe, "pipe"), (_socket, "socket")])
def test_pipes_and_sockets_are_refused_at_once(
    world: LocalWorld, make: Callable[[Path], None], what: str
) -> None:
    make(world.root / "special")
    world.link("link", "special")
    for path in ("special", "link"):
        with pytest.raises(NotAFile) as caught:
            world.store.open(WorkPath(path))
        assert caught.value.facts["what"] == what
        with pytest.raises(NotAFolder):
            world.store.open_folder(WorkPath(path))
        assert world.store.stat(WorkPath(path))[1].kind is EntryKind.OTHER
    with world.store.open_folder(WorkPath(".")) as folder:
        kinds = {entry.name: entry.kind for entry in folder.entries()}
    assert kinds["special"] is EntryKind.OTHER


@each("way", WAYS)
@each("name", ["null", "zero", "tty"])
def test_devices_are_refused(way: Confinement, name: str) -> None:
    with pytest.raises(NotAFile) as caught:
        LocalStore("/dev", way).open(WorkPath(name))
    assert caught.value.facts["what"] == "device"


def test_a_waiting_writer_of_a_pipe_stays_alone(world: LocalWorld) -> None:
    """Opening a pipe, even for an instant, lets its writer go on."""
    _pipe(world.root / "pipe")
    with pytest.raises(NotAFile):
        world.store.open(WorkPath("pipe"))
    with pytest.raises(OSError, match="No such device"):
        os.open(world.root / "pipe", os.O_WRONLY | os.O_NONBLOCK)


def test_absolute_links_that_name_the_root_are_followed(world: LocalWorld) -> None:
    world.file("d/f", b"inside")
    world.link("absolute", f"{world.root}/d/f")
    world.link("d/to_root", f"{world.root}")
    world.link("odd", f"/{world.root}//./d/../d/f")
    for path in ("absolute", "d/to_root/d/f", "d/to_root/absolute", "odd"):
        assert read(world, path) == b"inside"
        assert world.store.stat(WorkPath(path))[0] == "d/f"


def test_absolute_links_beside_the_root_are_refused(world: LocalWorld) -> None:
    (world.base / "root2").mkdir()
    (world.base / "root2" / "f").write_bytes(b"OUTSIDE")
    world.link("a", f"{world.root}2/f")
    world.link("b", f"{world.root}/../secret")
    world.link("c", f"{world.base}/secret")
    for path in "abc":
        with pytest.raises(OutsideRoot):
            world.store.open(WorkPath(path))


@pytest.mark.parametrize("way", WAYS)
def test_a_root_given_by_a_link_is_known_by_both_names(way: Confinement, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"inside")
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real" / "by_alias").symlink_to(tmp_path / "alias" / "f")
    (tmp_path / "real" / "by_name").symlink_to(tmp_path / "real" / "f")
    store = LocalStore(tmp_path / "alias", way)
    assert store.roots == (str(tmp_path / "alias"), str(tmp_path / "real"))
    assert store.folder == store.name == str(tmp_path / "real")
    for path in ("by_alias", "by_name"):
        with store.open(WorkPath(path)) as source:
            assert source.real == "f"


def test_the_doors_of_proc_stay_shut(world: LocalWorld) -> None:
    world.link("self", "/proc/self/root")
    world.link("cwd", "/proc/self/cwd/setup.py")
    for path in ("self", "cwd", "self/etc/passwd"):
        with pytest.raises(OutsideRoot):
            world.store.stat(WorkPath(path))


@pytest.mark.parametrize("way", [way for way in WAYS if os.path.exists("/proc/self/exe")])
def test_magic_links_inside_the_root_lead_nowhere(way: Confinement) -> None:
    """/proc/self/fd/N is a link whose text is no path; following it would open anything."""
    store = LocalStore("/proc/self", way)
    with open(os.devnull, "rb") as file, pytest.raises((NotFound, OutsideRoot)):
        store.open(WorkPath(f"fd/{file.fileno()}"))
    with pytest.raises(OutsideRoot):
        store.open(WorkPath("root/etc/passwd"))


def test_a_name_that_says_deleted_is_a_name(world: LocalWorld) -> None:
    """The kernel adds that to the names of files that are gone."""
    world.file("f (deleted)", b"here")
    world.link("l", "f (deleted)")
    world.link("d (deleted)/back", "..")
    assert read(world, "l") == b"here"
    assert world.store.stat(WorkPath("l"))[0] == "f (deleted)"
    assert world.store.stat(WorkPath("d (deleted)/back/l"))[0] == "f (deleted)"


def test_what_is_open_can_be_read_after_it_is_deleted(world: LocalWorld) -> None:
    world.file("f", b"still here")
    with world.store.open(WorkPath("f")) as source:
        world.delete("f")
        assert source.read_at(0, 99) == b"still here"


def test_a_file_cut_short_while_open_ends_earlier(world: LocalWorld) -> None:
    world.file("f", b"0123456789")
    with world.store.open(WorkPath("f")) as source:
        os.truncate(world.root / "f", 4)
        assert source.read_at(0, 10) == b"0123"
        buffer = bytearray(10)
        assert source.read_into(0, memoryview(buffer)) == 4
        assert source.current().size == 4


def test_the_root_is_the_folder_that_was_opened_wherever_it_goes(world: LocalWorld) -> None:
    world.file("d/f", b"inside")
    world.link("l", "d/f")
    world.root.rename(world.base / "moved")
    world.root.mkdir()
    (world.root / "d").mkdir()
    (world.root / "d" / "f").write_bytes(b"another root")
    for path in ("d/f", "l"):
        assert read(world, path) == b"inside"
        with world.store.open(WorkPath(path)) as source:
            assert source.real == "d/f"


def test_a_closed_store_opens_nothing_and_what_is_open_stays(world: LocalWorld) -> None:
    world.file("f", b"data")
    with world.store.open(WorkPath("f")) as source:
        world.store.close()
        world.store.close()
        assert source.read_at(0, 9) == b"data"
    for act in (world.store.open, world.store.open_folder, world.store.stat, world.store.version):
        with pytest.raises(StoreFailed):
            act(WorkPath("f"))


def test_names_longer_than_the_file_system_allows_are_told(world: LocalWorld) -> None:
    for path in ("x" * 300, f"{'x' * 300}/y"):
        with pytest.raises(BadPath):
            world.store.open(WorkPath(path))


def test_deep_folders_are_reached(world: LocalWorld) -> None:
    path = "/".join(["d"] * 200)
    world.file(f"{path}/f", b"deep")
    world.link("l", path)
    assert read(world, f"{path}/f") == read(world, "l/f") == b"deep"


def test_hard_links_are_counted(world: LocalWorld) -> None:
    world.file("f")
    os.link(world.root / "f", world.root / "g")
    with world.store.open(WorkPath("f")) as source, world.store.open_folder(WorkPath(".")) as folder:
        assert source.stat.links == 2
        assert folder.stat("g").inode == source.version.inode


@pytest.mark.parametrize("way", ["auto", *WAYS])
def test_a_root_has_to_be_a_folder_that_is_there(way: Confinement, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, error in (("nothing", NotFound), ("file/below", NotFound), ("file", NotAFolder)):
        with pytest.raises(error) as caught:
            LocalStore(tmp_path / place, way)
        # There is no workspace yet in which a tool could be called.
        assert str(caught.value).endswith(". Give the path of a folder.")
        assert caught.value.next is None


def test_auto_takes_the_strongest_way_there_is(tmp_path: Path) -> None:
    assert LocalStore(tmp_path).confinement == WAYS[0]


def _held(folder: Path) -> list[str]:
    """What this process has open below a folder; other tests' files come and go beside it."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(target for target in found if target.startswith(str(folder)))


@pytest.mark.parametrize("way", [way for way in WAYS if os.path.isdir("/proc/self/fd")])
def test_no_descriptor_is_left_behind(way: Way, tmp_path: Path) -> None:
    world = LocalWorld(tmp_path, way)
    world.file("d/f")
    world.link("out", "../secret")
    world.link("in", "d/f")
    world.link("loop", "loop")
    _pipe(world.root / "pipe")
    before = _held(tmp_path)
    for path in ("d/f", "d", "in", "out", "loop", "pipe", "nothing", "d/f/below", "in/below", "x" * 300):
        for act in (world.store.open, world.store.open_folder):
            try:
                act(WorkPath(path)).close()
            except ReadroomError:
                continue
        cases.outcome(world, path)
    assert _held(tmp_path) == before


CLOSED_TO_US = """
import os, sys
from readroom.core.errors import ReadroomError
from readroom.core.paths import WorkPath
from readroom.core.stores.local import LocalStore
if os.geteuid() == 0:  # to root nothing is forbidden
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store = LocalStore(sys.argv[1], sys.argv[2])
for act, path in [(store.open, "file"), (store.open_folder, "folder"), (store.open, "folder/f"),
                  (store.stat, "folder/f"), (store.stat, "file"), (store.open, "passage/f")]:
    try:
        act(WorkPath(path))
        print("ok")
    except ReadroomError as error:
        print(error.code)
"""


@pytest.mark.parametrize("way", WAYS)
def test_what_the_system_forbids_is_told_as_such(way: Confinement) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("folder", "passage"):
            (root / folder).mkdir()
            (root / folder / "f").write_bytes(b"data")
        (root / "file").write_bytes(b"data")
        (root / "file").chmod(0)
        (root / "folder").chmod(0)
        (root / "passage").chmod(0o711)  # may be entered, not listed
        run = subprocess.run(
            [sys.executable, "-c", CLOSED_TO_US, name, way],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        (root / "folder").chmod(0o700)
    passage = "ok" if sys.platform == "linux" or os.geteuid() else "no_permission"
    assert run.stdout.split() == [*["no_permission"] * 4, "ok", passage], run.stderr


# --- files whose size says nothing -----------------------------------------------------------------

PLACES = ("/proc/self/status", "/proc/self/maps", "/proc/sys/kernel/ostype", "/sys/kernel/uevent_seqnum")
GENERATED = [path for path in PLACES if os.access(path, os.R_OK)]


@pytest.mark.parametrize("path", GENERATED)
def test_what_the_system_makes_as_it_is_read_has_the_size_of_its_content(path: str) -> None:
    folder, name = os.path.split(path)
    with closing(LocalStore(folder)) as store, store.open(WorkPath(name)) as source:
        assert source.size == source.stat.size == len(whole := source.read_at(0, 1 << 20)) > 0
        held = bytearray(source.size + 3)
        assert source.read_into(1, memoryview(held)) == source.size - 1
        assert bytes(held[: source.size - 1]) == whole[1:]
        assert source.current() == source.version
        assert whole.endswith(b"\n")


@pytest.mark.skipif(not os.access("/proc/kallsyms", os.R_OK), reason="this system has no such file")
def test_more_than_can_be_held_of_such_a_file_is_refused_and_not_cut() -> None:
    with closing(LocalStore("/proc")) as store, pytest.raises(StoreFailed, match="makes it as it is read"):
        store.open(WorkPath("kallsyms"))
    descriptors = Path("/proc/self/fd").iterdir()
    assert "/proc/kallsyms" not in [os.path.realpath(descriptor) for descriptor in descriptors]


@pytest.mark.parametrize("size", [0, 1, 4096, 4097])
def test_files_without_blocks_are_what_their_size_says(tmp_path: Path, size: int) -> None:
    with open(tmp_path / "holes", "wb") as file:
        file.truncate(size)
    with closing(LocalStore(tmp_path)) as store, store.open(WorkPath("holes")) as source:
        assert source.size == size
        (tmp_path / "holes").write_bytes(b"a longer text" * 1000)
        assert source.read_at(0, 10) == b"a longer t"
        assert source.current() != source.version
