"""What a change broke is told with its reply, and never refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.engine.edit import told
from readroom.core.formats.parsing import Fault
from readroom.core.outline.broken import fault_of
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.values.changes import Edit
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import STORES, Room, digest, made
from tests.core.outline.outlining import FIXTURES
from tests.each import each
from tests.laws.driving import fact


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


def warned(reply: Reply) -> list[tuple[str, int | None]]:
    assert not reply.is_error, reply.text
    return [(item["code"], item.get("line")) for item in fact(reply, "warnings")]


def details(reply: Reply) -> str:
    return " ".join(item["detail"] for item in fact(reply, "warnings"))


def edited(path: str, before: str, old: str, new: str, **more: Any) -> Reply:
    with Workspace(MemoryStore({path: before.encode()})) as space:
        return space.edit(path, digest(before.encode()), [{"old_text": old, "new_text": new}], **more)


def written(path: str, before: str | None, content: str) -> Reply:
    files = {} if before is None else {path: before.encode()}
    expected = "absent" if before is None else digest(files[path])
    with Workspace(MemoryStore(files)) as space:
        return space.write(path, content, expected)


BROKEN = [
    ("a.py", "def f(a):\n    return (a)\n\n\nx = 1\n", "(a)\n", "(a\n", 2, "`(` is not closed"),
    ("a.py", 'x = "a"\ny = 2\n', '"a"', '"a', 1, '`"` is not closed'),
    ("a.py", 'x = """a"""\ny = 2\n', 'a"""', "a", 1, '`"""` is not closed'),
    (
        "a.js",
        "function f() {\n  if (a) {\n    b();\n  }\n}\nfunction g() {\n}\n",
        "    b();\n  }",
        "    b();",
        2,
        "`{`",
    ),
    ("a.ts", "const f = (a: string) => a;\n", ")", "", 1, "`(` is not closed"),
    ("a.go", "package a\n\nfunc f() {\n}\n", "f() {", "f( {", 3, "`(` is not closed"),
    ("a.rs", "fn f() {\n    let x = 1;\n    let y = 2;\n}\n", "1;", "1", 2, "`;` is missing"),
    ("A.java", "class A {\n  void f() {\n  }\n}\n", "  }\n}", "  }\n}\n}", 5, "`}` closes nothing"),
    ("a.c", "int f(void) {\n  return 1;\n}\n", "1;", "1", 2, "`;` is missing"),
    ("a.sh", "if true; then\n  a\nfi\n", "fi\n", "", 3, "`fi` is missing"),
    ("a.php", "<?php\nfunction f() {\n  return 1;\n}\n", "1;", "1", 3, "`;` is missing"),
    ("a.vue", "<script>\nexport default {\n  a: 1,\n}\n</script>\n", "}\n", "", 2, "`{` is not closed"),
    ("a.json", '{\n "a": 1,\n "b": 2\n}\n', "1,", "1", 3, "Expecting ',' delimiter"),
    ("tsconfig.json", '{\n // why\n "a": 1,\n "b": 2,\n}\n', "1,", "1", 4, "Expecting ',' delimiter"),
    ("a.toml", "a = [1, 2]\nb = 3\n", "]", "", 2, "Unclosed array"),
    ("a.toml", "a = 1\nb = 2\n", "b", "a", 2, "Cannot overwrite a value"),
    ("a.yaml", "a:\n  b: 1\n  c: 2\n", "  c:", " c:", 3, "did not find expected key"),
    ("a.xml", "<a>\n<b></b>\n</a>\n", "</b>", "", 3, "mismatched tag"),
    ("a.svg", "<svg>\n<g a='1'/>\n</svg>\n", "'1'", "1", 2, "not well-formed"),
]


@each(("path", "before", "old", "new", "line", "why"), BROKEN)
@each("dry_run", [False, True])
def test_an_edit_that_breaks_a_file_says_the_line_and_why(
    path: str, before: str, old: str, new: str, line: int, why: str, dry_run: bool
) -> None:
    reply = edited(path, before, old, new, dry_run=dry_run)
    assert warned(reply) == [("no_longer_parses", line)], reply.text
    assert why in details(reply)
    assert f"Warning: no longer parses at line {line} (" in reply.text


@each(("path", "before", "old", "new", "line", "why"), BROKEN)
def test_a_broken_file_may_be_changed_and_mended_without_a_word(
    path: str, before: str, old: str, new: str, line: int, why: str
) -> None:
    del line, why
    broken = before.replace(old, new, 1)
    assert warned(written(path, broken, broken.replace("1", "7") + "\n")) == []
    assert warned(written(path, broken, before)) == []
    assert warned(written(path, before, before + "\n")) == []


