"""Indexes on disk: found again by other processes, private, bounded, never trusted when odd."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readroom.core import config
from readroom.core.config.settings import own_folder
from readroom.core.deadline import Deadline
from readroom.core.errors import BadConfig
from readroom.core.paths import WorkPath
from readroom.core.session.index_cache import IndexCache
from readroom.core.session.index_files import IndexFolder, IndexPolicy
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.encodings import BOMS, UTF8, Encoding, named, with_bom
from readroom.core.text.line_index import LineIndex, build_index
from readroom.core.values import Version
from readroom.core.workspace import Workspace
from tests.core.session.logs import Watched, facts, giant, rows
from tests.core.text.held import HeldBytes
from tests.each import each

OLD = rows(1, 60_000)
STATE = Version(2, 3, len(OLD), -5, 2**62)
INDEX = build_index(HeldBytes(OLD), UTF8, Deadline())
PATH = WorkPath("a.log")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "readroom"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / PATH).write_bytes(OLD)
    return folder


def indexed(policy: IndexPolicy, root: Path) -> tuple[LineIndex, bool]:
    """The index as another process would get it, and whether it had to count."""
    watched = Watched()
    with LocalStore(root).open(PATH) as source:
        index = IndexCache(policy).of(source, UTF8, watched.deadline)
    return index, bool(watched.steps)


def files(cache: Path) -> list[Path]:
    return sorted((cache / "indexes").iterdir())


@pytest.mark.parametrize(
    "encoding", [UTF8, named("utf-16-le"), named("cp932"), *(with_bom(named(n), bom) for bom, n in BOMS)]
)
def test_an_index_is_kept_as_it_is(cache: Path, encoding: Encoding) -> None:
    data = encoding.bom + "one\r\ntwo\nthree".encode(encoding.name)
    index = build_index(HeldBytes(data), encoding, Deadline(), 8)
    folder = IndexFolder(str(cache))
    state = Version(1, 2, len(data), 3, 4)
    folder.save(state, index)
    assert folder.load(Version(1, 2, 9, 9, 9), encoding) == (state, index)
    assert folder.load(Version(1, 3, 9, 9, 9), encoding) is None
    assert folder.load(Version(1, 2, 9, 9, 9), named("latin-1")) is None


def test_another_process_counts_nothing(cache: Path, root: Path) -> None:
    first, counted = indexed(giant(cache), root)
    again, counted_again = indexed(giant(cache), root)
    assert (counted, counted_again) == (True, False)
    assert again == first


def test_another_process_counts_what_was_appended(cache: Path, root: Path) -> None:
    indexed(giant(cache), root)
    with open(root / PATH, "ab") as file:
        file.write(rows(60_001, 60_003))
    index, _ = indexed(giant(cache), root)
    assert facts(index) == facts(build_index(HeldBytes((root / PATH).read_bytes()), UTF8, Deadline()))
    assert index.sha256 == ""


def test_nothing_of_the_name_is_kept(cache: Path, root: Path) -> None:
    with LocalStore(root).open(PATH) as source:
        IndexFolder(str(cache)).save(source.version, INDEX)
    assert PATH not in files(cache)[0].name
    assert PATH.encode() not in files(cache)[0].read_bytes()


def test_a_file_that_was_just_written_is_not_vouched_for(cache: Path, root: Path) -> None:
    """A change within one tick of the file system's clock leaves no trace."""
    policy = IndexPolicy(True, str(cache), 2**30, 1, settled_ms=1e12)
    indexed(policy, root)
    assert not cache.exists()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_no_change_of_a_kept_file_changes_an_index(cache: Path, at: int, flip: int, cut: bool) -> None:
    folder = IndexFolder(str(cache))
    folder.save(STATE, INDEX)
    (file,) = files(cache)
    data = bytearray(file.read_bytes())
    data[at % len(data)] ^= flip
    file.write_bytes(data[: at % len(data)] if cut else data)
    assert folder.load(STATE, UTF8) is None


def test_a_broken_kept_file_changes_no_reply(cache: Path, root: Path) -> None:
    with Workspace(root, settings=config.Settings(index=giant(cache))) as space:
        before = space.read(PATH, offset=100, limit=3)
    for file in files(cache):
        data = file.read_bytes()
        file.write_bytes(data[:300] + bytes(8) + data[308:])
    with Workspace(root, settings=config.Settings(index=giant(cache))) as space:
        assert space.read(PATH, offset=100, limit=3) == before


def test_what_is_kept_is_for_the_user_only(cache: Path, root: Path) -> None:
    indexed(giant(cache), root)
    folder = cache / "indexes"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache, folder, *files(cache))]
    assert modes == [0o700, 0o700, 0o600]


def test_a_folder_that_was_open_to_others_is_closed(cache: Path) -> None:
    cache.mkdir(parents=True, mode=0o755)
    cache.chmod(0o777)
    IndexFolder(str(cache)).save(STATE, INDEX)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize("whose", ["", "readroom", "readroom/indexes"])
def test_a_folder_of_somebody_else_is_not_used(cache: Path, whose: str) -> None:
    (cache / "indexes").mkdir(parents=True)
    os.chown(cache.parent / whose, 65534, 65534)
    IndexFolder(str(cache)).save(STATE, INDEX)
    assert files(cache) == []


