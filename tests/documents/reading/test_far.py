"""Documents and archives in a bucket, by ranges: what is fetched of large ones, as the server counts it."""

from __future__ import annotations

import gzip
import io
import re
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from readroom.core.stores import spending
from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.stores.bucket.conftest import kind as kind
from tests.core.stores.bucket.conftest import proxy as proxy
from tests.core.stores.bucket.conftest import world as world
from tests.core.stores.bucket.containers import ContainerWorld, needs_azurite
from tests.core.stores.bucket.servers import Disk, Seen, needs_botocore
from tests.core.stores.bucket.test_cost import facts, opened
from tests.core.stores.bucket.worlds import keys_of_tests
from tests.documents.reading.making import pdf
from tests.hostile.documents import docx, paragraph, word

pytestmark = needs_botocore

GB = 1024 * 1024 * 1024
MB = 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    folder = tmp_path / "objects"
    folder.mkdir()
    server = Disk(folder)
    keys_of_tests(monkeypatch, server.address)
    yield server
    server.close()


@pytest.fixture
def workspace(disk: Disk) -> Iterator[Workspace]:
    with opened(BucketStore(BucketAddress("tests", ""))) as room:
        disk.seen.clear()  # what opening a workspace asks for
        yield room


def with_hole(file: zipfile.ZipFile, name: str, size: int) -> None:
    """Add a member of zeros that takes no place on the disk; its checksum is wrong."""
    assert file.fp is not None
    member = zipfile.ZipInfo(name)
    member.file_size = member.compress_size = size
    member.CRC = 0
    member.header_offset = file.start_dir
    file.fp.seek(file.start_dir)
    file.fp.write(member.FileHeader())
    file.fp.seek(size, io.SEEK_CUR)
    file.start_dir = file.fp.tell()
    file.filelist.append(member)
    file.NameToInfo[name] = member


def archive(path: Path, members: int = 200, *, extra: bytes = b"") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(members):
            if number == members // 2:
                with_hole(file, "film.bin", GB)
            info = zipfile.ZipInfo(f"notes/{number:04}.txt")
            info.extra = extra
            file.writestr(info, f"note {number}\n" * 50)


def pages(path: Path, hole: int = GB) -> None:
    """A PDF with a hole between its objects and the table of them."""
    data = pdf([[f"words of page {number}"] for number in range(1, 41)])
    table = data.rindex(b"\nxref\n") + 1
    with path.open("wb") as file:
        file.write(data[:table])
        file.seek(hole, io.SEEK_CUR)
        begin = file.tell()
        file.write(re.sub(rb"startxref\n\d+", b"startxref\n%d" % begin, data[table:]))


def letter(path: Path, hole: int = GB) -> None:
    """A text of Word with a film in it."""
    path.write_bytes(docx(word(b"".join(paragraph(b"line %d" % number) for number in range(40)))))
    with zipfile.ZipFile(path, "a") as file:
        with_hole(file, "word/media/film.bin", hole)
        file.writestr("docProps/app.xml", "<Properties/>")


def cost(reply: Reply) -> tuple[int, int]:
    """The requests and bytes that a reply says."""
    said = re.search(
        r"cost \(([\d,]+) requests and ([\d,]+) bytes of at most 500 and 268,435,456", reply.text
    )
    assert said is not None, reply.text
    return int(said[1].replace(",", "")), int(said[2].replace(",", ""))


def require_cheap(disk: Disk, reply: Reply, requests: int, size: int) -> None:
    ranged = [seen for seen in disk.seen if seen.range]
    requests_said, size_said = cost(reply)
    assert size_said == sum(seen.answered for seen in ranged)
    assert len(ranged) <= requests_said <= len(disk.seen)
    assert len(disk.seen) <= requests
    assert disk.sent <= size
    disk.seen.clear()


def test_a_listing_of_a_large_zip_and_a_member_cost_its_end_and_that_member(
    disk: Disk, workspace: Workspace
) -> None:
    archive(disk.folder / "big.zip")
    reply = workspace.list("big.zip!")
    assert "film.bin" in reply.text
    require_cheap(disk, reply, 12, 2 * MB)
    reply = workspace.read("big.zip!/notes/0003.txt")
    assert "note 3" in reply.text
    require_cheap(disk, reply, 12, 2 * MB)
    reply = workspace.read("big.zip!/notes/0190.txt")
    assert "note 190" in reply.text
    require_cheap(disk, reply, 12, 2 * MB)


