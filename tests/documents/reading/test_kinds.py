"""Every kind of document through a workspace: read by parts, found in a search, edited where it is a text."""

from __future__ import annotations

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.laws.driving import fact
from tests.laws.planting import Format, mark
from tests.laws.planting_flows import OPEN_SLIDES, OPEN_TEXT, RTF
from tests.laws.planting_mail import MAIL, MAILBOX, OUTLOOK, PACKED
from tests.laws.planting_old import OLD_SLIDES, OLD_WORD
from tests.suites import daily

KINDS = (OPEN_TEXT, OPEN_SLIDES, RTF, OLD_WORD, OLD_SLIDES, MAIL, MAILBOX, OUTLOOK, PACKED)
UNITS = {
    "odt": "section",
    "rtf": "section",
    "doc": "section",
    "odp": "slide",
    "ppt": "slide",
}
TEXTS = (RTF, MAIL, MAILBOX)


def _shown(form: Format) -> list[str]:
    """Places whose words a read shows."""
    return [place for place, counted in form.places.items() if not counted]


@daily(2, "form", KINDS, ids=lambda form: form.name)
def test_a_search_says_where_a_read_shows_it(form: Format) -> None:
    with Workspace(MemoryStore({form.name: form.make(form.places)})) as space:
        missing = []
        for place in _shown(form):
            reply = space.call("grep_files", {"pattern": mark(place), "documents": True})
            lines = [line for file in fact(reply, "files") for line in file["lines"] if line["match"]]
            if not lines:
                missing.append(place)
                continue
            read = space.read(form.name, pages=f"#{lines[0]['part']}", offset=lines[0]["line"], limit=1)
            assert mark(place) in read.text
    titles = {"name of a sheet", "name of an attachment"}  # of parts, which are not lines
    assert set(missing) <= titles


@daily(2, "form", KINDS, ids=lambda form: form.name)
def test_a_read_says_what_the_parts_are_and_shows_those_that_are_asked_for(form: Format) -> None:
    with Workspace(MemoryStore({form.name: form.make(form.places)})) as space:
        unit = UNITS.get(form.name.rpartition(".")[2], "part")
        reply = space.read(form.name, pages=f"{unit} 1")
        assert f"{form.name} | {unit} 1 of " in reply.text
        refused = space.call("read_file", {"path": form.name, "pages": "4000"})
        assert f"names {unit} 4000" in refused.text


@daily(1, "form", TEXTS, ids=lambda form: form.name)
def test_one_that_is_a_text_can_be_read_and_edited_as_it_is_stored(form: Format) -> None:
    data = form.make(_shown(form)[:1])
    with Workspace(MemoryStore({form.name: data})) as space:
        plain = space.read(form.name, encoding="utf-8")
        digest = fact(plain, "content_hash")
        assert digest == fact(space.read(form.name), "content_hash")
        assert data.decode().split("\n")[0].rstrip("\r") in plain.text
        word = mark(_shown(form)[0])
        arguments = {
            "path": form.name,
            "expected_hash": digest,
            "edits": [{"old_text": word, "new_text": "changed"}],
        }
        assert not space.call("edit_file", arguments).is_error
        assert "changed" in space.read(form.name).text


def test_a_plain_search_of_a_text_that_is_a_document_says_how_its_lines_are_read() -> None:
    with Workspace(MemoryStore({"a.rtf": RTF.make(["paragraph"])})) as space:
        reply = space.call("grep_files", {"pattern": mark("paragraph")})
        (warning,) = fact(reply, "warnings")
        assert warning["code"] == "notebook"
        assert "from its source: read them with encoding utf-8" in warning["detail"]
