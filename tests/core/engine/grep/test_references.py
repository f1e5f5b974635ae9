"""Who uses a name: every match once, told apart by kind, in an order that pages keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.references import places as places_of_file
from readroom.core.engine.grep.references import rows as rows_of_page
from readroom.core.errors import TimedOut
from readroom.core.limits import Limits
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.uses import Use, Uses
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.values.matches import USE_KINDS
from tests.each import each
from tests.laws.driving import STORES, Driver, StoreName, fact, rows, stored

FILES = {
    "a.py": b"from b import go\n\nclass A:\n    # go\n    def f(self):\n"
    b"        go(go)\n        return 'go'\n",
    "b.py": b"def go(x):\n    return go\n",
    "c.js": b"import {go} from './go';\ngo();\n",
    "notes.md": b"# go\n\nhow to go\n",
    "data.json": b'{"go": 1}\n',
    "build.mk": b"go:\n\tgo build\n",
    "gone.py": b"gone = go_on = 1\n",
    ".env": b"go=1\n",
}

Found = tuple[str, str, int]

PATIENT = Limits(grep_timeout_s=200)
"""Limits of tests that are not about time, for busy machines."""


def _found(reply: Reply) -> list[Found]:
    """Kind, file and line of each row of a reply."""
    files = fact(reply, "files")
    return [(line["kind"], file["path"], line["line"]) for file in files for line in file["lines"]]


def _refs(files: Mapping[str, bytes] = FILES, name: str = "go", **options: Any) -> Reply:
    return Driver(MemoryStore(files), limits=PATIENT).call(
        "grep_files", pattern=name, output="references", **options
    )


@each("store", STORES)
def test_each_match_has_its_kind_and_definitions_come_first(store: StoreName) -> None:
    with stored(store, FILES) as opened:
        reply = Driver(opened, limits=PATIENT).call("grep_files", pattern="go", output="references")
    assert _found(reply) == [
        ("definition", "b.py", 1),
        ("call", "a.py", 6),
        ("call", "c.js", 2),
        ("import", "a.py", 1),
        ("import", "c.js", 1),
        ("use", "a.py", 6),
        ("use", "b.py", 2),
        ("use", "build.mk", 1),
        ("use", "build.mk", 2),
        ("text", "a.py", 7),
        ("text", "data.json", 1),
        ("text", "notes.md", 1),
        ("text", "notes.md", 3),
        ("comment", "a.py", 4),
    ]
    assert fact(reply, "kinds") == {
        "definition": 1, "call": 2, "import": 2, "use": 4, "text": 4, "comment": 1,
    }  # fmt: skip
    assert fact(reply, "complete")
    assert ".env" not in reply.text


def test_the_reply_groups_them_by_file_and_definition() -> None:
    reply = _refs(path="a.py")
    counts = "5 matches in 1 file | by name: 1 call, 1 import, 1 use, 1 text, 1 comment"
    assert reply.text.split("\n")[0] == counts
    assert rows(reply) == [
        "calls in a.py",
        "in A.f:",
        "6\t        go(go)",
        "imports in a.py",
        "1\tfrom b import go",
        "uses in a.py",
        "in A.f:",
        "6\t        go(go)",
        "text in a.py",
        "in A.f:",
        "7\t        return 'go'",
        "comments in a.py",
        "in A.f:",
        "4\t    # go",
    ]


def test_the_places_in_a_line_are_named() -> None:
    lines = [
        line for file in fact(_refs(path="a.py"), "files") for line in file["lines"] if line["line"] == 6
    ]
    assert [(line["kind"], line["columns"]) for line in lines] == [("call", [9]), ("use", [12])]


def test_a_definition_is_not_its_own_surroundings() -> None:
    files = {"a.py": b"class A:\n    def go(self):\n        self.go()\n"}
    lines = {
        line["line"]: line.get("symbol") for file in fact(_refs(files), "files") for line in file["lines"]
    }
    assert lines == {2: "A", 3: "A.go"}


def test_only_some_kinds_are_shown_and_all_are_counted() -> None:
    reply = Driver(MemoryStore(FILES), limits=PATIENT).call(
        "grep_files", pattern="go", kinds=["import", "definition"]
    )
    assert [kind for kind, *_ in _found(reply)] == ["definition", "import", "import"]
    assert fact(reply, "output") == "references"
    assert fact(reply, "kinds")["use"] == 4
    refused = Driver(MemoryStore(FILES), limits=PATIENT).call(
        "grep_files", pattern="go", kinds=["call"], output="count"
    )
    assert refused.is_error
    assert 'output="references"' in refused.text


def test_by_path_each_row_has_its_kind() -> None:
    reply = _refs(sort="path", path="b.py")
    assert rows(reply) == ["b.py", "1 definition\tdef go(x):", "in go:", "2 use\t    return go"]
    paths = [path for _, path, _ in _found(_refs(sort="path"))]
    assert paths == sorted(paths)


def test_what_is_not_parsed_keeps_its_matches_and_is_named() -> None:
    big = b"def go(): pass\n" + b"#" * OUTLINE_BYTES
    deep = b"go(" * 1000 + b")" * 1000 + b"\n"
    reply = _refs({"big.py": big, "deep.py": deep, "broken.py": b"def go(:\n  ]]] = go\n", "x.txt": b"go\n"})
    assert {(path, line) for _, path, line in _found(reply)} == {
        *(("big.py", 1), ("deep.py", 1), ("x.txt", 1)),
        *(("broken.py", 1), ("broken.py", 2)),
    }
    assert [row for row in rows(reply) if row.startswith("1?\tdef go()")]
    (about,) = [warn["detail"] for warn in fact(reply, "warnings") if warn["code"] == "not_parsed"]
    assert "big.py: larger than 1,048,576 bytes" in about
    assert "deep.py: it is nested too deeply" in about
    assert fact(reply, "unlabelled") == 5


@each(
    ("name", "text", "wanted"),
    [
        ("$x", b"$x = 1;\n$xy; a$x\n", [1, 2]),
        ("a.b", b"a.b(1)\naxb(1)\n", [1]),
        ("operator+", b"T operator+(T a);\noperator-\n", [1]),
        ("größe", "größe = 1\nübergröße\ngrößer\n".encode(), [1]),
        ("日本", "日本 = 1\n日本語\n".encode(), [1]),
        ("(x|y)*", b"(x|y)*\nxyxy\n", [1]),
        ("\\b", b"\\b\nb\n", [1]),
    ],
)
def test_a_name_is_taken_literally_and_as_a_whole_word(name: str, text: bytes, wanted: list[int]) -> None:
    for path in ("a.php", "a.py", "a.cpp", "a.txt"):
        found = sorted({line for _, _, line in _found(_refs({path: text}, name))})
        assert found == wanted, path


@each("name", ["", "  ", "a\nb"])
def test_what_is_no_name_is_refused(name: str) -> None:
    reply = _refs(name=name)
    assert reply.is_error


@each("options", [{"context": 2}, {"multiline": True}, {"documents": True}, {"sort": "mtime"}])
def test_arguments_that_do_not_fit_are_refused_with_a_call_that_works(options: dict[str, Any]) -> None:
    caller = Driver(MemoryStore(FILES), limits=PATIENT)
    reply = caller.call("grep_files", pattern="go", output="references", **options)
    assert reply.is_error
    assert not caller.follow(fact(reply, "error")["next"]).is_error


# -----------------------------------------------------------------------------
# Pages.
# -----------------------------------------------------------------------------

_LINES = st.sampled_from([
    *("def go(x):", "    go(1)", "import go", "from go import go", "x = 'go'  # go", "# go", "o = 1"),
    *("class go: pass", "go = go(go)", "x = = go", "    return go, go", "", "\tgo" + " " * 700 + "go"),
])  # fmt: skip
_TREES = st.dictionaries(
    st.sampled_from(["a.py", "b.txt", "c/d.py", "c/e.js", "f.rb", "g.c"]),
    st.lists(_LINES, max_size=12).map(lambda lines: "\n".join(lines).encode()),
    min_size=1,
)


@given(
    files=_TREES,
    limit=st.one_of(st.none(), st.integers(1, 7)),
    cap=st.sampled_from([1, 2000, None]),
    kinds=st.sets(st.sampled_from(USE_KINDS)),
    by_path=st.booleans(),
    batch=st.sampled_from([1, 3, 1000]),
    store=st.sampled_from(STORES),
)
def test_pages_show_every_match_once(
    files: Mapping[str, bytes],
    limit: int | None,
    cap: int | None,
    kinds: set[str],
    by_path: bool,
    batch: int,
    store: StoreName,
) -> None:
    """Each line of a plain search has a row; with any limit, cap and batch the same rows come, each once."""
    before = rows_of_page.USES_LINES
    with stored(store, files) as opened:
        plain = Driver(opened, limits=PATIENT).call("grep_files", pattern=r"\bgo\b", limit=5000)
        matching = {(file["path"], line["line"]) for file in fact(plain, "files") for line in file["lines"]}
        options: dict[str, Any] = {"output": "references", "pattern": "go"}
        everything = _found(Driver(opened, limits=PATIENT).call("grep_files", **options, limit=5000))
        assert {found[1:] for found in everything} == matching
        assert len(set(everything)) == len(everything)
        if kinds:
            options["kinds"] = sorted(kinds)
        if limit is not None:
            options["limit"] = limit
        if by_path:
            options["sort"] = "path"
        rows_of_page.USES_LINES = batch
        try:
            pages = [
                _found(reply)
                for reply in Driver(opened, reply_bytes=cap, limits=PATIENT).pages("grep_files", **options)
            ]
        finally:
            rows_of_page.USES_LINES = before
    found = [row for page in pages for row in page]
    assert len(set(found)) == len(found)
    assert set(found) == {row for row in everything if not kinds or row[0] in kinds}
    if batch == 1000 and not by_path:
        assert found == sorted(found, key=lambda row: USE_KINDS.index(row[0])), "kinds come in their order"


def _places(reply: Reply) -> list[Found]:
    """File, line and column of each match that a reply shows."""
    return [
        (file["path"], line["line"], column)
        for file in fact(reply, "files")
        for line in file["lines"]
        for column in line["columns"]
    ]


@given(
    files=_TREES,
    limit=st.integers(1, 5),
    slow=st.lists(st.booleans(), min_size=1, max_size=8),
    by_path=st.booleans(),
    batch=st.sampled_from([1, 3, 1000]),
    most=st.sampled_from([1, 2, 8]),
)
def test_files_that_parse_in_time_on_some_pages_only_are_shown_once(
    files: Mapping[str, bytes], limit: int, slow: list[bool], *, by_path: bool, batch: int, most: int
) -> None:
    """A page may lack the time to parse: still no match is passed over, or comes again with another label."""
    driver = Driver(MemoryStore(files), limits=PATIENT)
    options: dict[str, Any] = {"pattern": "go", "output": "references"}
    everything = _places(driver.call("grep_files", **options, limit=5000))
    if by_path:
        options["sort"] = "path"
    found: list[Found] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_of_page, "USES_LINES", batch)
        patch.setattr(rows_of_page, "USES_SLOW_FILES", most)
        patch.setattr(places_of_file, "USES_PARSE_S", 0.0 if slow[0] else 60.0)
        for number, reply in enumerate(driver.pages("grep_files", **options, limit=limit), 1):
            found += _places(reply)
            patch.setattr(places_of_file, "USES_PARSE_S", 0.0 if slow[number % len(slow)] else 60.0)
    assert sorted(found) == sorted(everything)


def test_labels_that_end_within_a_file_end_there_on_each_page(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.py": b"go(1)\nx = go\ngo(2)\nx = go\ngo(3)\n", "b.py": b"go(4)\n"}
    told: list[int] = []
    of_line = Uses.of_line

    def of_some(self: Uses, number: int, places: Sequence[tuple[int, int]], deadline: Deadline) -> list[Use]:
        told.append(number)
        if len(told) == 3:
            raise TimedOut(0.0, "some lines")
        return of_line(self, number, places, deadline)

    monkeypatch.setattr(Uses, "of_line", of_some)
    options: dict[str, Any] = {"pattern": "go", "output": "references", "limit": 1}
    pages = list(Driver(MemoryStore(files), limits=PATIENT).pages("grep_files", **options))
    assert [row for page in pages for row in _found(page)] == [
        *(("call", "a.py", 1), ("call", "b.py", 1)),
        *(("use", "a.py", line) for line in (2, 3, 4, 5)),
    ]


def test_a_cursor_belongs_to_its_arguments() -> None:
    caller = Driver(MemoryStore(FILES), limits=PATIENT)
    reply = caller.call("grep_files", pattern="go", output="references", limit=2)
    cursor = fact(reply, "next")["arguments"]["cursor"]
    for options in (
        {"pattern": "gone"},
        {"pattern": "go", "kinds": ["call"]},
        {"pattern": "go", "sort": "path"},
    ):
        other = caller.call("grep_files", output="references", cursor=cursor, **options)
        assert other.is_error
    for broken in (cursor + "x/../..", cursor[:-3], cursor[:7], cursor.replace("_", "-")):
        reply = caller.call("grep_files", pattern="go", output="references", cursor=broken)
        assert reply.is_error or fact(reply, "files") is not None


def test_a_name_with_many_matches_is_counted_and_continues() -> None:
    text = b"".join(b"go(%d)\n" % number for number in range(800))
    files = {f"f{number}.py": text for number in range(3)} | {"z.py": b"def go(x): pass\n"}
    caller = Driver(MemoryStore(files), limits=Limits(grep_limit=50))
    reply = caller.call("grep_files", pattern="go", output="references")
    assert _found(reply)[0] == ("definition", "z.py", 1)
    assert fact(reply, "kinds")["call"] == 2400
    following = caller.follow(fact(reply, "next"))
    assert _found(following)[0][1:] == ("f0.py", 50)


def test_a_budget_that_runs_low_shows_counts() -> None:
    from readroom.core.session.meter import Level, degraded
    from readroom.core.values import GrepRequest

    less = degraded(GrepRequest("a.b", output="references", kinds=("call",)), Level.OUTLINE)
    assert less == GrepRequest(r"\ba\.b\b", output="count")


def test_by_path_a_page_may_end_within_a_line() -> None:
    caller = Driver(MemoryStore({"a.py": b"go = go(go)  # go\ngo\n"}))
    pages = list(caller.pages("grep_files", pattern="go", output="references", sort="path", limit=1))
    assert [_found(page) for page in pages] == [
        [("definition", "a.py", 1)],
        [("call", "a.py", 1)],
        [("use", "a.py", 1)],
        [("comment", "a.py", 1)],
        [("use", "a.py", 2)],
    ]


def test_a_line_with_very_many_places_is_told_in_time() -> None:
    text = b"x = [" + b"go," * 100_000 + b"]\n"
    reply = _refs({"a.js": text}, timeout_s=120)
    assert [(kind, line) for kind, _, line in _found(reply)] == [("use", 1)]
