"""Avro files (object containers): the schema first, then rows in blocks, read by fastavro.

The library expands a block whole, and rows are counted by expanding all of them.  The confined child bounds
the memory for that, and COUNT_CPU_S the time: a file that takes longer has an unknown number of rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from typing import Any, BinaryIO

from msgspec import Struct

from readroom.core.extras import install, problem
from readroom.documents.data import Column, Database, Rows
from readroom.documents.formats import Unreadable
from readroom.documents.limits import COUNT_CPU_S

try:
    # At once: the process that reads a file can load no library of the system any more.
    import fastavro
    import fastavro.schema
except ImportError:
    fastavro = None  # type: ignore[assignment]  # looked at before each use

_ADVICE = f"Ask the user to run {install('data')}, or for an export as CSV."
_ANOTHER = "Ask for another copy, or for an export as CSV."
_MAGIC = b"Obj\x01"
_CODECS = ("null", "deflate", "bzip2", "xz", "zstandard", *(["snappy"] if find_spec("cramjam") else []))
_MOST_ROWS = 1 << 50
"""A number of rows that can be one."""

_MOST_DEPTH = 4
_TYPE_CHARS = 200
_DAMAGED = "it is damaged or cut short"


def open_document(file: BinaryIO) -> Database:
    """The file as one table. Raises Unreadable."""
    if fastavro is None:
        raise Unreadable(problem("fastavro"), _ADVICE)
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        raise Unreadable(_DAMAGED, _ANOTHER)
    reader = _opened(file)
    return Database([_Avro(file, file.tell(), json.loads(reader.metadata["avro.schema"]), reader.codec)])


def _opened(file: BinaryIO) -> Any:
    """The library's reader of blocks, before the first one. Raises Unreadable."""
    file.seek(0)
    with _translated():
        try:
            return fastavro.block_reader(file)
        except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, RecursionError) as error:
            words = _words(error) or type(error).__name__
            raise Unreadable(f"its schema cannot be read ({words})", _ANOTHER) from None


@contextmanager
def _translated() -> Iterator[None]:
    """The library's failures as Unreadable; for a damaged file it raises any exception."""
    try:
        yield
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable("reading it takes more memory than documents get", _ANOTHER) from None
    except Exception as error:
        raise Unreadable(f"{_DAMAGED} ({_words(error) or type(error).__name__})", _ANOTHER) from None


class _Counted(Struct, frozen=True):
    """Blocks and rows counted so far; `stopped` is the reason why there may be more."""

    blocks: int
    rows: int
    stopped: str = ""
    is_whole: bool = True


