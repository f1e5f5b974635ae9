"""CSV and TSV as a table, whatever stands between the fields.

The first row names the columns, if it can: when its fields differ, and none is empty or a number.
Rows are counted without it.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from readroom.formats.data import Column, Database
from readroom.formats.data.streamed import AS_TEXT, DecodedStream, Streamed, type_of
from readroom.formats.documents import Unreadable
from readroom.limits.documents import FIELD_CHARS, SAMPLE_ROWS

_DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
_SNIFFED_LINES = 20
_SAID = re.compile(r"sep=([^\w\s\"]|\t)[;,|\t]*\r?\n", re.IGNORECASE)
"""A first line that says what parts the fields; Excel writes and reads it."""

_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?\Z")


def open_document(file: BinaryIO) -> Database:
    """The table in `file`. Raises Unreadable."""
    text = DecodedStream(file)
    head = text.sample()
    said = _SAID.match(head)
    delimiter = _delimiter(head) if said is None else said[1]
    hints = 0 if said is None else 1
    sample = list(itertools.islice(_records(text, delimiter), hints, SAMPLE_ROWS))
    named = bool(sample) and _names(sample[0])
    width = max(map(len, sample), default=0)
    names = list(sample[0]) if named else []
    names += [f"column {at}" for at in range(len(names) + 1, width + 1)]
    body = sample[1:] if named else sample
    columns = [
        Column(name.strip(), type_of(row[at] for row in body if at < len(row)))
        for at, name in enumerate(names)
    ]

    def rows() -> Iterator[Sequence[object]]:
        return itertools.islice(_records(text, delimiter), hints + (1 if named else 0), None)

    header = "the first row names the columns" if named else "no row names the columns"
    if said is not None:
        header = f"the line that says so ({said[0].strip()}) is no row; {header}"
    mark = _DELIMITERS.get(delimiter, delimiter)
    about = f"fields separated by {mark}; {header}; types are those of the first rows"
    return Database([Streamed(text, columns, rows, [about])])


def _records(text: DecodedStream, delimiter: str) -> Iterator[Sequence[str]]:
    csv.field_size_limit(FIELD_CHARS)
    lines = (line.replace("\0", "\ufffd") for line in text.lines())
    try:
        yield from (row for row in csv.reader(lines, delimiter=delimiter) if row)
    except csv.Error as error:
        raise Unreadable(f"it is not a table ({error})", AS_TEXT) from None


def _names(row: Sequence[str]) -> bool:
    fields = [field.strip() for field in row]
    return len(set(fields)) == len(fields) and all(field and not _NUMBER.match(field) for field in fields)


def _delimiter(sample: str) -> str:
    """What parts the first lines most evenly."""
    lines = [line for line in sample.split("\n")[:_SNIFFED_LINES] if line.strip()]

    def evenness(mark: str) -> tuple[int, int]:
        counts = Counter(count for line in lines if (count := line.count(mark)))
        count, times = max(counts.items(), key=lambda pair: pair[1], default=(0, 0))
        return times, count

    return max(_DELIMITERS, key=evenness)
