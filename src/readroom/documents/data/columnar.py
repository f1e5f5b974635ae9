"""Parquet and Arrow files (also Feather), by pyarrow.

The schema and the number of rows are at the end of the file. A window is read from the row groups or batches
that hold it, only the requested columns, one piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import accumulate
from typing import Any, BinaryIO

from msgspec import Struct

try:
    # At once: the process that reads a file can load no library of the system any more.
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet
except ImportError:
    pyarrow = None

from readroom.core.extras import install, problem
from readroom.documents.data import Column, Database, Rows
from readroom.documents.formats import Encrypted, Unreadable

_ADVICE = f"Ask the user to run {install('data')}, or for an export as CSV."
_ANOTHER = "Ask for another copy, or for an export as CSV."
_BATCH_ROWS = 1_024
_BUFFER_BYTES = 64 * 1024
_TYPE_CHARS = 200


def open_document(file: BinaryIO) -> Database:
    """The file as one table. Raises Unreadable."""
    file.seek(0)
    head = file.read(8)
    if head.startswith(b"FEA1"):
        raise Unreadable("it is a Feather file of version 1, which is not supported", _ANOTHER)
    if head.startswith(b"PARE"):
        raise Encrypted("it is encrypted", "Ask for a copy without a key.")
    if pyarrow is None:
        raise Unreadable(problem("pyarrow"), _ADVICE)
    # Its own pools reserve memory by the gigabyte, which the process does not have.
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    pyarrow.set_cpu_count(1)
    file.seek(0)
    with _translated():
        table = _Parquet(file) if head.startswith(b"PAR1") else _Arrow(file)
        return Database([table])


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise Unreadable("reading it takes more memory than documents get", "Pick fewer columns.") from None
    except (pyarrow.ArrowException, OSError, *_ODD) as error:
        words = " ".join(str(error).split())
        if "ncrypt" in words or "decrypt" in words.lower():
            raise Encrypted("it is encrypted", "Ask for a copy without a key.") from None
        raise Unreadable(f"it is damaged or cut short ({words[:150]})", _ANOTHER) from None


def _type(field: Any) -> str:
    """The type of a column in one line, as far as that is short."""
    words = " ".join(str(field.type).split())
    return words if len(words) <= _TYPE_CHARS else f"{words[:_TYPE_CHARS]}…"


def _columns(schema: Any) -> list[Column]:
    return [Column(str(field.name), _type(field), "" if field.nullable else "not null") for field in schema]


class _Parquet(Struct, frozen=True, dict=True):
    """A Parquet file."""

    file: BinaryIO
    title: str = ""
    kind: str = "table"

    @cached_property
    def _opened(self) -> Any:
        # With a buffer, columns go by in pieces instead of being held whole.
        return pyarrow.parquet.ParquetFile(
            pyarrow.PythonFile(self.file, mode="r"), buffer_size=_BUFFER_BYTES, pre_buffer=False
        )

    @cached_property
    def columns(self) -> Sequence[Column]:
        with _translated():
            return _columns(self._opened.schema_arrow)

    @property
    def total(self) -> int | None:
        with _translated():
            return int(self._opened.metadata.num_rows)

    @property
    def details(self) -> Sequence[str]:
        with _translated():
            about = self._opened.metadata
            groups = about.num_row_groups
            lines = [f"{groups:,} row group{'' if groups == 1 else 's'}, format {about.format_version}"]
            if about.created_by:
                lines.append(f"written by {' '.join(str(about.created_by).split())[:120]}")
            if groups and about.num_columns:
                kinds = {
                    about.row_group(0).column(at).compression for at in range(min(about.num_columns, 100))
                }
                lines.append(f"compressed with {', '.join(sorted(kinds))}")
            return lines

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        with _translated():
            opened, skip, groups = self._opened, first - 1, list[int]()
            for number in range(opened.metadata.num_row_groups):
                size = opened.metadata.row_group(number).num_rows
                if not groups and skip >= size:
                    skip -= size
                    continue
                groups.append(number)
            if not groups or count <= 0:
                return Rows(())
            ordered = sorted(columns)
            stored = [at for column in ordered for at in self._stored[column]]
            batches = opened.reader.iter_batches(
                _BATCH_ROWS, row_groups=groups, column_indices=stored, use_threads=False
            )
            order = [ordered.index(at) for at in columns]
            return Rows(list(_window(batches, skip, count, order)))

    @cached_property
    def _stored(self) -> Sequence[range]:
        """The stored columns of each column: several of a record, by number since names may be the same."""
        counts = [_leaves(field.type) for field in self._opened.schema_arrow]
        if sum(counts) != self._opened.metadata.num_columns:
            raise Unreadable("its columns do not match its schema", _ANOTHER)
        return [range(end - count, end) for count, end in zip(counts, accumulate(counts), strict=True)]


def _leaves(kind: Any) -> int:
    """How many columns of values a type is stored in."""
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _leaves(kind.storage_type)
    if pyarrow.types.is_nested(kind) and not pyarrow.types.is_dictionary(kind):
        return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))
    return 1


class _Arrow(Struct, frozen=True, dict=True):
    """An Arrow file (Feather since version 2) or stream."""

    file: BinaryIO
    title: str = ""
    kind: str = "table"

    @cached_property
    def _random(self) -> bool:
        self.file.seek(0)
        return self.file.read(6) == b"ARROW1"

    def _reader(self, columns: Sequence[int] | None = None) -> Any:
        is_random = self._random
        self.file.seek(0)
        options = pyarrow.ipc.IpcReadOptions(
            use_threads=False, included_fields=None if columns is None else list(columns)
        )
        source = pyarrow.PythonFile(self.file, mode="r")
        if is_random:
            return pyarrow.ipc.open_file(source, options=options)
        return pyarrow.ipc.open_stream(source, options=options)

    @cached_property
    def columns(self) -> Sequence[Column]:
        with _translated():
            return _columns(self._reader().schema)

    @cached_property
    def _sizes(self) -> Sequence[int]:
        """Rows of each batch of a file: without a column nothing but their lengths is read."""
        reader = self._reader([0] if self.columns else None)
        return [int(reader.get_batch(at).num_rows) for at in range(reader.num_record_batches)]

    @cached_property
    def total(self) -> int | None:
        if not self._random:
            return None
        with _translated():
            return sum(self._sizes)

    @property
    def details(self) -> Sequence[str]:
        with _translated():
            return [f"{len(self._sizes):,} record batches"] if self._random else ["a stream"]

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        with _translated():
            ordered = sorted(columns)
            order = [ordered.index(at) for at in columns]
            reader, skip = self._reader(ordered), first - 1
            if not self._random:
                rows = list(_window(iter(reader), skip, count + 1, order))
                return Rows(rows[:count], (), len(rows) > count)
            start = 0
            while start < len(self._sizes) and skip >= self._sizes[start]:
                skip -= self._sizes[start]
                start += 1
            batches = (reader.get_batch(at) for at in range(start, len(self._sizes)))
            return Rows(list(_window(batches, skip, count, order)))


def _window(batches: Iterator[Any], skip: int, count: int, order: Sequence[int]) -> Iterator[list[object]]:
    """The rows after the first `skip`, as values of Python, which exist for a window only."""
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
            continue
        part = batch.slice(skip, count)
        values = [_values_of(part, at) for at in order]
        yield from (list(row) for row in zip(*values, strict=True))
        count -= part.num_rows
        skip = 0
        if count <= 0:
            return


_ODD = (ArithmeticError, ValueError, TypeError, LookupError, NotImplementedError)
"""Errors of values that Python cannot hold: nanoseconds, distant dates, text that is not UTF-8."""


def _in_utc(kind: Any) -> Any:
    """The type with its instants in UTC: the names of other zones are in files that are not read here."""
    types = pyarrow.types
    if types.is_timestamp(kind) and kind.tz is not None:
        return pyarrow.timestamp(kind.unit, "UTC")
    if types.is_struct(kind):
        return pyarrow.struct([part.with_type(_in_utc(part.type)) for part in kind])
    if types.is_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    return kind


def _values_of(batch: Any, at: int) -> Sequence[object]:
    try:
        return _values(batch.column(at))
    except KeyError:  # a type that pyarrow has nothing for, such as intervals of months
        return [f"<{batch.schema.field(at).type}>"] * batch.num_rows


def _values(column: Any) -> Sequence[object]:
    with suppress(*_ODD):
        column = column.cast(_in_utc(column.type))
    try:
        values: list[object] = column.to_pylist()
    except _ODD:
        return [_one(value) for value in column]  # one by one, so that the others stay
    return values


class _Name(str):
    """The name of a field; a record may have several fields of one name."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _inside(value: Any) -> object:
    """A record or a list with its values one by one, so that one of them costs no other."""
    if isinstance(value, pyarrow.MapScalar):
        return [[_one(pair[0]), _one(pair[1])] for pair in value.values]
    if isinstance(value, pyarrow.StructScalar):
        return {_Name(value.type.field(at).name): _one(value[at]) for at in range(value.type.num_fields)}
    return [_one(item) for item in value.values]


_NESTED = ("StructScalar", "ListScalar", "LargeListScalar", "FixedSizeListScalar", "ListViewScalar",
           "LargeListViewScalar", "MapScalar")  # fmt: skip


def _one(value: Any) -> object:
    if not value.is_valid:
        return None
    if type(value).__name__ in _NESTED:
        return _inside(value)
    if isinstance(value, pyarrow.ExtensionScalar | pyarrow.UnionScalar):
        return _one(value.value)
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return value.as_buffer().to_pybytes().decode("utf-8", "replace")
    except _ODD:
        pass
    try:
        if pyarrow.types.is_timestamp(value.type) and value.type.tz is not None:
            plain = pyarrow.scalar(value.value, pyarrow.timestamp(value.type.unit))
            return f"{plain.cast('string').as_py()}+00:00"
        return value.cast("string").as_py()
    except _ODD:
        return f"<{value.type}>"
