"""How lines are shown: long ones around their match, huge files and lines, every encoding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.file import GREP_WIDE_BYTES
from readroom.core.engine.grep.lines import (
    GREP_SCAN_BYTES,
    Text,
    lines_of_source,
    preview,
    starts_after,
    starts_before,
)
from readroom.core.engine.grep.page import PREVIEW_CHARS
from readroom.core.limits import GREP_CHILD_BYTES, GREP_LINE_BYTES, SMALL_FILE_BYTES
from readroom.core.paths import WorkPath
from readroom.core.search.pattern import Hit
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import GrepLine, GrepRequest, ReadRequest
from readroom.core.workspace import Workspace
from tests.core.engine.grep.searching import context, rows, search, without_coverage
from tests.core.text.held import HeldBytes
from tests.each import each
from tests.suites import daily, whole


def only_line(data: bytes, pattern: str = "needle", **options: object) -> GrepLine:
    result = search(MemoryStore({"a": data}), GrepRequest(pattern, **options))  # type: ignore[arg-type]  # by name
    ((line,),) = (file.lines for file in result.files)
    return line


# --- previews --------------------------------------------------------------------------------


@each("char", ["x", "é", "日", "😀"])
@each(("before", "after"), [(0, 5000), (5000, 0), (2500, 2500), (100, 5000), (5000, 100)])
def test_a_long_line_is_cut_between_characters_around_its_match(char: str, before: int, after: int) -> None:
    whole = char * before + "needle" + char * after
    line = only_line(whole.encode())
    assert len(line.text) == PREVIEW_CHARS
    assert line.chars == len(whole)
    assert whole[line.column - 1 :].startswith(line.text)
    left, _, right = line.text.partition("needle")
    assert abs(len(left) - len(right)) <= 1 or 1 in (line.column, line.column + PREVIEW_CHARS - len(whole))


def test_a_line_of_just_the_length_is_shown_whole() -> None:
    whole = "é" * (PREVIEW_CHARS - 6) + "needle"
    assert only_line(whole.encode()) == GrepLine(1, whole, True, 1, PREVIEW_CHARS)


def test_a_match_longer_than_a_preview_is_shown_from_its_beginning() -> None:
    line = only_line(b"a" * 300 + b"x" * 2000 + b"b", "x+")
    assert (line.text, line.column, line.chars) == ("x" * PREVIEW_CHARS, 301, 2301)


def test_what_was_cut_can_be_read() -> None:
    """The calls that a search names for the rest of a long line show all of it."""
    whole = "".join(f"{number}," for number in range(2000)) + "needle" + "z" * 3000
    store = MemoryStore({"a": f"one\n{whole}\nthree\n"})
    result = search(store, GrepRequest("needle"))
    ((_, _, shown),) = rows(result)
    assert [(cut.first, cut.last, cut.line, cut.reason) for cut in result.omitted] == [
        (1, result.files[0].lines[0].column - 1, 2, "preview"),
        (result.files[0].lines[0].column + len(shown), len(whole), 2, "preview"),
    ]
    workspace = Workspace(store)
    seen = ["", shown, ""]
    for part, cut in zip((0, 2), result.omitted, strict=True):
        assert isinstance(cut.request, ReadRequest)
        arguments = {"path": "a", "offset": 2, "limit": 1, "column": cut.first}
        reply = workspace.call("read_file", arguments)
        text = reply.text.split("\n")[1].partition("\t")[2]
        seen[part] = re.sub(r" \[\+\d+ chars\]$", "", text)[: cut.last - cut.first + 1]
        assert cut.request == ReadRequest("a", offset=2, limit=1, column=cut.first)
    assert seen[0].startswith(whole[:1000])
    assert whole.startswith(seen[0])
    assert whole.endswith(shown + seen[2])


def test_an_empty_line_is_no_cut_line() -> None:
    assert only_line(b"x\n\ny\n", "^$") == GrepLine(2, "", True, 1, 0)


@given(
    st.lists(
        st.sampled_from(["x", "é", "日", "😀", "\ud83d".encode("utf-16", "surrogatepass").hex()]), max_size=40
    ),
    st.integers(0, 30),
    st.integers(1, 20),
)
def test_a_preview_is_a_part_of_the_line_that_holds_the_match(parts: list[str], at: int, room: int) -> None:
    before, after = "".join(parts[:at]), "".join(parts[at:])
    whole = f"{before}<>{after}"
    hit = Hit(1, 0, len(before.encode()), 2)
    line = preview(Text(whole.encode()), hit, room)
    assert whole[line.column - 1 : line.column - 1 + len(line.text)] == line.text
    assert len(line.text) == min(room, len(whole))
    assert line.chars == len(whole)
    assert "<>" in line.text or room < 2


@given(st.text("xé日\n", max_size=60), st.integers(1, 12))
def test_a_file_and_the_same_text_in_memory_give_the_same_lines(text: str, count: int) -> None:
    data = text.encode()
    held, file = Text(data), Text(HeldBytes(data))
    starts = [0, *(at + 1 for at, byte in enumerate(data[:-1]) if byte == 0x0A)] if data else []
    for number, start in enumerate(starts):
        assert starts_before(held, start, count) == starts[max(0, number - count) : number]
        assert list(starts_after(held, start, count)) == starts[number + 1 : number + 1 + count]
        assert starts_before(file, start, count) == starts_before(held, start, count)
        assert list(starts_after(file, start, count)) == list(starts_after(held, start, count))
        assert preview(file, Hit(1, start), 5) == preview(held, Hit(1, start), 5)


# --- encodings -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_text_in_unicode_is_found_and_shown_alike(encoding: str) -> None:
    text = "one é\r\nneedle ü 😀\r\nthree\r\n"
    data = text.encode(encoding) if encoding != "utf-16-be" else b"\xfe\xff" + text.encode("utf-16-be")
    result = search(MemoryStore({"a": data}), GrepRequest("needle ü", before=1, after=1))
    assert [(line.number, line.text) for line in result.files[0].lines] == [
        (1, "one é"),
        (2, "needle ü 😀"),
        (3, "three"),
    ]


def test_text_in_an_old_encoding_is_shown_as_reading_shows_it() -> None:
    lines = ["Straße und Größe", "needle: Übergänge in Köln", "weiß", "schön und grün"] * 5
    store = MemoryStore({"a": "\n".join(lines).encode("latin-1")})
    ((line, *_),) = (file.lines for file in search(store, GrepRequest("needle")).files)
    read = Workspace(store).call("read_file", {"path": "a", "offset": 2, "limit": 1}).text
    assert line.text == "needle: Übergänge in Köln"
    assert line.text in read


def test_bytes_that_are_no_characters_are_replaced_one_by_one() -> None:
    line = only_line(b"ok \xff\xfe needle \xc3\n" + "é".encode() * 50)
    assert line.text.startswith("ok ")
    assert "needle" in line.text
    line.text.encode()


# --- large files -----------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def both(root: Path, data: bytes, request: GrepRequest) -> list[tuple[int, str, bool]]:
    """The lines of a search of one file, which is the same on disk and in memory."""
    (root / "a").write_bytes(data)
    found = search(LocalStore(root), request)
    assert without_coverage(found) == without_coverage(search(MemoryStore({"a": data}), request))
    return [(line.number, line.text, line.is_match) for file in found.files for line in file.lines]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("path", [".", "a"])
def test_a_large_file_is_searched_through_its_descriptor(
    end: bytes, mark: bytes, path: str, root: Path
) -> None:
    rows = [b"needle %d" % n if n % 9000 == 0 else b"hay %d" % n for n in range(200_000)]
    data = mark + end.join(rows)
    assert len(data) > SMALL_FILE_BYTES
    request = GrepRequest("^needle [0-9]+$", path, before=1, after=1)
    found = both(root, data, request)
    assert found[:3] == [(1, "needle 0", True), (2, "hay 1", False), (9000, "hay 8999", False)]
    assert len([1 for *_, is_match in found if is_match]) == 23
    for output in ("files", "count"):
        counted = search(LocalStore(root), GrepRequest("^needle [0-9]+$", path, output=output))
        assert [file.matches for file in counted.files] == [23 if output == "count" else 1]


def test_pages_of_a_large_file_go_on_where_they_ended(root: Path) -> None:
    (root / "a").write_bytes(b"hay\n" * 300_000 + b"needle\n" * 5)
    store = LocalStore(root)
    first = search(store, GrepRequest("needle", limit=3))
    assert first.next is not None
    assert [number for _, number, _ in rows(first)] == [300_001, 300_002, 300_003]
    assert [number for _, number, _ in rows(search(store, first.next))] == [300_004, 300_005]


@pytest.mark.parametrize("pattern", [r"\bé needle\b", r"\<needle\>"])
def test_large_and_small_files_find_borders_of_words_like_rg(pattern: str, root: Path) -> None:
    data = "é needle\néneedleé\nneedles\n".encode()
    (root / "small").write_bytes(data)
    (root / "large").write_bytes(data + b"hay\n" * SMALL_FILE_BYTES)
    found = search(LocalStore(root), GrepRequest(pattern))
    assert rows(found) == [("large", 1, "é needle"), ("small", 1, "é needle")]


@daily(3, "mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    "pattern", ["needle", "^", r"\Aneedle", "é$", "^.needle", r"needle\z", "(?-m)^needle"]
)
def test_what_is_behind_a_line_of_a_large_file_is_found_as_from_its_start(
    pattern: str, mark: bytes, root: Path
) -> None:
    """A page that goes on in a file begins where the one before ended, whatever its first bytes look like."""
    odd = [
        b"needle \xc3\xa9\r\n",
        b"\xef\xbb\xbfneedle\n",
        b"\xff\xfen\0e\0\n",
        b"\n",
        b"\r\n",
        b"hay\n",
        b"needle\n",
    ]
    lines = [*odd, b"hay " * (SMALL_FILE_BYTES // 4) + b"\n", *odd, b"needle"]
    (root / "large").write_bytes(mark + b"".join(lines))
    request = GrepRequest(pattern, "large")
    with LocalStore(root).open(WorkPath("large")) as source:
        every = list(lines_of_source(source, request, Deadline(60), ()))
        for after in (*range(len(lines) + 2), 10**9):
            behind = list(lines_of_source(source, request, Deadline(60), (), after))
            assert behind == [hit for hit in every if hit.number > after]


def test_matches_span_lines_of_large_files(root: Path) -> None:
    data = b"hay\n" * SMALL_FILE_BYTES + b"begin\nmiddle\nend\n"
    request = GrepRequest(r"begin\n(.*\n)?end", multiline=True, before=1)
    last = SMALL_FILE_BYTES + 1
    assert both(root, data, request) == [
        (last - 1, "hay", False),
        (last, "begin", True),
        (last + 1, "middle", True),
        (last + 2, "end", True),
    ]


def test_large_utf16_is_searched_up_to_a_limit_and_beyond_it_said_to_be_left_out(root: Path) -> None:
    text = "hay é\r\n" * 100_000 + "needle ü\r\nend\r\n"
    assert both(root, text.encode("utf-16"), GrepRequest("needle", after=1)) == [
        (100_001, "needle ü", True),
        (100_002, "end", False),
    ]
    (root / "a").write_bytes(b"\xff\xfe" + b"n\0e\0" * (GREP_WIDE_BYTES // 4) + b"\n\0")
    result = search(LocalStore(root), GrepRequest("nene"))
    assert (result.files, [warning.code for warning in result.warnings][:1]) == ([], ["too_large"])


@whole
def test_a_line_that_no_process_may_hold_is_searched_all_the_same(root: Path) -> None:
    size = GREP_CHILD_BYTES
    with (root / "a").open("wb") as file:
        file.write(
            b"first\n" + "é".encode() * (size // 4) + b"needle" + b"y" * (size // 2) + b"\nlast needle\n"
        )
    store = LocalStore(root)
    for request in (
        GrepRequest("needle", timeout_s=300),
        GrepRequest("needle", "a", timeout_s=300),
        GrepRequest(r"\bneedley|\blast needle", timeout_s=300),
    ):
        found = search(store, request)
        assert [number for _, number, _ in rows(found)][-1] == 3
    long, short = search(store, GrepRequest("needle", before=1, timeout_s=300)).files[0].lines[1:]
    assert (long.number, short.text) == (2, "last needle")
    assert long.column == size // 4 - (PREVIEW_CHARS - 6) // 2 + 1
    assert "éneedley" in long.text
    assert len(long.text) == PREVIEW_CHARS
    # How long it is would have to be found out by reading on.
    assert size // 2 > GREP_SCAN_BYTES
    assert long.chars is None
    assert search(store, GrepRequest("needle", output="count")).files[0].matches == 2


def test_a_long_line_whose_end_is_near_says_how_long_it_is(root: Path) -> None:
    data = b"x" * (2 * GREP_LINE_BYTES) + "é".encode() * 1000 + b"needle" + b"y" * 1000 + b"\r\n"
    (root / "a").write_bytes(data + b"hay\n" * SMALL_FILE_BYTES)
    ((line,),) = (file.lines for file in search(LocalStore(root), GrepRequest("needle")).files)
    assert line.chars == 2 * GREP_LINE_BYTES + 2006
    assert line.text == ("é" * 247 + "needle" + "y" * 247)
    assert line.column == 2 * GREP_LINE_BYTES + 1000 - 247 + 1


def test_a_nul_far_into_a_file_does_not_hide_what_comes_after_it(root: Path) -> None:
    data = b"needle\n" + b"hay\n" * 30_000 + b"\0\nneedle\n"
    assert [number for number, _, is_match in both(root, data, GrepRequest("needle"))] == [1, 30_003]


def test_context_of_a_page_is_not_counted_as_matches(root: Path) -> None:
    (root / "a").write_bytes(b"needle\nneedle\nneedle\n")
    result = search(LocalStore(root), GrepRequest("needle", after=2, limit=1))
    assert (result.shown, context(result)) == (1, [("a", 2), ("a", 3)])
