"""A part of a document that cannot be read costs what is in it, and a note says so; all else is shown."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping

from readroom.core.formats.kinds import recognise
from readroom.core.limits import HEAD_BYTES
from readroom.documents.formats import opener
from tests.each import each
from tests.laws.planting import SLIDES, WORD, Format, mark
from tests.laws.planting_flows import OPEN_SLIDES, OPEN_TEXT
from tests.laws.planting_pages import BOOK
from tests.laws.planting_sheets import OPEN_SHEETS, WORKBOOK

_NEEDED = re.compile(
    r"_rels/\.rels|(?:word/document|ppt/presentation|xl/workbook|content|META-INF/container)\.(?:xml|bin)"
    r"|.*\.opf|(?:word|ppt)/_rels/(?:document|presentation)\.xml\.rels"
)
"""Without these nobody knows what the document is; a sheet, slide or chapter is the text itself."""

_TEXTS = re.compile(r".*(?:sheet\d+|slide\d+|\.xhtml)(?:\.xml|\.bin)?(?:\.rels)?\Z")
_WAYS: Mapping[str, bytes] = {
    "broken": b"<broken",
    "empty": b"",
    "with entities": b'<!DOCTYPE x [<!ENTITY a "b">]><a/>',
    "binary": bytes(range(256)),
}
_FORMATS = (WORD, SLIDES, WORKBOOK, OPEN_TEXT, OPEN_SLIDES, OPEN_SHEETS, BOOK)


def _members(form: Format) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(form.make(form.places))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _cases() -> Iterator[tuple[Format, str]]:
    for form in _FORMATS:
        yield from (
            (form, name) for name in _members(form) if not _NEEDED.fullmatch(name) and not _TEXTS.match(name)
        )


def _shown(form: Format, members: Mapping[str, bytes]) -> tuple[str, list[str]]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    found = recognise(form.name, file.getvalue()[:HEAD_BYTES])
    assert found is not None
    document = opener(found.format)(file)
    parts = [document.part(number) for number in range(1, len(document.titles) + 1)]
    return "\n".join(line for part in parts for line in part.lines), [
        note for part in parts for note in part.notes
    ]


@each("way", _WAYS)
@each(("form", "name"), list(_cases()), ids=lambda one: getattr(one, "name", one))
def test_a_part_costs_what_is_in_it(form: Format, name: str, way: str) -> None:
    members = _members(form)
    before, _ = _shown(form, members)
    after, notes = _shown(form, members | {name: _WAYS[way]})
    places = [place for place in form.places if mark(place) in before and mark(place) not in after]
    lost = [place for place in places if mark(place).encode() not in members[name]]
    assert lost == []
    assert not places or notes
    if places and form in (WORD, SLIDES, WORKBOOK):
        said = "\n".join([*notes, after])
        assert re.search(r"Not read: its part |cannot be read|its text is missing", said)
