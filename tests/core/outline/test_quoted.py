"""Lines inside strings, comments, heredocs and other text in several lines define nothing, in any outline."""

from __future__ import annotations

import itertools

from readroom.core.deadline import Deadline
from readroom.core.outline import build
from readroom.core.values.files import rows
from tests.each import each

_TERRAFORM = 'resource "a" "fake" {\n}\nvariable "fake" {\n'
_SQL = "create table fake (\n  x int\n);\n"
_QUOTED: list[tuple[str, str, str, str, str]] = [
    ("terraform", 'resource "a" "one" {\n', "  x = <<EOF\n", _TERRAFORM, "EOF\n}\n"),
    ("terraform", 'resource "a" "one" {\n', "  x = <<-EOF\n", _TERRAFORM, "  EOF\n}\n"),
    ("terraform", 'resource "a" "one" {\n', "  x = <<~T_1\n", _TERRAFORM + "  EOF\n", "  T_1\n}\n"),
    ("terraform", 'variable "one" {\n', "  x = 1 /* y\n", _TERRAFORM, "*/\n}\n"),
    ("terraform", 'variable "one" {\n}\n', "/*\n", _TERRAFORM, "*/\n"),
    ("dockerfile", "FROM a AS one\n", "RUN <<EOF\n", "FROM b AS fake\nARG fake\n", "EOF\n"),
    ("dockerfile", "FROM a AS one\n", "RUN cat <<-'X' > f\n", "FROM b AS fake\n  X\n", "\tX\n"),
    ("dockerfile", "FROM a AS one\n", 'COPY <<"A" <<B /x/\n', "FROM b AS fake\nA\nFROM c AS fake\n", "B\n"),
    (
        "dockerfile",
        "FROM a AS one\n",
        "COPY <<b.txt <<'c-d' /x/\n",
        "FROM b AS fake\nb.txt\nFROM c AS fake\n",
        "c-d\n",
    ),
    (
        "dockerfile",
        "FROM a AS one\n",
        "RUN echo \\\n",
        "FROM b AS fake \\\n# c\nARG fake\\\n\nARG fake\\\n",
        " d\n",
    ),
    ("dockerfile", "# escape=`\nFROM a AS one\n", "RUN echo `\n", "FROM b AS fake `\n", " d\n"),
    (
        "makefile",
        "one: a\n",
        "define fake\n",
        "fake: b\nfake = c\ndefine fake\nfake: d\nendef\nfake: e\n",
        "endef # f\n",
    ),
    ("makefile", "one: a\n", "override define fake\n", "fake: b\n", "endef\n"),
    ("makefile", "one: a\n", "fake = b \\\n", "fake: c \\\n", "d\n"),
    ("sql", "create table one (x int);\n", "/* a\n", _SQL, "*/\n"),
    ("sql", "create table one (x int);\n", "insert into one values ('\n", _SQL, "');\n"),
    ("sql", "create table one (x int);\n", "do $$ begin\n", _SQL, "end $$;\n"),
    ("sql", "create table one (x int);\n", "do $a_1$\n", _SQL + "$$;\n" + _SQL, "$a_1$;\n"),
    ("sql", "create function one() returns int as $f$\n", "select 1;\n", _SQL, "$f$ language sql;\n"),
    ("protobuf", "message one {\n}\n", "/* a\n", "message fake {\n}\n", "*/\n"),
    ("toml", "[one]\n", 'x = """\n', "[fake]\nfake = 1\n", '"""\n'),
    ("toml", "[one]\n", "x = '''y\n", '[fake]\n"""\n[fake]\n', "z'''\n"),
    ("toml", "[one]\n", 'x = [ "a", """\n', "]\n[fake]\n", '""" ]\n'),
    ("toml", "[one]\n", "x = [\n  '''\n", "]\n[fake]\n", "''',\n]\n"),
    ("yaml", "one: 1\n", "text: |\n", "  fake: 2\n\n  fake:\n    fake: 3\n", ""),
    ("yaml", "one: 1\n", "text: !!str >-  # a\n", "  fake: 2\n", ""),
    ("yaml", "one: 1\n", 'text: "a\n', '  fake: 2\n  fake: \\" 3\n', '  b"\n'),
    ("yaml", "one: 1\n", "text: &x 'a\n", "  fake: 2\n  it''s: 3\n", "  b'\n"),
    ("yaml", "one: 1\n", "--- |\n", "fake: 2\n", "---\n"),
    ("markdown", "# one\n", "```\n", "# fake\n~~~\nfake\n===\n", "```\n"),
    ("markdown", "# one\n", "~~~~ a\n", "# fake\n~~~\n", "~~~~\n"),
    ("markdown", "# one\n", "<!-- a\n", "\n# fake\n\nfake\n---\n```\n", "-->\n"),
    ("markdown", "# one\n", "<pre>\n", "\n# fake\n\n", "</pre>\n"),
    ("markdown", "# one\n", "<script>\n", "\n# fake\n\n", "</SCRIPT> a\n"),
    ("bash", "one() {\n  :\n}\n", "cat <<EOF\n", "fake() {\n}\n", "EOF\n"),
    ("bash", "one() {\n", "  cat <<-'EOF'\n", "}\nfake() {\n", "\tEOF\n}\n"),
    ("ruby", "def one\nend\n", "x = <<~A\n", "def fake\nend\n", "A\n"),
    ("php", "<?php\nfunction one() {\n", "  $x = <<<'A'\n", "}\nfunction fake() {\n", "A;\n}\n"),
    ("python", "def one():\n", '    x = """\n', "def fake():\n    pass\n", '"""\n'),
]

