"""A brace too many or too few somewhere in a file: what is called certain of the rest is what it was."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.outline import Unparsable, build
from readroom.core.outline.languages import language_of
from readroom.core.values.files import Outline, rows
from tests.core.outline.outlining import SAMPLES, check, text_of
from tests.each import each

TRIES = 40
"""Damages of each sample, the same in every run."""

MOST_WRONG = 0.005
"""Share of ends called certain that may be wrong: a body of one line that lost its brace, above the brace of
what surrounds it, reads like a body of two lines."""


def _outline(path: Path, text: str) -> Outline:
    language = language_of(str(path), text)
    assert language is not None
    return build(text, language, Deadline(60))


def _damaged(text: str, marks: str, chance: random.Random) -> str:
    places = [at for at, char in enumerate(text) if char in marks]
    if places and chance.random() < 0.5:
        at = chance.choice(places)
        return text[:at] + text[at + 1 :]
    at = chance.randrange(len(text))
    return text[:at] + chance.choice(marks) + text[at:]


def _ends(outline: Outline, *, certain: bool) -> dict[tuple[str, int], int]:
    """The last line of each definition by its name and the line of its signature."""
    return {
        (row.item.name, row.item.line): row.item.end
        for row in rows(outline.items)
        if row.item.certain or not certain
    }


def test_ends_that_are_called_certain_are_those_of_the_undamaged_file() -> None:
    seen, wrong, marked = 0, [], 0
    for path in SAMPLES:
        text, chance = text_of(path), random.Random(path.name)
        marks = "()[]" if path.suffix in (".py", ".rb", ".lua") else "{}"
        whole = _ends(_outline(path, text), certain=False)
        for _ in range(TRIES):
            broken = _damaged(text, marks, chance)
            try:
                outline = _outline(path, broken)
            except Unparsable:
                continue
            check(outline, broken)
            if outline.partial is None:
                continue
            sure = _ends(outline, certain=True)
            marked += len(_ends(outline, certain=False)) - len(sure)
            seen += len(sure)
            wrong += [
                f"{path.name} {key} ends in {end}, not {whole[key]}"
                for key, end in sure.items()
                if whole.get(key, end) != end
            ]
    assert marked
    assert len(wrong) <= MOST_WRONG * seen, wrong


@each("path", SAMPLES, ids=lambda path: path.name)
def test_what_parses_is_certain(path: Path) -> None:
    outline = _outline(path, text_of(path))
    if outline.partial is None:
        assert all(row.item.certain for row in rows(outline.items))
        assert not outline.errors


def _names(text: str, name: str) -> list[str]:
    return [row.name for row in rows(_outline(Path(name), text).items) if not row.item.minor]


def test_functions_behind_quotes_that_the_grammar_pairs_wrongly_are_found() -> None:
    """In backquotes in quotes a shell begins anew, and the grammar does not: the rest is text to it."""
    text = r"""            command="`grep -E "^Exec(\[[^]=]*])?=" "$file_path" | cut -d= -f 2- | first_word`"
exit_success()
    if [ $# -gt 0 ]; then

# Exit script on insufficient permission to write a specified file

exit_failure_file_permission_write()
{
    if [ $# -gt 0 ]; then
    fi
}
    if [ ! -e "$1" ]; then"""
    found = {row.item.name for row in rows(_outline(Path("script.sh"), text).items)}
    assert {"exit_success", "exit_failure_file_permission_write"} <= found


def test_functions_in_a_block_whose_output_goes_elsewhere_are_found() -> None:
    text = "if true; then\n{\nfirst() { :; }\nsecond() { :; } | cat\n} > log 2>&1\nfi\n"
    assert _names(text, "script.sh") == ["first", "second"]


def test_what_a_module_called_through_call_defines_is_found() -> None:
    """As CoffeeScript wrote them, and as frameworks chain what they are handed."""
    text = (
        "(function() {\n  var helper;\n  helper = function(a) { return a; };\n"
        "  exports.Parser = (function() {\n    function Parser() {}\n"
        "    Parser.prototype.run = function() {};\n    return Parser;\n  })();\n}).call(this);\n"
        "angular.module('x').controller('A', function First() {}).service('B', function Second() {});\n"
    )
    found = _names(text, "parser.js")
    assert {"helper", "Parser", "First", "Second"} <= set(found)
    assert any(name.endswith("Parser.run") for name in found), found


def test_a_class_that_extends_an_imported_type_is_found_with_its_members() -> None:
    text = (
        "export default class Scale extends Element<import(\"../types.js\").Any, import('x').B> {\n"
        "    constructor(cfg: any);\n    id: string;\n    init(options: import('./o').Options): void;\n}\n"
    )
    outline = _outline(Path("scale.d.ts"), text)
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == [
        "Scale", "Scale.constructor", "Scale.id", "Scale.init",
    ]  # fmt: skip
    assert 'import("../types.js").Any' in outline.items[0].signature


def test_many_definitions_in_a_long_line_end_with_their_time() -> None:
    """Their ends are told by what stands around them, and the line of all of them is looked at for each."""
    text = ".a b:hover>c{color:red}" * 4_000 + ".a{"
    asked = itertools.count()
    build(text, "css", Deadline(10**9, clock=asked.__next__))
    assert next(asked) > 4_000
    with pytest.raises(TimedOut):
        build(text, "css", Deadline(3_000, clock=itertools.count().__next__))
