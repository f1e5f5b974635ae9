"""What an archive of a document must not be, and that its members are exactly what they claim."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from readroom.documents.formats import Unreadable
from readroom.documents.formats.archives import ARCHIVE_MEMBERS, Archive, open_archive
from readroom.documents.limits import ARCHIVE_MEMBER_BYTES
from tests.documents.formats.packages import zipped
from tests.hostile import office


def _problem(file: io.BytesIO, member: str = "a.xml") -> str:
    with pytest.raises(Unreadable) as caught:
        open_archive(file).read(member)
    assert caught.value.advice
    return caught.value.problem


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_as_the_standard_library_reads_them(compression: int) -> None:
    data = bytes(range(256)) * 2000
    archive = open_archive(zipped({"a.xml": data, "b/": b"", "b/c.xml": b""}, compression))
    assert (archive.read("a.xml"), archive.read("b/c.xml")) == (data, b"")
    assert b"".join(archive.pieces("a.xml")) == data
    assert set(archive.members) == {"a.xml", "b/", "b/c.xml"}


def test_names_as_windows_writes_them_are_paths() -> None:
    assert open_archive(zipped({"a\\b.xml": b"x"})).read("a/b.xml") == b"x"
    assert (
        _problem(zipped({"a\\b.xml": b"x", "a/b.xml": b"y"}))
        == "its archive has two members of the same name"
    )


def test_an_archive_behind_other_bytes_is_read() -> None:
    file = io.BytesIO(b"#!/bin/sh\n" + zipped({"a.xml": "text"}).getvalue())
    assert open_archive(file).read("a.xml") == b"text"


def test_a_missing_member_is_named() -> None:
    assert _problem(zipped({"b.xml": ""})) == "its part a.xml is missing"


def test_a_member_too_large_to_be_held_says_its_size() -> None:
    data = bytes(range(251)) * (ARCHIVE_MEMBER_BYTES // 251 + 1)
    problem = _problem(zipped({"a.xml": data}, zipfile.ZIP_STORED))
    assert problem == f"its part a.xml is {len(data):,} bytes unpacked, more than the limit of 16,777,216"


def test_what_is_not_as_it_claims_is_damaged() -> None:
    for written in (office.lying_size(b"x" * 100_000), office.wrong_checksum(b"x" * 100_000)):
        assert _problem(io.BytesIO(written)) == "its part a.xml is damaged"


def test_bombs_are_told_by_their_ratio_before_anything_is_inflated() -> None:
    assert "like a decompression bomb" in _problem(zipped({"a.xml": bytes(20_000_000)}))


def test_members_upon_each_other_and_names_given_twice_are_refused() -> None:
    assert _problem(io.BytesIO(office.overlapping())) == "its archive has members that overlap"
    assert _problem(io.BytesIO(office.twice())) == "its archive has two members of the same name"


def test_encrypted_members_are_said_to_be_encrypted() -> None:
    assert _problem(io.BytesIO(office.encrypted_members())) == "it is encrypted"


def test_unusual_compression_is_refused() -> None:
    assert "compressed in a way" in _problem(zipped({"a.xml": b"x"}, zipfile.ZIP_LZMA))


def test_too_many_members_and_too_large_directories_are_refused() -> None:
    many = _problem(zipped({f"{n}": b"" for n in range(ARCHIVE_MEMBERS + 1)}, zipfile.ZIP_STORED))
    assert many == "its archive has 20,001 members, more than the limit of 20,000"
    long = _problem(zipped({f"{n:04}" + "x" * 2000: b"" for n in range(1_100)}, zipfile.ZIP_STORED))
    assert long == "its archive has a directory of more than 2,097,152 bytes"


def test_an_archive_cut_anywhere_is_refused() -> None:
    whole = zipped({"a.xml": b"some text" * 50, "b.xml": b"more"}).getvalue()
    for size in range(len(whole)):
        assert _problem(io.BytesIO(whole[:size])) == "its archive is damaged or cut short"


def test_an_archive_with_any_byte_changed_is_read_or_refused() -> None:
    whole = zipped({"a.xml": b"some text" * 50, "b.xml": b"more"}).getvalue()
    for at in range(len(whole)):
        for value in (0, 1, 127, 255):
            changed = bytearray(whole)
            changed[at] = value
            for recovers in (False, True):
                _read_all(io.BytesIO(bytes(changed)), recovers=recovers)


def _read_all(file: io.BytesIO, *, recovers: bool) -> None:
    try:
        archive: Archive = open_archive(file, recovers=recovers)
        for name in archive.members:
            archive.read(name)
    except Unreadable:
        pass


def test_a_directory_that_claims_to_be_elsewhere_is_refused() -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 0xFFFFFFF0, 0xFFFFFFF0, 0)
    assert _problem(io.BytesIO(b"x" * 100 + end)) == "its archive is damaged or cut short"
