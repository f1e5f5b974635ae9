"""Bodies of functions that define nothing are not parsed: what an outline says is the same without them."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.outline import Unparsable, build
from readroom.core.values.files import Outline, rows
from tests.each import each
from tests.pace import pace

LONG = "    work(1, 2, 3); more(4, 5, 6); rest(7, 8, 9);\n"


def _outline(language: str, text: str) -> Outline:
    return build(text, language, Deadline(60))


def _spans(outline: Outline) -> dict[str, tuple[int, int]]:
    return {row.name: (row.item.start, row.item.end) for row in rows(outline.items)}


def test_an_error_in_the_body_of_one_function_puts_no_other_in_doubt() -> None:
    broken = "    switch (a) { MACRO_CASE(1, x) MACRO_CASE(2, y) } = ;\n"
    bodies = {"one": LONG, "two": broken + LONG, "three": LONG}
    outline = _outline("c", "\n".join(f"int {name}(int a)\n{{\n{body}}}\n" for name, body in bodies.items()))
    assert outline.partial is None
    assert _spans(outline) == {"one": (1, 4), "two": (6, 10), "three": (12, 15)}
    assert all(row.item.certain for row in rows(outline.items))


def test_a_brace_that_stands_too_far_in_ends_its_function() -> None:
    text = f"bool one() const {{\n{LONG}    if (a) {{ b(); }}\n  }}\n\nint two() {{\n{LONG}}}\n"
    assert _spans(_outline("cpp", text)) == {"one": (1, 4), "two": (6, 8)}


def test_an_unclosed_brace_within_a_function_is_an_error() -> None:
    text = f"int one(int a)\n{{\n    if (a) {{\n{LONG}}}\n\nint two(int a)\n{{\n{LONG}}}\n"
    assert _outline("c", text).partial is not None


@pytest.mark.parametrize("quote", ["'''", '"""'])
def test_a_text_of_several_lines_may_stand_further_out_than_its_function(quote: str) -> None:
    text = (
        "class A:\n    def one(self):\n        call(1, 2, 3)\n        call(1, 2, 3)\n        text = \\\n"
        f"{quote}at the margin\nx = 1{quote}\n        return text\n\n"
        "    def two(self):\n        return call(1, 2, 3, 4, 5)\n"
    )
    assert _spans(_outline("python", text)) == {"A": (1, 11), "A.one": (2, 8), "A.two": (10, 11)}


def test_comments_behind_the_last_statement_stay_outside() -> None:
    text = (
        "def one():\n    first = 1\n    second = 2\n    return first\n    # done\n\n"
        "# about two\ndef two():\n    pass\n"
    )
    whole = _outline("python", text.replace("first = 1", "def inner(): pass"))
    assert _spans(_outline("python", text))["one"] == _spans(whole)["one"]
    assert _spans(_outline("python", text))["two"] == (7, 9)


def test_functions_in_functions_and_attributes_of_instances_are_found() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self.first = 1\n        self.second = call(1, 2, 3)\n\n"
        "    def one(self):\n        def inner():\n            return call(1, 2, 3)\n        return inner\n"
    )
    assert {"A.first", "A.second", "A.one", "A.one.inner"} <= set(_spans(_outline("python", text)))


def test_what_is_called_at_once_is_a_module() -> None:
    text = "var api = ( function () {\n  var first = 1;\n  var second = { a: 1 };\n  return first;\n} )();\n"
    assert {"api", "api.first", "api.second"} <= set(_spans(_outline("javascript", text)))


def test_a_signature_says_where_a_body_was() -> None:
    text = "const p = run(1).catch(er => {\n  log(1, 2, 3, 4, 5)\n  throw er\n}).then(ok => ok)\n"
    (row,) = rows(_outline("javascript", text).items)
    assert row.item.signature == "const p = run(1).catch(er => { … }).then(ok"


@each("end", ["\n", "\r\n"])
@each(
    ("language", "head"),
    [
        ("javascript", "function NAME(a) {"),
        ("typescript", "export async function NAME<T>(a: T): Promise<void> {"),
        ("c", "static struct s *NAME(int a) {"),
        ("cpp", "inline int NAME(int a)\n{"),
        ("go", "func NAME(a int) error {"),
        ("rust", "pub fn NAME(a: u8) -> u8 {"),
        ("php", "function NAME($a)\n{"),
        ("kotlin", "fun NAME(a: Int): Int {"),
        ("swift", "func NAME(a: Int) -> Int {"),
        ("python", "def NAME(a: int) -> int:"),
    ],
)
def test_lines_are_counted_in_the_whole_text(language: str, head: str, end: str) -> None:
    close = "" if language == "python" else "}\n"
    body = LONG.replace("; ", ";\n    ")
    body = body.replace(";", "") if language == "python" else body
    parts = [f"{head.replace('NAME', name)}\n{body}{close}\n" for name in ("one", "two", "three")]
    text = ("<?php\n" if language == "php" else "") + "".join(parts)
    outline = _outline(language, text.replace("\n", end))
    lines = text.split("\n")
    size = parts[0].rstrip("\n").count("\n")
    for name in ("one", "two", "three"):
        first = next(at for at, line in enumerate(lines, 1) if f"{name}" in line)
        assert _spans(outline)[name] == (first, first + size)
    assert outline.partial is None


@pytest.mark.parametrize(
    "unit",
    ["f() {\n", "f() {\n }\n", "x" + "function ):" * 30 + "} {\n", "f() {\n aaaaaaaaaaaaaaaaaaaa(\n}\n"],
)
def test_bodies_that_never_end_hold_no_processor(unit: str) -> None:
    begun = time.process_time()
    with suppress(TimedOut, Unparsable):
        build(unit * (300_000 // len(unit)), "javascript", Deadline(1, clock=time.process_time))
    assert time.process_time() - begun < 3 * pace()