class _Avro(Struct, frozen=True, dict=True):
    """The rows of a file; a schema that is not a record makes a table of one column."""

    file: BinaryIO
    start: int
    written: Any
    codec: str
    title: str = ""
    kind: str = "table"

    @cached_property
    def columns(self) -> Sequence[Column]:
        fields = self.written.get("fields") if self._is_record else None
        if not isinstance(fields, list):
            return [Column("value", _type(self.written))]
        return [
            Column(str(field["name"]), _type(field["type"]), _words(field.get("doc", ""))) for field in fields
        ]

    @cached_property
    def _is_record(self) -> bool:
        return isinstance(self.written, dict) and self.written.get("type") in ("record", "error")

    def _blocks(self) -> Iterator[Any]:
        """The blocks, expanded one after the other. Raises Unreadable."""
        if self.codec not in _CODECS:
            named = self.codec[:40]
            raise Unreadable(f"its rows are compressed with {named}, which is not supported", _ANOTHER)
        reader = _opened(self.file)
        with _translated():
            for block in reader:
                if not 0 <= block.num_records <= _MOST_ROWS:
                    raise Unreadable(_DAMAGED, _ANOTHER)
                yield block

    @cached_property
    def _counted(self) -> _Counted:
        blocks, rows, at, until = 0, 0, self.start, time.process_time() + COUNT_CPU_S
        if self.codec not in _CODECS:
            return _Counted(0, 0, is_whole=False)
        try:
            for block in self._blocks():
                blocks, rows, at = blocks + 1, rows + block.num_records, block.offset + block.size
                if time.process_time() > until:
                    return _Counted(blocks, rows, is_whole=False)
        except Unreadable as error:
            damaged = error.problem.startswith(_DAMAGED)
            return _Counted(blocks, rows, f"{_DAMAGED} at byte {at:,}" if damaged else error.problem)
        return _Counted(blocks, rows)

    @property
    def total(self) -> int | None:
        return self._counted.rows if self._counted.is_whole else None

    @property
    def details(self) -> Sequence[str]:
        counted = self._counted
        named = self.written.get("name") if isinstance(self.written, dict) else None
        blocks = f"{counted.blocks:,} block{'' if counted.blocks == 1 else 's'}, "
        lines = [f"{'' if self.total is None else blocks}compressed with {self.codec}"]
        lines += [f"record {named}"] if self._is_record and named else []
        doc = self.written.get("doc") if isinstance(self.written, dict) else None
        lines += [_words(doc)] if doc else []
        return [*lines, *([f"[{counted.stopped}: the rest is not counted]"] if counted.stopped else [])]

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        counted, last, passed = self._counted, first + count - 1, 0
        rows, notes, names = list[list[object]](), list[str](), [self.columns[at].name for at in columns]
        blocks = self._blocks()
        try:
            with _translated():
                for block in islice(blocks, counted.blocks) if counted.stopped else blocks:
                    before, passed = passed, passed + block.num_records
                    if passed < first:
                        continue
                    if before >= last:
                        break
                    for number, value in enumerate(islice(block, last - before), before + 1):
                        if number >= first:
                            rows.append([value.get(name) for name in names] if self._is_record else [value])
                    if passed <= last and (left := len(block.bytes_.read())):
                        notes.append(f"A block has {left:,} bytes after the rows that it claims to have.")
        except Unreadable as error:
            if not rows:
                raise
            notes.append(f"Row {first + len(rows):,} and the rest cannot be read: {error.problem}.")
        if counted.stopped and len(rows) < count:
            stopped = f"{counted.stopped[0].upper()}{counted.stopped[1:]}"
            notes.append(f"{stopped}: the rest is neither shown nor counted.")
        return Rows(rows, notes, more=passed > last)


def _words(text: object) -> str:
    return " ".join(str(text).split())[:_TYPE_CHARS]


def _type(schema: Any, depth: int = 0) -> str:
    """A type as people write it, as deep as it can be taken in."""
    if isinstance(schema, list):
        return " or ".join(_type(one, depth) for one in schema[:8])[:_TYPE_CHARS]
    if not isinstance(schema, dict):
        return str(schema)[:_TYPE_CHARS]
    kind = schema.get("type")
    if depth >= _MOST_DEPTH:
        return "…"
    if "logicalType" in schema:
        return str(schema["logicalType"])[:_TYPE_CHARS]
    if kind == "array":
        return f"array<{_type(schema.get('items'), depth + 1)}>"[:_TYPE_CHARS]
    if kind == "map":
        return f"map<{_type(schema.get('values'), depth + 1)}>"[:_TYPE_CHARS]
    if kind in ("record", "error"):
        fields = [field for field in schema.get("fields", []) if isinstance(field, dict)]
        inside = [f"{field.get('name')}: {_type(field.get('type'), depth + 1)}" for field in fields[:8]]
        return f"record<{', '.join([*inside, *(['…'] if len(fields) > 8 else [])])}>"[:_TYPE_CHARS]
    if kind == "enum":
        return f"enum<{', '.join(map(str, schema.get('symbols', [])[:8]))}>"[:_TYPE_CHARS]
    if kind == "fixed":
        return f"fixed({schema.get('size')})"
    return _type(kind, depth + 1)
