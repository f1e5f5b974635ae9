"""One sample for each language, its expected outline beside it, checked by hand.

`python -m tests.core.outline.test_fixtures` writes the expected ones anew, to be read before they are
committed.
"""

from __future__ import annotations

from pathlib import Path

from readroom.core.outline import can_outline
from readroom.core.outline.languages import INTERPRETERS, NAMES, SUFFIXES
from tests.core.outline.outlining import SAMPLES, check, drawn, outline_of, text_of
from tests.each import each
from tests.suites import daily


def _expected(sample: Path) -> Path:
    return sample.with_name(sample.name + ".outline")


@each("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_sample_has_the_expected_outline(sample: Path) -> None:
    outline = outline_of(sample)
    assert drawn(outline) == _expected(sample).read_text(encoding="utf-8")
    check(outline, text_of(sample))


def test_every_language_has_a_sample() -> None:
    known = {*SUFFIXES.values(), *NAMES.values(), *INTERPRETERS.values()}
    assert {outline_of(sample).language for sample in SAMPLES} == known
    assert all(map(can_outline, known))


@each("sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_sample_with_windows_line_ends_has_the_same_outline(sample: Path) -> None:
    text = text_of(sample)
    assert drawn(outline_of(sample, text.replace("\n", "\r\n"))) == drawn(outline_of(sample, text))


@daily(8, "sample", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_sample_that_is_cut_anywhere_gives_what_parses(sample: Path) -> None:
    """A file with syntax errors: no failure, and spans stay within what there is."""
    text = text_of(sample)
    for at in range(0, len(text), 37):
        check(outline_of(sample, text[:at]), text[:at])
        check(outline_of(sample, text[at:]), text[at:])


if __name__ == "__main__":
    for path in SAMPLES:
        _expected(path).write_text(drawn(outline_of(path)), encoding="utf-8")
