"""Archives as trees of members: what other programs find in them is found, and nothing hurts."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.documents import containers
from readroom.documents.containers import open_container
from readroom.documents.containers.members import (
    CONTAINER_FOLDERS,
    BadContainer,
    Container,
    Member,
    NotUnpacked,
    normal_name,
    resolved_link,
)
from readroom.documents.limits import CONTAINER_MEMBERS
from tests.each import each
from tests.hostile import containers as hostile
from tests.hostile import misleading, sevens

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@dataclass
class _Bytes:
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, size: int) -> bytes:
        assert offset >= 0
        assert size >= 0
        return self.data[offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def opened(data: bytes) -> Container:
    found = open_container(_Bytes(data), Deadline().check)
    assert found is not None
    return found


def content(container: Container, name: str) -> bytes:
    member = container.members[name]
    data = b"".join(container.reader.pieces(member))
    place = container.reader.place(member)
    if place is not None:
        assert len(data) == place[1]
    return data


_parts = st.text(st.characters(exclude_characters="/\0\\", exclude_categories=["Cs"]), min_size=1, max_size=8)
_names = st.lists(_parts, min_size=1, max_size=4).map("/".join)
_trees = st.dictionaries(_names, st.binary(max_size=3000), max_size=8)


@settings(max_examples=75, deadline=None)
@given(
    _trees, st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
)
def test_a_zip_has_the_members_that_the_standard_library_finds(tree: dict[str, bytes], method: int) -> None:
    data = hostile.zipped(tree, method)
    found = opened(data)
    with zipfile.ZipFile(io.BytesIO(data)) as oracle:
        expected = {normal_name(info.filename): oracle.read(info) for info in oracle.infolist()}
    readable = {name: member for name, member in found.members.items() if not member.problem}
    for name, member in readable.items():
        assert content(found, name) == expected[name]
        assert member.size == len(expected[name])
    if not found.notes and not found.left_out_count:
        assert set(found.members) == {name for name in expected if name}


@settings(max_examples=75, deadline=None)
@given(_trees, st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
def test_a_tar_has_the_members_that_the_standard_library_finds(tree: dict[str, bytes], form: int) -> None:
    data = hostile.tarred(tree, form=form)
    if not tree:
        assert open_container(_Bytes(data), Deadline().check) is None or not opened(data).members
        return
    found = opened(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as oracle:
        expected = {}
        for info in oracle.getmembers():
            file = oracle.extractfile(info)
            assert file is not None
            expected[normal_name(info.name)] = (file.read(), int(info.mtime), info.mode)
    for name, member in found.members.items():
        assert (content(found, name), member.mtime_ns // 10**9, member.mode) == expected[name]
    if not found.notes and not found.left_out_count:
        assert set(found.members) == {name for name in expected if name}


_BUILDERS: Mapping[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "zip": lambda tree: hostile.zipped(tree),
    "tar": lambda tree: hostile.tarred(tree),
    "7z": lambda tree: sevens.sevened(tree),
    "7z with a packed directory": lambda tree: sevens.encoded(tree),
}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(_BUILDERS)), st.integers(0, 4000), st.binary(min_size=1, max_size=6))
def test_damage_anywhere_is_said_and_never_a_crash(form: str, at: int, damage: bytes) -> None:
    tree = {"a.txt": b"line\n" * 100, "folder/b.txt": bytes(range(256)) * 4, "c": b""}
    data = bytearray(_BUILDERS[form](tree))
    at %= len(data)
    data[at : at + len(damage)] = damage
    for broken in (bytes(data), bytes(data[:at])):
        try:
            found = open_container(_Bytes(broken), Deadline().check)
            for name in found.members if found is not None else ():
                assert found is not None
                member = found.members[name]
                if member.kind == "file":
                    assert sum(map(len, found.reader.pieces(member))) == member.size
        except BadContainer:
            continue


@settings(max_examples=150)
@given(st.text(max_size=40))
def test_names_stay_inside(name: str) -> None:
    found = normal_name(name)
    if found:
        assert not found.startswith("/")
        assert not {"..", ".", ""} & set(found.split("/"))
        assert normal_name(found) == found


def test_what_leads_out_is_left_out_and_named() -> None:
    for name, data in hostile.escaping().items():
        found = opened(data)
        inside = {"ok.txt", "dot/ok.txt"} | ({"..\\win.txt"} if name.endswith("tar") else set())
        assert set(found.members) == inside, name
        assert found.left_out_count == len(found.left_out) == (4 if name.endswith("zip") else 3)
        assert "../../escaped.txt" in found.left_out


def test_a_member_is_never_more_than_it_says() -> None:
    found = opened(hostile.lying_bomb())
    pieces = found.reader.pieces(found.members["lies.txt"])
    with pytest.raises(BadContainer, match="larger than it claims"):
        next(pieces)


def test_a_bomb_goes_by_in_small_pieces_and_its_neighbours_are_read() -> None:
    found = opened(hostile.bomb(64 * hostile.MB))
    assert _expands(found, "zeros") == 64 * hostile.MB  # deflate cannot make more of it
    assert content(found, "small.txt") == b"small\n"


def _expands(found: Container, name: str) -> int:
    largest = 0
    size = 0
    for piece in found.reader.pieces(found.members[name]):
        largest, size = max(largest, len(piece)), size + len(piece)
    assert largest <= 256 * 1024
    return size


def test_members_that_share_bytes_are_not_read() -> None:
    found = opened(hostile.overlapping())
    assert len(found.members) == 200
    assert all(member.problem for member in found.members.values())


def test_encrypted_and_damaged_are_told_apart() -> None:
    found = opened(hostile.encrypted())
    assert found.members["secret.txt"].problem == found.members["aes.txt"].problem == "it is encrypted"
    assert content(found, "plain.txt") == b"plain\n"
    broken = opened(hostile.damaged()["broken.zip"])
    with pytest.raises(BadContainer, match="damaged"):
        content(broken, "a.txt")
    assert content(broken, "b.txt") == b"b line\n"
    cut = opened(hostile.damaged()["cut.zip"])
    assert cut.is_cut
    assert content(cut, "a.txt") == b"a line\n" * 1000


def test_a_tar_that_is_cut_short_shows_what_it_has() -> None:
    found = opened(hostile.damaged()["cut.tar"])
    assert content(found, "a.txt") == b"a line\n" * 1000
    assert found.members["b.txt"].problem == "it is cut short"
    assert "cut short" in found.notes[0]


def test_duplicates_are_named() -> None:
    archives = hostile.doubled()
    zipped, tarred = opened(archives["twice.zip"]), opened(archives["twice.tar"])
    assert "several members" in zipped.members["twice.txt"].problem
    assert content(zipped, "once.txt") == b"once\n"
    assert content(tarred, "twice.txt") == b"second\n"
    assert "the last counts" in tarred.notes[0]
    both = opened(archives["both.tar"])
    assert list(both.members) == ["x"]
    assert "a file and a folder" in both.notes[0]


def test_links_are_links() -> None:
    for data in hostile.linked().values():
        found = opened(data)
        link = found.members["good"]
        assert (link.kind, found.reader.target(link)) == ("link", "a/b.txt")
        assert resolved_link("good", "a/b.txt") == "a/b.txt"
        assert resolved_link("x/out", "../../etc/passwd") is None
    hard = found.members["hard-good"]
    assert (hard.target, hard.is_hard) == ("a/b.txt", True)
    assert (found.members["tty"].kind, found.members["pipe"].kind) == ("other", "other")


def test_no_more_members_are_looked_at_than_the_limit_and_it_says_so() -> None:
    found = opened(hostile.no_zip_start(hostile.many_members(CONTAINER_MEMBERS + 10)))
    assert len(found.members) == CONTAINER_MEMBERS
    assert "only the first 120,000" in found.notes[0]


@pytest.mark.parametrize("build", [hostile.huge_header, hostile.negative])
def test_headers_of_tars_cannot_lead_the_walk_astray(build: object) -> None:
    with pytest.raises(BadContainer, match="damaged"):
        opened(build())  # type: ignore[operator]


def test_a_decoder_that_wants_too_much_memory_is_not_made() -> None:
    data = bytearray(hostile.zipped({"x": b"text\n" * 1000}, zipfile.ZIP_LZMA))
    at = data.index(b"\x5d\x00\x00", 30)
    data[at + 1 : at + 5] = b"\xff\xff\xff\xff"
    found = opened(bytes(data))
    with pytest.raises(BadContainer, match="bytes of memory"):
        content(found, "x")


def test_zstd_and_xz_members_are_read() -> None:
    for method, packed in ((93, zstd.compress(b"text\n" * 100)), (95, lzma.compress(b"text\n" * 100))):
        raw = bytearray(hostile.zipped({"x": packed}, zipfile.ZIP_STORED))
        found = opened(bytes(raw))
        member = found.members["x"]
        import zlib

        from msgspec.structs import replace

        real = replace(member, method=method, size=500, check=zlib.crc32(b"text\n" * 100))
        assert b"".join(found.reader.pieces(real)) == b"text\n" * 100


def test_an_archive_behind_other_data_is_found() -> None:
    out = io.BytesIO(b"PK\3\4" + b"#!/bin/sh\nexec unzip\n")
    out.seek(0, io.SEEK_END)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("inner.txt", "content\n")
    found = opened(out.getvalue())
    assert content(found, "inner.txt") == b"content\n"


def test_zip64_fields_are_followed() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("big.txt", "w", force_zip64=True) as file:
        file.write(b"line\n")
    data = bytearray(out.getvalue())
    found = opened(bytes(data))
    assert content(found, "big.txt") == b"line\n"


def test_old_tars_are_told_by_their_sum() -> None:
    info = tarfile.TarInfo("old.txt")
    info.size = 5
    header = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    header[257:265] = b"\0" * 8
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    assert containers.recognise(bytes(header)) == "tar"
    assert content(opened(bytes(header) + b"text\n".ljust(512, b"\0") + b"\0" * 1024), "old.txt") == b"text\n"
    assert containers.recognise(b"a text that is no archive\n" * 40) is None


def test_every_hostile_archive_is_opened_or_refused() -> None:
    for name in hostile.NAMES:
        try:
            found = open_container(_Bytes(hostile.archive(name)), Deadline().check)
        except BadContainer:
            continue
        if found is None:
            continue
        assert isinstance(found.members, dict), name
        for folder, names in found.folders.items():
            assert all("/" not in one and one not in ("", ".", "..") for one in names), (name, folder)


def test_a_member_says_what_it_is() -> None:
    member: Member = opened(hostile.zipped({"a/b.txt": "text"})).members["a/b.txt"]
    assert (member.kind, member.size) == ("file", 4)


def test_folders_above_members_are_bounded_like_members() -> None:
    """A member may lie in a hundred folders of its own, which its name pays for with two hundred bytes."""
    deep = "a/" * 95
    found = opened(hostile.zipped({f"{number}/{deep}b": b"" for number in range(CONTAINER_FOLDERS // 90)}))
    assert len(found.folders) < CONTAINER_FOLDERS + 100
    assert found.notes == (f"only the members in its first {CONTAINER_FOLDERS:,} folders are read",)


@each(("name", "words"), misleading.SAID.items())
def test_what_an_archive_has_beside_its_members_is_said(name: str, words: str) -> None:
    """An archive behind another, a member that no directory names: programs differ in what they see."""
    data = misleading.ARCHIVES[name]()
    found = opened(gzip.decompress(data) if name.endswith(".gz") else data)
    assert words in "; ".join(found.notes), found.notes


def test_archives_of_every_day_have_nothing_beside_their_members() -> None:
    """Times and owners in headers, sizes behind a content, blocks of zeros at the end."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    out, pipe = io.BytesIO(), Pipe()
    for target in (out, pipe):
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("folder")
            for at in range(5):
                info = zipfile.ZipInfo(f"folder/{at}.txt")
                info.extra = b"UT\x05\x00\x03" + bytes(4)
                archive.writestr(info, b"a line\n" * at)
        assert opened(target.getvalue()).notes == ()
    assert opened(hostile.tarred({"a.txt": b"text\n"})).notes == ()
    assert opened(hostile.tarred({"a.txt": b"text\n"}) + b"\0" * 10_240).notes == ()