_AFTER = {
    "terraform": 'variable "two" {\n}\n',
    "dockerfile": "FROM c AS two\n",
    "makefile": "two: c\n",
    "sql": "create table two (x int);\n",
    "protobuf": "message two {\n}\n",
    "toml": "[two]\n",
    "yaml": "two: 3\n",
    "markdown": "# two\n",
    "bash": "two() {\n  :\n}\n",
    "ruby": "def two\nend\n",
    "php": "function two() {\n}\n",
    "python": "def two():\n    pass\n",
}


@each(("number", "twice", "end"), [*itertools.product(range(len(_QUOTED)), (1, 2), ("\n", "\r\n"))])
def test_a_text_in_several_lines_defines_nothing(number: int, twice: int, end: str) -> None:
    language, before, begins, fakes, ends = _QUOTED[number]
    text = before + begins + fakes * twice + ends + _AFTER[language]
    outline = build(text.replace("\n", end), language, Deadline(60))
    names = {row.name.split(".")[-1]: row.item for row in rows(outline.items)}
    opened = "define fake" in begins or begins.startswith("fake")
    assert {"one", "two"} <= set(names)
    assert "fake" not in names or (opened and names["fake"].signature in begins)
    assert names["two"].start == text.count("\n") - _AFTER[language].count("\n") + 1
    assert sum(row.name.endswith("fake") for row in rows(outline.items)) == opened


@each(
    ("language", "text", "names"),
    [
        ("sql", "-- it's\ncreate table a (x int);\n", ["a"]),
        ("sql", "insert into a values ('it\\'s');\ncreate table b (x int);\n", ["b"]),
        ("sql", "insert into a values ('it''s', '\\\\', 'C:\\');\ncreate table b (x int);\n", ["b"]),
        ("sql", "\\echo don't\ncreate table b (x int);\n", ["b"]),
        ("dockerfile", "FROM a AS b\nRUN echo $((1<<N)) a<<b\nFROM c AS d\n", ["b", "d"]),
        ("terraform", 'locals {\n  a = "<<EOF"\n  b = "/*"\n}\nvariable "c" {\n}\n', ["c"]),
        ("toml", '[a]\nx = "\'\'\'"\n[b]\n# """\n[c]\n', ["a", "b", "c"]),
        ("yaml", "a: it's\nb: x \" y\nc: 'd' # '\ne: \"f\"\n", ["a", "b", "c", "e"]),
        ("markdown", "# a\nb <!-- c -->\n<!-- d -->\n# e\n", ["a", "e"]),
    ],
)
def test_what_only_looks_like_a_quote_hides_nothing(language: str, text: str, names: list[str]) -> None:
    found = [row.name for row in rows(build(text, language, Deadline(60)).items)]
    assert set(names) <= set(found), found


def test_a_target_may_begin_with_a_variable() -> None:
    text = "$(OUT)/a.o: a.c\n\tcc\n${B}: c\n$(CC) := d\n$(info e: f)\n$(call g,h): i\n"
    assert [row.name for row in rows(build(text, "makefile", Deadline(60)).items)] == ["$(OUT)/a.o", "${B}"]


def test_a_directive_of_a_makefile_is_no_target() -> None:
    text = "ifeq ($(A),b: c)\nelse ifneq (d:,e)\nendif\nvpath %.c f:g\n-include h:i\nelse: j\nifs: l\n"
    assert [row.name for row in rows(build(text, "makefile", Deadline(60)).items)] == ["else", "ifs"]


def test_a_label_of_terraform_needs_no_quotes() -> None:
    text = 'variable a {\n}\nresource b "c" {\n}\ndata "d" e {\n}\nmodule = 1\nvariable "f" {}\n'
    assert [row.name for row in rows(build(text, "terraform", Deadline(60)).items)] == [
        "a",
        "b.c",
        "d.e",
        "f",
    ]
