"""What is kept of the streams of commands, on disk and in bounded space."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.caller import ANONYMOUS
from readroom.core.errors import NotAFolder, NotFound, OutputGone, StoreFailed
from readroom.core.errors.changes import ReadOnlyPlace
from readroom.core.limits import RUN_SESSION_OUTPUTS
from readroom.core.paths import OUTPUTS, WorkPath
from readroom.core.stores import private
from readroom.core.stores.mount import OutputsMount
from readroom.core.stores.outputs import OutputKeeper, Outputs, OwnOutputs
from readroom.core.stores.private import PrivateFolder
from readroom.core.stores.ring import Ring
from readroom.core.values.commands import Lost


@pytest.fixture
def outputs(tmp_path: Path) -> OwnOutputs:
    return Outputs(str(tmp_path), kept_bytes=1000, session_bytes=5000).of(ANONYMOUS.owner)


def keep(outputs: OwnOutputs, out: bytes, err: bytes = b"") -> str:
    name, keepers = outputs.begin()
    for keeper, data in zip(keepers, (out, err), strict=True):
        keeper.write(data)
    outputs.finish(name, keepers)
    return name


def read(mount: OutputsMount, path: str) -> bytes:
    with mount.open(WorkPath(path)) as source:
        return source.read_at(0, source.size)


# --- one stream ------------------------------------------------------------------------------------

pieces = st.lists(st.binary(max_size=40), max_size=30)


@settings(max_examples=20)
@given(pieces=pieces, most=st.integers(1, 60))
def test_a_ring_holds_the_end_of_whatever_is_written(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], most: int
) -> None:
    ring = Ring(str(tmp_path_factory.mktemp("ring") / "r"), most)
    for piece in pieces:
        ring.write(piece)
    whole = b"".join(pieces)
    found = b""
    while block := ring.read(len(found), 7):
        found += block
    ring.close()
    ring.close()
    assert found == whole[-most:]
    assert (ring.written, ring.filled) == (len(whole), min(len(whole), most))


lines = st.lists(st.integers(0, 30).map(lambda size: b"x" * size + b"\n"), max_size=60)


@settings(max_examples=30)
@given(lines=lines, most=st.integers(2, 400), cut=st.integers(1, 50))
def test_what_is_kept_is_the_beginning_the_end_and_a_true_mark(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("keep")
    whole = b"".join(lines)
    keeper = OutputKeeper(str(folder), "a.stdout", most)
    for at in range(0, len(whole), cut):
        keeper.write(whole[at : at + cut])
    kept = keeper.finish()
    found = (folder / "a.stdout").read_bytes()
    assert (kept.size_bytes, kept.kept_bytes) == (len(whole), len(found))
    assert keeper.lines == len(lines)
    if kept.lost is None:
        assert found == whole
        return
    mark = f"[... {kept.lost.bytes:,} bytes are not kept ...]\n".encode()
    before, after = whole[: kept.lost.first - 1], whole[kept.lost.first - 1 + kept.lost.bytes :]
    assert found == before + mark + after
    assert kept.lost.after == before.count(b"\n")
    assert len(before) + len(after) <= most
    assert os.listdir(folder) == ["a.stdout"]


def test_a_line_longer_than_everything_is_cut_in_the_middle(tmp_path: Path) -> None:
    keeper = OutputKeeper(str(tmp_path), "a", 100)
    keeper.write(b"y" * 1000)
    kept = keeper.finish()
    assert kept.lost == Lost(51, 900, 0)


def test_a_full_disk_ends_the_keeping_and_not_the_command(tmp_path: Path) -> None:
    """A limit of the system on the size of files stands for the disk."""
    code = """
import resource, signal, sys
from readroom.core.stores.outputs import OutputKeeper
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
keeper = OutputKeeper(sys.argv[1], "a", 100_000)
for _ in range(10):
    keeper.write(b"line\\n" * 200)