def test_headers_of_members_are_not_asked_for_one_by_one(disk: Disk, workspace: Workspace) -> None:
    with zipfile.ZipFile(disk.folder / "big.zip", "w") as file:
        for number in range(60):
            info = zipfile.ZipInfo(f"{number:04}.bin")
            info.extra = b"UT\x05\x00\x01\x00\x00\x00\x00"
            file.writestr(info, bytes(MB))
            # As Info-ZIP does: the header in the directory has fewer fields.
            file.filelist[-1].extra = b""
    reply = workspace.list("big.zip!")
    assert "0059.bin" in reply.text
    require_cheap(disk, reply, 12, 2 * MB)


def test_a_page_of_a_large_pdf_is_fetched_by_ranges(disk: Disk, workspace: Workspace) -> None:
    pages(disk.folder / "big.pdf")
    reply = workspace.read("big.pdf", pages="7")
    assert "words of page 7" in reply.text
    assert facts(reply)["content_hash"] is None
    require_cheap(disk, reply, 12, 4 * MB)
    reply = workspace.read("big.pdf", pages="31")  # by the same process
    assert "words of page 31" in reply.text
    require_cheap(disk, reply, 8, 4 * MB)


def test_a_large_text_of_word_is_fetched_without_its_film(disk: Disk, workspace: Workspace) -> None:
    letter(disk.folder / "big.docx")
    reply = workspace.read("big.docx")
    assert "line 39" in reply.text
    require_cheap(disk, reply, 12, 4 * MB)
    found = workspace.grep("line 17", path="big.docx", documents=True)
    assert "line 17" in found.text
    assert disk.sent <= 4 * MB
    disk.seen.clear()
    ranked = workspace.find("line 17", path="big.docx", documents=True)
    assert "line 17" in ranked.text
    assert disk.sent <= 4 * MB


