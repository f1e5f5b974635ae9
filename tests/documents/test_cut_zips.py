"""A ZIP without its directory lists and reads what the headers of its members say, and never more."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.documents.containers import cut_zips, open_container
from readroom.documents.containers.members import BadContainer, Container, InMemory
from tests.documents.formats.packages import word
from tests.each import each
from tests.laws.driving import hints

FILES = {
    "a.txt": b"first words\n" * 40,
    "empty.txt": b"",
    "folder/b.txt": b"more words\n",
    "c.bin": bytes(range(256)) * 8,
    "last.txt": b"last words\n" * 9,
}


class _NoSeek(io.RawIOBase):
    """A pipe: programs that write into one tell lengths behind contents."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.data += data
        return len(data)


def zipped(method: int = zipfile.ZIP_DEFLATED, *, streamed: bool = False, marked: bool = True) -> bytes:
    """An archive of FILES; `streamed` with lengths behind the contents, which have a mark or none."""
    pipe, out = _NoSeek(), io.BytesIO()
    with zipfile.ZipFile(pipe if streamed else out, "w", method) as archive:
        for name, data in FILES.items():
            archive.writestr(name, data)
    data = bytes(pipe.data) if streamed else out.getvalue()
    return data if marked else data.replace(b"PK\7\x08", b"")


def opened(data: bytes) -> Container:
    found = open_container(InMemory(data), lambda: None)
    assert found is not None
    return found


def content(found: Container, name: str) -> bytes:
    return b"".join(found.reader.pieces(found.members[name]))


def directory(data: bytes) -> int:
    return data.index(b"PK\1\2")


WAYS: dict[str, Callable[[], bytes]] = {
    "deflate": zipped,
    "stored": lambda: zipped(zipfile.ZIP_STORED),
    "bzip2": lambda: zipped(zipfile.ZIP_BZIP2),
    "streamed": lambda: zipped(streamed=True),
    "streamed and stored": lambda: zipped(zipfile.ZIP_STORED, streamed=True),
    "streamed without marks": lambda: zipped(streamed=True, marked=False),
}


@pytest.mark.parametrize("way", WAYS)
def test_all_members_are_read_without_the_directory(way: str) -> None:
    data = WAYS[way]()
    found = opened(data[: directory(data)])
    assert found.is_cut
    assert {name: content(found, name) for name in FILES} == FILES
    assert "5 members are recovered from headers, unproven" in " ".join(found.notes)


@pytest.mark.parametrize("way", WAYS)
def test_wherever_it_is_cut_what_is_whole_is_read_and_the_rest_says_why(way: str) -> None:
    data = WAYS[way]()
    names = list(FILES)
    for end in range(4, directory(data), 7):
        try:
            found = opened(data[:end])
        except BadContainer:
            assert end < data.index(b"PK\3\4", 4)
            continue
        there = [name for name in names if name in found.members]
        assert there == names[: len(there)]
        for name in there[:-1]:
            assert content(found, name) == FILES[name]
        last = there[-1]
        if found.members[last].problem:
            assert "cut short" in found.members[last].problem
        else:
            assert content(found, last) == FILES[last]


@given(st.binary(max_size=300), st.integers(0, 400))
def test_whatever_stands_in_the_bytes_nothing_else_than_a_refusal_happens(noise: bytes, at: int) -> None:
    data = zipped()
    changed = data[:at] + noise + data[at + len(noise) : directory(data)]
    try:
        found = open_container(InMemory(changed), lambda: None)
    except BadContainer:
        return
    for name, member in () if found is None else found.members.items():
        if member.kind != "file":
            continue
        try:
            assert len(content(found, name)) == member.size  # type: ignore[arg-type]
        except BadContainer:
            continue


