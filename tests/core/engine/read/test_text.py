"""read_file through the whole pipeline: windows, hashes, encodings, refusals, and what to do next."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from PIL import Image

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.errors import (
    BadEncoding,
    BadImage,
    BadRange,
    BadValue,
    Binary,
    Cancelled,
    Changed,
    Denied,
    NotAFile,
    NotFound,
    OutsideRoot,
    TimedOut,
)
from readroom.core.limits import IMAGE_LONG_SIDE, REPLY_BYTES, SMALL_FILE_BYTES, Limits
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Change, Folder, Leftover, Source, Store, WriteTarget
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply, Stat, Version
from readroom.core.values.files import Warn
from readroom.core.workspace import Workspace
from tests.each import each
from tests.laws.driving import Driver, fact, header_row, shown


def workspace(**files: bytes | str) -> Workspace:
    """Files by name; `__` stands for a dot, since these are keyword arguments."""
    return Workspace(MemoryStore({name.replace("__", "."): data for name, data in files.items()}))


def numbered(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number}\n" for number in range(1, count + 1))


def span(reply: Reply) -> tuple[int, int]:
    found = fact(reply, "lines_shown")
    return found["start"], found["end"]


# --- defaults by kind ------------------------------------------------------------------------


@each(
    ("name", "kind", "lines"),
    [
        ("a.py", "source", (1, 2000)),
        ("a.json", "config", (1, 2000)),
        ("a.txt", "text", (1, 2000)),
        ("README", "text", (1, 2000)),
        ("a.min.js", "minified", (1, 20)),
        ("a.csv", "csv", (1, 100)),
        ("a.tsv", "csv", (1, 100)),
        ("a.log", "log", (4501, 5000)),
    ],
)
def test_a_kind_has_its_default_window(name: str, kind: str, lines: tuple[int, int]) -> None:
    reply = Workspace(MemoryStore({name: "x\n" * 5000})).read(name)
    assert (fact(reply, "kind"), span(reply), fact(reply, "total_lines")) == (kind, lines, 5000)


def test_a_log_with_an_offset_is_read_from_there() -> None:
    reply = workspace(a__log=numbered(5000)).read("a.log", offset=10, limit=3)
    assert shown(reply) == {10: "line 10", 11: "line 11", 12: "line 12"}
    assert fact(reply, "read_mode") == "offset"


def test_a_log_shows_its_end_and_names_what_is_above() -> None:
    reply = workspace(a__log=numbered(5000)).read("a.log")
    assert fact(reply, "read_mode") == "tail"
    above = {"path": "a.log", "offset": 4500, "limit": -500}
    assert fact(reply, "next") == {"tool": "read_file", "arguments": above}
    assert [
        (item["what"], item["from"], item["to"], item["call"]["arguments"]) for item in fact(reply, "omitted")
    ] == [
        ("lines", 4001, 4500, {"path": "a.log", "offset": 4001, "limit": 500}),
        ("lines", 1, 4000, {"path": "a.log", "offset": 1, "limit": 4000}),
    ]
    first, last = reply.text.split("\n")[0], reply.text.split("\n")[-1]
    assert "lines 4501-5000 of 5000 (more above)" in first
    assert last == (
        '[4500 lines above not shown (tail). Next: read_file {"path":"a.log","offset":4500,"limit":-500}]'
    )


def test_a_log_under_a_small_cap_shows_the_last_lines_that_fit() -> None:
    driver = Driver(MemoryStore({"a.log": numbered(5000, "event number")}), reply_bytes=2048)
    reply = driver.call("read_file", path="a.log")
    start, end = span(reply)
    assert end == 5000
    assert 4900 < start < 4990
    assert fact(reply, "omitted")[0]["to"] == start - 1


def test_the_limit_of_a_tail_is_the_callers() -> None:
    assert span(workspace(a__log=numbered(50)).read("a.log", limit=7)) == (44, 50)


def test_a_table_carries_its_header_above_every_later_window() -> None:
    reply = workspace(t__csv="name,age\n" + numbered(500, "row,")).read("t.csv", offset=300, limit=2)
    assert header_row(reply) == "1\tname,age"
    assert shown(reply) == {300: "row, 299", 301: "row, 300"}
    assert fact(reply, "header_line") == 1


def test_the_first_window_of_a_table_has_the_header_once() -> None:
    reply = workspace(t__csv="name,age\na,1\nb,2\n").read("t.csv")
    assert header_row(reply) is None
    assert list(shown(reply).values()) == ["name,age", "a,1", "b,2"]


def test_a_header_too_long_for_the_reply_is_cut_and_says_so() -> None:
    reply = workspace(t__csv="c," * 5000 + "\n" + numbered(50)).read("t.csv", offset=10, limit=1)
    (cut,) = [item for item in fact(reply, "omitted") if item["what"] == "columns"]
    assert (cut["line"], cut["from"], cut["to"]) == (1, 2001, 10_000)
    assert header_row(reply) == "1\t" + "c," * 1000 + " [+8000 chars]"


# --- windows ---------------------------------------------------------------------------------


@each(
    ("offset", "limit", "lines"),
    [
        (1, 2, (1, 2)),
        (9, 5, (9, 10)),
        (-3, None, (8, 10)),
        (-3, 2, (8, 9)),
        (-100, 1, (1, 1)),
        (10, 1, (10, 10)),
    ],
)
def test_offset_and_limit_choose_the_window(offset: int, limit: int | None, lines: tuple[int, int]) -> None:
    assert span(workspace(a__txt=numbered(10)).read("a.txt", offset=offset, limit=limit)) == lines


def test_a_window_that_ends_before_the_file_names_the_next_call() -> None:
    reply = workspace(a__txt=numbered(10)).read("a.txt", limit=4)
    assert fact(reply, "next") == {
        "tool": "read_file",
        "arguments": {"path": "a.txt", "offset": 5, "limit": 4},
    }
    assert fact(reply, "truncated") is True
    assert reply.text.endswith(
        '[6 lines below not shown (limit). Next: read_file {"path":"a.txt","offset":5,"limit":4}]'
    )


def test_a_whole_file_says_that_it_ends() -> None:
    reply = workspace(a__txt="one\ntwo").read("a.txt")
    assert reply.text.split("\n")[1:] == ["1\tone", "2\ttwo", "[end of file]"]
    assert (fact(reply, "truncated"), fact(reply, "omitted"), fact(reply, "next")) == (False, [], None)


def test_an_empty_file_is_a_success_that_says_so() -> None:
    reply = workspace(a__txt="").read("a.txt")
    digest = hashlib.sha256(b"").hexdigest()
    assert reply.text == f"a.txt | empty | sha256:{digest[:12]}\n[end of file]"
    assert (fact(reply, "lines_shown"), fact(reply, "newline")) == ({"start": 0, "end": 0}, "none")


def test_an_offset_past_the_end_tells_the_length_and_a_call_that_works() -> None:
    space = workspace(a__txt=numbered(10))
    with pytest.raises(BadRange, match=r"offset=11 is past the end of a\.txt, which has 10 lines") as caught:
        space.read("a.txt", offset=11)
    assert caught.value.facts["total_lines"] == 10
    reply = space.call("read_file", {"path": "a.txt", "offset": 11})
    suggested = fact(reply, "error")["next"]
    assert span(space.call(suggested["tool"], suggested["arguments"])) == (10, 10)


def test_offset_and_limit_of_zero_count_as_left_out() -> None:
    assert span(workspace(a__txt=numbered(10)).read("a.txt", offset=0, limit=0)) == (1, 10)


# --- long lines ------------------------------------------------------------------------------


@pytest.mark.parametrize("char", ["x", "é", "日", "𝄞"])
def test_a_long_line_is_cut_between_characters_and_read_on_by_column(char: str) -> None:
    line = "".join(char if number % 10 else "|" for number in range(30_000))
    space = workspace(a__txt=f"before\n{line}\nafter\n")
    reply = space.read("a.txt")
    assert shown(reply) == {1: "before", 2: line[:2000], 3: "after"}
    assert f"{line[:2000]} [+28000 chars]" in reply.text
    (item,) = fact(reply, "omitted")
    assert item == {
        "what": "columns",
        "line": 2,
        "from": 2001,
        "to": 30_000,
        "reason": "line_cap",
        "call": {
            "tool": "read_file",
            "arguments": {"path": "a.txt", "offset": 2, "limit": 1, "column": 2001},
        },
    }
    following = space.call("read_file", item["call"]["arguments"])
    (piece,) = shown(following).values()
    assert line[2000:].startswith(piece)
    filled = len(following.text.encode()) / REPLY_BYTES
    assert filled > 0.95 or piece == line[2000:]


def test_a_one_line_file_of_megabytes_is_read_to_its_end_by_column() -> None:
    line = "ab日" * 500_000
    driver = Driver(MemoryStore({"one.json": line.encode()}))
    reply = driver.call("read_file", path="one.json")
    assert (fact(reply, "total_lines"), fact(reply, "size_bytes")) == (1, len(line.encode()))
    assert driver.whole_lines(reply) == {1: line}


def test_a_piece_from_a_column_says_where_it_stands() -> None:
    reply = workspace(a__txt="0123456789\nnext\n").read("a.txt", column=4)
    assert "line 1 of 2, characters 4-10 of 10" in reply.text
    assert "\n1:4\t3456789\n" in reply.text
    assert fact(reply, "columns_shown") == [{"line": 1, "from": 4, "to": 10, "of": 10}]
    assert fact(reply, "next")["arguments"] == {"path": "a.txt", "offset": 2}


def test_a_column_past_the_end_tells_the_length() -> None:
    with pytest.raises(
        BadRange, match=r"column=11 is past the end of line 1 of a\.txt, which has 10 char"
    ) as caught:
        workspace(a__txt="0123456789\n").read("a.txt", column=11)
    assert caught.value.facts == {"total_lines": 1, "total_columns": 10}


def test_a_column_and_a_limit_show_the_rest_of_a_line_and_what_is_cut_of_those_behind_it() -> None:
    long = "z" * 2500
    reply = workspace(a__txt=f"0123456789\nnext\n{long}\n{long}\n").read("a.txt", column=4, limit=3)
    assert "lines 1-3 of 4, the rest of 2 long lines |" in reply.text
    assert shown(reply) == {1: "3456789", 3: "z" * 500}
    assert fact(reply, "next")["arguments"] == {"path": "a.txt", "offset": 4}


def test_lines_beside_rests_that_have_none_are_counted_and_shown_without_a_column() -> None:
    reply = workspace(a__txt="ab\nabcdef\nabc\nabcdefgh\n").read("a.txt", offset=2, column=5, limit=3)
    assert shown(reply) == {2: "ef"}
    assert reply.text.endswith("\n[2 other lines are not cut: read without column to see them.]")
    one = workspace(a__txt="abcdef\nabc\n").read("a.txt", column=5, limit=2)
    assert one.text.endswith("\n[1 other line is not cut: read without column to see it.]")


def test_a_column_and_a_limit_of_one_line_show_that_line_alone() -> None:
    reply = workspace(a__txt="0123456789\nnext\n").read("a.txt", column=4, limit=1)
    assert shown(reply) == {1: "3456789"}
    assert fact(reply, "next") is None
    assert reply.text.endswith("\n[end of line 1]")


def test_a_negative_limit_reads_up_to_a_line() -> None:
    space = workspace(a__txt=numbered(50))
    reply = space.read("a.txt", offset=20, limit=-5)
    assert list(shown(reply)) == [16, 17, 18, 19, 20]
    assert "lines 16-20 of 50 (more above)" in reply.text
    assert fact(reply, "next")["arguments"] == {"path": "a.txt", "offset": 15, "limit": -5}
    assert list(shown(space.read("a.txt", limit=-3))) == [48, 49, 50]
    assert fact(space.read("a.txt", offset=3, limit=-10), "next") is None


@pytest.mark.parametrize("more", [{"symbol": "f"}, {"view": "outline"}])
def test_a_limit_that_counts_nothing_is_refused_with_one_that_does(more: dict[str, Any]) -> None:
    driver = Driver(MemoryStore({"a.py": b"def f():\n    pass\n"}))
    refused = driver.call("read_file", path="a.py", limit=-1, **more)
    assert fact(refused, "error")["code"] == "bad_value"
    assert not driver.follow(fact(refused, "error")["next"]).is_error


def test_limits_of_the_workspace_are_obeyed() -> None:
    store = MemoryStore({"a.txt": "x" * 100 + "\n"})
    reply = Workspace(store, settings=Settings(limits=Limits(line_chars=10))).read("a.txt")
    assert shown(reply) == {1: "x" * 10}


# --- whole-file facts ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, SMALL_FILE_BYTES, SMALL_FILE_BYTES + 1, 3 * SMALL_FILE_BYTES])
def test_hash_and_totals_are_those_of_the_whole_file(size: int) -> None:
    data = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    reply = workspace(a__txt=data).read("a.txt", offset=1, limit=1)
    digest = hashlib.sha256(data).hexdigest()
    assert fact(reply, "content_hash") == f"sha256:{digest}"
    assert f"| sha256:{digest[:12]}" in reply.text.split("\n")[0]
    assert fact(reply, "size_bytes") == size
    assert fact(reply, "total_lines") == -(-size // 16)


@each("padding", ["", "padding\r\n" * 200_000])
@each(
    ("ends", "newline", "words"),
    [
        (("\n", "\n"), "lf", None),
        (("\r\n", "\r\n"), "crlf", "CRLF"),
        (("\n", "\r\n"), "mixed", "mixed line ends"),
    ],
)
def test_line_ends_are_kept_in_the_facts(
    padding: str, ends: tuple[str, str], newline: str, words: str | None
) -> None:
    if newline == "lf":
        padding = padding.replace("\r", "")
    text = f"one{ends[0]}two{ends[1]}" + padding
    reply = workspace(a__txt=text.encode()).read("a.txt", limit=2)
    assert fact(reply, "newline") == newline
    assert shown(reply) == {1: "one", 2: "two"}
    assert (words or "zzz") in reply.text.split("\n")[0] or words is None


def test_a_receipt_for_a_known_hash_is_two_short_lines() -> None:
    space = workspace(a__txt=numbered(100))
    known = fact(space.read("a.txt"), "content_hash")
    receipt = space.read("a.txt", known_hash=known[:19])
    assert (
        receipt.text
        == f"a.txt | {known[:19]}\n[not modified: the file still has the known hash; nothing is shown]"
    )
    assert fact(receipt, "not_modified") is True


def test_another_hash_gets_the_content() -> None:
    assert shown(workspace(a__txt="new").read("a.txt", known_hash="sha256:" + "0" * 12)) == {1: "new"}


@pytest.mark.parametrize("known", ["abc", "sha256:xyz", "sha1:" + "0" * 40, "0" * 65])
def test_what_is_no_hash_is_refused(known: str) -> None:
    with pytest.raises(BadValue, match="is not a content hash"):
        workspace(a__txt="x").read("a.txt", known_hash=known)


# --- encodings -------------------------------------------------------------------------------


@each(
    ("data", "encoding", "bom", "words"),
    [
        ("naïve\n".encode(), "utf-8", False, None),
        (b"\xef\xbb\xbf" + "naïve\n".encode(), "utf-8", True, "utf-8 with BOM"),
        ("\ufeffnaïve\n".encode("utf-16-le"), "utf-16-le", True, "utf-16-le with BOM"),
        ("\ufeffnaïve\n".encode("utf-16-be"), "utf-16-be", True, "utf-16-be with BOM"),
        ("\ufeffnaïve\n".encode("utf-32-le"), "utf-32-le", True, "utf-32-le with BOM"),
        ("naïve\n".encode("utf-16-le"), "utf-16-le", False, "utf-16-le"),
    ],
)
def test_encodings_are_found_and_said_when_unusual(
    data: bytes, encoding: str, bom: bool, words: str | None
) -> None:
    reply = workspace(a__txt=data).read("a.txt")
    assert shown(reply) == {1: "naïve"}
    assert (fact(reply, "encoding"), fact(reply, "bom")) == (encoding, bom)
    assert (words in reply.text.split("\n")[0]) if words else ("utf" not in reply.text)


def test_the_callers_encoding_overrides() -> None:
    reply = workspace(a__txt="日本語\n".encode("euc_jp")).read("a.txt", encoding="EUC-JP")
    assert shown(reply) == {1: "日本語"}
    assert fact(reply, "encoding") == "euc_jp"


def test_an_encoding_stays_in_the_next_call() -> None:
    reply = workspace(a__txt="é\né\n".encode("latin-1")).read("a.txt", encoding="latin-1", limit=1)
    assert fact(reply, "next")["arguments"]["encoding"] == "latin-1"


@each("name", ["utf-9", "rot13", "zip", "../../etc/passwd", "x" * 1000, "idna"])
def test_an_encoding_that_cannot_be_read_is_refused_with_a_way_out(name: str) -> None:
    space = workspace(a__txt="x")
    with pytest.raises(BadEncoding, match="Leave out `encoding`") as caught:
        space.read("a.txt", encoding=name)
    assert caught.value.next is not None
    assert not space.call("read_file", {"path": "a.txt"}).is_error


@pytest.mark.parametrize("padding", ["", "padding\n" * 200_000])
def test_bytes_that_do_not_fit_the_callers_encoding_are_marked_by_line(padding: str) -> None:
    data = padding.encode() + b"good\nbad \xff\xfe\n"
    reply = workspace(a__txt=data).read("a.txt", encoding="utf-8", offset=-2)
    line = padding.count("\n") + 2
    assert shown(reply)[line] == "bad \ufffd\ufffd"
    assert [(warning["code"], warning["line"]) for warning in fact(reply, "warnings")][-1:] == [
        ("undecodable", line)
    ]


def test_what_is_called_binary_is_shown_in_the_encoding_that_its_refusal_advises() -> None:
    space = workspace(b__bin=b"abc\0\xff\xfe\x80def" * 20)
    refused = space.call("read_file", {"path": "b.bin"})
    assert "`encoding`" in refused.text
    reply = space.call("read_file", {"path": "b.bin", "encoding": "utf-8"})
    assert not reply.is_error, reply.text
    assert "abc\u2400\ufffd\ufffd\ufffddef" in reply.text


def test_undecodable_bytes_are_marked_counted_and_located() -> None:
    data = "é".encode() * 50 + b"\n" + b"ab\xffcd\n"
    reply = workspace(a__txt=data).read("a.txt")
    assert shown(reply)[2] == "ab\ufffdcd"
    (warning,) = fact(reply, "warnings")
    assert (warning["line"], warning["column"]) == (2, 3)


@pytest.mark.parametrize(
    ("char", "code"), [("\u202e", "bidi"), ("\u200b", "zero_width"), ("\U000e0041", "tag")]
)
def test_hidden_characters_are_reported_and_left_in_place(char: str, code: str) -> None:
    reply = workspace(a__py=f"one\nif a{char}b:\n").read("a.py")
    assert shown(reply)[2] == f"if a{char}b:"
    (warning,) = fact(reply, "warnings")
    assert (warning["line"], warning["column"]) == (2, 5)
    assert code in warning["code"]
    assert "Warning: " in reply.text.split("\n")[-1]


# --- what is not text ------------------------------------------------------------------------


def picture(width: int, height: int, form: str) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(held, form)
    return held.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_comes_back_as_an_image(form: str) -> None:
    data = picture(40, 20, form)
    reply = workspace(a__txt=data).read("a.txt")
    (image,) = reply.images
    assert image.media_type == f"image/{form.lower()}"
    assert (image.width, image.height) == (40, 20)
    assert fact(reply, "kind") == "image"
    assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(data).hexdigest()
    assert reply.text.endswith(f"[image image/{form.lower()}, 40x20]")


def test_a_large_image_is_shrunk_and_says_its_own_size() -> None:
    reply = workspace(a__png=picture(4000, 1000, "PNG")).read("a.png")
    (image,) = reply.images
    assert (image.width, image.height) == (IMAGE_LONG_SIDE, IMAGE_LONG_SIDE // 4)
    assert (image.original_width, image.original_height) == (4000, 1000)
    assert f"4000x1000, shown at {IMAGE_LONG_SIDE}x{IMAGE_LONG_SIDE // 4}" in reply.text


def test_an_image_too_wide_to_decode_is_refused() -> None:
    bomb = bytearray(picture(10, 10, "PNG"))
    bomb[16:24] = (60_000).to_bytes(4, "big") * 2
    with pytest.raises(BadImage):
        workspace(a__png=bytes(bomb)).read("a.png")


def test_a_known_image_gets_a_receipt() -> None:
    space = workspace(a__png=picture(40, 20, "PNG"))
    reply = space.read("a.png", known_hash=fact(space.read("a.png"), "content_hash"))
    assert (reply.images, fact(reply, "not_modified")) == ((), True)


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"\x7fELF" + bytes(100), "application/x-executable"),
        (b"PK\3\4" + bytes(100), "application/zip"),
        (b"\x78\x9c" + bytes(100), "application/zlib"),
        (bytes(range(256)) * 4, "application/octet-stream"),
    ],
)
def test_binary_is_refused_with_size_type_and_what_to_do(data: bytes, media: str) -> None:
    with pytest.raises(Binary) as caught:
        workspace(a__bin=data).read("a.bin")
    assert caught.value.facts == {"path": "a.bin", "media_type": media, "size_bytes": len(data)}
    assert f"a.bin is binary ({media}, {len(data):,} bytes)" in str(caught.value)
    assert caught.value.advice


def test_a_large_binary_is_refused_by_its_first_bytes_alone() -> None:
    store = MemoryStore({"a.bin": bytes(3 * SMALL_FILE_BYTES)})
    with pytest.raises(Binary):
        Workspace(store).read("a.bin")


# --- names -----------------------------------------------------------------------------------


def test_a_missing_file_gets_near_names_and_the_call_that_reads_the_nearest() -> None:
    space = Workspace(MemoryStore({"src/config.py": "x", "src/other.py": "y"}))
    with pytest.raises(NotFound, match=r"There is no file or folder src/confg\.py") as caught:
        space.read("src/confg.py")
    near = caught.value.facts["near"]
    assert isinstance(near, list)
    assert near[0] == "src/config.py"
    assert len(near) <= 3
    suggested = fact(space.call("read_file", {"path": "src/confg.py"}), "error")["next"]
    assert shown(space.call(suggested["tool"], suggested["arguments"])) == {1: "x"}


def test_the_very_name_elsewhere_comes_before_one_beside_that_looks_like_it() -> None:
    space = Workspace(MemoryStore({"score.py": "x", "shop/core.py": "y"}))
    with pytest.raises(NotFound) as caught:
        space.read("core.py")
    assert caught.value.facts["near"] == ["shop/core.py", "score.py"]


def test_a_folder_is_refused_with_the_call_that_lists_it() -> None:
    with pytest.raises(NotAFile, match=r"src is a folder, not a file\. List it instead\."):
        Workspace(MemoryStore({"src/a": "x"})).read("src")


def test_denied_and_outside_are_refused_without_a_word_of_content() -> None:
    space = Workspace(MemoryStore({".env": "SECRET=1"}))
    with pytest.raises(Denied, match=r"Access to \.env is denied by the rule"):
        space.read(".env")
    with pytest.raises(OutsideRoot):
        space.read("../x")


def test_one_file_has_one_spelling_in_replies() -> None:
    space = Workspace(MemoryStore({"a/b.txt": "x"}))
    assert fact(space.read("./a//c/../b.txt"), "path") == "a/b.txt"


# --- files that change -----------------------------------------------------------------------


class Restless:
    """A store whose files are changed by somebody while they are read: after each n-th read of bytes."""

    def __init__(self, store: Store, change: Callable[[int], None]) -> None:
        self._store = store
        self._change = change
        self.reads = 0
        self.name, self.folder, self.roots = store.name, store.folder, store.roots
        self.promises = store.promises

    def require_root(self) -> None:
        self._store.require_root()

    def open(self, path: WorkPath) -> Source:
        return _RestlessSource(self._store.open(path), self)

    def open_folder(self, path: WorkPath) -> Folder:
        return self._store.open_folder(path)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        return self._store.stat(path)

    def place(self, path: WorkPath) -> WriteTarget:
        return self._store.place(path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        return self._store.commit(changes, ready)

    def recover(self) -> Sequence[Leftover]:
        return self._store.recover()

    def version(self, path: WorkPath) -> Version | None:
        return self._store.version(path)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        return self._store.is_still(path, version)

    def close(self) -> None:
        self._store.close()

    def after_read(self) -> None:
        self.reads += 1
        self._change(self.reads)


class _RestlessSource:
    def __init__(self, source: Source, store: Restless) -> None:
        self._source = source
        self._store = store
        self.real, self.stat, self.version, self.size = source.real, source.stat, source.version, source.size

    def current(self) -> Version:
        return self._source.current()

    def read_at(self, offset: int, size: int) -> bytes:
        data = self._source.read_at(offset, size)
        self._store.after_read()
        return data

    def read_into(self, offset: int, buffer: memoryview) -> int:
        count = self._source.read_into(offset, buffer)
        self._store.after_read()
        return count

    def fileno(self) -> int | None:
        return self._source.fileno()

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


large_or_small = pytest.mark.parametrize("lines", [10, 200_000], ids=["small", "large"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.log"


def restless(folder: Path, change: Callable[[int], None]) -> Workspace:
    return Workspace(Restless(LocalStore(folder), change))


@large_or_small
def test_a_file_replaced_during_a_read_is_read_again(file: Path, lines: int) -> None:
    file.write_text(numbered(lines, "old"), encoding="utf-8")

    def replace_once(count: int) -> None:
        if count == 1:
            file.write_text(numbered(lines, "new"), encoding="utf-8")

    reply = restless(file.parent, replace_once).read("a.log", limit=1)
    assert shown(reply) == {lines: f"new {lines}"}
    assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(file.read_bytes()).hexdigest()


@large_or_small
def test_a_file_that_changes_on_every_try_is_an_error_that_says_so(file: Path, lines: int) -> None:
    file.write_text(numbered(lines, "word"), encoding="utf-8")

    def replace_always(count: int) -> None:
        file.write_text(numbered(lines, "abcdefghij"[count % 10] * 4), encoding="utf-8")

    with pytest.raises(
        Changed, match="changed while it was being read, and again on the second try"
    ) as caught:
        restless(file.parent, replace_always).read("a.log", limit=1)
    assert caught.value.next is not None


@large_or_small
def test_a_file_that_is_appended_to_is_shown_as_it_was_opened(file: Path, lines: int) -> None:
    file.write_text(numbered(lines), encoding="utf-8")
    before = file.read_bytes()

    def append(count: int) -> None:
        with file.open("a", encoding="utf-8") as end:
            end.write(f"appended {count}\n")

    reply = restless(file.parent, append).read("a.log", limit=2)
    assert shown(reply) == {lines - 1: f"line {lines - 1}", lines: f"line {lines}"}
    assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(before).hexdigest()
    assert [warning["code"] for warning in fact(reply, "warnings")] == ["grew"]


@large_or_small
def test_a_file_cut_short_during_a_read_is_read_again(file: Path, lines: int) -> None:
    file.write_text(numbered(lines), encoding="utf-8")

    def cut_once(count: int) -> None:
        if count == 1:
            os.truncate(file, 14)

    assert shown(restless(file.parent, cut_once).read("a.log")) == {1: "line 1", 2: "line 2"}


def test_reading_on_in_a_growing_log_only_adds_to_the_end(file: Path) -> None:
    file.write_text(numbered(30_000), encoding="utf-8")

    def append(count: int) -> None:
        if count % 3 == 0:
            with file.open("a", encoding="utf-8") as end:
                end.write(f"late {count}\n")

    driver = Driver(Restless(LocalStore(file.parent), append))
    found = driver.lines("a.log", offset=29_000, limit=400)
    assert [found[number] for number in range(29_000, 30_001)] == [f"line {n}" for n in range(29_000, 30_001)]
    assert list(found) == list(range(29_000, 29_000 + len(found)))


def test_a_changed_file_gets_a_new_hash_and_new_lines(file: Path) -> None:
    """The index kept of a large file belongs to one state of it."""
    space = Workspace(file.parent)
    file.write_text(numbered(200_000), encoding="utf-8")
    assert shown(space.read("a.log", offset=150_000, limit=1)) == {150_000: "line 150000"}
    file.write_text("first\n" + numbered(200_000), encoding="utf-8")
    assert shown(space.read("a.log", offset=150_000, limit=1)) == {150_000: "line 149999"}


# --- work that ends --------------------------------------------------------------------------


def test_a_cancelled_read_ends_with_no_result() -> None:
    deadline = Deadline()

    def cancel(count: int) -> None:
        deadline.cancel()

    store = Restless(MemoryStore({"a.txt": b"x\n" * SMALL_FILE_BYTES}), cancel)
    with pytest.raises(Cancelled):
        Workspace(store).perform("read_file", {"path": "a.txt"}, deadline=deadline)
    assert store.reads < 4


def test_a_read_over_its_time_limit_ends() -> None:
    now = 0.0

    def clock() -> float:
        return now

    def later(count: int) -> None:
        nonlocal now
        now += 1000

    store = Restless(MemoryStore({"a.txt": b"x\n" * SMALL_FILE_BYTES}), later)
    with pytest.raises(TimedOut):
        Workspace(store).perform("read_file", {"path": "a.txt"}, deadline=Deadline(1, clock=clock))


def test_a_first_pass_over_a_large_file_reports_progress() -> None:
    steps: list[tuple[Any, ...]] = []
    deadline = Deadline(progress=lambda *step: steps.append(step))
    data = b"x\n" * (2 * SMALL_FILE_BYTES)
    Workspace(MemoryStore({"a.txt": data})).perform("read_file", {"path": "a.txt"}, deadline=deadline)
    assert steps[-1] == (len(data), len(data), "bytes")
    assert len(steps) > 1
