"""CSV and TSV as a table, whatever stands between the fields.

The first row names the columns, if it can: when none of its fields is a number, or empty but the
first or the last, as programs write that number the rows or end each with a comma.  Where a field is
there twice, the rows below have to look otherwise than it.  Rows are counted without it.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO, final

from readroom.formats.data import Column, Database
from readroom.formats.data.streamed import AS_TEXT, DecodedStream, Streamed, type_of
from readroom.formats.documents import Unreadable
from readroom.limits.documents import FIELD_CHARS, SAMPLE_ROWS

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
_SNIFFED_LINES = 20
_SAID = re.compile(r"sep=([^\w\s\"]|\t)[;,|\t]*\r?\n", re.IGNORECASE)
"""A first line that says what parts the fields; Excel writes and reads it."""

_UNCLOSED = (
    "A quote is never closed: the row that begins in line {line:,} goes on to the end of the file. "
    "Without `pages` its lines are shown as they are."
)
_TOO_LONG = "a quote in the row that begins in line {line:,} is not closed within {chars:,} characters"

_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?\Z")


def open_document(file: BinaryIO) -> Database:
    """The table in `file`. Raises Unreadable."""
    text = DecodedStream(file)
    head = text.sample()
    said = _SAID.match(head)
    delimiter = _delimiter(head) if said is None else said[1]
    hints = 0 if said is None else 1
    records = _Records(text, delimiter)
    sample = list(itertools.islice(records, hints, SAMPLE_ROWS))
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
        return itertools.islice(records, hints + (1 if named else 0), None)

    header = "the first row names the columns" if named else "no row names the columns"
    if said is not None:
        header = f"the line that says so ({said[0].strip()}) is no row; {header}"
    mark = _DELIMITERS.get(delimiter, delimiter)
    about = f"fields separated by {mark}; {header}; types are those of the first rows"
    return Database([Streamed(text, columns, rows, [about], of_all=lambda: records.remarks)])


@final
class _Records:
    """The records of a text, from its beginning as often as they are asked for.

    `remarks` is what is to be said of them once one pass has come to their end.
    """

    def __init__(self, text: DecodedStream, delimiter: str) -> None:
        self.remarks: Sequence[str] = ()
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
                    # Each line ends its row but where a quote is open: this one was ended by the file.
                    self.remarks = (_UNCLOSED.format(line=before + 1),)
                before = reader.line_num
                if row:
                    yield row
        except csv.Error as error:
            if reader.line_num > before + 1:
                raise Unreadable(_TOO_LONG.format(line=before + 1, chars=FIELD_CHARS), AS_TEXT) from None
            raise Unreadable(f"it is not a table ({error})", AS_TEXT) from None

    def _lines(self) -> Iterator[str]:
        for line in self._text.lines():
            yield line.replace("\0", "\ufffd")
        self._is_over = True


def _names(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    fields = [field.strip() for field in row]
    if not all(fields[1:-1]) or not any(fields) or any(map(_NUMBER.match, fields)):
        return False
    if len(set(fields)) == len(fields):
        return True
    types = (type_of(other[at] for other in body if at < len(other)) for at in range(len(fields)))
    return not {"", "text"}.issuperset(types)


def _apart(row: Sequence[str]) -> list[str]:
    """The names of a row; one that is there once more has its number behind it."""
    names: list[str] = []
    seen = Counter[str]()
    for name in map(str.strip, row):
        seen[name] += 1
        names.append(f"{name} ({seen[name]})" if name and seen[name] > 1 else name)
    return names


def _delimiter(sample: str) -> str:
    """What parts the first lines most evenly."""
    lines = [line for line in sample.split("\n")[:_SNIFFED_LINES] if line.strip()]

    def evenness(mark: str) -> tuple[int, int]:
        counts = Counter(count for line in lines if (count := line.count(mark)))
        count, times = max(counts.items(), key=lambda pair: pair[1], default=(0, 0))
        return times, count

    return max(_DELIMITERS, key=evenness)