def test_a_member_that_is_not_there_is_damaged_and_its_neighbours_are_read() -> None:
    found = opened(misleading.far_zip())
    assert found.members["far.txt"].problem == "it is damaged or cut short"
    assert content(found, "a.txt") == misleading.LINE
    with pytest.raises(BadContainer, match="damaged"):
        opened(misleading.huge_number_tar())
    with pytest.raises(BadContainer, match="damaged"):
        opened(misleading.ARCHIVES["headers.tar"]())


@each(
    ("data", "name"),
    [
        (misleading.named_zip("日本語/テキスト表.txt".encode("cp932")), "日本語/テキスト表.txt"),
        (misleading.named_zip("文件/说明.txt".encode("gbk")), "文件/说明.txt"),
        (misleading.named_zip("Grüße/日本.txt".encode()), "Grüße/日本.txt"),
        (misleading.named_zip("Grüße/日本.txt".encode(), flags=0x800), "Grüße/日本.txt"),
        (misleading.named_zip("Grüße.txt".encode("cp437")), "Grüße.txt"),
        (
            misleading.named_zip("Grüße aus Köln für Bärbel und Jörg/Äpfel für Günther.txt".encode("cp1252")),
            "Grüße aus Köln für Bärbel und Jörg/Äpfel für Günther.txt",
        ),
        (misleading.named_zip(b"dir\\a.txt"), "dir/a.txt"),
        (misleading.named_zip("ü.txt".encode("cp437"), unicode="й.txt".encode()), "й.txt"),
        (misleading.named_zip("ü.txt".encode("cp437"), unicode="й.txt".encode(), of=b"other"), "ü.txt"),
        (misleading.named_zip(b"a.txt", unicode=b".env"), "a.txt"),
    ],
)
def test_names_of_a_zip_are_read_as_they_were_written(data: bytes, name: str) -> None:
    """By the flag and the field for Unicode where there are, else as all of them together look."""
    found = opened(data)
    assert list(found.members) == [name]
    assert content(found, name) == misleading.LINE


