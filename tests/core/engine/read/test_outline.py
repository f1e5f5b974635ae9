"""Reading by definition through the workspace, as a model does."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.contracts.native.outline import ASIDE
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.each import each
from tests.laws.driving import Driver, fact, rows, shown

CODE = '''"""A module."""

# About f.
@decorated
def f(a, b):
    return a


class Shape:
    """A shape."""

    def area(self):
        return 1

    def area(self, scale):
        return 2


def long():
{body}
'''.replace("{body}", "\n".join(f"    x{n} = '{'y' * 60}'" for n in range(300)))

FILES = {
    "a.py": CODE.encode(),
    "wide.py": ("def f():\n    x = '" + "é" * 9000 + "'\n    return x\n").encode(),
    "many.py": "".join(f"def function_{n}(a, b): pass\n\n" for n in range(900)).encode(),
    "line.js": ("function f(){};" * 300).encode(),
    "lib.min.js": b"function f(){}\n",
    "utf16.py": "\ufeffclass Ä:\r\n    def ö(self): pass\r\n".encode("utf-16-le"),
    "feed.py": b"x = 1\x0c\ny = 2\r\ndef f():\x0c\n    return 1\r\n",
    "bare.txt": b"nothing\n",
    "big.py": b"def f(): pass\n" * 1_200_000,
    "hidden.py": "def f\u202e(a): pass\ndef g(): pass\n".encode(),
    "latin.py": "def caf\xe9(): pass\n".encode("latin-1"),
    "broken.py": b"class A:\n    def g(self): pass\n    x = = 3\ndef h(): pass\n",
    "doc.md": b"# One\n\ntext\n\n## Two\n\nmore\n",
    "a.log": b"def f(): pass\n",
    "empty.py": b"",
}


def driver(**options: Any) -> Driver:
    return Driver(MemoryStore(FILES), **options)


def outline(path: str, /, **arguments: Any) -> Reply:
    return driver().call("read_file", path=path, view="outline", **arguments)


def definition(path: str, symbol: str, /, **arguments: Any) -> Reply:
    return driver().call("read_file", path=path, symbol=symbol, **arguments)


def code(reply: Reply) -> str:
    return str(fact(reply, "error")["code"])


def test_an_outline_is_spans_and_signatures_indented_by_nesting() -> None:
    assert rows(outline("a.py")) == [
        "3-6 def f(a, b)",
        "9-16 class Shape",
        "  12-13 def area(self)",
        "  15-16 def area(self, scale)",
        "19-319 def long()",
    ]


def test_the_facts_of_an_outline_hold_all_of_it() -> None:
    found = fact(outline("a.py"), "outline")
    assert found["items"][0] == {
        "name": "f",
        "kind": "function",
        "signature": "def f(a, b)",
        "start": 3,
        "end": 6,
        "line": 5,
        "depth": 0,
        "certain": True,
        "folded": {},
    }
    assert (found["language"], found["left_out"], found["partial"]) == ("python", 0, None)


@pytest.mark.parametrize("path", ["many.py", "line.js"])
@pytest.mark.parametrize("arguments", [{}, {"limit": 7}])
def test_a_long_outline_continues_until_every_definition_was_shown_once(
    path: str, arguments: dict[str, int]
) -> None:
    caller = driver(reply_bytes=4096)
    pages = list(caller.pages("read_file", path=path, view="outline", **arguments))
    found = [row for page in pages for row in rows(page)]
    count = FILES[path].count(b"(a, b)") or FILES[path].count(b"function")
    assert len(found) == count
    assert len(pages) > 1
    assert "truncated" in pages[0].facts
    assert [fact(page, "outline")["left_out"] for page in pages][-1] == 0


def test_an_outline_from_a_line_on_and_of_one_definition() -> None:
    assert [row.strip() for row in rows(outline("a.py", offset=15))] == [
        "15-16 def area(self, scale)",
        "19-319 def long()",
    ]
    assert len(rows(outline("a.py", symbol="Shape"))) == 3


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("bare.txt", "no grammar knows its language"),
        ("lib.min.js", "it is minified"),
        ("big.py", "it is larger than"),
        ("a.log", "no grammar"),
    ],
)
def test_what_has_no_outline_says_why_and_is_read_instead(path: str, why: str) -> None:
    for reply in (outline(path), definition(path, "f")):
        assert code(reply) == "no_outline"
        assert why in reply.text
        assert not driver().follow(fact(reply, "error")["next"]).is_error


def test_a_definition_is_read_with_decorators_and_comments_and_the_lines_of_the_file() -> None:
    reply = definition("a.py", "f")
    assert shown(reply) == {3: "# About f.", 4: "@decorated", 5: "def f(a, b):", 6: "    return a"}
    assert fact(reply, "symbol") == {"name": "f", "kind": "function", "start": 3, "end": 6, "certain": True}
    assert fact(reply, "next") is None
    assert reply.text.endswith("[end of f]")
    assert fact(reply, "total_lines") == 319


def test_following_next_gives_exactly_the_definition() -> None:
    caller = driver(reply_bytes=4096)
    assert list(caller.lines("a.py", symbol="long")) == list(range(19, 320))
    assert list(caller.lines("a.py", symbol="long", limit=50)) == list(range(19, 320))
    wide = caller.lines("wide.py", symbol="f")
    assert [len(line) for line in wide.values()] == [8, 9010, 12]


def test_a_name_of_several_definitions_lists_them_with_calls_that_work() -> None:
    reply = definition("a.py", "Shape.area")
    error = fact(reply, "error")
    assert error["code"] == "ambiguous"
    assert "12-13 def area(self)\n15-16 def area(self, scale)" in reply.text
    for candidate in error["facts"]["candidates"]:
        one = definition("a.py", candidate["name"], offset=candidate["start"])
        assert list(shown(one)) == list(range(candidate["start"], candidate["end"] + 1))
    assert not driver().follow(error["next"]).is_error


def test_one_line_with_one_definition_is_told_so() -> None:
    with Workspace(MemoryStore({"a.md": "# Title\n"})) as workspace:
        reply = workspace.read("a.md", view="outline")
    assert reply.text.startswith("a.md | outline | markdown, 1 line | 1 of 1 definition | sha256:")


def test_a_name_in_several_classes_is_listed_with_the_names_to_send() -> None:
    text = "class A:\n    def run(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n"
    with Workspace(MemoryStore({"a.py": text})) as workspace:
        refused = workspace.call("read_file", {"path": "a.py", "symbol": "run"})
        assert refused.text.endswith("\n2-3 A.run: def run(self)\n7-8 B.run: def run(self)")
        assert not workspace.call("read_file", {"path": "a.py", "symbol": "B.run"}).is_error


def test_an_unknown_name_suggests_near_ones() -> None:
    error = fact(definition("a.py", "Shape.aera"), "error")
    assert error["code"] == "unknown_symbol"
    assert error["facts"]["near"][0]["name"] == "Shape.area"
    error = fact(definition("many.py", "function_12x"), "error")
    assert not driver().follow(error["next"]).is_error
    error = fact(definition("a.py", "zzzzz"), "error")
    assert error["next"]["arguments"]["view"] == "outline"
    assert not driver().follow(error["next"]).is_error


@each(
    ("arguments", "expected"),
    [
        ({"symbol": " "}, "bad_value"),
        ({"symbol": "f", "offset": -3}, "bad_value"),
        ({"symbol": "f", "offset": 9}, "bad_range"),
        ({"symbol": "f", "offset": 10**9}, "bad_range"),
        ({"view": "outline", "offset": 10**9}, "bad_range"),
        ({"symbol": "f" * 501}, "bad_value"),
        ({"symbol": "f", "offset": 5, "column": 99}, "bad_range"),
        ({"symbol": "f", "limit": -3}, "bad_value"),
    ],
)
def test_what_cannot_be_combined_is_said_with_a_call_that_works(
    arguments: dict[str, Any], expected: str
) -> None:
    caller = driver()
    reply = caller.call("read_file", path="a.py", **arguments)
    assert code(reply) == expected
    following = fact(reply, "error")["next"]
    if following is not None:
        assert not caller.follow(following).is_error


def test_lines_are_those_of_the_file_whatever_else_ends_lines_elsewhere() -> None:
    assert list(shown(definition("feed.py", "f"))) == [3, 4]
    assert rows(outline("utf16.py")) == ["1-2 class Ä", "  2-2 def ö(self)"]
    assert shown(definition("utf16.py", "Ä.ö")) == {2: "    def ö(self): pass"}
    assert rows(outline("latin.py")) == ["1-1 def café()"]


def test_a_file_with_syntax_errors_gives_what_parses_and_says_so() -> None:
    reply = outline("broken.py")
    assert "def g(self)" in reply.text
    assert "syntax errors" in reply.text
    assert fact(reply, "outline")["partial"] == "it has syntax errors, the first in line 3"


def test_hidden_characters_of_names_are_reported() -> None:
    (warning,) = fact(outline("hidden.py"), "warnings")
    assert (warning["code"], warning["line"]) == ("bidi_control", 1)


def test_headings_are_read_by_name() -> None:
    assert list(shown(definition("doc.md", "two"))) == [5, 6, 7]


def test_an_empty_file_has_an_empty_outline() -> None:
    assert rows(outline("empty.py")) == []


def test_a_known_hash_answers_outlines_and_definitions_too() -> None:
    known = fact(outline("a.py"), "content_hash")
    assert fact(outline("a.py", known_hash=known), "not_modified")


def test_a_denied_file_shows_no_definition() -> None:
    caller = Driver(MemoryStore({".env": b"def f(): pass\n", "id_rsa": b"# Key\n"}))
    for path in (".env", "id_rsa"):
        for arguments in ({"view": "outline"}, {"symbol": "f"}):
            assert code(caller.call("read_file", path=path, **arguments)) == "denied"


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Python of classes and functions with comments, decorators and bodies of any length."""
    lines: list[str] = []
    for number in range(draw(st.integers(1, 6))):
        lines += [f"# {number}"] * draw(st.integers(0, 2)) + ["@d"] * draw(st.integers(0, 1))
        name = draw(st.sampled_from("abc"))
        if draw(st.booleans()):
            lines.append(f"class {name}:")
            for _ in range(draw(st.integers(1, 4))):
                lines += ["    # m"] * draw(st.integers(0, 1))
                lines.append(f"    def {draw(st.sampled_from('xyz'))}(self):")
                lines += ["        pass"] * draw(st.integers(1, 40))
                lines += [""] * draw(st.integers(0, 1))
        else:
            lines += [f"def {name}():", *["    pass"] * draw(st.integers(1, 200))]
        lines += [""] * draw(st.integers(0, 2))
    return "\n".join(lines)