@pytest.mark.parametrize("name", ["readroom", "readroom/indexes"])
def test_a_link_in_place_of_a_folder_is_not_followed(cache: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "indexes").mkdir(parents=True)
    link = cache.parent / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    IndexFolder(str(cache)).save(STATE, INDEX)
    assert [path.name for path in elsewhere.rglob("*")] == ["indexes"]


def test_what_is_no_file_of_ours_is_not_read(cache: Path, tmp_path: Path) -> None:
    folder = IndexFolder(str(cache))
    folder.save(STATE, INDEX)
    (file,) = files(cache)
    kept = tmp_path / "kept"
    file.rename(kept)
    puts: list[Callable[[], object]] = [
        lambda: file.symlink_to(kept),
        lambda: os.link(kept, file),
        lambda: os.mkfifo(file),
        file.mkdir,
    ]
    for put in puts:
        put()
        assert folder.load(STATE, UTF8) is None
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


def test_a_disk_that_takes_nothing_is_no_failure(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    index, counted = indexed(giant(tmp_path / "file" / "readroom"), root)
    assert (counted, index.total_lines) == (True, 60_000)


def test_the_oldest_leave_when_there_is_too_much(cache: Path) -> None:
    size = 0
    for number in range(6):
        IndexFolder(str(cache), max(3 * size, 2**10)).save(Version(1, number, len(OLD), 0, 0), INDEX)
        newest = max(files(cache), key=lambda path: path.stat().st_ctime_ns)
        size = newest.stat().st_size
        os.utime(newest, ns=(number * 10**9, number * 10**9))
    kept = [n for n in range(6) if IndexFolder(str(cache)).load(Version(1, n, 0, 0, 0), UTF8)]
    assert kept == [3, 4, 5]


def test_names_that_are_not_ours_are_left_alone(cache: Path) -> None:
    (cache / "indexes").mkdir(parents=True)
    other = cache / "indexes" / "notes.txt"
    other.write_bytes(bytes(10_000))
    left = cache / "indexes" / f".{'0' * 16}.part"
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    IndexFolder(str(cache), 2**20).save(STATE, INDEX)
    assert other.exists()
    assert not left.exists()


_READER = """
import sys
from readroom.core import config
from readroom.core.workspace import Workspace
from tests.core.session.logs import giant
from pathlib import Path
found = set()
for _ in range(int(sys.argv[3])):
    with Workspace(sys.argv[1], settings=config.Settings(index=giant(Path(sys.argv[2])))) as space:
        found.add(space.read("a.log", offset=-2).text)
print(found)
"""


def test_processes_share_the_folder_while_it_is_deleted_again_and_again(cache: Path, root: Path) -> None:
    command = [sys.executable, "-c", _READER, str(root), str(cache), "25"]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    deleted = 0
    while any(reader.poll() is None for reader in readers):
        deleted += cache.exists()
        shutil.rmtree(cache, ignore_errors=True)
    said = {reader.communicate()[0] for reader in readers}
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    assert len(said) == 1
    assert "line 0060000 of a log" in said.pop()
    assert deleted


# --- where it is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "linux", "/c/readroom"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "linux", "/h/.cache/readroom"),
        ({"HOME": "/h"}, "linux", "/h/.cache/readroom"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Caches/readroom"),
        ({}, "linux", None),
    ],
)
def test_the_place_is_the_users_cache_folder(
    environ: dict[str, str], platform: str, folder: str | None
) -> None:
    assert own_folder(environ, platform) == folder


def test_nothing_is_kept_inside_the_workspace(root: Path) -> None:
    with Workspace(root, settings=config.Settings(index=giant(root / "sub" / "readroom"))) as space:
        space.read(PATH)
    (root / "link").symlink_to(root)
    with Workspace(root, settings=config.Settings(index=giant(root / "link" / "cache"))) as space:
        space.read(PATH)
    assert sorted(path.name for path in root.iterdir()) == [PATH, "link"]


def test_the_operator_says_where_and_the_folder_only_whether(tmp_path: Path) -> None:
    own = MemoryStore({"readroom.toml": "[index]\nkeep = false\n"})
    assert not config.load(own).index.keep
    file = tmp_path / "operator.toml"
    file.write_text('[index]\nfolder = "/a/b"\ndisk_bytes = 65536\nfrom_bytes = 70000\n', encoding="utf-8")
    found = config.load(MemoryStore(), file).index
    assert (found.folder, found.disk_bytes, found.from_bytes, found.keep) == ("/a/b", 65536, 70000, True)


@each(
    ("line", "trusted"),
    [
        ('folder = "/tmp/x"', False),
        ("keep = true", False),
        ("disk_bytes = 1000000", False),
        ('folder = "relative"', True),
        ("folder = 3", True),
        ("keep = 1", True),
        ("disk_bytes = true", True),
        ("disk_bytes = 1", True),
    ],
)
def test_a_setting_that_cannot_be_used_is_an_error(tmp_path: Path, line: str, trusted: bool) -> None:
    file = tmp_path / "operator.toml"
    text = f"[index]\n{line}\n"
    file.write_text(text if trusted else "", encoding="utf-8")
    with pytest.raises(BadConfig, match=r"index\."):
        config.load(MemoryStore({} if trusted else {"readroom.toml": text}), file)