@pytest.mark.parametrize("name", ["first-part.zip", "last-part.zip"])
def test_parts_of_an_archive_are_named_as_such(name: str) -> None:
    with pytest.raises(BadContainer, match="one of several parts of a split archive"):
        opened(misleading.ARCHIVES[name]())


def test_packages_of_debian_and_static_libraries_have_members() -> None:
    data = misleading.ar(
        misleading.ar_member(b"/", b"symbols."),
        misleading.ar_member(b"//", b"a long name of it.txt/\nsecond one.txt/\n"),
        misleading.ar_member(b"/23", b"two"),
        misleading.ar_member(b"/0", b"one\n"),
        misleading.ar_member(b"short.txt/", b"three"),
        misleading.ar_member(b"#1/20", b"from BSD, long.txt\0\0" + b"four\n"),
        misleading.ar_member(b"debian-binary", b"2.0\n"),
    )
    found = opened(data)
    assert {name: content(found, name) for name in found.members} == {
        "second one.txt": b"two",
        "a long name of it.txt": b"one\n",
        "short.txt": b"three",
        "from BSD, long.txt": b"four\n",
        "debian-binary": b"2.0\n",
    }
    member = found.members["short.txt"]
    assert (found.form, member.mtime_ns, member.mode, found.notes) == ("ar", 86_400_000_000_000, 0o644, ())