@settings(max_examples=12)
@given(text=modules(), cap=st.sampled_from([2048, 4096, 32768]))
def test_each_definition_read_by_its_name_is_its_span(text: str, cap: int) -> None:
    """Law: an outline's names read what its spans say, page by page."""
    caller = Driver(MemoryStore({"a.py": text.encode()}), reply_bytes=cap)
    items = [
        item
        for page in caller.pages("read_file", path="a.py", view="outline")
        for item in fact(page, "outline")["items"]
    ]
    assert len(items) == len(re.findall(r"^\s*(?:class|def) ", text, re.MULTILINE))
    for item in items:
        found = caller.lines("a.py", symbol=item["name"], offset=item["start"])
        assert list(found) == list(range(item["start"], item["end"] + 1))


def _beside(reply: Reply) -> list[str]:
    found = rows(reply)
    return found[found.index(ASIDE) + 1 :]


def test_a_cut_reply_has_the_outline_of_what_it_does_not_show() -> None:
    body = "".join(
        f"class C{n}:\n" + "    def f(self):\n        return 'xxxxxxxxxxxxxxx'\n" * 20 for n in range(20)
    )
    caller = Driver(MemoryStore({"a.py": body.encode()}), reply_bytes=16_000)
    reply = caller.call("read_file", path="a.py")
    first = fact(reply, "lines_shown")["end"] + 1
    beside = fact(reply, "outline")["items"]
    listed = fact(caller.call("read_file", path="a.py", view="outline", offset=first), "outline")["items"]
    assert [item for item in listed if item["depth"] == 0] == [one for one in beside if one["depth"] == 0]
    half_shown = next(item for item in listed if item["line"] >= first)
    assert half_shown in beside, "members of the class that is cut are as near as what follows it"


