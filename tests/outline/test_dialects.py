"""What people write that a grammar does not know, or that reads like something else."""

from __future__ import annotations

import pytest

from readroom.deadline import Deadline
from readroom.outline import build
from readroom.outline.languages import language_of
from readroom.values.files import Row, rows


def _rows(language: str, text: str) -> dict[str, Row]:
    return {row.name: row for row in rows(build(text, language, Deadline(60)).items)}


def _spans(language: str, text: str) -> dict[str, tuple[int, int]]:
    return {name: (row.item.start, row.item.end) for name, row in _rows(language, text).items()}


def test_a_macro_of_several_lines_ends_with_its_last_one() -> None:
    text = "#define FIRST(a) \\\n    DECLARE_OTHER(a, a)\n#define SECOND(a) \\\n    DECLARE_OTHER(a, 1)\n"
    found = _rows("c", text)
    assert {name: (row.item.start, row.item.end) for name, row in found.items()} == {
        "FIRST": (1, 2),
        "SECOND": (3, 4),
    }
    assert found["FIRST"].item.signature == "#define FIRST(a)"


def test_types_that_are_made_by_a_macro_are_no_errors() -> None:
    text = (
        "int first(int a);\n"
        "__checked LIST_OF(NAME) *second(void);\n"
        "MUST_CHECK LIST_OF(NAME) *third(int a);\n"
    )
    outline = build(text, "c", Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == ["first", "second", "third"]


def test_functions_of_zsh_are_found_around_what_the_grammar_of_shells_does_not_know() -> None:
    text = (
        "# Says what it is about.\n"
        "zone::first() {\n"
        '    local -a names=( ${(f)"$(ls)"} )\n'
        "    for name in $names; {\n"
        "        print ${name:t:r}\n"
        "    }\n"
        "}\n"
        "\n"
        "function second {\n"
        "    print ${(%):-%x} =(cmd) <<< ${(j:,:)names}\n"
        "}\n"
        "cat <<END\n"
        "third() {\n"
        "}\n"
        "END\n"
    )
    outline = build(text, "bash", Deadline(60))
    assert outline.partial is not None
    found = {row.name: (row.item.start, row.item.end) for row in rows(outline.items) if not row.item.minor}
    assert found == {"zone::first": (1, 7), "second": (9, 11)}


def test_a_job_that_zsh_forgets_is_no_error() -> None:
    text = "one() {\n    sleep 1 &!\n}\ntwo() {\n    sleep 1 &|\n}\n"
    outline = build(text, "bash", Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == ["one", "two"]


def test_functions_in_what_a_call_is_given_have_the_name_that_gets_its_value() -> None:
    text = (
        "local rule = config:register {\n"
        "  name = 'rule',\n"
        "  callback = function(task)\n"
        "    local function check(part) return part end\n"
        "    return check(task)\n"
        "  end,\n"
        "}\n"
        "local proxy = setmetatable({}, {\n"
        "  __index = function(self, key) return key end,\n"
        "})\n"
        "local made = make({ size = 1 })\n"
    )
    found = _rows("lua", text)
    assert set(found) == {
        *("rule", "rule.name", "rule.callback", "rule.callback.check"),
        *("proxy", "proxy.__index", "made"),
    }
    assert [name for name, row in found.items() if not row.item.minor] == [
        *("rule", "rule.callback", "proxy", "proxy.__index"),
    ]
    assert found["proxy"].item.signature == "local proxy = setmetatable"
    assert _spans("lua", text)["rule.callback"] == (3, 6)


@pytest.mark.parametrize("head", ['<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS>', "<!DOCTYPE TS>\n<TS>"])
def test_translations_of_a_program_are_no_typescript(head: str) -> None:
    assert language_of("app_de.ts", head) is None
    assert language_of("app_de.ts", "export const app = 1;") == "typescript"
