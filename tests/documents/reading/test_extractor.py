"""What a process that reads a document can do when the document has taken it over: nothing.

The module it runs here tries; issue 4: survives hostile files, reaches nothing.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, TimedOut
from readroom.core.kernel import landlock
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Source
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats import Part, Unreadable
from readroom.documents.formats.protocol import RANGE_BYTES
from readroom.documents.reading.extractor import DOCUMENT_CHILD_BYTES, Extractor

MODULE = "tests.documents.reading.misbehaving"

confined = pytest.mark.skipif(
    not landlock.available() and "CI" not in os.environ, reason="this kernel has no Landlock"
)


def source(folder: Path, what: str, target: object) -> Source:
    (folder / "d").write_text(f"{what}\n{target}\n", encoding="utf-8")
    return LocalStore(folder).open(WorkPath("d"))


def attempt(folder: Path, what: str, target: object, *, seconds: float = 20) -> Part:
    with source(folder, what, target) as opened:
        extractor = Extractor(opened, MODULE)
        try:
            extractor.opened(Deadline(seconds))
            return extractor.part(1, None, Deadline(seconds))
        finally:
            extractor.close()
            assert not _runs(extractor.pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@confined
@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("read", "secret"),
        ("read", "/etc/passwd"),
        ("write", "new"),
        ("list", "/"),
        ("chmod", "d"),
    ],
)
def test_it_reaches_no_file(tmp_path: Path, what: str, name: str) -> None:
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (line,) = attempt(tmp_path, what, tmp_path / name).lines
    assert line in ("refused: Permission denied", "refused: Operation not permitted")
    assert not (tmp_path / "new").exists()


@confined
def test_where_other_modules_are_found_is_not_for_it_to_read(tmp_path: Path) -> None:
    """As with PYTHONPATH, or `python -m` in a folder that is served."""
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    sys.path.append(str(tmp_path))
    try:
        (line,) = attempt(tmp_path, "read", tmp_path / "secret").lines
    finally:
        sys.path.remove(str(tmp_path))
    assert line == "refused: Permission denied"


@confined
def test_it_starts_no_program(tmp_path: Path) -> None:
    assert attempt(tmp_path, "run", "/bin/true").lines == ["refused: Permission denied"]


@confined
def test_it_has_no_network(tmp_path: Path, listening: int) -> None:
    (line,) = attempt(tmp_path, "connect", listening).lines
    assert line.startswith("refused: ")


@pytest.mark.skipif(
    landlock.available() < landlock.FOR_COMMANDS and "CI" not in os.environ,
    reason="Landlock keeps signals in since Linux 6.12",
)
def test_it_signals_nobody(tmp_path: Path) -> None:
    assert attempt(tmp_path, "kill", os.getpid()).lines == ["refused: Operation not permitted"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit what is allocated")
def test_memory_beyond_its_limit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="memory"):
        attempt(tmp_path, "eat", DOCUMENT_CHILD_BYTES + 1)


def test_the_clock_ends_it(tmp_path: Path) -> None:
    with pytest.raises(TimedOut):
        attempt(tmp_path, "spin", 60, seconds=1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say what a process has worked")
def test_processor_time_ends_it_and_the_error_says_so(tmp_path: Path) -> None:
    with source(tmp_path, "spin", 60) as opened:
        extractor = Extractor(opened, MODULE)
        deadline = Deadline().of_work(1, patience=50)
        extractor.opened(deadline)
        with pytest.raises(TimedOut, match="limit of 1 s of processor time"):
            extractor.part(1, None, deadline)
        assert not _runs(extractor.pid)


def test_the_kernel_ends_what_works_too_long_for_nobody(tmp_path: Path) -> None:
    with source(tmp_path, "spin", 60) as opened:
        extractor = Extractor(opened, MODULE, most_s=1)
        extractor.opened(Deadline(50))
        with pytest.raises(TimedOut, match="limit of 1 s of processor time"):
            extractor.part(1, None, Deadline(50))


def test_a_cancelled_call_ends_it(tmp_path: Path) -> None:
    deadline = Deadline(20)
    with source(tmp_path, "spin", 60) as opened:
        extractor = Extractor(opened, MODULE)
        extractor.opened(deadline)
        deadline.cancel()
        with pytest.raises(Cancelled):
            extractor.part(1, None, deadline)
        assert not _runs(extractor.pid)


@pytest.mark.parametrize(("what", "target"), [("crash", 11), ("crash", 6), ("exit", 0), ("babble", 64)])
def test_its_end_or_babble_is_a_document_that_cannot_be_read(tmp_path: Path, what: str, target: int) -> None:
    with pytest.raises(Unreadable):
        attempt(tmp_path, what, target)


def test_a_document_in_memory_is_read_too() -> None:
    store = MemoryStore({"d": b"eat\n10\n"})
    with store.open(WorkPath("d")) as opened:
        extractor = Extractor(opened, MODULE)
        try:
            assert extractor.opened(Deadline(20)).total == 1
            assert extractor.part(1, None, Deadline(20)).lines == ["done: 10"]
        finally:
            extractor.close()


class Far:
    """A document of which each read may be a request."""

    far = True

    def __init__(self, what: str) -> None:
        self._data = what.encode() + b"\n" * (2 * SMALL_FILE_BYTES)
        self.size = len(self._data)
        self.real = WorkPath("d")
        self.read: list[tuple[int, int]] = []

    def fileno(self) -> None:
        return None

    def read_at(self, offset: int, size: int) -> bytes:
        self.read.append((offset, size))
        return self._data[offset : offset + size]


def far_attempt(source: Far, seconds: float) -> Part:
    extractor = Extractor(cast("Source", source), MODULE)
    try:
        extractor.opened(Deadline(seconds))
        return extractor.part(1, None, Deadline(seconds))
    finally:
        extractor.close()
        assert not _runs(extractor.pid)


def test_of_a_far_document_only_what_it_asks_for_is_read() -> None:
    source = Far("eat\n10\n")
    assert far_attempt(source, 20).lines == ["done: 10"]
    assert sum(size for _, size in source.read) < SMALL_FILE_BYTES


@pytest.mark.parametrize(
    "wanted",
    [
        "-1 10",
        "0 0",
        "0 -5",
        f"0 {RANGE_BYTES + 1}",
        f"{2 * SMALL_FILE_BYTES} {RANGE_BYTES}",
        "9e9 1",
        '"" 1',
    ],
)
def test_it_gets_no_other_bytes_than_those_of_the_document(wanted: str) -> None:
    with pytest.raises(Unreadable, match="no usable answer"):
        far_attempt(Far(f"want\n{wanted}\n"), 20)


def test_a_document_in_a_file_is_not_asked_for(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no usable answer"):
        attempt(tmp_path, "want", "0 10")


def test_what_asks_and_takes_nothing_is_ended_by_the_clock() -> None:
    with pytest.raises(TimedOut):
        far_attempt(Far(f"want\n0 {RANGE_BYTES}\n"), 2)