def test_small_windows_have_no_outline() -> None:
    assert fact(driver().call("read_file", path="a.py", limit=10), "outline") is None


@settings(max_examples=12)
@given(text=modules(), cap=st.sampled_from([4096, 8192]), offset=st.integers(1, 60))
def test_a_cut_reply_and_its_outline_name_every_definition_once(text: str, cap: int, offset: int) -> None:
    """Law: a signature is in the shown lines, or in the outline beside them, or counted as left out."""
    text += "\n" + "x = 'a long line that fills the rest of the reply, whatever stands before it'\n" * 200
    caller = Driver(MemoryStore({"a.py": text.encode()}), reply_bytes=cap)
    reply = caller.call("read_file", path="a.py", offset=min(offset, text.count("\n")))
    whole = [
        item
        for page in caller.pages("read_file", path="a.py", view="outline")
        for item in fact(page, "outline")["items"]
    ]
    span, beside = fact(reply, "lines_shown"), fact(reply, "outline")
    if beside is None:
        return
    missing = [item for item in whole if not span["start"] <= item["line"] <= span["end"]]
    assert [item for item in missing if item in beside["items"]] == beside["items"]
    assert len(missing) - len(beside["items"]) == beside["left_out"]
    left = [item for item in fact(reply, "omitted") if item["what"] == "definitions"]
    assert bool(left) == bool(beside["left_out"])
    shown_there = [
        item
        for one in left
        for first in [caller.follow(one["call"])]
        for page in [first, *caller.rest(first)]
        for item in fact(page, "outline")["items"]
    ]
    assert [item for item in missing if item not in beside["items"] and item not in shown_there] == []


