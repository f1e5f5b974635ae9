"""Compressed logs are read as their content, within bounds, and say what is wrong with them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readroom.core.config import Settings
from readroom.core.errors import BadValue, Binary, BrokenData, Denied, TimedOut
from readroom.core.formats.compressed import Compression
from readroom.core.limits import HEAD_BYTES, Limits
from readroom.core.session.expansions import EXPANSION_FREE_BYTES
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.engine.read.test_text import Restless
from tests.core.formats.packing import PACK, SUFFIX
from tests.core.session.logs import Watched, rows
from tests.laws.driving import Driver, fact, shown
from tests.peak import REPO
from tests.suites import needs

every = pytest.mark.parametrize("compression", list(PACK))
LINES = 60_000
TEXT = rows(1, LINES)


@cache
def packed() -> dict[str, bytes]:
    return {f"app.log.{SUFFIX[name]}": pack(TEXT) for name, pack in PACK.items()}


def codes(reply: Reply) -> list[str]:
    return [warning["code"] for warning in fact(reply, "warnings")]


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(packed())
    for name, data in packed().items():
        (tmp_path / name).write_bytes(data)
    return LocalStore(tmp_path)


@every
def test_a_compressed_log_reads_like_the_log(store: Store, compression: Compression) -> None:
    name = f"app.log.{SUFFIX[compression]}"
    raw = packed()[name]
    with Workspace(store) as workspace:
        plain = Workspace(MemoryStore({"app.log": TEXT}))
        asked: list[dict[str, Any]] = [
            {},
            {"offset": 30_000, "limit": 3},
            {"offset": -2},
            {"offset": 7, "column": 5},
        ]
        for arguments in asked:
            found = workspace.read(name, **arguments)
            assert shown(found) == shown(plain.read("app.log", **arguments))
        assert fact(found, "content_hash") == "sha256:" + hashlib.sha256(raw).hexdigest()
        assert (fact(found, "size_bytes"), fact(found, "expanded_bytes")) == (len(raw), len(TEXT))
        assert (fact(found, "compression"), fact(found, "kind")) == (compression, "log")
        assert f"{compression}, {len(TEXT):,} bytes expanded" in found.text
        again = workspace.read(name, known_hash=fact(found, "content_hash"))
        assert fact(again, "not_modified") is True


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.text(st.sampled_from("ab \n\r\té漢"), max_size=40), min_size=1, max_size=4),
    st.sampled_from(list(PACK)),
)
def test_following_next_shows_every_line_of_the_content_once(
    texts: list[str], compression: Compression
) -> None:
    """Whatever members it is made of."""
    data = b"".join(PACK[compression](text.encode()) for text in texts)
    whole = "".join(texts).encode()
    packed = Driver(MemoryStore({f"a.txt.{SUFFIX[compression]}": data}))
    plain = Driver(MemoryStore({"a.txt": whole}))
    if b"\0" not in whole:
        name = f"a.txt.{SUFFIX[compression]}"
        assert packed.lines(name, limit=2) == plain.lines("a.txt", limit=2)


def test_a_later_page_does_not_expand_it_again(store: Store) -> None:
    with Workspace(store) as workspace:
        workspace.read("app.log.xz")
        watched = Watched()
        reply = workspace.perform(
            "read_file", {"path": "app.log.xz", "offset": 100, "limit": 1}, deadline=watched.deadline
        )
    assert shown(reply) == {100: "line 0000100 of a log"}
    assert watched.steps == []


def test_out_of_time_the_beginning_is_shown_and_the_next_call_goes_on() -> None:
    big = os.urandom(600_000).hex().encode()
    text = b"".join(big[at : at + 99] + b"\n" for at in range(0, len(big), 99))
    data = gzip.compress(text, mtime=0)
    with Workspace(MemoryStore({"a.log.gz": data})) as workspace:
        first = Watched(60)
        arguments: dict[str, Any] = {"path": "a.log.gz", "offset": 2, "limit": 1}
        reply = workspace.perform("read_file", arguments, deadline=first.deadline)
        assert shown(reply) == {2: text.split(b"\n")[1].decode()}
        assert (fact(reply, "total_lines"), fact(reply, "content_hash")) == (None, None)
        assert codes(reply) == ["unfinished"]
        left = fact(reply, "omitted")[-1]
        assert (left["what"], left["from"], left["to"]) == ("bytes", 60 * 4096 + 1, len(data))
        with pytest.raises(TimedOut, match="the same call continues"):
            workspace.perform("read_file", {"path": "a.log.gz"}, deadline=Watched(1).deadline)
        watched = Watched()
        last = workspace.perform("read_file", {"path": "a.log.gz", "limit": 1}, deadline=watched.deadline)
        assert fact(last, "total_lines") == text.count(b"\n")
        assert watched.steps[0][0] == 62 * 4096


# --- damaged, hostile, something else --------------------------------------------------------


@every
def test_what_was_before_the_damage_is_shown_and_the_place_is_said(compression: Compression) -> None:
    raw = packed()[f"app.log.{SUFFIX[compression]}"] * 2
    cut = raw[: len(raw) * 3 // 4]
    with Workspace(MemoryStore({"a.log.x": cut})) as workspace:
        reply = workspace.read("a.log.x", offset=LINES - 1, limit=2)
        assert list(shown(reply)) == [LINES - 1, LINES]
        assert codes(reply) == ["broken_data"]
        assert f"at the end of {len(cut):,} bytes" in reply.text
        assert fact(reply, "total_lines") is None
        assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(cut).hexdigest()


def test_data_of_which_nothing_can_be_expanded_are_an_error() -> None:
    with Workspace(MemoryStore({"a.gz": gzip.compress(TEXT, mtime=0)[:15]})) as workspace:
        with pytest.raises(BrokenData, match="cut off"):
            workspace.read("a.gz")
        with pytest.raises(BrokenData, match="cut off"):
            workspace.grep("x", path="a.gz")


@needs("documents")
def test_pages_of_a_compressed_text_are_refused() -> None:
    files = {"a.html.gz": gzip.compress(b"<h1>One</h1>", mtime=0), "a.txt.gz": gzip.compress(b"One", mtime=0)}
    with Workspace(MemoryStore(files)) as workspace:
        with pytest.raises(BadValue, match="pages"):
            workspace.read("a.txt.gz", pages="1")
        assert "1\t# One" in workspace.read("a.html.gz", pages="1").text


@needs("documents")
def test_a_tar_inside_is_no_log() -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as tar:
        info = tarfile.TarInfo("a.log")
        info.size = len(TEXT)
        tar.addfile(info, io.BytesIO(TEXT))
    with Workspace(MemoryStore({"a.tar.gz": held.getvalue()})) as workspace:
        with pytest.raises(Binary, match=r"application/x-tar, gzip.*List its members"):
            workspace.read("a.tar.gz")


def test_compressed_twice_is_said() -> None:
    with Workspace(MemoryStore({"a.gz": gzip.compress(gzip.compress(TEXT, mtime=0), mtime=0)})) as workspace:
        with pytest.raises(Binary, match="application/gzip, gzip"):
            workspace.read("a.gz")


def test_a_bomb_of_zeros_is_not_expanded() -> None:
    bomb = gzip.compress(bytes(50_000_000), mtime=0)
    watched = Watched()
    with Workspace(MemoryStore({"a.log.gz": bomb})) as workspace, pytest.raises(Binary):
        workspace.perform("read_file", {"path": "a.log.gz"}, deadline=watched.deadline)
    assert watched.steps[-1][0] < HEAD_BYTES


def test_no_more_than_the_limit_is_expanded() -> None:
    limits = Limits(expanded_bytes=1_000_000)
    store = MemoryStore({"a.log.gz": gzip.compress(TEXT, mtime=0)})
    with Workspace(store, settings=Settings(limits=limits)) as workspace:
        reply = workspace.read("a.log.gz", offset=1, limit=1)
    assert fact(reply, "expanded_bytes") == 1_000_000
    assert codes(reply) == ["expansion_limit"]
    assert fact(reply, "total_lines") is None
    assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(gzip.compress(TEXT, mtime=0)).hexdigest()


def test_text_that_grows_beyond_all_measure_is_cut() -> None:
    bomb = PACK["zstd"](b"all work and no play\n" * 20_000_000)
    with Workspace(MemoryStore({"a.log.zst": bomb})) as workspace:
        reply = workspace.read("a.log.zst", offset=1, limit=1)
    assert fact(reply, "expanded_bytes") < 2 * EXPANSION_FREE_BYTES
    assert "times its compressed size" in reply.text


_HUNGRY = """
import sys
from readroom.core.workspace import Workspace
from tests.peak import own_peak_bytes
with Workspace(sys.argv[1]) as space:
    space.read("small.log.gz")
    before = own_peak_bytes()
    for name in sys.argv[2:]:
        space.read(name, offset=-5)
    print(own_peak_bytes() - before)
