"""Tables that are text: rows that go by from the first, and types told by their values.

The text itself is read, searched and edited as any other; this is for whoever wants columns.  Of a
small file all rows are counted when it is opened, of a large one those up to the window.
"""

from __future__ import annotations

import io
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, BinaryIO, final

from msgspec import Struct

from readroom.formats.data import Column, Rows
from readroom.formats.documents import Unreadable
from readroom.limits import HEAD_BYTES
from readroom.limits.documents import COUNTED_BYTES, FIELD_CHARS
from readroom.text import encodings

AS_TEXT = "Read it as text: leave out `pages`."

_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


class _Unclosed(io.RawIOBase):
    """A stream that stays open when what reads it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class DecodedStream(Struct, frozen=True, dict=True):
    """A stream as text, from its beginning as often as it is asked for."""

    file: BinaryIO

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return self.file.seek(0, os.SEEK_END)

    @cached_property
    def _encoding(self) -> encodings.Encoding:
        self.file.seek(0)
        head = self.file.read(HEAD_BYTES)
        encoding = encodings.detect(head, complete=len(head) == self.size)
        if encoding is None:
            raise Unreadable("it is not text", "Ask for it as text.")
        return encoding

    def sample(self) -> str:
        """Its first characters. Raises Unreadable."""
        return self._open().read(HEAD_BYTES)

    def lines(self) -> Iterator[str]:
        """Its lines with their ends. Raises Unreadable at one that is too long."""
        stream = self._open()
        while line := stream.readline(FIELD_CHARS + 1):
            if len(line) > FIELD_CHARS:
                raise Unreadable(f"a line of more than {FIELD_CHARS:,} characters ends its rows", AS_TEXT)
            yield line

    def _open(self) -> io.TextIOWrapper:
        self.file.seek(len(self._encoding.bom))
        stream: io.BufferedReader = io.BufferedReader(_Unclosed(self.file))
        return io.TextIOWrapper(stream, self._encoding.name, "replace", newline="")


@final
class Streamed:
    """A table whose rows can only be had from the first on."""

    title = ""
    kind = "table"

    def __init__(
        self,
        text: DecodedStream,
        columns: Sequence[Column],
        rows: Callable[[], Iterator[Sequence[object]]],
        details: Sequence[str],
        said: Callable[[int, int], Sequence[str]] = lambda first, last: (),
        of_all: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """Take what a format knows.

        Args:
            text: Where the rows come from.
            columns: Of all rows.
            rows: All rows from the first, which may be shorter than the columns; may raise Unreadable.
            details: Lines for the schema.
            said: What is to be said of the rows from one to another, which were just read.
            of_all: What is known of all rows, of which some may not have been read yet.
        """
        self.columns = columns
        self._details = details
        self._text = text
        self._rows = rows
        self._said = said
        self._of_all = of_all
        self._total: int | None = None
        self._counting = text.size <= COUNTED_BYTES

    @property
    def details(self) -> Sequence[str]:
        """Lines for the schema, behind the number of rows."""
        return [*self._details, *self._of_all()]

    @property
    def total(self) -> int | None:
        """Rows, where that is soon found or was."""
        if self._counting:
            self._counting = False
            try:
                self._total = sum(1 for _ in self._rows())
            except Unreadable:
                return None
        return self._total

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        """A window; see `data.DataTable`."""
        rows: list[list[object]] = []
        notes: list[str] = []
        number = wider = 0
        try:
            for row in itertools.islice(self._rows(), first + count):
                number += 1
                if first <= number < first + count:
                    rows.append([row[at] if at < len(row) else None for at in columns])
                    wider += len(row) > len(self.columns)
            if number < first + count:
                self._total = number
        except Unreadable as error:
            if not rows:
                raise
            notes.append(f"Row {first + len(rows):,} and what follows cannot be read: {error.problem}.")
        if wider:
            what = "1 row has more fields" if wider == 1 else f"{wider:,} rows have more fields"
            notes.append(f"{what} than there are columns, not shown here: read these lines without `pages`.")
        remarks = self._said(first, first + len(rows) - 1)
        _ = self.total  # where all are counted, all is known of them by then
        return Rows(rows, [*notes, *remarks, *self._of_all()], number >= first + count)


def type_of(values: Iterator[object]) -> str:
    """What the values of a column have in common, in one word; empty when there are none."""
    kinds = {_kind(value) for value in values} - {""}
    if not kinds:
        return ""
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= {"integer", "number"}:
        return "number"
    return "timestamp" if kinds <= {"date", "timestamp"} else "mixed" if "object" in kinds else "text"


def _kind(value: object) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return _kind_of_text(str(value))


def _kind_of_text(text: str) -> str:
    if _INTEGER.match(text):
        return "integer"
    if _NUMBER.match(text):
        return "number"
    if _DATE.match(text):
        return "date"
    if _MOMENT.match(text):
        return "timestamp"
    return "boolean" if text.lower() in ("true", "false") else "text"
