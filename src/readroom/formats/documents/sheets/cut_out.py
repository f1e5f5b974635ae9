"""Rows cut out of a sheet, read by python-calamine in a workbook with nothing else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import python_calamine as calamine
from msgspec import Struct

from readroom.formats.documents import Encrypted, Unreadable
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.ooxml import Relation
from readroom.formats.documents.sheets.cells import Value

_RELATION = (
    '<Relationship Id="{}" Target="{}" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}"/>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
)


class ListedSheet(Struct, frozen=True):
    """A sheet as the workbook lists it; `member` is empty for charts and missing sheets."""

    name: str
    member: str
    hidden: bool


def listed(name: str, relation: Relation | None, *, hidden: bool) -> ListedSheet:
    """A sheet by what the workbook refers to."""
    known = relation is not None and relation.kind == "worksheet" and not relation.external
    return ListedSheet(name, relation.target if relation is not None and known else "", hidden)


def values(members: Mapping[str, bytes], ending: str) -> tuple[list[list[Value]], tuple[int, int] | None]:
    """The values of the sheet `worksheets/sheet1`, and the place of the first, from 0.

    `members` are a workbook, a sheet and what they refer to, by their names without the `ending`.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("_rels/.rels", _related(("r0", f"xl/workbook.{ending}", "officeDocument")))
        archive.writestr(
            f"xl/_rels/workbook.{ending}.rels",
            _related(
                ("r1", f"worksheets/sheet1.{ending}", "worksheet"),
                ("r2", f"styles.{ending}", "styles"),
                ("r3", f"sharedStrings.{ending}", "sharedStrings"),
            ),
        )
        for name, data in members.items():
            archive.writestr(f"xl/{name}.{ending}", data)
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
