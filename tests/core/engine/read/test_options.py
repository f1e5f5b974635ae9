"""What a contract's options change about a read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import Binary, TooLarge
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.values import Kind, ReadRequest, ReadResult
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import AS_IT_IS, Steps, TextUpTo, no_documents, text_only
from readroom.core.workspace import Workspace

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(40)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., ReadResult]:
    def one(
        data: bytes,
        options: ReadOptions | Steps,
        name: str = "a.txt",
        limit: int | None = None,
    ) -> ReadResult:
        (tmp_path / name).write_bytes(data)
        with Workspace(tmp_path) as workspace:
            record = workspace.contract("native")
            cap = workspace.cap(record)
            steps = options if isinstance(options, Steps) else AS_IT_IS
            chosen = ReadOptions() if isinstance(options, Steps) else options
            request = ReadRequest(name, limit=limit, options=chosen)
            result = workspace.engine.perform(request, cap, Deadline(), steps=steps)
            assert isinstance(result, ReadResult)
            return result

    return one


Read = Callable[..., ReadResult]


@pytest.mark.parametrize("filling", [b"", b"x\n" * SMALL_FILE_BYTES], ids=["small", "large"])
def test_a_kept_carriage_return_is_part_of_its_line(read: Read, filling: bytes) -> None:
    data = b"a\r\nb\nc\r\n" + filling
    assert list(read(data, ReadOptions(keep_cr=True), limit=3).lines) == ["a\r", "b", "c\r"]
    assert list(read(data, ReadOptions(), limit=3).lines) == ["a", "b", "c"]


@pytest.mark.parametrize("filling", [b"", b"x\n" * SMALL_FILE_BYTES], ids=["small", "large"])
def test_a_line_is_cut_at_bytes_between_characters(read: Read, filling: bytes) -> None:
    data = "é".encode() * 10 + b"\nshort\n" + filling
    result = read(data, ReadOptions(line_bytes=7), limit=2)
    assert list(result.lines) == ["ééé", "short"]
    assert result.cuts[1].total == 10


@pytest.mark.parametrize("filling", [b"", b"x\n" * SMALL_FILE_BYTES], ids=["small", "large"])
def test_without_a_limit_a_line_is_shown_as_far_as_the_reply_goes(read: Read, filling: bytes) -> None:
    data = b"y" * 20_000 + b"\n" + filling
    assert read(data, ReadOptions(line_chars=0), limit=1).lines == ["y" * 20_000]
    assert len(read(data, ReadOptions(line_chars=100), limit=1).lines[0]) == 100


def test_an_image_is_a_binary_file_where_images_are_not_shown(read: Read) -> None:
    with pytest.raises(Binary):
        read(PNG, Steps(text_only), "a.png")


def test_the_first_bytes_of_a_binary_file_are_handed_out(read: Read) -> None:
    data = bytes(range(256)) * 400
    result = read(data, ReadOptions(raw_bytes=1000), "a.bin")
    assert result.kind is Kind.BINARY
    assert result.raw == data[:1000]
    assert result.content_hash == f"sha256:{hashlib.sha256(data).hexdigest()}"
    with pytest.raises(Binary):
        read(data, ReadOptions(), "a.bin")


def test_a_document_is_text_or_binary_where_documents_are_not_read(read: Read) -> None:
    notebook = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
    assert read(notebook, Steps(no_documents), "a.ipynb").lines == [notebook.decode().rstrip()]
    with pytest.raises(Binary):
        read(b"%PDF-1.4\nall of it is text\n", Steps(no_documents), "a.pdf")


def test_a_compressed_file_is_binary_where_none_are_expanded(read: Read) -> None:
    import gzip

    data = gzip.compress(b"hello\n" * 100, mtime=0)
    assert read(data, ReadOptions(), "a.log.gz").lines[0] == "hello"
    with pytest.raises(Binary):
        read(data, Steps(no_documents, expands=False), "a.log.gz")


def test_a_larger_file_than_the_options_take_is_refused_with_both_sizes(read: Read) -> None:
    with pytest.raises(TooLarge) as caught:
        read(b"x" * 101, Steps(TextUpTo(100)))
    assert caught.value.facts["size"] == 101
    assert read(b"x" * 100, Steps(TextUpTo(100))).lines == ["x" * 100]
