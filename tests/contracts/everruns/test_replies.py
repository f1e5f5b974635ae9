"""The Everruns contract: what its reads, searches and listings say, beyond its shared cases."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.contracts.everruns.requests import CONTENT_BYTES as EVERRUNS_CONTENT_BYTES
from readroom.contracts.everruns.requests import REPLY_BYTES as EVERRUNS_REPLY_BYTES
from readroom.core.errors import Closed
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.each import each

Json = Any

FIELDS = [
    "path", "content", "total_lines", "lines_shown", "truncated", "content_type", "read_mode", "size_bytes",
    "content_hash", "truncation",
]  # fmt: skip


def call(files: Mapping[str, bytes | str], tool: str, **arguments: Json) -> Reply:
    with Workspace(MemoryStore(files)) as workspace:
        return workspace.call(tool, arguments, contract_name="everruns")


def said(files: Mapping[str, bytes | str], tool: str, **arguments: Json) -> Json:
    reply = call(files, tool, **arguments)
    assert not reply.is_error, reply.text
    return json.loads(reply.text)


def failure(files: Mapping[str, bytes | str], tool: str, **arguments: Json) -> str:
    reply = call(files, tool, **arguments)
    assert reply.is_error
    return reply.text


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


# --- read_file ---------------------------------------------------------------------------------


@pytest.mark.clause("everruns.read.fields", "everruns.deviation.types-on-the-wire")
@each(
    ("name", "kind", "mode"),
    [
        ("a.rs", "source", "offset"),
        ("a.toml", "config", "offset"),
        ("a.md", "text", "offset"),
        ("LICENSE", "text", "offset"),
        ("a.out", "log", "tail"),
        ("a.tsv", "csv", "offset"),
        ("a.min.css", "minified", "offset"),
        ("app.log.1", "text", "offset"),
    ],
)
def test_every_read_names_all_facts_in_one_order(name: str, kind: str, mode: str) -> None:
    found = said({name: "a\nb\n"}, "read_file", path=name)
    assert list(found) == FIELDS
    assert (found["content_type"], found["read_mode"]) == (kind, mode)
    assert found["content_hash"] == "sha256:" + hashlib.sha256(b"a\nb\n").hexdigest()


@pytest.mark.clause("everruns.read.path", "everruns.errors.missing-path")
@pytest.mark.parametrize("arguments", [{}, {"path": ""}, {"path": "  "}, {"path": 7}])
def test_without_a_path_it_says_that_it_is_missing(arguments: dict[str, Json]) -> None:
    assert failure({}, "read_file", **arguments) == "Missing required parameter: path"


@pytest.mark.clause("everruns.read.kind-log", "everruns.deviation.tail")
def test_a_tail_is_truncated_at_its_head_and_says_what_is_above() -> None:
    found = said({"a.log": numbered(1, 600)}, "read_file", path="a.log")
    assert found["lines_shown"] == {"start": 101, "end": 600}
    assert found["truncated"]
    assert found["truncation"]["not_shown"] == {"start": 1, "end": 100}
    assert found["truncation"]["resume_hint"] == "call read_file with offset=0 to resume from line 1"


@pytest.mark.clause("everruns.deviation.tail", "everruns.deviation.long-line")
def test_the_continuations_of_a_tail_that_is_one_long_line_reach_the_lines_above_and_its_rest() -> None:
    files = {"a.log": numbered(1, 600) + "é" * 60_000 + "\n"}
    found = said(files, "read_file", path="a.log")
    assert found["lines_shown"] == {"start": 601, "end": 601}
    assert found["truncation"]["not_shown"] == {"start": 1, "end": 600}
    cut = len(found["content"]) - len("601|")
    assert found["notes"] == [
        f"Line 601 is cut after {cut} of 60000 characters; "
        f"read_file with offset=600 and column={cut} shows more of it."
    ]
    read = ""
    while found["truncated"]:
        after = found["truncation"]
        arguments = {"offset": after["next_offset"], "column": after.get("next_column", 0)}
        found = said(files, "read_file", path="a.log", **arguments)
        lines = [row.partition("|")[2] for row in found["content"].split("\n")]
        read += ("" if arguments["column"] or not read else "\n") + "\n".join(lines)
    assert read + "\n" == files["a.log"]


@pytest.mark.clause("everruns.read.offset-and-limit")
def test_a_log_is_read_where_the_caller_says() -> None:
    found = said({"a.log": numbered(1, 600)}, "read_file", path="a.log", offset=10, limit=2)
    assert found["content"] == "11|line 11\n12|line 12"
    assert found["read_mode"] == "offset"


@pytest.mark.clause("everruns.read.kind-text")
def test_text_shows_two_thousand_lines() -> None:
    found = said({"a.md": numbered(1, 2001)}, "read_file", path="a.md")
    assert found["lines_shown"] == {"start": 1, "end": 2000}


@pytest.mark.clause("everruns.read.csv-header")
def test_the_header_stands_above_a_later_window_and_does_not_count() -> None:
    table = "id,name\n" + "".join(f"{number},n\n" for number in range(1, 200))
    found = said({"d.csv": table}, "read_file", path="d.csv", offset=100)
    assert found["content"].startswith("1|id,name\n101|100,n\n")
    assert found["lines_shown"] == {"start": 101, "end": 200}
    assert not found["truncated"]


@pytest.mark.clause("everruns.read.csv-header-past-end")
@pytest.mark.parametrize("offset", [3, 1000])
def test_a_window_past_the_end_of_a_table_has_the_header(offset: int) -> None:
    found = said({"d.csv": "id,name\n1,n\n2,n\n"}, "read_file", path="d.csv", offset=offset)
    assert found["content"] == "1|id,name"
    assert found["lines_shown"] == {"start": 0, "end": 0}
    assert not found["truncated"]
    assert said({"e.csv": ""}, "read_file", path="e.csv", offset=offset)["content"] == ""
    assert said({"a.txt": "id,name\n"}, "read_file", path="a.txt", offset=offset)["content"] == ""


@pytest.mark.clause("everruns.read.bytes-total")
@each(
    ("data", "asked"),
    [
        ("hello world", {}),
        ("", {}),
        (numbered(1, 50), {"offset": 40}),
        (numbered(1, 3), {"offset": 9}),
        ("a\r\nb\r\n", {}),
        (b"\0\1\2", {}),
    ],
)
def test_of_a_complete_read_all_bytes_are_returned(data: str | bytes, asked: dict[str, Json]) -> None:
    found = said({"a.x": data}, "read_file", path="a.x", **asked)
    size = len(found["content"].encode())
    told = {"truncated": False, "reason": "size_cap", "bytes_returned": size, "bytes_total": size}
    assert found["truncation"] == told


@pytest.mark.clause("everruns.read.bytes-total")
def test_of_a_cut_read_the_size_of_the_file_is_told() -> None:
    found = said({"a.txt": numbered(1, 50)}, "read_file", path="a.txt", limit=2)["truncation"]
    assert (found["bytes_returned"], found["bytes_total"]) == (17, len(numbered(1, 50)))


@pytest.mark.clause("everruns.read.size-cap")
@each(
    ("name", "data", "asked", "reason"),
    [
        ("a.txt", ("x" * 99 + "\n") * 3000, {}, "size_cap"),
        ("a.txt", ("x" * 99 + "\n") * 30_000, {"limit": 600}, "size_cap"),
        ("a.txt", ("x" * 99 + "\n") * 3000, {"limit": 400}, "line_cap"),
        ("a.log", ("x" * 99 + "\n") * 3000, {}, "size_cap"),
        ("a.log", ("x" * 99 + "\n") * 3000, {"limit": 400}, "line_cap"),
        ("a.log", "y" * 60_000 + "\nshort\n", {}, "size_cap"),  # one line shown, one above it
        ("a.log", "short\nshort\n", {"limit": 1}, "line_cap"),
        ("a.csv", "h\n" + ("x" * 999 + "\n") * 90, {}, "size_cap"),
        ("a.txt", "y" * 60_000, {}, "size_cap"),
    ],
)
def test_the_reason_is_the_cap_that_cut(name: str, data: str, asked: dict[str, Json], reason: str) -> None:
    found = said({name: data}, "read_file", path=name, **asked)
    assert found["truncated"]
    assert found["truncation"]["reason"] == reason


@pytest.mark.clause("everruns.read.images")
@pytest.mark.parametrize("data", [b"\xff\xd8\xff", b"\xff\xd8\xff\xe0ab", b"\xff\xd8\xff\xdb" + b"a" * 500])
def test_a_jpeg_is_an_image_by_its_first_bytes_however_short(data: bytes) -> None:
    reply = call({"f.txt": data}, "read_file", path="f.txt")
    found = json.loads(reply.text)
    assert (found["media_type"], "content" in found) == ("image/jpeg", False)
    assert [image.data for image in reply.images] == [data]


@pytest.mark.clause("everruns.read.binary", "everruns.deviation.binary-content")
def test_binary_is_base64_up_to_the_cap() -> None:
    small, large = b"\0\1\2", b"\0" + bytes(range(256)) * 300
    found = said({"a.x": small}, "read_file", path="a.x")
    assert (found["content_type"], found["encoding"], found["truncated"]) == ("binary", "base64", False)
    assert base64.b64decode(found["content"]) == small
    assert found["note"] == "Binary file — use a different tool or download to inspect."
    found = said({"a.x": large}, "read_file", path="a.x")
    assert len(found["content"]) == EVERRUNS_CONTENT_BYTES
    assert large.startswith(base64.b64decode(found["content"]))
    assert found["truncated"]
    assert found["truncation"]["bytes_total"] == len(large)
    assert found["content_hash"] == "sha256:" + hashlib.sha256(large).hexdigest()


@pytest.mark.clause("everruns.deviation.notes")
def test_notes_say_what_lines_do_not_show() -> None:
    files = {"a": "x", "b": "x\n", "c": "x\u202ey\n"}
    assert said(files, "read_file", path="a")["notes"] == ["The file has no final newline."]
    assert "notes" not in said(files, "read_file", path="b")
    assert "U+202E" in said(files, "read_file", path="c")["notes"][0]


@pytest.mark.clause("everruns.deviation.notes")
def test_notes_say_what_a_change_broke() -> None:
    broken = said({}, "write_file", path="a.py", content="x = 1\ny = [1\n")
    assert broken["notes"] == ["Warning: cut off at line 2 (`[` is not closed where the text ends)."]
    assert "notes" not in said({}, "write_file", path="a.py", content="x = 2\n")
    edit = {"old_text": "]", "new_text": ""}
    known = "sha256:" + hashlib.sha256(b"x = [1]\n").hexdigest()
    edited = said({"a.py": "x = [1]\n"}, "edit_file", path="a.py", expected_hash=known, edits=[edit])
    assert edited["notes"] == ["Warning: no longer parses at line 1 (`[` is not closed)."]


@pytest.mark.clause("everruns.read.nul")
def test_a_nul_among_the_first_8192_bytes_makes_a_file_binary() -> None:
    files = {"last": b"x" * 8191 + b"\0", "behind": b"x" * 8192 + b"\0"}
    assert said(files, "read_file", path="last")["content_type"] == "binary"
    assert said(files, "read_file", path="behind")["total_lines"] == 1


@pytest.mark.clause("everruns.read.binary-endings")
def test_text_in_a_file_named_as_binary_is_text_only_when_lines_are_asked_for() -> None:
    files = {"a.dat": "x\ny\n"}
    assert said(files, "read_file", path="a.dat")["content_type"] == "binary"
    assert said(files, "read_file", path="a.dat", limit=5)["content_type"] == "binary"
    found = said(files, "read_file", path="a.dat", offset=0, limit=5)
    assert (found["content"], found["content_type"]) == ("1|x\n2|y", "text")


def test_an_image_that_can_be_shown_is_shown_and_has_no_content() -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    reply = call({"a.txt": png}, "read_file", path="a.txt")
    found = json.loads(reply.text)
    assert (found["media_type"], found["size_bytes"]) == ("image/png", len(png))
    assert "content" not in found
    assert reply.images[0].data == png


@pytest.mark.clause("everruns.deviation.legacy-encodings")
@pytest.mark.parametrize("codec", ["utf-16", "cp1252", "shift_jis"])
def test_text_in_another_encoding_is_text(codec: str) -> None:
    text = "日本語のテキストです。\n" * 9 if codec != "cp1252" else "Größe, naïve, façade, déjà vu\n" * 9
    found = said({"a.txt": text.encode(codec)}, "read_file", path="a.txt", limit=1)
    assert found["content"] == "1|" + text.split("\n", maxsplit=1)[0]


@pytest.mark.clause("everruns.paths")
@each(
    "spelled",
    ["d/n.txt", "/d/n.txt", "/workspace/d/n.txt", "//workspace//d///n.txt", "  d/n.txt ", "./d/./n.txt"],
)
def test_all_spellings_of_a_path_are_one_file(spelled: str) -> None:
    assert said({"d/n.txt": "x"}, "read_file", path=spelled)["path"] == "/workspace/d/n.txt"


@pytest.mark.clause("everruns.paths.not-the-alias")
def test_a_name_that_only_begins_like_the_alias_is_another_folder() -> None:
    files = {"workspacefoo/a": "other", "foo/a": "not this"}
    assert said(files, "read_file", path="/workspacefoo/a")["content"] == "1|other"
    assert failure(files, "read_file", path="/workspacebar") == "File not found: /workspace/workspacebar"


@each("name", ['say "hi".txt', '"quoted"', "tab\there", "\u202egnp.txt", "Ünïcode", "#a", "!b"])
def test_a_path_as_a_reply_shows_it_names_the_same_file(name: str) -> None:
    with Workspace(MemoryStore({name: "x"})) as workspace:
        listed = workspace.call("list_directory", {}, contract_name="everruns")
        path = json.loads(listed.text)["entries"][0]["path"]
        found = workspace.call("read_file", {"path": path}, contract_name="everruns")
    assert json.loads(found.text)["content"] == "1|x"
    assert json.loads(found.text)["path"] == path


@pytest.mark.clause("everruns.deviation.ignored-numbers", "everruns.deviation.limit-zero")
@each(
    ("arguments", "words"),
    [
        ({"offset": -1}, "offset must be a non-negative integer"),
        ({"offset": 1.5}, "offset must be a non-negative integer"),
        ({"offset": "x"}, "offset must be a non-negative integer"),
        ({"limit": 0}, "limit must be a positive integer"),
        ({"limit": -3}, "limit must be a positive integer"),
        ({"limit": True}, "limit must be a positive integer"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments: dict[str, Json], words: str) -> None:
    assert failure({"a": "x"}, "read_file", path="a", **arguments) == words


@pytest.mark.clause("everruns.deviation.cap-moves-no-offset")
def test_the_byte_cap_moves_the_shown_lines_and_the_next_offset() -> None:
    found = said({"a.txt": ("y" * 99 + "\n") * 3000}, "read_file", path="a.txt")
    size = len(found["content"].encode())
    assert EVERRUNS_CONTENT_BYTES - 110 < size <= EVERRUNS_CONTENT_BYTES
    last = found["lines_shown"]["end"]
    assert found["content"].endswith(f"\n{last}|" + "y" * 99)
    assert found["truncation"]["next_offset"] == last
    assert (found["truncation"]["reason"], found["truncation"]["bytes_returned"]) == ("size_cap", size)


@pytest.mark.clause("everruns.deviation.long-line")
def test_the_rest_of_a_long_line_is_reached_by_its_hint() -> None:
    found = said({"a.txt": "€" * 20_000 + "\nend\n"}, "read_file", path="a.txt")
    truncation = found["truncation"]
    assert found["lines_shown"] == {"start": 1, "end": 1}
    assert (truncation["next_offset"], truncation["next_column"]) == (0, 17_066)
    assert (
        truncation["resume_hint"] == "call read_file with offset=0 and column=17066 to resume inside line 1"
    )
    files = {"a.txt": "€" * 20_000 + "\nend\n"}
    rest = said(files, "read_file", path="a.txt", offset=0, column=17_066)
    assert rest["content"] == "1|" + "€" * (20_000 - 17_066)
    assert rest["truncation"]["next_offset"] == 1


def test_what_is_past_the_end_is_told_in_offsets_from_0() -> None:
    files = {"a.txt": "abc\nd"}
    words = "column is past the end of the line, which has 3 characters. Use one from 0 to 2."
    assert failure(files, "read_file", path="a.txt", column=3) == words
    assert said(files, "read_file", path="a.txt", column=2)["content"] == "1|c"
    words = "offset is past the end of the file, which has 2 lines. Use one from 0 to 1."
    assert failure(files, "read_file", path="a.txt", offset=2, column=1) == words


def test_a_short_tail_is_cut_by_lines_and_one_of_long_lines_by_its_size() -> None:
    assert (
        said({"a.log": numbered(1, 9)}, "read_file", path="a.log", limit=3)["truncation"]["reason"]
        == "line_cap"
    )
    large = said({"a.log": f"{'x' * 999}\n" * 400}, "read_file", path="a.log")
    assert large["truncation"]["reason"] == "size_cap"
    assert large["lines_shown"]["end"] == 400


@pytest.mark.clause("everruns.errors.unavailable")
def test_a_closed_workspace_has_no_file_system() -> None:
    with Workspace(MemoryStore()) as workspace:
        record = workspace.contract("everruns")
        assert record.render_error(Closed(), workspace.cap(record)).text == (
            "File system not available in this context"
        )


@pytest.mark.clause("everruns.deviation.created-at", "everruns.deviation.glob-and-grep")
def test_what_is_not_known_is_null_and_what_is_not_offered_is_named_as_unknown() -> None:
    assert said({"a": "x"}, "stat_file", path="a")["created_at"] is None
    assert "read_file" in failure({"a": "x", "b": "y"}, "glob", pattern="*")


# --- the outline -------------------------------------------------------------------------------

CLASS = """import os