def test_a_member_of_ar_that_is_cut_short_says_so_and_its_neighbours_are_read() -> None:
    found = opened(misleading.ARCHIVES["cut.a"]())
    assert found.members["b.txt"].problem == "it is cut short"
    assert content(found, "a.txt") == misleading.LINE
    assert opened(misleading.ARCHIVES["names.deb"]()).left_out == ("/etc/passwd", "../x")
    with pytest.raises(BadContainer, match="damaged"):
        opened(misleading.ar(b"no header"))


@pytest.mark.parametrize("build", [misleading.long_names_a, misleading.long_names_tar])
def test_names_that_are_too_long_are_counted_and_not_kept(build: Callable[[int], bytes]) -> None:
    data = build(40)
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    tracemalloc.start()
    try:
        found = opened(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.left_out_count >= 40
    assert peak < 16 * 1024 * 1024


def test_members_without_a_name_are_counted() -> None:
    found = opened(misleading.nameless_zip())
    assert (list(found.members), found.left_out_count) == (["a.txt"], 2)


def test_a_walk_over_headers_ends_with_its_call() -> None:
    """However many there are: a tar has no directory."""
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise TimedOut(10)

    data = hostile.tarred({f"{at}.txt": b"text\n" for at in range(50)}, form=tarfile.USTAR_FORMAT)
    with pytest.raises(TimedOut):
        open_container(_Bytes(data), check)
    assert len(calls) == 3


def test_an_archive_that_was_to_be_cut_in_parts_and_is_whole_is_opened() -> None:
    found = opened(b"PK\7\x08" + hostile.zipped({"a.txt": b"a line\n"}))
    assert content(found, "a.txt") == b"a line\n"


@pytest.mark.parametrize("form", ["gnu", "0.1", "1.0"])
def test_a_sparse_file_is_named_and_the_next_member_is_read(form: str) -> None:
    said = {
        "0.1": misleading.said(b"GNU.sparse.size", b"4096") + misleading.member("real.img"),
        "1.0": misleading.said(b"GNU.sparse.name", b"real.img") + misleading.member("GNUSparseFile.0/x"),
        "gnu": hostile.sparse_gnu(),
    }[form]
    found = opened(said + misleading.member("after.txt", b"after\n") + bytes(1024))
    with pytest.raises(NotUnpacked, match="sparse"):
        content(found, "real.img")
    assert content(found, "after.txt") == b"after\n"


def test_what_is_said_of_all_members_makes_all_of_them_sparse() -> None:
    said = misleading.said(b"GNU.sparse.size", b"7", tarfile.XGLTYPE)
    found = opened(said + misleading.member("a.txt") + bytes(1024))
    with pytest.raises(NotUnpacked, match="sparse"):
        content(found, "a.txt")