def workbook(path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in range(1500):
        book.active.append([row, f"cell {row}"])
    book.save(path)
    with zipfile.ZipFile(path, "a") as file:
        with_hole(file, "xl/media/film.bin", 2 * MB)
        file.writestr("docProps/more.xml", "<Properties/>")


def columns(path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [f"row {number} {number * 7919 % 10007:x}" * 4 for number in range(100_000)]
    parquet.write_table(pyarrow.table({"words": rows}), path, row_group_size=5_000)


def database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("create table words (word text)")
        file.executemany(
            "insert into words values (?)", ((f"word {number} {'x' * 900}",) for number in range(2_000))
        )
        file.commit()


def mail(path: Path) -> None:
    lines = b"".join(b"line %d of a letter\n" % number for number in range(80_000))
    path.write_bytes(b"From: a@example.org\nSubject: words\n\n" + lines)


def rich(path: Path) -> None:
    path.write_bytes(b"{\\rtf1 " + b"".join(b"line %d\\par " % number for number in range(90_000)) + b"}")


MADE: dict[str, Callable[[Path], None]] = {
    "docx": lambda path: letter(path, 2 * MB),
    "pdf": lambda path: pages(path, 2 * MB),
    "xlsx": workbook,
    "parquet": columns,
    "sqlite": database,
    "eml": mail,
    "rtf": rich,
}


@pytest.mark.parametrize("form", MADE)
def test_a_document_by_ranges_reads_as_in_a_folder(disk: Disk, workspace: Workspace, form: str) -> None:
    name = f"some.{form}"
    MADE[form](disk.folder / name)
    assert (disk.folder / name).stat().st_size > MB
    with Workspace(disk.folder) as folder:
        for pages_ in ("1", None):
            there = folder.call("read_file", {"path": name, **({"pages": pages_} if pages_ else {})})
            here = workspace.call("read_file", {"path": name, **({"pages": pages_} if pages_ else {})})
            assert not here.is_error, here.text
            assert plain(here) == plain(there)


def plain(reply: Reply) -> tuple[list[str], object]:
    """The numbered lines of a reply, and the call that continues."""
    return re.findall(r"^\d+\t.*", reply.text, re.MULTILINE), facts(reply)["next"]


def test_a_small_document_is_fetched_whole_and_has_its_hash(disk: Disk, workspace: Workspace) -> None:
    letter(disk.folder / "small.docx", 1000)
    reply = workspace.read("small.docx")
    assert facts(reply)["content_hash"].startswith("sha256:")
    require_cheap(disk, reply, 8, MB)


@pytest.mark.parametrize("form", ["pdf", "docx"])
def test_a_document_that_is_replaced_meanwhile_is_refused_or_read_anew(
    disk: Disk, workspace: Workspace, form: str
) -> None:
    pages(disk.folder / "big.pdf")
    letter(disk.folder / "big.docx")

    def replaced(seen: Seen) -> None:
        if seen.range and seen.if_match:
            disk.state += 1  # between any two requests

    disk.fault = replaced
    reply = workspace.call("read_file", {"path": f"big.{form}"})
    assert reply.is_error
    assert facts(reply)["error"]["code"] == "changed"
    disk.fault = None
    assert not workspace.call("read_file", {"path": f"big.{form}"}).is_error


def test_an_archive_that_is_replaced_meanwhile_is_refused(disk: Disk, workspace: Workspace) -> None:
    archive(disk.folder / "big.zip")

    def replaced(seen: Seen) -> None:
        if seen.range and seen.if_match:
            disk.state += 1

    disk.fault = replaced
    reply = workspace.call("list_directory", {"path": "big.zip!"})
    assert reply.is_error
    assert facts(reply)["error"]["code"] == "object_changed"
    disk.fault = None
    assert not workspace.call("list_directory", {"path": "big.zip!"}).is_error


@pytest.mark.parametrize("fault", [503, "reset", "cut"])
def test_a_document_is_read_though_requests_fail_now_and_then(
    disk: Disk, workspace: Workspace, fault: int | str
) -> None:
    letter(disk.folder / "big.docx")
    count = 0

    def failing(seen: Seen) -> int | str | None:
        nonlocal count
        count += bool(seen.range)
        return fault if seen.range and count % 2 else None

    disk.fault = failing
    assert "line 39" in workspace.read("big.docx").text


def test_an_archive_without_a_list_is_refused_above_the_bound(
    disk: Disk, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "CALL_REQUESTS", 20)
    with tarfile.open(disk.folder / "big.tar", "w") as file:
        for number in range(40):
            info = tarfile.TarInfo(f"{number:04}.bin")
            info.size = MB
            file.addfile(info, io.BytesIO(bytes(MB)))
    reply = workspace.call("list_directory", {"path": "big.tar!"})
    assert reply.is_error
    assert facts(reply)["error"]["code"] == "transfer_limit"
    assert "as a ZIP" in reply.text
    assert len(disk.seen) <= 22


def test_a_database_above_the_bound_is_refused_before_it_is_fetched(disk: Disk, workspace: Workspace) -> None:
    with (disk.folder / "big.sqlite").open("wb") as file:
        file.write(b"SQLite format 3\0" + bytes(84))
        file.truncate(GB)
    reply = workspace.call("read_file", {"path": "big.sqlite", "pages": "1"})
    assert reply.is_error
    assert facts(reply)["error"]["code"] == "transfer_limit"
    assert disk.sent <= 2 * MB


def test_a_compressed_text_goes_on_where_the_bound_ended_a_call(
    disk: Disk, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spending, "CALL_REQUESTS", 3)
    lines = b"".join(
        b"%08d %s\n" % (number, number.to_bytes(8, "little").hex().encode()) for number in range(300_000)
    )
    (disk.folder / "log.gz").write_bytes(gzip.compress(lines, 0))
    counted = []
    for _ in range(9):
        disk.seen.clear()
        reply = workspace.call("read_file", {"path": "log.gz", "offset": 299_990})
        counted.append(len(disk.seen))
        if not reply.is_error and "00299999" in reply.text:
            break
    assert "00299999" in reply.text
    assert len(counted) > 1
    assert max(counted) <= 8


@pytest.mark.parametrize("kind", [pytest.param("az", marks=needs_azurite)], indirect=True)
def test_a_document_in_a_container_of_azure_is_fetched_by_ranges(
    tmp_path: Path, world: ContainerWorld
) -> None:
    letter(tmp_path / "big.docx", 8 * MB)
    world.file("big.docx", (tmp_path / "big.docx").read_bytes())
    with opened(world.store) as workspace:
        world.proxy.seen.clear()
        assert "line 39" in workspace.read("big.docx").text
        assert "film.bin" in workspace.list("big.docx!/word/media").text
    assert world.proxy.sent < 3 * MB
    assert all(seen.if_match for seen in world.proxy.seen if seen.range and "=0-" not in seen.range)
