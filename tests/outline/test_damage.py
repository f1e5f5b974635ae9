"""A brace too many or too few somewhere in a file: what is called certain of the rest is what it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from readroom.deadline import Deadline
from readroom.outline import Unparsable, build
from readroom.outline.languages import language_of
from readroom.values.files import Outline, rows
from tests.outline.outlining import SAMPLES, check, text_of

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


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_what_parses_is_certain(path: Path) -> None:
    outline = _outline(path, text_of(path))
    if outline.partial is None:
        assert all(row.item.certain for row in rows(outline.items))
        assert not outline.errors