"""


def test_expanding_takes_little_memory(tmp_path: Path) -> None:
    text = TEXT * 60
    names = [f"a.log.{SUFFIX[name]}" for name in ("gzip", "zstd")]
    (tmp_path / names[0]).write_bytes(gzip.compress(text, 1, mtime=0))
    (tmp_path / names[1]).write_bytes(PACK["zstd"](text))
    (tmp_path / "small.log.gz").write_bytes(gzip.compress(TEXT, mtime=0))
    command = [sys.executable, "-c", _HUNGRY, str(tmp_path), *names]
    said = subprocess.run(command, cwd=REPO, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert int(said) < 64 * 1024 * 1024


def test_a_denied_log_is_denied_compressed_or_not(tmp_path: Path) -> None:
    (tmp_path / "secret.log.gz").write_bytes(gzip.compress(TEXT, mtime=0))
    with Workspace(tmp_path) as workspace:
        workspace.read("secret.log.gz")
        (tmp_path / ".readroomignore").write_text("secret*\n", encoding="utf-8")
        with pytest.raises(Denied):
            workspace.read("secret.log.gz")


def test_expanded_content_has_no_name_anywhere(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(TEXT, mtime=0))
    with Workspace(tmp_path) as workspace:
        workspace.read("a.log.gz")
        links = [os.readlink(f"/proc/self/fd/{fd}") for fd in _descriptors()]
        assert any(link.endswith("(deleted)") for link in links)
    assert [path.name for path in tmp_path.iterdir()] == ["a.log.gz"]


def _descriptors() -> list[str]:
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")]


# --- changes ---------------------------------------------------------------------------------


def test_a_compressed_log_that_is_appended_to_is_shown_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a.log.gz"
    file.write_bytes(gzip.compress(TEXT, mtime=0))

    def append(count: int) -> None:
        with file.open("ab") as end:
            end.write(gzip.compress(b"more\n", mtime=0))

    with Workspace(Restless(LocalStore(tmp_path), append)) as workspace:
        reply = workspace.read("a.log.gz", limit=1)
    assert shown(reply) == {LINES: f"line {LINES:07d} of a log"}
    assert codes(reply) == ["grew"]
    with Workspace(tmp_path) as workspace:
        assert shown(workspace.read("a.log.gz", limit=1))[max(shown(workspace.read("a.log.gz")))] == "more"


def test_a_compressed_log_that_was_replaced_is_expanded_again(tmp_path: Path) -> None:
    file = tmp_path / "a.log.gz"
    with Workspace(tmp_path) as workspace:
        for word in ("old", "new"):
            file.write_bytes(gzip.compress(f"{word}\n".encode(), mtime=0))
            assert shown(workspace.read("a.log.gz")) == {1: word}


def test_an_edit_of_a_compressed_file_is_refused(store: Store) -> None:
    with Workspace(store) as workspace:
        digest = fact(workspace.read("app.log.gz"), "content_hash")
        with pytest.raises(Binary, match="only other programs can change"):
            workspace.edit("app.log.gz", digest, [{"old_text": "line", "new_text": "row"}])


# --- searching -------------------------------------------------------------------------------


@every
def test_a_search_of_a_compressed_log_finds_its_lines(store: Store, compression: Compression) -> None:
    name = f"app.log.{SUFFIX[compression]}"
    with Workspace(store) as workspace:
        first = workspace.grep("0+[57]77 of", path=name, limit=2)
        assert [line["line"] for line in fact(first, "files")[0]["lines"]] == [577, 777]
        second = workspace.call("grep_files", fact(first, "next")["arguments"])
        assert fact(second, "files")[0]["lines"][0]["line"] == 10_577
        count = workspace.grep("line", path=name, output="count")
        assert fact(count, "files") == [{"path": name, "matches": LINES, "lines": []}]


def test_a_search_that_finds_nothing_says_how_compressed_files_are_searched(store: Store) -> None:
    with Workspace(store) as workspace:
        reply = workspace.grep("0000577 of")
        assert 'To include them: grep_files {"pattern":"0000577 of","include":["compressed"]}' in reply.text


def test_a_search_out_of_time_in_a_compressed_log_says_so() -> None:
    data = gzip.compress(os.urandom(300_000).hex().encode(), mtime=0)
    with Workspace(MemoryStore({"a.gz": data})) as workspace:
        reply = workspace.perform(
            "grep_files", {"pattern": "x", "path": "a.gz"}, deadline=Watched(5).deadline
        )
        assert fact(reply, "reason") == "timeout"
        found = workspace.call("grep_files", fact(reply, "next")["arguments"])
        assert fact(found, "complete") is True
