"""Tables that are text: CSV and TSV, and JSON lines.

The text itself is read, searched and edited like any other; here it is read as rows and columns.  Rows are
read from the first on, and types are worked out from values.  All rows of a small file are counted when it is
opened, those of a large one up to the window.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, BinaryIO, final

from msgspec import Struct

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.documents.data import Column, Database, Rows
from readroom.documents.formats import Unreadable
from readroom.documents.limits import SCHEMA_COLUMNS

AS_TEXT = "Read it as text: leave out `pages`."

_INTEGER = re.compile(r"[+-]?\d{1,18}\Z")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


class _Unclosed(io.RawIOBase):
    """A stream that stays open when its reader is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


FIELD_CHARS = 4 * 1024 * 1024
"""A field of CSV or a line of JSON lines that is parsed; a longer one ends the table with a note."""


class DecodedStream(Struct, frozen=True, dict=True):
    """A stream as text that can be read from its beginning repeatedly."""

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


COUNTED_BYTES = 16 * 1024 * 1024
"""A text table up to this size is counted on opening: 0.2 s."""


@final
class Streamed:
    """A table whose rows are read from the first on."""

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
        """Take a table from a format.

        Args:
            text: The source of the rows.
            columns: Those of all rows.
            rows: All rows from the first, which may be shorter than the columns; may raise Unreadable.
            details: Lines for the schema.
            said: Returns remarks on a range of rows that was just read.
            of_all: Returns remarks on all rows, some of which may not have been read yet.
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
        """Lines for the schema, after the number of rows."""
        return [*self._details, *self._of_all()]

    @property
    def total(self) -> int | None:
        """How many rows there are, if that is known or quickly counted."""
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
            notes.append(f"Row {first + len(rows):,} and the rest cannot be read: {error.problem}.")
        if wider:
            what = "1 row has more fields" if wider == 1 else f"{wider:,} rows have more fields"
            notes.append(f"{what} than there are columns, not shown here: read these lines without `pages`.")
        remarks = self._said(first, first + len(rows) - 1)
        _ = self.total  # where all are counted, all is known of them by then
        return Rows(rows, [*notes, *remarks, *self._of_all()], number >= first + count)


def type_of(values: Iterator[object]) -> str:
    """The common type of the values in a column, in one word; empty without values."""
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


# -----------------------------------------------------------------------------
# CSV and TSV, with any character between the fields.
#
# The first row names the columns unless one of its fields is a number or empty.  The first and the last field
# may be empty: programs number the rows, or end each row with a comma.  Where a name occurs twice, the column
# below it has to look unlike a name.
# -----------------------------------------------------------------------------

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
_SNIFFED_LINES = 20
_SAID = re.compile(r"sep=([^\w\s\"]|\t)[;,|\t]*\r?\n", re.IGNORECASE)
"""A first line that names the delimiter; Excel writes and reads it."""

_UNCLOSED = (
    "A quote is never closed: the row that begins in line {line:,} continues to the end of the file. "
    "Without `pages` its lines are shown as they are."
)
_TOO_LONG = "a quote in the row that begins in line {line:,} is not closed within {chars:,} characters"

_LIKE_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?\Z")


SAMPLE_ROWS = 1_000
"""Rows of a text table by whose values types are decided and, in JSON lines, columns."""


def open_delimited(file: BinaryIO) -> Database:
    """The table in `file`. Raises Unreadable."""
    text = DecodedStream(file)
    head = text.sample()
    hint = _SAID.match(head)
    comments, delimiter = _commented(head) if hint is None else (0, hint[1])
    skipped = 0 if hint is None else 1
    records = _Records(text, delimiter, comments)
    sample = list(itertools.islice(records, skipped, SAMPLE_ROWS))
    named = bool(sample) and _names(sample[0], sample[1:])
    width = max(map(len, sample), default=0)
    names = _apart(sample[0]) if named else []
    names += [f"column {at}" for at in range(len(names) + 1, width + 1)]
    body = sample[1:] if named else sample
    columns = [
        Column(name or f"column {at + 1}", type_of(row[at] for row in body if at < len(row)))
        for at, name in enumerate(names)
    ]

    def rows() -> Iterator[Sequence[object]]:
        return itertools.islice(records, skipped + (1 if named else 0), None)

    header = "the first row names the columns" if named else "no row names the columns"
    if hint is not None:
        header = f"the line {hint[0].strip()} is not a row; {header}"
    if comments:
        lines = f"{comments} lines are comments" if comments > 1 else "1 line is a comment"
        header = f"the first {lines}, shown without `pages`; {header}"
    mark = _DELIMITERS.get(delimiter, delimiter)
    about = f"fields separated by {mark}; {header}; types are from the first rows"
    return Database([Streamed(text, columns, rows, [about], of_all=lambda: records.remarks)])


@final
class _Records:
    """The records of a text, from its beginning at each iteration.

    `remarks` are notes on all records, complete after a pass to their end.
    """

    def __init__(self, text: DecodedStream, delimiter: str, comments: int) -> None:
        """`comments` are lines before the first record."""
        self.remarks: Sequence[str] = ()
        self._comments = comments
        self._text = text
        self._delimiter = delimiter
        self._is_over = False

    def __iter__(self) -> Iterator[Sequence[str]]:
        csv.field_size_limit(FIELD_CHARS)
        self._is_over, before = False, 0
        reader = csv.reader(self._lines(), delimiter=self._delimiter)
        try:
            for row in reader:
                if self._is_over:
                    # A row ends with its line unless a quote is open: here the file ended it.
                    self.remarks = (_UNCLOSED.format(line=self._comments + before + 1),)
                before = reader.line_num
                if row:
                    yield row
        except csv.Error as error:
            if reader.line_num > before + 1:
                raise Unreadable(
                    _TOO_LONG.format(line=self._comments + before + 1, chars=FIELD_CHARS), AS_TEXT
                ) from None
            raise Unreadable(f"it is not a table ({error})", AS_TEXT) from None

    def _lines(self) -> Iterator[str]:
        for line in itertools.islice(self._text.lines(), self._comments, None):
            yield line.replace("\0", "\ufffd")
        self._is_over = True


def _names(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    fields = [field.strip() for field in row]
    if not all(fields[1:-1]) or not any(fields) or any(map(_LIKE_NUMBER.match, fields)):
        return False
    if len(set(fields)) == len(fields):
        return True
    types = (type_of(other[at] for other in body if at < len(other)) for at in range(len(fields)))
    return not {"", "text"}.issuperset(types)


def _apart(row: Sequence[str]) -> list[str]:
    """The names in a row; repeated ones are numbered."""
    names: list[str] = []
    seen = Counter[str]()
    for name in map(str.strip, row):
        seen[name] += 1
        names.append(f"{name} ({seen[name]})" if name and seen[name] > 1 else name)
    return names


def _commented(head: str) -> tuple[int, str]:
    """How many lines before the header are comments, and the delimiter of what follows.

    A line with a hash in front is the header if it has as many fields as the row below it.
    """
    lines = head.split("\n")
    count = next((at for at, line in enumerate(lines) if not line.startswith("#") and line.strip()), 0)
    delimiter = _delimiter("\n".join(lines[count:]))
    while count and not lines[count - 1].strip():
        count -= 1
    fields = lines[count].count(delimiter) if count < len(lines) else 0
    if count and fields and lines[count - 1].count(delimiter) == fields:
        count -= 1
    return count, delimiter


def _delimiter(sample: str) -> str:
    """The delimiter that divides the first lines most evenly."""
    lines = [line for line in sample.split("\n")[:_SNIFFED_LINES] if line.strip()]

    def evenness(mark: str) -> tuple[int, int]:
        counts = Counter(count for line in lines if (count := line.count(mark)))
        count, times = max(counts.items(), key=lambda pair: pair[1], default=(0, 0))
        return times, count

    return max(_DELIMITERS, key=evenness)


# -----------------------------------------------------------------------------
# JSON lines: the keys of the first objects are the columns, and a row has the number of its line.
# -----------------------------------------------------------------------------

_VALUE = "value"
_NAMED = 5


class _Raw(str):
    """A line that is not JSON."""


def open_json_lines(file: BinaryIO) -> Database:
    """The table in `file`. Raises Unreadable."""
    text = DecodedStream(file)
    sample = list(itertools.islice(_values(text), SAMPLE_ROWS))
    objects = [value for value in sample if isinstance(value, dict)]
    keys = list(dict.fromkeys(key for value in objects for key in value))[:SCHEMA_COLUMNS]
    if len(objects) < len(sample):
        keys = [*keys, _free(keys)]
    columns = [
        Column(key, type_of(value.get(key) for value in objects), _presence(key, objects))
        for key in keys
        if objects
    ] or [Column(_VALUE, type_of(iter(sample)))]
    reading = _JsonRows(text, [column.name for column in columns], len(objects) < len(sample))
    about = "one JSON value a line; columns and types are from the first lines"
    return Database([Streamed(text, columns, reading.rows, [about], reading.said)])


def _free(keys: Sequence[str]) -> str:
    """A column name, which no key has, for values that are not objects."""
    name = _VALUE
    while name in keys:
        name = f"({name})"
    return name


def _presence(key: str, objects: Sequence[dict[str, Any]]) -> str:
    count = sum(key in value for value in objects)
    return "" if count == len(objects) else f"in {count:,} of the first {len(objects):,}"


def _values(text: DecodedStream) -> Iterator[object]:
    for line in text.lines():
        try:
            yield json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            yield _Raw(line.rstrip("\r\n"))


class _JsonRows:
    """Rows by the columns, and which of the rows do not fit them."""

    def __init__(self, text: DecodedStream, names: Sequence[str], has_others: bool) -> None:
        self._text = text
        self._names = names
        self._others = has_others
        self._broken: list[int] = []
        self._loose: list[int] = []
        self._beside: dict[str, None] = {}

    def rows(self) -> Iterator[Sequence[object]]:
        """All of them."""
        self._broken, self._loose, self._beside = [], [], {}
        known = set(self._names)
        for number, value in enumerate(_values(self._text), 1):
            if isinstance(value, dict):
                if not known.issuperset(value) and len(self._beside) < _NAMED:
                    self._beside |= dict.fromkeys(key for key in value if key not in known)
                yield [value.get(name) for name in self._names]
            else:
                if isinstance(value, _Raw):
                    self._broken.append(number)
                elif value is not None and not self._others:
                    self._loose.append(number)
                yield [*[None] * (len(self._names) - 1), value]

    def said(self, first: int, last: int) -> Sequence[str]:
        """Notes on rows that do not fit the columns."""
        notes = []
        for numbers, what in (
            (self._broken, "Not JSON, shown as text"),
            (self._loose, "Not an object, shown in the last column"),
        ):
            lines = [number for number in numbers if first <= number <= last]
            if lines:
                which = ", ".join(map(str, lines[:_NAMED])) + (", …" if len(lines) > _NAMED else "")
                notes.append(f"{what}: line{'' if len(lines) == 1 else 's'} {which}.")
        if self._beside:
            keys = ", ".join(list(self._beside)[:_NAMED])
            notes.append(f"Some lines have keys that are not columns here: {keys}.")
        return notes
