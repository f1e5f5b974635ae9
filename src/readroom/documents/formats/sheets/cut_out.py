"""Rows cut out of a sheet, read by python-calamine in a workbook with nothing else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import python_calamine as calamine
from msgspec import Struct

from readroom.documents.formats import Encrypted, Unreadable
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.ooxml import Package, Relation
from readroom.documents.formats.sheets.cells import HIDDEN, Value

_RELATION = (
    '<Relationship Id="{}" Target="{}" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}"/>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
)


class ListedSheet(Struct, frozen=True):
    """A sheet as the workbook lists it; without a `member`, `note` has the reason, else an oddity."""

    name: str
    member: str
    hidden: bool
    note: str = ""

    @property
    def notes(self) -> list[str]:
        """The notes before its cells."""
        return [HIDDEN] * self.hidden + [self.note] * bool(self.note)


_WITH_CELLS = ("worksheet", "xlMacrosheet", "xlIntlMacrosheet")
_WITHOUT = {
    "chartsheet": "It is a chart and has no cells.",
    "dialogsheet": "It is a dialog and has no cells.",
}


def _beside(package: Package, name: str) -> str:
    """The member that programs call so, in the folder of the workbook."""
    folder, ending = package.main.rpartition("/")[0], package.main.rpartition(".")[2]
    return f"{folder}/{name}.{ending}".lstrip("/")


def part_of(package: Package, kind: str) -> str | None:
    """The part of the workbook of this kind; by its usual name where the workbook refers to none."""
    known = [
        at.target for at in package.relations(package.main).values() if at.kind == kind and not at.external
    ]
    usual = _beside(package, kind)
    return next((member for member in (*known, usual) if member in package.archive.members), None)


def listed(
    package: Package, number: int, name: str, relation: Relation | None, *, hidden: bool
) -> ListedSheet:
    """A sheet by the relations of the workbook; by its usual name if there is none."""
    if relation is None:
        usual = _beside(package, f"worksheets/sheet{number}")
        if usual in package.archive.members:
            return ListedSheet(
                name, usual, hidden, f"The file does not say which part it is; {usual} is shown."
            )
        return ListedSheet(name, "", hidden, "Its part is missing in the file.")
    if relation.external:
        return ListedSheet(name, "", hidden, "It is in another file.")
    if relation.kind in _WITH_CELLS:
        return ListedSheet(name, relation.target, hidden)
    kind = "".join(letter for letter in relation.kind[:40] if letter.isalnum())
    return ListedSheet(
        name, "", hidden, _WITHOUT.get(relation.kind, f"It is a part of the kind {kind}, which has no cells.")
    )


def values(members: Mapping[str, bytes]) -> tuple[list[list[Value]], tuple[int, int] | None]:
    """The values of the sheet `worksheets/sheet1`, and the place of the first, from 0.

    `members` are a workbook, a sheet and what they refer to, by their names without `.xml`.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("_rels/.rels", _related(("r0", "xl/workbook.xml", "officeDocument")))
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            _related(
                ("r1", "worksheets/sheet1.xml", "worksheet"),
                ("r2", "styles.xml", "styles"),
                ("r3", "sharedStrings.xml", "sharedStrings"),
            ),
        )
        for name, data in members.items():
            archive.writestr(f"xl/{name}.xml", data)
    file.seek(0)
    with translated():
        sheet = calamine.CalamineWorkbook.from_filelike(file).get_sheet_by_index(0)
        return sheet.to_python(), sheet.start


def _related(*entries: tuple[str, str, str]) -> str:
    return _RELATIONS.format("".join(_RELATION.format(*entry) for entry in entries))


@contextmanager
def translated() -> Iterator[None]:
    """The library's failures as Unreadable; a panic of its compiled code is not an Exception."""
    try:
        yield
    except calamine.PasswordError:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.") from None
    except (calamine.CalamineError, ValueError, OverflowError):
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