def test_a_broken_file_is_told_on_every_store(room: Room) -> None:
    known = room.file("f.py", "x = [1]\n")
    reply = room.edit("f.py", known, Edit("]", ""))
    assert room.data("f.py") == b"x = [1\n"
    assert warned(reply) == [("no_longer_parses", 1)]
    assert warned(room.edit("f.py", fact(reply, "content_hash"), Edit("1", "2"))) == []


@each("encoding", ["utf-16", "utf-8-sig", "cp1252", "shift_jis"])
def test_a_text_in_another_encoding_is_parsed_as_well(room: Room, encoding: str) -> None:
    text = "# ö\nx = [1]\n" if encoding != "shift_jis" else "# 日本語のテキストです\nx = [1]\n"
    known = room.file("f.py", text.encode(encoding))
    reply = room.edit("f.py", known, Edit("[1]", "[1"), encoding=encoding if encoding == "cp1252" else None)
    assert warned(reply) == [("no_longer_parses", 2)]


# --- false alarms ------------------------------------------------------------------------------


@each(
    ("path", "before", "after"),
    [
        ("a.c", "int f(int a) { return a; }\n", "int f(int a UNUSED) { return a; }\n"),
        ("a.c", "long x = 1;\n", "long x = (long)XDL_MIN(a, b);\n"),
        ("a.css", "a { color: red; }\n", "a { @apply ! rounded; }\n"),
        ("a.js", "let a = 1;\n", "let a = <%= value %>;\n"),
        ("a.py", "x = 1\n", "{% if a %}\nx = 1\n{% endif %}\n"),
        ("a.json5", "{}\n", "{a: 1}\n"),
        ("tsconfig.json", "{}\n", "{\n // why\n}\n"),
        ("a.jsonl", "{}\n", "{}\n{}\n"),
        ("a.txt", "(a)\n", "(a\n"),
        ("a.md", "```\na\n```\n", "```\na\n"),
        ("a.xml", "<a/>\n", '<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;'),
        ("a.yaml", "a: 1\n", ""),
        ("a.toml", "a = 1\n", "\n"),
        ("a.py", "x = 1\n", " \n"),
    ],
)
def test_what_is_not_certain_is_not_said(path: str, before: str, after: str) -> None:
    found = warned(written(path, before, after))
    assert not [code for code, _ in found if code in ("no_longer_parses", "cut_off")], found


_SOUND = [path for path in sorted(FIXTURES.iterdir()) if path.suffix in (".py", ".js", ".go", ".java", ".rs")]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_sound_texts_stay_without_a_warning(data: st.DataObject) -> None:
    """Blank lines and comments between the lines of a text that parses at every line break."""
    text = "".join(f"f{number}(1, [2], 'x')\n" for number in range(data.draw(st.integers(1, 30))))
    lines = text.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines)))
    path, comment = data.draw(st.sampled_from([("a.py", "# ("), ("a.js", "// ["), ("a.rb", "# {")]))
    added = data.draw(st.sampled_from(["\n", f"{comment}\n", "g('(')\n", 'g("]")\n']))
    after = "".join((*lines[:at], added, *lines[at:]))
    assert warned(written(path, text, after)) == []