def test_the_closing_line_speaks_of_the_mark_only_where_it_stands() -> None:
    """Folded constants of the file itself are counted in the closing line, and no row has a mark then."""
    constants = "".join(f"LIMIT_{number} = {number}\n" for number in range(40))
    bare = Driver(MemoryStore({"a.py": f"{constants}def f():\n    return 1\n".encode()}))
    reply = bare.call("read_file", path="a.py", view="outline")
    assert "[+" not in "\n".join(rows(reply))
    assert "[+]" not in reply.text
    assert "Not listed: 40 constants of the file itself. All: " in reply.text
    fields = "class A:\n" + "".join(f"    field_{number} = {number}\n" for number in range(40))
    marked = Driver(MemoryStore({"a.py": f"{constants}{fields}".encode()}))
    reply = marked.call("read_file", path="a.py", view="outline")
    assert "class A [+40 fields]" in reply.text
    assert "Not listed: members counted as [+] and 40 constants of the file itself. All: " in reply.text


def test_macros_of_a_header_are_folded_where_it_is_long_without_what_is_minor() -> None:
    """Headers have hundreds of them; where there is nothing else they are listed."""
    macros = "".join(f"#define make_{number}(a) make(a, {number})\n" for number in range(40))
    said = f"/* {'It takes one. ' * 30}*/\n"
    prototypes = "".join(f"{said}int take_{number}(int first);\n" for number in range(20))
    caller = Driver(MemoryStore({"a.h": f"{macros}{prototypes}".encode(), "b.h": macros.encode()}))
    reply = caller.call("read_file", path="a.h", view="outline")
    assert len(rows(reply)) == 20
    assert "Not listed: 40 macros of the file itself. All: " in reply.text
    assert "make(a, 7)" in caller.call("read_file", path="a.h", symbol="make_7").text
    assert len(rows(caller.call("read_file", path="a.h", view="full_outline"))) == 60
    assert len(rows(caller.call("read_file", path="b.h", view="outline"))) == 40


def test_keys_in_keys_are_folded_where_they_would_flood_an_outline_largest_first() -> None:
    """Of a file of translations or frequencies; small ones beside them stay, and nothing is lost."""
    words = ",\n".join(f'    "word {number}": "a word with the number {number}"' for number in range(200))
    text = f'{{\n  "scripts": {{\n    "build": "make"\n  }},\n  "words": {{\n{words}\n  }}\n}}\n'
    caller = Driver(MemoryStore({"a.json": text.encode()}))
    reply = caller.call("read_file", path="a.json", view="outline")
    assert [row.strip() for row in rows(reply)] == [
        '2-4 "scripts"',
        '3-3 "build": "make"',
        '5-206 "words" [+200 keys]',
    ]
    assert 'Not listed: members counted as [+]. All: read_file {"path":"a.json","view":"full_outline"}' in (
        reply.text
    )
    assert "the number 7" in caller.call("read_file", path="a.json", symbol="words.word 7").text
    whole = caller.call("read_file", path="a.json", view="full_outline")
    assert len(rows(whole)) + sum(len(rows(page)) for page in caller.rest(whole)) == 203


def test_functions_that_a_header_declares_in_a_row_are_named_where_their_signatures_would_flood_it() -> None:
    prototypes = "".join(
        f"/* Takes {number}. */\nint take_{number}(int first,\n    int second);\n" for number in range(66)
    )
    whole = "int whole(int a)\n{\n" + "    a += 1;\n" * 6 + "    return a;\n}\n"
    types = "".join(f"typedef struct _type_{number} type_{number};\n" for number in range(5))
    short = prototypes[: prototypes.index("/* Takes 12.")]
    caller = Driver(MemoryStore({"a.h": f"{prototypes}{whole}{types}".encode(), "short.h": short.encode()}))
    assert " [+" not in caller.call("read_file", path="short.h", view="outline").text
    reply = caller.call("read_file", path="a.h", view="outline")
    listed = rows(reply)
    assert listed[0].startswith("1-36 take_0, take_1, take_2, ")
    counts = [row[row.rindex(" [") :] for row in listed[:6]]
    assert counts == [*[" [+12 signatures]"] * 5, " [+6 signatures]"]
    assert listed[6:] == [
        "199-208 int whole(int a)",
        "209-213 typedef type_0, type_1, type_2, type_3, type_4 [+5 signatures]",
    ]
    assert "72 of 72 definitions" in reply.text
    assert (
        'Not listed: signatures counted as [+]. All: read_file {"path":"a.h","view":"full_outline"}'
        in reply.text
    )
    for item in fact(reply, "outline")["items"]:
        named = (
            item["signature"].removeprefix("typedef ").split(", ")
            if item["kind"] == "run"
            else [item["name"]]
        )
        assert item["name"] == named[0]
        for name in named:
            assert name in caller.call("read_file", path="a.h", symbol=name).text
    full = caller.call("read_file", path="a.h", view="full_outline")
    assert "\n196-198 int take_65(int first, int second)\n" in full.text
