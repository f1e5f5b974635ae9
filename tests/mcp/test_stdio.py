"""Lines over descriptors: any chunks, any kind of file, a client that does not read."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.mcp.streams import MCP_UNREAD_BYTES, MCP_UNREAD_LEAST_BYTES, Lines, Reader, Writer

END_S = 30


def _cut(chunks: list[bytes], limit: int) -> list[bytes]:
    lines = Lines(limit)
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return [*found, *lines.rest(), *lines.rest()]


@given(data=st.binary(max_size=40).map(lambda b: b.replace(b"\x01", b"\n")), cuts=st.sets(st.integers(0, 40)))
def test_chunks_do_not_matter(data: bytes, cuts: set[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    whole = data.split(b"\n")
    if not whole[-1]:
        whole.pop()
    assert _cut(chunks, 1000) == whole


@given(
    data=st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"")), max_size=6),
    step=st.integers(1, 9),
)
def test_a_long_line_is_one_byte_over_the_limit_and_spoils_no_other(data: list[bytes], step: int) -> None:
    sent = b"".join(line + b"\n" for line in data)
    chunks = [sent[at : at + step] for at in range(0, len(sent), step)]
    assert _cut(chunks, 4) == [line[:5] for line in data]


def _read_all(fd: int) -> list[bytes]:
    found: list[bytes] = []
    _within_time(lambda: Reader(fd).run(found.append))
    return found


def _within_time(work: Callable[[], object]) -> None:
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(END_S)
    assert not thread.is_alive()


LINES = [b"one", b"", b"x" * 300_000, b"last without an end"]


def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "requests").write_bytes(b"\n".join(LINES))
    with open(tmp_path / "requests", "rb") as file:
        assert _read_all(file.fileno()) == LINES


def test_a_socket_is_read_to_its_end() -> None:
    """Node connects its children by sockets."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        _feed(ours.sendall, ours.close)
        assert _read_all(theirs.fileno()) == LINES


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    _feed(lambda data: _write_all(writing, data), lambda: os.close(writing))
    assert _read_all(reading) == LINES
    os.close(reading)


def _feed(send: Callable[[bytes], None], close: Callable[[], None]) -> None:
    def run() -> None:
        send(b"\n".join(LINES))
        close()

    Thread(target=run, daemon=True).start()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


REPLIES = [b"%d " % number * (number % 50 * 400 + 1) + b"\n" for number in range(100)]
"""More than a pipe or a socket holds."""


def _nobody() -> None:
    raise AssertionError("nobody closed the other end")


def _read_bytes(fd: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        found += os.read(fd, 4096)
    return bytes(found)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_lines_arrive_whole_and_in_order_though_nobody_read_at_first(kind: str) -> None:
    """Who writes goes on, a thread waits for the client."""
    reading, writing = os.pipe() if kind == "pipe" else [end.detach() for end in socket.socketpair()]
    sent = b"".join(REPLIES)
    writer = Writer(writing, on_broken=_nobody)
    for line in REPLIES:
        writer.write(line)
    assert _read_bytes(reading, len(sent)) == sent
    writer.finish(END_S)
    os.close(reading)
    os.close(writing)


def test_lines_are_written_to_a_regular_file(tmp_path: Path) -> None:
    with open(tmp_path / "replies", "wb") as file:
        writer = Writer(file.fileno(), on_broken=_nobody)
        for line in REPLIES:
            writer.write(line)
        writer.finish(END_S)
    assert (tmp_path / "replies").read_bytes() == b"".join(REPLIES)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_lines_of_many_threads_stay_whole(kind: str) -> None:
    """Calls write their answers themselves."""
    reading, writing = os.pipe() if kind == "pipe" else [end.detach() for end in socket.socketpair()]
    lines = [b"%d" % number * 5000 for number in range(8)]
    writer = Writer(writing, on_broken=_nobody)

    def say(line: bytes) -> None:
        for _ in range(20):
            writer.write(line + b"\n")

    threads = [Thread(target=say, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    received = _read_bytes(reading, 20 * sum(len(line) + 1 for line in lines)).splitlines()
    for thread in threads:
        thread.join()
    writer.finish(END_S)
    assert sorted(received) == sorted(lines * 20)
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("size", [10, 200_000])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_client_that_is_gone_is_told_of(kind: str, size: int) -> None:
    reading, writing = os.pipe() if kind == "pipe" else [end.detach() for end in socket.socketpair()]
    broken = Event()
    writer = Writer(writing, on_broken=broken.set)
    os.close(reading)
    writer.write(b"x" * size)
    assert broken.wait(END_S)
    writer.finish(END_S)
    os.close(writing)


def test_reading_can_be_ended_by_others() -> None:
    """By a thread that finds that nobody reads the answers, or by a signal."""
    reading, writing = os.pipe()
    reader = Reader(reading)
    found: list[bytes] = []

    def hear(line: bytes) -> None:
        found.append(line)
        reader.end()

    os.write(writing, b"one\n")
    _within_time(lambda: reader.run(hear))
    assert found == [b"one"]
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("size", [1, 300_000])
def test_who_reads_nothing_is_not_heard_until_it_has_read(size: int) -> None:
    """Else a client that asks for ever and reads no answer would fill the memory."""
    reading, writing = os.pipe()
    said: list[bool] = []
    writer = Writer(writing, on_broken=_nobody, on_full=said.append)
    line, sent = b"x" * (size - 1) + b"\n", 0
    while not said:
        writer.write(line)
        sent += len(line)
    lines, weight = sent // len(line), max(len(line), MCP_UNREAD_LEAST_BYTES)
    assert MCP_UNREAD_BYTES < lines * weight < MCP_UNREAD_BYTES + (1 << 20) * weight // len(line)
    assert len(_read_bytes(reading, sent)) == sent
    writer.finish(END_S)
    assert said == [True, False]
    os.close(reading)
    os.close(writing)


def test_a_reader_that_was_stopped_goes_on_with_what_came_meanwhile() -> None:
    reading, writing = os.pipe()
    reader, heard = Reader(reading), Event()
    reader.pause(True)
    thread = Thread(target=lambda: reader.run(lambda line: heard.set()), daemon=True)
    thread.start()
    os.write(writing, b"one\n")
    assert not heard.is_set()
    reader.pause(False)
    assert heard.wait(END_S)
    reader.end()
    thread.join(END_S)
    assert not thread.is_alive()
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_reader_that_was_stopped_hears_a_client_that_has_left_to_its_end(kind: str) -> None:
    """It could wait for ever for somebody who reads no more."""
    reading, writing = os.pipe() if kind == "pipe" else [end.detach() for end in socket.socketpair()]
    reader, found = Reader(reading), list[bytes]()
    reader.pause(True)
    os.write(writing, b"one\ntwo\n")
    os.close(writing)
    _within_time(lambda: reader.run(found.append))
    assert found == [b"one", b"two"]
    os.close(reading)