kept = keeper.finish()
print(kept.size_bytes, kept.kept_bytes, kept.lost.first, kept.lost.bytes, kept.lost.after, kept.problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"10000 3000 3001 7000 600 {os.strerror(errno.EFBIG)}\n"


# --- all of them -----------------------------------------------------------------------------------


def test_the_oldest_leave_first_by_size(outputs: OwnOutputs) -> None:
    names = [keep(outputs, b"x" * 900, b"y" * 900) for _ in range(4)]
    assert [outputs.gone(name) for name in names] == [True, True, False, False]
    assert sorted(os.listdir(outputs.folder)) == sorted(
        f"{name}.{stream}" for name in names[2:] for stream in ("stdout", "stderr")
    )


def test_the_oldest_leave_first_by_number(tmp_path: Path) -> None:
    outputs = Outputs(str(tmp_path), 1000, 10**9)
    own = outputs.of(ANONYMOUS.owner)
    names = [keep(own, b"x") for _ in range(RUN_SESSION_OUTPUTS + 3)]
    assert [name for name in names if own.gone(name)] == names[:3]
    assert len(set(names)) == len(names)
    outputs.close()


def test_what_is_still_being_written_does_not_leave(tmp_path: Path) -> None:
    """A long command, beside which others of another owner write more than is kept."""
    outputs = Outputs(str(tmp_path), kept_bytes=1000, session_bytes=3000)
    long, other = outputs.of(("", "long")), outputs.of(("", "other"))
    name, keepers = long.begin()
    names = [keep(other, b"x" * 1000) for _ in range(5)]
    keepers[0].write(b"at last\n")
    long.finish(name, keepers)
    assert read(OutputsMount(long), f"/.outputs/{name}.stdout") == b"at last\n"
    assert [other.gone(one) for one in names] == [True, True, True, False, False]
    for _ in range(9):
        keep(other, b"x" * 1000)
    assert long.gone(name)
    outputs.close()


def test_what_a_command_wrote_is_read_back(outputs: OwnOutputs) -> None:
    mount = OutputsMount(outputs)
    name = keep(outputs, b"out\n", b"err\n")
    assert read(mount, f"/.outputs/{name}.stdout") == b"out\n"
    assert read(mount, f"/.outputs/{name}.stderr") == b"err\n"
    with mount.open_folder(OUTPUTS) as folder:
        assert sorted(entry.name for entry in folder.entries()) == [f"{name}.stderr", f"{name}.stdout"]
    with pytest.raises(NotAFolder):
        mount.open_folder(WorkPath(f"/.outputs/{name}.stdout"))
    with pytest.raises(ReadOnlyPlace):
        mount.place(WorkPath(f"/.outputs/{name}.stdout"))


def test_what_has_left_is_told_from_what_never_was(outputs: OwnOutputs) -> None:
    mount = OutputsMount(outputs)
    old = keep(outputs, b"x" * 1000, b"x" * 1000)
    for _ in range(3):
        keep(outputs, b"x" * 1000, b"x" * 1000)
    with pytest.raises(OutputGone, match="newer outputs needed its place"):
        mount.open(WorkPath(f"/.outputs/{old}.stdout"))
    with pytest.raises(OutputGone, match="belongs to the conversation"):
        mount.open(WorkPath("/.outputs/zzzzz.stdout"))
    assert mount.version(WorkPath(f"/.outputs/{old}.stdout")) is None


def test_an_output_that_is_being_read_stays_readable_when_it_leaves(outputs: OwnOutputs) -> None:
    mount = OutputsMount(outputs)
    name = keep(outputs, b"first\n")
    with mount.open(WorkPath(f"/.outputs/{name}.stdout")) as source:
        for _ in range(9):
            keep(outputs, b"x" * 1000)
        assert outputs.gone(name)
        assert source.read_at(0, source.size) == b"first\n"


@pytest.mark.parametrize("name", ["a/b", "../lock", "..", ".", "", "x/../../lock"])
def test_no_other_name_leads_out_of_the_folder(outputs: OwnOutputs, name: str) -> None:
    keep(outputs, b"x")
    with pytest.raises((NotFound, NotAFolder, OSError)):
        OutputsMount(outputs).open(WorkPath(f"/.outputs/{name}")).close()


def test_links_that_somebody_put_there_are_not_followed(outputs: OwnOutputs, tmp_path: Path) -> None:
    keep(outputs, b"x")
    (tmp_path / "secret").write_text("canary")
    os.symlink(tmp_path / "secret", os.path.join(outputs.folder, "a.stdout"))
    with pytest.raises(Exception, match=r"a\.stdout") as caught:
        OutputsMount(outputs).open(WorkPath("/.outputs/a.stdout"))
    assert "canary" not in str(caught.value)


def test_nothing_is_made_before_the_first_command_and_nothing_stays(tmp_path: Path) -> None:
    outputs = Outputs(str(tmp_path), 1000, 1000)
    assert not outputs.started
    keep(outputs.of(ANONYMOUS.owner), b"x")
    folder = outputs.private().path
    assert os.stat(folder).st_mode & 0o777 == 0o700
    outputs.close()
    outputs.close()
    assert not os.path.exists(folder)
    with pytest.raises(StoreFailed):
        outputs.of(ANONYMOUS.owner).begin()


# --- the private folder ------------------------------------------------------------------------------


def test_a_private_folder_lies_outside_the_workspace(tmp_path: Path) -> None:
    inside, beside = tmp_path / "root" / "tmp", tmp_path / "beside"
    inside.mkdir(parents=True)
    beside.mkdir()
    made = PrivateFolder(str(tmp_path / "root"), (str(inside), str(beside)))
    assert os.path.dirname(made.path) == str(beside)
    made.remove()
    with pytest.raises(StoreFailed, match="outside the workspace"):
        PrivateFolder(str(tmp_path / "root"), (str(inside),))


def test_what_a_dead_process_left_behind_is_removed_and_what_lives_is_not(tmp_path: Path) -> None:
    code = """
import os, sys
from readroom.core.stores.private import PrivateFolder
folder = PrivateFolder("/nowhere", (sys.argv[1],))
os.makedirs(folder.path + "/tmp/a"); open(folder.path + "/tmp/a/b", "w").close()
os.chmod(folder.path + "/tmp/a", 0)
print(folder.path, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    abandoned = done.stdout.strip()
    assert os.path.isdir(abandoned)
    one = PrivateFolder("/nowhere", (str(tmp_path),))
    assert not os.path.exists(abandoned)
    two = PrivateFolder("/nowhere", (str(tmp_path),))
    assert os.path.isdir(one.path)
    for made in (one, two):
        made.remove()
        made.remove()
    assert os.listdir(tmp_path) == []


def test_threads_that_need_the_same_places_make_them_once(tmp_path: Path) -> None:
    """Nobody may open what is made here, so that a second attempt to make it must not be one to open it."""
    made = PrivateFolder("/nowhere", (str(tmp_path),))
    ready = Barrier(8)

    def make(name: str) -> tuple[str, str]:
        ready.wait()
        return made.file(name, 0o000), made.inside(f"{name}.d", 0o000)

    with ThreadPoolExecutor(8) as pool:
        for number in range(100):
            assert len(set(pool.map(make, [str(number)] * 8))) == 1
    made.remove()
    assert os.listdir(tmp_path) == []


def test_a_link_with_such_a_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lock").touch()
    (tmp_path / "readroom-run-x").symlink_to("mine")
    private.sweep(str(tmp_path))
    assert (tmp_path / "mine" / "lock").exists()


def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    """A command can make folders deeper than any name may be long, and than calls may be nested."""
    deep = "import os\nfor _ in range(3000): os.mkdir('dddd'), open('f', 'x').close(), os.chdir('dddd')"
    (tmp_path / "top").mkdir()
    subprocess.run([sys.executable, "-c", deep], cwd=tmp_path / "top", check=True)
    private.remove_tree(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []


def test_a_tree_of_which_something_cannot_be_removed_loses_the_rest(tmp_path: Path) -> None:
    """A link in the place of a folder is removed, not followed; so is one at the top left alone."""
    (tmp_path / "keep" / "sub").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "link").symlink_to(tmp_path / "keep", target_is_directory=True)
    (tmp_path / "keep").chmod(0o500)
    private.remove_tree(str(tmp_path / "a"))
    (tmp_path / "top").symlink_to("keep", target_is_directory=True)
    private.remove_tree(str(tmp_path / "top"))
    assert sorted(os.listdir(tmp_path)) == ["keep", "top"]
    assert os.listdir(tmp_path / "keep") == ["sub"]
    assert (tmp_path / "keep").stat().st_mode & 0o777 == 0o500


def test_what_commands_made_unreadable_is_removed_too(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    (folder / "f").touch()
    (tmp_path / "keep").touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "keep")
    for path in (folder, folder.parent):
        path.chmod(0)
    private.remove_tree(str(tmp_path / "a"))
    assert os.listdir(tmp_path) == ["keep"]
