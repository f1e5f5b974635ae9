"""Parquet files, written row by row: of a ledger, and of the normal form of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any

from readroom.core.errors import MissingProgram
from readroom.core.extras import install


class ParquetFile:
    """A Parquet file, written row by row."""

    def __init__(self, path: str, columns: Mapping[str, Any], page_rows: int) -> None:
        """Open it. Raises MissingProgram.

        Args:
            path: Path of the file.
            columns: Names in order, with the types of their values.
            page_rows: The number of rows written at once.
        """
        arrow = self._arrow = pyarrow()
        self._maximum = page_rows
        self._page: list[Sequence[object]] = []
        self._schema = arrow.schema([(name, _arrow_type(arrow, hint)) for name, hint in columns.items()])
        self._writer = arrow.parquet.ParquetWriter(path, self._schema)

    def add(self, values: Sequence[object]) -> None:
        """Add a row; rows are written a page at a time."""
        self._page.append(values)
        if len(self._page) >= self._maximum:
            self._write()

    def close(self) -> None:
        """Write the remaining rows, and the end of the file."""
        if self._page:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        columns = [list(column) for column in zip(*self._page, strict=True)]
        self._writer.write_table(self._arrow.table(columns, schema=self._schema))
        self._page = []


def pyarrow() -> Any:
    """The library for Parquet. Raises MissingProgram."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingProgram("pyarrow", install("parquet")) from None
    return pyarrow


def _arrow_type(arrow: Any, hint: Any) -> Any:
    if isinstance(hint, UnionType):
        (hint,) = [part for part in hint.__args__ if part is not NoneType]
    return {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}.get(hint, arrow.string())