class A:
    def a(self):
        pass

    def b(self):
        pass

def c():
    pass
"""


@pytest.mark.clause("everruns.outline.both-sides", "everruns.deviation.half-shown-class")
def test_parts_before_and_after_have_a_section_each() -> None:
    found = said({"m.py": CLASS}, "read_file", path="m.py", offset=3, limit=2)
    assert found["content"] == (
        "4|    def a(self):\n5|        pass\n"
        "--- Outline of lines 1-3 (not shown) ---\n// L3: class A { ... }\n\n"
        "--- Outline of lines 6-11 (not shown) ---\n  // L7: def b(self) { ... }\n// L10: def c() { ... }\n"
    )


@pytest.mark.clause("everruns.outline.both-sides", "everruns.deviation.half-shown-class")
def test_a_window_within_a_class_of_many_members_has_those_that_follow() -> None:
    """More than an outline holds: the class it is in, and then what comes next."""
    text = "class A:\n" + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(900))
    content = said({"m.py": text}, "read_file", path="m.py", offset=1000, limit=20)["content"]
    outline = content.partition("--- Outline of lines 1-1000 (not shown) ---\n")[2]
    assert outline.startswith(
        "// L1: class A { ... }\n\n--- Outline of lines 1021-2701 (not shown) ---\n"
        "  // L1022: def m340(self) { ... }\n  // L1025: def m341(self) { ... }\n"
    )
    assert outline.count(" def m") > 50


SIGNATURES: dict[str, dict[str, str | None]] = {
    "m.ts": {
        "export function main(): void {}": "function main(): void",
        "export default function () {}": None,
        "export async function far(a: string) {}": "async function far(a: string)",
        "export default class Service<T> extends Base { }": "class Service",
        "export abstract class Shape { }": "class Shape",
        "export interface Config<T> extends A { a: string }": "interface Config",
        "export type Mode = 'a' | 'b';": "type Mode",
        "type Fn = (a: string) => void;": "type Fn",
        "const run = () => {};": "const run = () =>",
        "export const go = async (x: A): Promise<B> => { };": "const go = async (x: A): Promise<B> =>",
        "const named = function (a: number) { return a; };": "const named = function (a: number)",
        "let one = x => x;": "let one = x =>",
    },
    "m.js": {
        "export const run = (a, b) => { };": "const run = (a, b) =>",
        "exports.foo = function(x) {};": "exports.foo = function(x)",
        "exports.bar = (x) => {};": "exports.bar = (x) =>",
        "class A extends B { }": "class A",
    },
    "m.rs": {
        "pub struct Config<T> { name: T }": "struct Config",
        "pub(crate) enum Mode { A }": "enum Mode",
        "pub trait Load: Send { }": "trait Load",
        "pub mod inner { }": "mod inner",
        "pub async fn new(name: &str) -> Self { todo!() }": "pub async fn new(name: &str) -> Self",
        "impl std::fmt::Display for Config { }": "impl std::fmt::Display for Config",
    },
    "m.py": {
        "class A(Base, metaclass=M):\n    pass": "class A",
        "@decorated\nasync def f(a, b=1) -> int:\n    pass": "async def f(a, b=1) -> int",
    },
}


@pytest.mark.clause("everruns.outline.signatures")
@each(
    ("name", "text", "shown"),
    [(name, text, shown) for name, cases in SIGNATURES.items() for text, shown in cases.items()],
)
def test_signatures_are_those_of_the_published_module(name: str, text: str, shown: str | None) -> None:
    found = said({name: f"\n\n{text}\n"}, "read_file", path=name, limit=1)["content"]
    listed = [line.partition(": ")[2] for line in found.split("\n") if line.startswith("// L")]
    assert listed == ([] if shown is None else [f"{shown} {{ ... }}"])


@pytest.mark.clause("everruns.deviation.outline-members")
def test_functions_are_listed_wherever_they_stand_and_fields_are_not() -> None:
    text = "\n\nclass A {\n  count = 0;\n  run() {}\n}\ninterface B {\n  go(): void;\n}\n"
    found = said({"m.ts": text}, "read_file", path="m.ts", limit=1)["content"]
    assert "  // L5: run() { ... }" in found
    assert "  // L8: go(): void { ... }" in found
    assert "count" not in found


@pytest.mark.parametrize(
    ("name", "arguments"), [("m.py", {}), ("m.py", {"offset": 9}), ("m.go", {"limit": 1})]
)
def test_what_is_whole_or_ends_the_file_or_has_another_ending_has_no_outline(
    name: str, arguments: dict[str, Json]
) -> None:
    text = CLASS if name.endswith("py") else "package a\n\nfunc main() {}\n"
    assert "Outline" not in said({name: text}, "read_file", path=name, **arguments)["content"]


def test_the_outline_stays_within_the_cap_of_the_content() -> None:
    text = "".join(f"def function_{number}(argument):\n    return {'1' * 60}\n\n" for number in range(5000))
    content = said({"m.py": text}, "read_file", path="m.py")["content"]
    assert len(content.encode()) <= EVERRUNS_CONTENT_BYTES
    assert "--- Outline of lines" in content
    assert "more not listed" in content


# --- the laws ----------------------------------------------------------------------------------

CODECS = ["utf-8", "utf-16-le", "utf-8-sig", "cp1252"]
lines = st.lists(
    st.text(st.sampled_from('abc xyz\t"\\é|\x1b'), max_size=30)
    | st.just("é" * 30_000)
    | st.just('"' * 60_000),
    max_size=12,
)


def pages(workspace: Workspace, arguments: dict[str, Json], size: int | None) -> Iterator[Json]:
    """The pages that following the hints shows."""
    for _ in range(2000):
        reply = workspace.call("read_file", arguments, contract_name="everruns", reply_bytes=size)
        assert not reply.is_error, reply.text
        assert len(reply.text.encode()) <= (size or EVERRUNS_REPLY_BYTES)
        found = json.loads(reply.text)
        assert len(found["content"].encode()) <= EVERRUNS_CONTENT_BYTES
        yield found
        truncation = found["truncation"]
        assert found["truncated"] == truncation["truncated"] == ("next_offset" in truncation)
        facts: Json = reply.facts["next"]
        if not found["truncated"]:
            assert facts is None
            return
        arguments = {"path": arguments["path"], "offset": truncation["next_offset"]}
        if "next_column" in truncation:
            arguments["column"] = truncation["next_column"]
        assert facts["tool"] == "read_file"
        assert {"path": arguments["path"], **facts["arguments"]} == arguments
    raise AssertionError("no end")


def joined(found: Iterator[Json]) -> list[str]:
    """The lines of all pages, pieces of one line put together."""
    shown: list[str] = []
    column = 0
    for page in found:
        rows = page["content"].split("\n") if page["lines_shown"]["end"] else []
        for number, row in enumerate(rows, page["lines_shown"]["start"]):
            prefix, _, text = row.partition("|")
            assert prefix == str(number)
            if column:
                shown[-1] += text
            else:
                assert number == len(shown) + 1
                shown.append(text)
            column = 0
        column = page["truncation"].get("next_column", 0)
    return shown


@pytest.mark.clause("everruns.read.pages")
@settings(max_examples=12, deadline=None)
@given(
    lines=lines,
    end=st.sampled_from(["\n", "\r\n"]),
    final=st.booleans(),
    size=st.sampled_from([None, 4096, 20_000]),
)
@pytest.mark.parametrize("store", ["memory", "local"])
def test_following_the_hints_reproduces_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    store: str,
    lines: list[str],
    end: str,
    final: bool,
    size: int | None,
) -> None:
    text = end.join(lines) + (end if final and lines else "")
    data = text.encode()
    folder = tmp_path_factory.mktemp("pages")
    (folder / "a.txt").write_bytes(data)
    expected = text.removesuffix("\n").split("\n") if text else []
    expected = [line.removesuffix("\r") for line in expected[:-1]] + [
        line.removesuffix("\r") if text.endswith("\n") else line for line in expected[-1:]
    ]
    with Workspace(MemoryStore({"a.txt": data}) if store == "memory" else folder) as workspace:
        found = pages(workspace, {"path": "/workspace/a.txt"}, size)
        assert joined(found) == expected


@pytest.mark.parametrize("codec", CODECS)
def test_any_encoding_is_reproduced(codec: str) -> None:
    text = "".join(f"Zeile {number}: größer, naïve, façade\n" for number in range(3000))
    data = ("\ufeff" + text).encode(codec) if codec == "utf-16-le" else text.encode(codec)
    with Workspace(MemoryStore({"a.txt": data})) as workspace:
        assert joined(pages(workspace, {"path": "/workspace/a.txt"}, 8192)) == text.split("\n")[:-1]


@each("path", ["../x", "/workspace/../../etc/passwd", "/../etc/passwd", "d/../../x", "/etc/passwd"])
@each(
    "tool",
    ["read_file", "list_directory", "grep_files", "edit_file", "write_file", "stat_file", "delete_file"],
)
def test_nothing_outside_is_reached(tmp_path: Path, path: str, tool: str) -> None:
    (tmp_path / "x").write_text("secret")
    (tmp_path / "root").mkdir()
    more: dict[str, dict[str, Json]] = {
        "grep_files": {"pattern": "s"},
        "edit_file": {"expected_hash": "0", "old_text": "s", "new_text": "t"},
        "write_file": {"content": "gone"},
    }
    with Workspace(tmp_path / "root") as workspace:
        reply = workspace.call(tool, {"path": path, **more.get(tool, {})}, contract_name="everruns")
    if tool not in ("write_file", "stat_file") or ".." in path:
        assert reply.is_error
    assert "secret" not in reply.text
    assert "root:" not in reply.text
    assert (tmp_path / "x").read_text() == "secret"


@pytest.mark.clause("everruns.deviation.denied-by-default")
def test_a_denied_file_is_neither_read_nor_found_nor_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=hunter2")
    (tmp_path / "link").symlink_to(".env")
    with Workspace(tmp_path) as workspace:
        for name in (".env", "link"):
            reply = workspace.call("read_file", {"path": name}, contract_name="everruns")
            assert reply.is_error
            assert "hunter2" not in reply.text
        found = workspace.call("grep_files", {"pattern": "hunter2"}, contract_name="everruns")
        assert json.loads(found.text)["total_matches"] == 0
        listed = json.loads(workspace.call("list_directory", {}, contract_name="everruns").text)
    assert [entry["name"] for entry in listed["entries"]] == ["link"]
    assert listed["notes"] == ["1 entry is denied by policy."]


def test_a_write_below_a_file_is_not_told_to_read_it() -> None:
    below = failure({"a": "x"}, "write_file", path="a/b", content="y")
    assert below == "Path '/workspace/a' is a file, not a directory."
    assert failure({"a": "x"}, "list_directory", path="a").endswith(" Use read_file instead.")


def test_refusals_name_files_as_every_other_answer_does() -> None:
    files = {".env": "KEY=1", "s/.env": "KEY=2", "a/b": "x"}
    assert failure(files, "read_file", path=".env").startswith(
        "Access to /workspace/.env is denied by the rule '.env'"
    )
    assert failure(files, "read_file", path="s/.env").startswith("Access to /workspace/s/.env is denied")
    assert failure(files, "delete_file", path="/workspace").startswith("/workspace cannot be changed: ")