@each("path", _SOUND)
def test_each_closing_bracket_that_is_lost_is_told(path: Path) -> None:
    text = path.read_text()
    assert fault_of(path.name, text, Deadline()) is None, "the sample parses"
    places = [at for at, char in enumerate(text) if char == "}" and text[at - 1] == "\n"] or [
        at for at, char in enumerate(text) if char == ")" and text[at + 1 : at + 3] == ":\n"
    ]
    assert places
    for at in places[:: max(1, len(places) // 8)]:
        reply = written(path.name, text, text[:at] + text[at + 1 :])
        codes = [code for code, _ in warned(reply)]
        assert codes == ["no_longer_parses"], (path.name, text.count("\n", 0, at) + 1, reply.text)


# --- writes ------------------------------------------------------------------------------------


@each(
    ("path", "content", "line"),
    [
        ("a.py", "x = 1\ny = [1,\n     2,\n", 2),
        ("a.py", 'x = 1\ny = """a\nb\n', 2),
        ("a.js", "function f() {\n  a();\n", 1),
        ("a.go", "package a\nfunc f() {\n", 2),
        ("a.json", '{"a": [1,\n2', 2),
        ("a.yaml", "a: 'b\n", 2),
        ("a.xml", "<a>\n<b>", 2),
    ],
)
def test_a_new_file_that_ends_inside_something_is_written_and_told(
    path: str, content: str, line: int
) -> None:
    reply = written(path, None, content)
    assert warned(reply) == [("cut_off", line)], reply.text
    assert "Warning: cut off at line" in reply.text


def test_a_write_that_loses_most_of_a_file_says_how_many_lines_were_replaced() -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    reply = written("notes.txt", before, "".join(before.splitlines(keepends=True)[:19]))
    assert warned(reply) == [("shrunk", None)]
    assert "40 lines were replaced by 19 lines" in details(reply)
    half = "".join(before.splitlines(keepends=True)[:21])
    assert warned(written("notes.txt", before, half)) == []
    assert warned(written("notes.txt", before, "")) == [("shrunk", None)]


PLACEHOLDERS = [
    "# ... rest of the file unchanged",
    "    // ... existing code ...",
    "/* ... rest of code remains the same ... */",
    "// existing code here",
    "<!-- rest of the page stays the same -->",
    "... (rest of the file unchanged)",
    "[... rest of file unchanged ...]",
    "{/* ... existing JSX ... */}",
    "# ... same as before ...",
    "-- remaining functions unchanged",
]


@each("line", PLACEHOLDERS)
def test_a_placeholder_is_written_and_told(line: str) -> None:
    before = "a\nb\nc\nd\n"
    reply = written("f.txt", before, f"a\n{line}\nd\n")
    assert warned(reply) == [("placeholder", 2)], reply.text
    assert "4 lines were replaced by 3 lines" in details(reply)
    assert warned(written("f.txt", None, f"a\n{line}\n")) == [("placeholder", 2)]
    assert warned(edited("f.txt", before, "b\nc\n", f"{line}\n")) == [("placeholder", 2)]
    assert warned(written("f.txt", f"{line}\n", f"b\n{line}\n")) == [], "it was there before"


@each(
    "line",
    [
        "...",
        "# ...",
        "// The rest of the file is binary data",
        "  ...rest,",
        "  ...existing,",
        "  ...(existing || {}),",
        "# existing code must be kept",
        "# Remaining tests",
        "    ...original,",
        "print('... existing code ...')",
    ],
)
def test_a_line_of_a_program_is_no_placeholder(line: str) -> None:
    assert warned(written("f.txt", None, f"a\n{line}\n")) == []


# --- cost --------------------------------------------------------------------------------------


@each(("content", "parses"), [("x = [2]\n", 1), ("x = [2\n", 2)])
def test_a_change_costs_at_most_two_parses(
    monkeypatch: pytest.MonkeyPatch, content: str, parses: int
) -> None:
    seen: list[str] = []

    def counted(path: str, text: str, deadline: Deadline) -> Fault | None:
        seen.append(text)
        return fault_of(path, text, deadline)

    monkeypatch.setattr(told, "fault_of", counted)
    assert not written("f.py", "x = [1]\n", content).is_error
    assert seen == [content, "x = [1]\n"][:parses]


_BOMB = "<!DOCTYPE a [" + "".join(
    f'<!ENTITY b{at} "{f"&b{at - 1};" * 10 if at else "lol"}">' for at in range(12)
)


@each(
    ("path", "content"),
    [
        ("a.xml", f"{_BOMB}]><a>&b11;</a>"),
        ("a.xml", "<a>" * 200_000),
        ("a.json", "[" * 500_000),
        ("a.toml", "a = " + "[" * 50_000),
        ("a.yaml", "[" * 50_000),
        ("a.yaml", "".join(f"a{at}: &a{at} [{f'*a{at - 1},' * 9 if at else ''}]\n" for at in range(60))),
        ("a.py", "(" * 100_000),
        ("a.java", "A<" * 100_000),
        ("a.rs", 'r#"' * 100_000),
        ("a.js", "`${" * 50_000),
        ("a.rb", "<<A\n" * 20_000),
        ("a.c", "/*" * 300_000),
        ("a.py", "\0" * 1000 + "\ud7ff("),
    ],
)
def test_nothing_hostile_stops_a_write(path: str, content: str) -> None:
    reply = written(path, "a\n", content)
    assert not reply.is_error, reply.text[:300]


# --- code cells of notebooks ---------------------------------------------------------------------


def notebook(*sources: str, language: str | None = "python", kind: str = "code", **metadata: Any) -> bytes:
    """A notebook of code cells."""
    cells: list[dict[str, Any]] = [
        {"cell_type": kind, "metadata": metadata, "source": source, "outputs": [], "execution_count": None}
        for source in sources
    ]
    said = {} if language is None else {"language_info": {"name": language}}
    return json.dumps({"cells": cells, "metadata": said, "nbformat": 4, "nbformat_minor": 4}).encode()


def changed(data: bytes, *edits: Any) -> list[tuple[str, int | None, str]]:
    with Workspace(MemoryStore({"n.ipynb": data})) as space:
        reply = space.edit("n.ipynb", digest(data), list(edits))
        assert not reply.is_error, reply.text
        codes = ("no_longer_parses", "cut_off", "placeholder")
        found = [item for item in fact(reply, "warnings") if item["code"] in codes]
        return [(item["code"], item.get("line"), item["detail"]) for item in found]


def replaced(before: str, after: str, **more: Any) -> list[tuple[str, int | None, str]]:
    return changed(notebook("x = 0\n", before, **more), {"cell": "2", "new_text": after})


@each(
    ("language", "before", "after", "line"),
    [
        ("python", "a = 1\nb = (2)\n", "a = 1\nb = (2\n", 2),
        ("ipython", "%time\nx = 1\n", "%time\nx = [1\n", 2),
        ("python", "%%time\nx = 1\n", "%%time\n\nx = {1\n", 3),
        ("python", "%%bash\nif a; then b; fi\n", "%%bash\nif a; then b\n", 3),
        ("Python3", "x = !ls\ny = (1)", "x = !ls\ny = (1", 2),
        ("javascript", "f(1);", "f(1;", 1),
        ("bash", "if a; then b; fi\n", "if a; then b\n", 2),
        ("ruby", "def a\nend\n", "def a\n", 1),
    ],
)
def test_a_code_cell_that_no_longer_parses_is_told_like_a_file(
    language: str, before: str, after: str, line: int
) -> None:
    ((code, at, detail),) = replaced(before, after, language=language)
    assert (code, at) == ("no_longer_parses", line)
    assert detail.startswith("of cell 2: ")
    assert replaced(after, before, language=language) == []
    assert replaced(after, after + "\n\n", language=language) == []
    ((code, at, _),) = changed(notebook(before, language=language), {"old_text": before, "new_text": after})
    assert (code, at) == ("no_longer_parses", line)


MAGICS = [
    "%matplotlib inline\nimport os\n",
    "!pip install -q a b && \\\n  ls (\nx = 1",
    "if x:\n    !ls (\n    %cd ..\nelse:\n    pass\n",
    "files = !ls *.py\ncode = %sql select (\nx = 1\n",
    "a.b?\n?c\nnp.*load*?\nd??\n",
    "%%html\n<p>(\n",
    "%%writefile a.txt\n(((",
    "%%timeit -n 3 f(\nx = 1\n",
    "%load_ext a\n\n%time x = (1)\n",
    'x = ("%s"\n  % name)\ny = """\n!not (\n"""\n',
    "x = [\n# a [\n1,\n  2]\nawait f(x)\n",
    "x = a != b\ny = a %b\n",
    "%timeit f((x for x in y),\n  dtype=int)\nx = 1\n",
    "ls a/b\nhead = 1\nhead is None\n",
    "async with a as b:\n    print(b)\n",
]


@each("source", MAGICS)
def test_what_is_for_the_kernel_is_no_fault_of_a_cell(source: str) -> None:
    assert replaced("x = 1\n", source) == []
    assert replaced(source, source + "\ny = 2\n") == []


@each("language", ["R", "julia", "c++17", "java", "unknown", None])
def test_a_cell_of_a_language_that_is_not_judged_has_no_word(language: str | None) -> None:
    assert replaced("f(1)\n", "f(1\n", language=language) == []


def test_only_code_cells_are_judged_and_each_by_its_own_language() -> None:
    assert replaced("(a)", "(a", kind="markdown") == []
    assert replaced("x = (1)", "x = (1", vscode={"languageId": "julia"}) == []
    ((code, _, _),) = replaced("if a; then b; fi", "if a; then b", vscode={"languageId": "shellscript"})
    assert code == "no_longer_parses"


def test_a_new_cell_that_ends_too_early_and_a_placeholder_are_told() -> None:
    data = notebook("x = 1\n")
    ((code, line, detail),) = changed(data, {"cell": "after 1 code", "new_text": "y = [\n  1,\n"})
    assert (code, line) == ("cut_off", 1)
    assert detail.startswith("of cell 2: ")
    assert changed(data, {"cell": "after 1 markdown", "new_text": "y = [\n  1,\n"}) == []
    ((code, line, _),) = changed(data, {"cell": "1", "new_text": "x = 2\n# ... rest of the code unchanged\n"})
    assert (code, line) == ("placeholder", 2)
    assert changed(notebook("x = (\n"), {"cell": "1", "new_text": "x = ((\n"}) == []


def test_many_large_cells_take_no_longer_than_one() -> None:
    source = "x = [1]\n" * 3000
    data = notebook(*[source] * 40)
    edits = [{"cell": str(at + 1), "new_text": source + "y = [" * 50} for at in range(40)]
    found = changed(data, *edits)
    assert all(code == "no_longer_parses" for code, _, _ in found)
