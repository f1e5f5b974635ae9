"""What a document holds is shown, or counted in a note with a call that shows it: in every kind of place."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from readroom.core.formats.kinds import recognise
from readroom.core.limits import HEAD_BYTES
from readroom.core.paths import BORDER
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.documents.formats import opener
from tests.laws.driving import Driver, hints
from tests.laws.planting import SLIDES, WORD, Format, mark
from tests.laws.planting_flows import OPEN_SLIDES, OPEN_TEXT, RTF
from tests.laws.planting_mail import MAIL, MAILBOX, OUTLOOK, PACKED
from tests.laws.planting_old import OLD_SLIDES, OLD_WORD
from tests.laws.planting_pages import BOOK, NOTEBOOK, PAGE, PDF
from tests.laws.planting_sheets import OLD_WORKBOOK, OPEN_SHEETS, WORKBOOK

FORMATS = (
    WORD, SLIDES, WORKBOOK, OPEN_SHEETS, OLD_WORKBOOK, BOOK, PAGE, NOTEBOOK, PDF,
    OPEN_TEXT, OPEN_SLIDES, RTF, OLD_WORD, OLD_SLIDES, MAIL, MAILBOX, OUTLOOK, PACKED,
)  # fmt: skip


def _said(form: Format, places: Sequence[str]) -> tuple[str, str]:
    """The text of a document with what stands around it, and the notes about it."""
    data = form.make(places)
    found = recognise(form.name, data[:HEAD_BYTES])
    assert found is not None
    document = opener(found.format)(io.BytesIO(data))
    parts = [document.part(number) for number in range(1, len(document.titles) + 1)]
    lines = [line for part in parts for line in (part.title, *part.lines)]
    lines += [heading.title for heading in document.contents]
    return "\n".join(lines), "\n".join(note for part in parts for note in part.notes)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_what_stands_in_a_place_is_shown_or_counted(form: Format) -> None:
    without = _said(form, [])[1]
    wrong = []
    for place, counted in form.places.items():
        text, notes = _said(form, [place])
        if not (counted in notes and counted not in without if counted else mark(place) in text):
            wrong.append(place)
    assert wrong == []


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_reading_on_shows_or_counts_all_of_it(form: Format) -> None:
    """Through the workspace, page by page: every note reaches its reader."""
    driver = Driver(MemoryStore({form.name: form.make(form.places)}))
    replies = list(driver.pages("read_file", path=form.name, **({"pages": "1-"} if form is PAGE else {})))
    driver.workspace.close()
    text = "\n".join(reply.text for reply in replies)
    missing = [
        place for place, counted in form.places.items()
        if mark(place) not in text and not (counted and counted.split(" ")[0] in text)
    ]  # fmt: skip
    assert missing == []


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_count_names_a_call_that_shows_what_it_counts(form: Format) -> None:
    """Word for word: with its words, with the path of the member that it is, or as it is stored."""
    places = [place for place, counted in form.places.items() if counted]
    files = {f"{at}/{form.name}": form.make([place]) for at, place in enumerate(places)}
    unreached = set()
    with Workspace(MemoryStore(files)) as workspace:
        for at, place in enumerate(places):
            arguments = {"path": f"{at}/{form.name}", **({"pages": "1-"} if form is PAGE else {})}
            shown = "".join(_followed(workspace, arguments))
            if not (mark(place) in shown or f"{BORDER}/" in shown or "[Warning: archive" in shown):
                unreached.add(place)
    assert unreached == set()


def _followed(workspace: Workspace, arguments: Mapping[str, object]) -> Iterator[str]:
    """The texts of the calls that a read names for what it does not show."""
    for call in hints(workspace.call("read_file", dict(arguments))):
        asked = call["arguments"]
        is_stored = call["tool"] == "list_directory" or "encoding" in asked or len(asked) == 1
        if is_stored or asked.get("view") in ("not_shown", "formulas"):
            reply = workspace.call(call["tool"], asked)
            assert not reply.is_error, reply.text
            yield reply.text


def test_a_page_without_counts_has_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>words</p>", "utf-8")
    with Workspace(tmp_path) as workspace:
        plain = workspace.call("read_file", {"path": "a.html", "pages": "1"})
        asked = workspace.call("read_file", {"path": "a.html", "pages": "1", "view": "not_shown"})
        refused = workspace.call("read_file", {"path": "a.html", "view": "not_shown", "encoding": "utf-8"})
    assert "not shown" not in plain.text.lower()
    assert "Nothing that can be shown is left out." in asked.text
    assert not asked.is_error
    assert refused.is_error
