"""Compressed data as their content, however they are cut, joined or damaged."""

from __future__ import annotations

import bz2
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.formats.compressed import Broken, Compression, Expander, by_magic, plain_name
from readroom.core.limits import BLOCK_BYTES
from tests.core.formats.packing import PACK, greedy_xz, greedy_zstd
from tests.each import each

every = pytest.mark.parametrize("compression", list(PACK))
TEXT = "".join(f"line {number} of some log\n" for number in range(3000)).encode()


def expanded(compression: Compression, data: bytes, step: int = 4096) -> tuple[bytes, str]:
    """What comes out, and what the problem was."""
    expander = Expander(compression)
    found = b""
    try:
        for at in range(0, len(data), step):
            for piece in expander.expand(data[at : at + step]):
                assert 0 < len(piece) <= BLOCK_BYTES
                found += piece
        for piece in expander.finish():
            found += piece
    except Broken as broken:
        return found, broken.problem
    return found, ""


@every
@settings(max_examples=20)
@given(
    texts=st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    step=st.integers(1, 40),
    padding=st.integers(0, 20),
)
def test_members_after_each_other_give_all_their_content(
    compression: Compression, texts: list[bytes], step: int, padding: int
) -> None:
    data = b"".join(map(PACK[compression], texts)) + bytes(padding)
    assert expanded(compression, data, step) == (b"".join(texts), "")


@every
def test_thousands_of_small_members_give_their_content(compression: Compression) -> None:
    """Each ends in the midst of what was read at once, which may begin and end in another."""
    data = b"".join(PACK[compression](b"%d," % number) for number in range(2_000))
    whole = b"".join(b"%d," % number for number in range(2_000))
    for step in (700, 4_097, len(data)):
        assert expanded(compression, data, step) == (whole, "")


@every
def test_members_without_content_are_an_end_when_there_are_too_many(compression: Compression) -> None:
    """A file of them takes minutes and comes to nothing; a few stand in real ones."""
    nothing, text = PACK[compression](b""), PACK[compression](TEXT)
    assert expanded(compression, (nothing * 3_000 + text) * 4) == (TEXT * 4, "")
    found, problem = expanded(compression, text + nothing * 10_100 + text)
    assert (found, "empty pieces" in problem) == (TEXT, True)


@every
@settings(max_examples=15)
@given(st.data())
def test_data_that_are_cut_off_give_what_was_before(compression: Compression, data: st.DataObject) -> None:
    packed = PACK[compression](TEXT)
    found, problem = expanded(compression, packed[: data.draw(st.integers(0, len(packed) - 1))])
    assert TEXT.startswith(found)
    assert problem or not found


@every
@settings(max_examples=30)
@given(st.data())
def test_a_damaged_byte_is_noticed_and_nothing_is_invented(
    compression: Compression, data: st.DataObject
) -> None:
    """But for bytes without meaning, such as the time in a header."""
    packed = bytearray(PACK[compression](TEXT))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    found, problem = expanded(compression, bytes(packed), 64)
    assert problem or found == TEXT


@every
def test_what_follows_and_is_something_else_is_a_problem(compression: Compression) -> None:
    for junk in (b"x", b"something else, at some length"):
        found, problem = expanded(compression, PACK[compression](TEXT) + junk)
        assert (found, problem) == (TEXT, "continue with something else")


@every
def test_a_huge_expansion_comes_in_pieces(compression: Compression) -> None:
    data = PACK[compression](bytes(30_000_000))
    sizes = [len(piece) for piece in Expander(compression).expand(data)]
    assert max(sizes) <= BLOCK_BYTES
    assert sum(sizes) == 30_000_000


@pytest.mark.parametrize(
    ("compression", "data"), [("zstd", greedy_zstd()), ("xz", greedy_xz())], ids=["zstd", "xz"]
)
def test_data_that_ask_for_much_memory_are_refused(compression: Compression, data: bytes) -> None:
    found, problem = expanded(compression, data)
    assert found == b""
    assert "emory" in problem


def test_frames_of_zstd_without_content_are_passed_over() -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    data = skipped + PACK["zstd"](b"one\n") + skipped + PACK["zstd"](b"two\n") + skipped
    assert by_magic(data) == "zstd"
    for step in (1, 7, 4096):
        assert expanded("zstd", data, step) == (b"one\ntwo\n", "")


@each(
    ("head", "compression"),
    [
        (gzip.compress(b"", mtime=0), "gzip"),
        (bz2.compress(b""), "bzip2"),
        (PACK["xz"](b""), "xz"),
        (PACK["zstd"](b""), "zstd"),
        (b"BZh is how this text begins", None),
        (b"\x1f\x8b", None),
        (b"", None),
    ],
)
def test_bytes_decide(head: bytes, compression: str | None) -> None:
    assert by_magic(head) == compression


@each(
    ("path", "compression", "name"),
    [
        ("a/app.log.1.gz", "gzip", "a/app.log.1"),
        ("APP.LOG.GZ", "gzip", "APP.LOG"),
        ("a.log.zst", "gzip", "a.log.zst"),
        ("a.csv.zstd", "zstd", "a.csv"),
        ("a/.gz", "gzip", "a/.gz"),
        (".gz", "gzip", ".gz"),
    ],
)
def test_the_plain_name_is_without_the_ending(path: str, compression: Compression, name: str) -> None:
    assert plain_name(path, compression) == name
