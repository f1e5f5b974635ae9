"""What a contract's options change about searches, listings, diffs, writes and outlines beside a window."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from readroom.core.caller import ANONYMOUS
from readroom.core.contracts.native import NATIVE
from readroom.core.deadline import Deadline
from readroom.core.formats.kinds import kind_among
from readroom.core.paths import WorkPath
from readroom.core.stores.memory import MemoryStore
from readroom.core.stores.outputs import Outputs, output_name
from readroom.core.values import (
    Cap,
    GrepRequest,
    GrepResult,
    Kind,
    ListRequest,
    ListResult,
    Measure,
    ReadRequest,
    ReadResult,
)
from readroom.core.values.changes import (
    ABSENT,
    DiffStyle,
    Edit,
    EditRequest,
    EditResult,
    WriteRequest,
    WriteResult,
)
from readroom.core.values.options import ReadOptions, SearchOptions
from readroom.core.values.steps import AS_IT_IS, Steps
from readroom.core.workspace import Workspace
from tests.each import each

R = TypeVar("R")
COUNTED = SearchOptions(count_s=60)
FILES = {"a": "hit 1\nno\nhit 2\n", "b/c": "hit 3\n", "d": "no\n", "e": "hit 4\nhit 5"}


def performed(
    store: MemoryStore | Path,
    request: ReadRequest | GrepRequest | ListRequest | EditRequest | WriteRequest,
    wanted: type[R],
    size: int = 32_768,
    measure: Measure = NATIVE.measure,
    steps: Steps = AS_IT_IS,
) -> R:
    with Workspace(store) as workspace:
        found = workspace.engine.perform(request, Cap(size, measure), Deadline(), steps=steps)
    assert isinstance(found, wanted)
    return found


def texts(result: GrepResult) -> list[str]:
    return [line.text for file in result.files for line in file.lines if line.is_match]


@each("local", [False, True])
@each("limit", [1, 2, 100])
def test_all_matches_are_counted_and_pages_begin_at_a_number(tmp_path: Path, limit: int, local: bool) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    store = tmp_path if local else MemoryStore(FILES)
    found: list[str] = []
    request: GrepRequest | None = GrepRequest("hit", sort="path", limit=limit, options=COUNTED)
    while request is not None:
        page = performed(store, request, GrepResult)
        assert page.total_matches == 5
        assert page.shown == len(texts(page))
        found += texts(page)
        request = page.next
    assert found == [f"hit {number}" for number in range(1, 6)]


def test_counting_ends_with_its_own_time_and_what_is_shown_stays() -> None:
    options = SearchOptions(count_s=0.0)
    page = performed(MemoryStore(FILES), GrepRequest("hit", limit=2, options=options), GrepResult)
    assert (texts(page), page.total_matches, page.reason) == (["hit 1", "hit 2"], None, "limit")
    assert page.next is not None
    assert page.next.skip == 2


def test_without_it_nothing_is_counted() -> None:
    page = performed(MemoryStore(FILES), GrepRequest("hit", limit=1), GrepResult)
    assert page.total_matches is None
    assert page.next is not None
    assert page.next.cursor


def test_a_whole_line_is_shown_where_the_options_say_so() -> None:
    store = MemoryStore({"a": "x" * 3000 + "hit"})
    options = SearchOptions(preview_chars=4000)
    assert len(texts(performed(store, GrepRequest("hit", options=options), GrepResult))[0]) == 3003


def test_matches_take_no_more_than_their_bytes() -> None:
    store = MemoryStore({"a": "hit hit hit\n" * 100})
    assert NATIVE.measure.search is not None
    few = replace(NATIVE.measure, search=replace(NATIVE.measure.search, content_bytes=200))
    page = performed(store, GrepRequest("hit", options=COUNTED), GrepResult, measure=few)
    assert (page.reason, page.total_matches) == ("reply_cap", 100)
    assert page.shown < 20


@pytest.mark.parametrize("limit", [1, 3])
def test_a_listing_by_number_shows_every_name_once(limit: int) -> None:
    store = MemoryStore(dict.fromkeys("abcdefg", ""))
    names: list[str] = []
    request: ListRequest | None = ListRequest(limit=limit, skip=0)
    while request is not None:
        page = performed(store, request, ListResult)
        assert (page.total, page.first) == (7, len(names) + 1)
        names += [entry.path for entry in page.entries]
        request = page.next
    assert names == list("abcdefg")


def test_a_diff_has_the_context_that_is_asked_for() -> None:
    store = MemoryStore({"a": "1\n2\n3\n4\n5\n6\n7\n" + "x" * 600})
    edits = (Edit("4", "four"), Edit("x" * 600, "y" * 600))
    request = EditRequest("a", None, edits, diff=DiffStyle(1, 1000))
    text = performed(store, request, EditResult).diff.text
    assert text.startswith("@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n@@ -7,2 +7,2 @@\n 7\n-" + "x" * 600)


def test_bytes_are_written_as_they_are() -> None:
    store = MemoryStore({"a": "x\r\ny\r\n"})
    data = b"\0\xff\n"
    assert performed(store, WriteRequest("a", "", None, data=data), WriteResult).size_bytes == 3
    assert performed(store, WriteRequest("b", "", ABSENT, data=b""), WriteResult).size_bytes == 0
    with store.open(WorkPath("a")) as source:
        assert source.read_at(0, 9) == data


def test_an_outline_takes_what_its_options_give_it() -> None:
    store = MemoryStore({"a.py": "".join(f"def f{number}(): pass\n" for number in range(50))})
    without = ReadRequest("a.py", limit=1, options=ReadOptions(outline_bytes=0))
    assert performed(store, without, ReadResult).outline is None
    assert performed(store, ReadRequest("a.py", limit=1), ReadResult).outline is None
    outline = performed(
        store, ReadRequest("a.py", limit=1, options=ReadOptions(outline_bytes=400)), ReadResult
    ).outline
    assert outline is not None
    assert sum(NATIVE.measure.read.outlined(row) for row in outline.rows) <= 400
    assert len(outline.rows) > 10


def test_numbered_lines_take_no_more_than_their_bytes() -> None:
    store = MemoryStore({"a": "x" * 9 + "\n" + "y" * 9 + "\n" + "z" * 50})
    few = replace(NATIVE.measure, read=replace(NATIVE.measure.read, content_bytes=30))
    found = performed(store, ReadRequest("a"), ReadResult, measure=few)
    assert (list(found.lines), found.next and found.next.offset) == (["x" * 9, "y" * 9], 3)
    unmarked = replace(few, read=replace(few.read, mark_bytes=0))
    cut = performed(store, ReadRequest("a", offset=3), ReadResult, measure=unmarked)
    assert cut.cuts[3].last == 30 - NATIVE.measure.read.numbered(3)


def test_endings_of_a_contract_decide_what_a_text_is() -> None:
    endings = ((".dat", "binary"), (".txt", "log"))
    steps = Steps(lambda one: kind_among(endings, one.real, one.plain))
    options = ReadOptions(raw_bytes=2)
    store = MemoryStore({"a.dat": "xyz", "a.TXT": "x", "app.log": "x", "a.py": "x"})

    def kind(path: str) -> Kind:
        return performed(store, ReadRequest(path, options=options), ReadResult, steps=steps).kind

    assert performed(store, ReadRequest("a.dat", options=options), ReadResult, steps=steps).raw == b"xy"
    assert [kind(path) for path in ("a.TXT", "app.log", "a.py")] == [Kind.LOG, Kind.TEXT, Kind.SOURCE]


def test_a_broken_image_is_handed_out_where_the_options_say_so() -> None:
    data = b"\x89PNG\r\n\x1a\n\0broken"
    found = performed(
        MemoryStore({"a": data}), ReadRequest("a", options=ReadOptions(raw_bytes=1)), ReadResult
    )
    assert found.image is not None
    assert (found.image.data, found.image.media_type) == (data, "image/png")


def test_names_of_outputs_hold_nothing_but_letters_digits_and_dashes() -> None:
    assert output_name("../../etc/x y\0ü_-1") == "etcxy_-1"
    outputs = Outputs("/workspace", 100, 1000)
    own = outputs.of(ANONYMOUS.owner)
    try:
        names = []
        for wanted in ("../c", "c", "c", "ü", None):
            name, keepers = own.begin(wanted)
            own.finish(name, keepers)
            names.append(name)
    finally:
        outputs.close()
    assert names[:3] == ["c", "c-2", "c-3"]
    assert all(name.isalnum() for name in names[3:])
