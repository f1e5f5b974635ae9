"""JSON lines as a table: the keys of the first objects are its columns.

A row is a line, so that its number is the one that the text has.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from readroom.formats.data import Column, Database
from readroom.formats.data.streamed import DecodedStream, Streamed, type_of
from readroom.limits.documents import SAMPLE_ROWS, SCHEMA_COLUMNS

_VALUE = "value"
_NAMED = 5


class _Raw(str):
    """A line that is not JSON, or no object where others are."""


def open_document(file: BinaryIO) -> Database:
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
    reading = _Reading(text, [column.name for column in columns], len(objects) < len(sample))
    about = "one JSON value a line; columns and types are those of the first lines"
    return Database([Streamed(text, columns, reading.rows, [about], reading.said)])


def _free(keys: Sequence[str]) -> str:
    """A name for what is not an object that no key has."""
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


class _Reading:
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
        """What of the rows does not fit the columns."""
        notes = []
        for numbers, what in (
            (self._broken, "Not JSON, shown as text"),
            (self._loose, "No object, shown in the last column"),
        ):
            found = [number for number in numbers if first <= number <= last]
            if found:
                which = ", ".join(map(str, found[:_NAMED])) + (", …" if len(found) > _NAMED else "")
                notes.append(f"{what}: line{'' if len(found) == 1 else 's'} {which}.")
        if self._beside:
            keys = ", ".join(list(self._beside)[:_NAMED])
            notes.append(f"Some lines have keys that are not columns here: {keys}.")
        return notes
