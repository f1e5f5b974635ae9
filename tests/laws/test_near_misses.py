"""A refusal of an edit names the slip and the place, with code points, or nothing where nothing is known."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.errors import NoMatch
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import digest

WORDS = st.sampled_from(
    [
        'say("one two")',
        "a - b",
        "it's café",
        "x <= y && z",
        "return total",
        "if (done) {",
        "} else {",
        "Élan vital",
    ]
)
LINES = st.lists(st.tuples(st.sampled_from(["", "  ", "    "]), WORDS), min_size=3, max_size=12)


class Near(NamedTuple):
    """A file, an old text that is nearly in it, the lines it means, and words of the refusal."""

    file: str
    old: str
    first: int
    said: Sequence[str]


Slip = Callable[[str, str, str], tuple[str, str, list[str]] | None]
"""Of a file and a text in it, with what follows: the file and the old text after the slip, and words."""


def _old(change: Callable[[str], str], *said: str) -> Slip:
    return lambda file, true, rest: (file, change(true), list(said))


def _file(change: Callable[[str], str], *said: str) -> Slip:
    return lambda file, true, rest: (change(file), true, list(said))


def _cr(file: str, true: str, rest: str) -> tuple[str, str, list[str]] | None:
    return (file.replace("\n", "\r"), true, ["CR (U+000D) alone"]) if "\n" in true else None


def _final(file: str, true: str, rest: str) -> tuple[str, str, list[str]] | None:
    return (file, true + "\n", ["without the last line break (U+000A)"]) if not rest else None


def _both(file: str, true: str, rest: str) -> tuple[str, str, list[str]] | None:
    if '"' not in true or "  " not in true:
        return None
    old = true.replace('"', "\u201c").replace("  ", "\t")
    return file, old, ["white space and characters that look alike", "U+"]


SLIPS: dict[str, Slip] = {
    "no-break space": _old(lambda text: text.replace(" ", "\u00a0"), "look alike", "U+00A0 (no-break space)"),
    "no-break space there": _file(
        lambda text: text.replace(" ", "\u00a0"), "look alike", "the file has U+00A0"
    ),
    "zero width": _old(
        lambda text: text[:2] + "\u200b" + text[2:], "look alike", "U+200B (zero width space)"
    ),
    "zero width there": _file(
        lambda text: "\n".join(line[:2] + "\u200b" + line[2:] for line in text.split("\n")),
        "look alike",
        "the file has U+200B",
    ),
    "curly quotes": _old(
        lambda text: text.replace('"', "\u201d").replace("'", "\u2019"), "look alike", "U+201"
    ),
    "curly quotes there": _file(
        lambda text: text.replace('"', "\u201d").replace("'", "\u2019"), "look alike", "the file has U+201"
    ),
    "dash": _old(lambda text: text.replace("-", "\u2013"), "look alike", "U+2013 (en dash)"),
    "letters": _old(
        lambda text: text.replace("a", "\u0430"), "look alike", "U+0430 (cyrillic small letter a)"
    ),
    "tabs": _old(lambda text: text.replace("  ", "\t"), "white space", "U+0009"),
    "more blanks": _old(lambda text: text.replace(" ", "   "), "white space"),
    "case": _old(str.swapcase, "case"),
    "apart": _old(lambda text: normalize("NFD", text), "one character or two"),
    "apart there": _file(lambda text: normalize("NFD", text), "one character or two"),
    "escapes": _old(lambda text: json.dumps(text, ensure_ascii=False)[1:-1], "backslashes"),
    "unicode escapes": _old(lambda text: json.dumps(text)[1:-1], "backslashes"),
    "escapes there": _file(lambda text: text.replace('"', '\\"'), "backslashes"),
    "HTML": _old(html.escape, "HTML escapes"),
    "HTML there": _file(html.escape, "HTML escapes"),
    "line numbers": _old(
        lambda text: "\n".join(f"{at}\t{line}" for at, line in enumerate(text.split("\n"), 7)), "line numbers"
    ),
    "final newline": _final,
    "newline first": _old(lambda text: f"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n{text}", "line break"),
    "CR": _cr,
    "quotes and tabs": _both,
    "joined lines": _old(lambda text: text.replace("\n", " "), "line breaks"),
}


def _plain(file: str, old: str) -> bool:
    return old.strip() != "" and old not in file


@st.composite
def nears(draw: st.DrawFn) -> Near | None:
    drawn = draw(LINES)
    lines = [f"{indent}{words} {number}" for number, (indent, words) in enumerate(drawn, 101)]
    first = draw(st.integers(0, len(lines) - 1))
    last = draw(st.integers(first, min(first + 3, len(lines) - 1)))
    true, rest = "\n".join(lines[first : last + 1]), "\n".join(lines[last + 1 :])
    made = SLIPS[draw(st.sampled_from(sorted(SLIPS)))]("\n".join(lines), true, rest)
    if made is None:
        return None
    file, old, said = made
    return Near(file, old, first + 1, said) if _plain(file, old) else None


def refusal(file: str, *edits: Any) -> NoMatch:
    data = file.encode()
    with Workspace(MemoryStore({"f.txt": data})) as space, pytest.raises(NoMatch) as caught:
        space.edit("f.txt", digest(data), list(edits))
    return caught.value


@settings(max_examples=250)
@given(nears())
def test_a_slip_is_named_with_its_place(near: Near | None) -> None:
    if near is None:
        return
    error = refusal(near.file, {"old_text": near.old, "new_text": "something else entirely"})
    for said in near.said:
        assert said in error.advice, (near, error.advice)
    place = 1 if "\r" in near.file else near.first
    assert error.first == place, (near, error.advice)


@settings(max_examples=60)
@given(nears())
def test_a_contract_that_repeats_the_advice_repeats_it_whole(near: Near | None) -> None:
    if near is None:
        return
    data = near.file.encode()
    edits = [{"old_text": near.old, "new_text": "something else entirely"}]
    arguments = {"path": "f.txt", "expected_hash": digest(data), "edits": edits}
    with Workspace(MemoryStore({"f.txt": data})) as space:
        reply = space.call("edit_file", arguments, contract_name="everruns")
    assert reply.is_error
    for said in near.said:
        assert said in reply.text, (near, reply.text)


@settings(max_examples=100)
@given(LINES, st.text(st.sampled_from("zqwvkjy \n"), min_size=3, max_size=40))
def test_nothing_is_said_to_be_there_that_is_not(drawn: Sequence[tuple[str, str]], old: str) -> None:
    file = "\n".join(f"{indent}{words} {number}" for number, (indent, words) in enumerate(drawn, 101))
    if not old.strip() or "".join(old.split()) in "".join(file.split()).lower():
        return
    advice = refusal(file, {"old_text": old, "new_text": "1"}).advice
    assert "It is there" not in advice
    assert "The file has it" not in advice
    assert "differs only" not in advice, advice


@given(LINES, st.data())
def test_an_edit_that_needs_another_of_the_call_is_told_which(
    drawn: Sequence[tuple[str, str]], data: st.DataObject
) -> None:
    lines = [f"{indent}{words} {number}" for number, (indent, words) in enumerate(drawn, 101)]
    at = data.draw(st.integers(0, len(lines) - 1))
    needed = {"old_text": lines[at], "new_text": "brand = new_line()"}
    needs = {"old_text": "brand = new_line()", "new_text": "brand = newer()"}
    number = data.draw(st.sampled_from([0, 1]))
    calls = [needed, needs] if number else [needs, needed]
    error = refusal("\n".join(lines), *calls)
    assert error.edit == number
    assert f"It is there only after edits[{1 - number}]" in error.advice
    assert error.first == at + 1