def test_a_damaged_directory_keeps_what_it_says_and_the_headers_say_the_rest() -> None:
    data = bytearray(zipped())
    second = data.index(b"PK\1\2", directory(bytes(data)) + 4)
    data[second : second + 4] = b"XXXX"
    found = opened(bytes(data))
    assert set(found.members) == set(FILES)
    assert content(found, "last.txt") == FILES["last.txt"]
    assert found.notes[0] == "its end record claims 5 members, its directory has 1"
    assert found.members["a.txt"].mode is not None
    assert found.members["last.txt"].mode is None


def test_wrong_content_is_said_by_its_sum() -> None:
    data = bytearray(zipped(zipfile.ZIP_STORED))
    at = data.index(b"first words")
    data[at] ^= 1
    found = opened(bytes(data[: directory(bytes(data))]))
    with pytest.raises(BadContainer, match="checksum"):
        content(found, "a.txt")
    assert content(found, "folder/b.txt") == FILES["folder/b.txt"]


def header(
    name: bytes, data: bytes, *, packed: int | None = None, flags: int = 0, extra: bytes = b""
) -> bytes:
    """A stored member that says what it is told to say."""
    length = len(data) if packed is None else packed
    numbers = (b"PK\3\4", 20, flags, 0, 0, 33, zlib.crc32(data), length, length, len(name), len(extra))
    return struct.pack("<4s5H3L2H", *numbers) + name + extra + data


def test_an_archive_in_a_member_is_not_taken_for_members_of_its_own() -> None:
    inner = zipped(zipfile.ZIP_STORED)
    found = opened(header(b"inner.zip", inner) + header(b"after.txt", b"after\n"))
    assert set(found.members) == {"inner.zip", "after.txt"}
    cut = opened(header(b"inner.zip", inner)[:-90])
    assert set(cut.members) == {"inner.zip"}
    assert "5 more headers are in the bytes of its last member, and not listed" in cut.notes


def test_lengths_of_more_than_four_gigabytes_are_read_from_their_field() -> None:
    extra = struct.pack("<HHQQ", 1, 16, 6, 6)
    found = opened(header(b"a.txt", b"words\n", packed=0xFFFFFFFF, extra=extra))
    assert content(found, "a.txt") == b"words\n"
    huge = struct.pack("<HHQQ", 1, 16, 1 << 62, 1 << 62)
    problem = opened(header(b"a.txt", b"words\n", packed=0xFFFFFFFF, extra=huge)).members["a.txt"].problem
    assert "6 of its 4,611,686,018,427,387,904 stored bytes are there" in problem


@each("name", ["../out.txt", "/etc/passwd", "a/../../b"])
def test_names_that_lead_out_are_left_out_as_ever(name: str) -> None:
    found = opened(header(name.encode(), b"x") + header(b"in.txt", b"in\n"))
    assert set(found.members) == {"in.txt"}
    assert found.left_out == (name,)


def test_two_members_of_one_name_are_not_read() -> None:
    found = opened(header(b"a.txt", b"one\n") + header(b"a.txt", b"two\n"))
    with pytest.raises(BadContainer, match="several members of this name"):
        content(found, "a.txt")


def test_bytes_between_members_are_counted() -> None:
    found = opened(header(b"a.txt", b"one\n") + b"hidden words" + header(b"b.txt", b"two\n"))
    assert set(found.members) == {"a.txt", "b.txt"}
    assert "12 bytes between its members belong to none that is found" in found.notes


