"""The argument with which an edit names a cell of a notebook, in words that a model writes without a schema.

    3                   the text is in cell 3; without `old_text` all of it is replaced
    after 3             a new cell after cell 3 (0: the first), of code; `after 3 markdown` of another kind
    delete 3
    move 3 after 5

Each may end in `keep outputs`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct, field

from readroom.core.errors import BadValue
from readroom.core.limits import VALUE_CHARS
from readroom.core.values.changes import CELL, Edit

_NUMBER = r"(?:cell )?#?(\d{1,9})"
_WITHIN = re.compile(rf"(?:in )?{_NUMBER}")
_INSERT = re.compile(rf"(?:insert )?after {_NUMBER}(?: (?:as )?([a-z]+)(?: cell)?)?")
_DELETE = re.compile(rf"(?:delete|remove) {_NUMBER}")
_MOVE = re.compile(rf"move {_NUMBER} (?:to )?after {_NUMBER}")
_KEEP = re.compile(r"[ ,;]*\bkeep outputs?\Z")


class CellAction(StrEnum):
    """The ways to change a whole cell."""

    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"
    MOVE = "move"


class CellEdit(Struct, frozen=True):
    """A change of a whole cell of a notebook. Numbers of cells are those before any change of the call.

    Attributes:
        edit: The number of the edit in the call, from 0.
        action: The way it is changed.
        cell: The cell; one is inserted after it, 0 for the beginning.
        text: The source of a cell that is inserted or replaced.
        kind: The kind of an inserted cell: code, markdown or raw.
        after: The cell after which a moved one is put, 0 for the beginning.
    """

    edit: int
    action: CellAction
    cell: int
    text: str = ""
    kind: str = "code"
    after: int = 0


class TextEdit(Struct, frozen=True):
    """A change of a text, which is looked for in one cell or, with None, in all of them."""

    edit: int
    text: Edit
    cell: int | None = None


class CellEdits(Struct):
    """The edits of a call by what they change, and whether changed cells keep their outputs."""

    texts: list[TextEdit] = field(default_factory=list)
    changes: list[CellEdit] = field(default_factory=list)
    keep_outputs: bool = False

    @property
    def names_cells(self) -> bool:
        """Whether any edit says something of a cell."""
        return bool(self.changes) or self.keep_outputs or any(each.cell is not None for each in self.texts)


def cell_edits(edits: Sequence[Edit]) -> CellEdits:
    """The edits of a call as those of cells.

    Raises:
        BadValue: One says what is no form of this.
    """
    found = CellEdits()
    for number, edit in enumerate(edits):
        words = " ".join((edit.cell or "").lower().split())
        bare = _KEEP.sub("", words)
        found.keep_outputs = found.keep_outputs or bare != words
        meant = _meant(number, edit, bare) if bare else TextEdit(number, edit)
        if isinstance(meant, TextEdit):
            found.texts.append(meant)
        else:
            found.changes.append(meant)
    return found


def _meant(number: int, edit: Edit, words: str) -> TextEdit | CellEdit:
    if within := _WITHIN.fullmatch(words):
        cell = int(within[1])
        if edit.old_text:
            return TextEdit(number, edit, cell)
        return CellEdit(number, CellAction.REPLACE, cell, edit.new_text)
    if inserted := _INSERT.fullmatch(words):
        return CellEdit(number, CellAction.INSERT, int(inserted[1]), edit.new_text, inserted[2] or "code")
    if deleted := _DELETE.fullmatch(words):
        return CellEdit(number, CellAction.DELETE, int(deleted[1]))
    if moved := _MOVE.fullmatch(words):
        return CellEdit(number, CellAction.MOVE, int(moved[1]), after=int(moved[2]))
    said = (edit.cell or "")[:VALUE_CHARS]
    raise BadValue(f"edits[{number}].cell", said, "names no cell", f"Send one of these. {CELL}.")
