"""What the replies of the contract `coder` add to what they carry."""

from __future__ import annotations

from typing import final

from readroom.contracts.envelope import encoded
from readroom.contracts.native_text import MEASURE
from readroom.model import GrepFile, GrepLine, ListEntry
from readroom.outlines import Row
from readroom.shown import ShownPart

_ENTRY = len(encoded({"name": "", "absolute_path_string": "/", "is_dir": False})) + len(",")

_FIELDS = 400
"""More than the fields around lines or entries take, with a sentence about what is left out."""


def _json_bytes(text: str) -> int:
    return len(encoded({"": text}).encode()) - len('{"":""}')


@final
class CoderMeasure:
    """Numbers and line feeds of lines, and entries of listings; nothing around them."""

    def __init__(self, root: str) -> None:
        """`root` stands before the path of every entry."""
        self._root = len(root.encode("utf-8", "replace"))

    def frame(self, path: str) -> int:
        """The names of the fields, and the path of a folder, which stands there twice."""
        return _FIELDS + 2 * (self._root + _json_bytes(path))

    def numbered(self, number: int) -> int:
        """The number, a tab and a line feed."""
        return len(str(number)) + len("\t\n")

    def listed(self, entry: ListEntry) -> int:
        """An entry, whose name stands in it twice; the path of its folder is counted with its own."""
        return _ENTRY + self._root + 2 * _json_bytes(entry.path)

    def heading(self, heading: tuple[int, str, int]) -> int:
        """As in the native contract: none is ever shown."""
        return MEASURE.heading(heading)

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        """As in the native contract: none is ever shown."""
        return MEASURE.part(part, unit, total)

    def found_in(self, file: GrepFile) -> int:
        """As in the native contract: there is no search."""
        return MEASURE.found_in(file)

    def found(self, line: GrepLine) -> int:
        """As in the native contract: there is no search."""
        return MEASURE.found(line)

    def outlined(self, row: Row) -> int:
        """As in the native contract."""
        return MEASURE.outlined(row)