class _Counting:
    """Bytes that know how many of them were asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = InMemory(data)
        self.size = len(data)
        self.asked = 0

    def read_at(self, offset: int, size: int) -> bytes:
        data = self._data.read_at(offset, size)
        self.asked += len(data)
        return data

    def read_into(self, offset: int, buffer: memoryview) -> int:
        return self._data.read_into(offset, buffer)


@each(
    "mark",
    [
        b"PK\7\x08",
        b"PK\3\4",
        b"PK\3\4" + bytes(26) + b"x",
        header(b"x", b"", flags=8),
        header(b"x", b"", packed=9),
    ],
)
def test_a_file_of_nothing_but_marks_ends(mark: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut_zips, "SEARCHED_BYTES", 1024 * 1024)
    data = _Counting(header(b"a", b"", flags=8) + mark * (200_000 // len(mark)))
    try:
        found = open_container(data, lambda: None)
    except BadContainer:
        found = None
    assert data.asked < 40 * 1024 * 1024
    assert found is None or all(member.size == 0 or member.problem for member in found.members.values())


def test_a_search_and_a_listing_say_that_members_may_be_missing() -> None:
    data = zipped()
    files = {"cut.zip": data[: directory(data)], "whole.zip": data}
    with Workspace(MemoryStore(files)) as workspace:
        listing = workspace.list("cut.zip!")
        read = workspace.read("cut.zip!/folder/b.txt")
        found = workspace.grep("words", include=["archives"])
    assert "recovered from headers, unproven" in listing.text
    assert "more words" in read.text
    assert "cut.zip: cut short, so members may be missing" in found.text
    assert "whole.zip:" not in found.text


def test_what_is_no_archive_at_all_is_refused_as_before() -> None:
    with pytest.raises(BadContainer, match="no end record"):
        open_container(InMemory(b"PK\3\4" + b"\xff" * 200), lambda: None)


def _cut(data: bytes, after: str) -> bytes:
    """An office file up to the end of a member."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
    following = next(
        member for member, last in zip(members[1:], members, strict=False) if last.filename == after
    )
    return data[: following.header_offset + 40]


def test_a_word_document_that_is_cut_is_read_as_far_as_it_is_there() -> None:
    whole = word("<w:p><w:r><w:t>words of the body</w:t></w:r></w:p>", {"header1": "<w:hdr/>"}).getvalue()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        names = archive.namelist()
    last = next(name for name in names[names.index("word/document.xml") :] if name != names[-1])
    with Workspace(MemoryStore({"cut.docx": _cut(whole, last), "bad.odt": whole[:300]})) as workspace:
        read = workspace.read("cut.docx")
        listed = workspace.list("cut.docx!")
        refused = workspace.call("read_file", {"path": "bad.odt"})
        (call,) = hints(refused)
        assert not workspace.call(call["tool"], call["arguments"]).is_error
    assert "words of the body" in read.text
    assert "[Not read: the end of its archive is missing or damaged; what is there is recovered" in read.text
    assert "recovered from headers, unproven" in listed.text
    assert refused.is_error


def unusable() -> dict[str, bytes]:
    """Archives with a member that no path leads to: outside, or deeper than a path may be."""
    made = {}
    for name, member in {"above": "../b.txt", "deep": "d/" * 300 + "b.txt"}.items():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a.txt", "words\n")
            archive.writestr(member, "words\n")
        made[f"{name}.zip"] = packed.getvalue()
        taped = io.BytesIO()
        with tarfile.open(fileobj=taped, mode="w") as tape:
            for path in ("a.txt", member):
                info = tarfile.TarInfo(path)
                info.size = len(b"words\n")
                tape.addfile(info, io.BytesIO(b"words\n"))
        made[f"{name}.tar"] = taped.getvalue()
    return made


@each("name", ["cut.zip", *unusable()])
def test_every_search_of_an_archive_says_what_it_may_have_missed(name: str) -> None:
    data = zipped()
    files = {"cut.zip": data[: directory(data)], "whole.zip": data, **unusable()}
    said = "members may be missing" if name == "cut.zip" else "members that no path leads to"
    with Workspace(MemoryStore({name: files[name], "whole.zip": data})) as workspace:
        for tool, asked in (("grep_files", {"pattern": "words"}), ("find_relevant", {"query": "words"})):
            for where in ({"include": ["archives"]}, {"path": name}, {"path": f"{name}!"}):
                reply = workspace.call(tool, {**asked, **where})
                assert f"{name}: " in reply.text, (tool, where, reply.text)
                assert said in reply.text, (tool, where, reply.text)
            whole = workspace.call(tool, {**asked, "path": "whole.zip"})
            assert "missing" not in whole.text
            assert "no path leads" not in whole.text
