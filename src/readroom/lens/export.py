"""The normal form as files for other programs: JSON Lines, all kinds of rows in one file, or Parquet, one
file a kind.
"""

from __future__ import annotations

import types
import typing
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, TextIO

import msgspec

from readroom.errors import MissingProgram
from readroom.extras import install
from readroom.lens.normal_form import Call, Finding, Lines, Replayed, Row, Session, SkippedPart, Turn
from readroom.limits.lens import EXPORT_PAGE_ROWS


class Sink(Protocol):
    """Takes rows as they come."""

    def add(self, row: Row) -> None:
        """Take one row."""

    def close(self) -> None:
        """Nothing more will come."""


class JsonLines:
    """One JSON object a line; `row` says which kind it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def add(self, row: Row) -> None:
        """Write one row."""
        self._stream.write(msgspec.json.encode(row).decode() + "\n")

    def close(self) -> None:
        """Write what is left."""
        self._stream.close()


KINDS: dict[str, type[Row]] = {
    "sessions": Session, "turns": Turn, "calls": Call, "lines": Lines, "findings": Finding,
    "replayed": Replayed,
    "skipped": SkippedPart,
}  # fmt: skip
"""The file of each kind of row."""


class Parquet:
    """A folder of Parquet files, one for each kind of row."""

    def __init__(self, folder: Path) -> None:
        """Open them.

        Raises:
            MissingProgram: pyarrow is not installed.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingProgram("pyarrow", install("parquet")) from None
        self._arrow = pyarrow
        self._stack = ExitStack()
        self._pages: dict[type, list[Row]] = {kind: [] for kind in KINDS.values()}
        self._schemas = {kind: _schema(pyarrow, kind) for kind in KINDS.values()}
        folder.mkdir(parents=True, exist_ok=True)
        self._writers = {
            kind: self._stack.enter_context(
                pyarrow.parquet.ParquetWriter(folder / f"{name}.parquet", self._schemas[kind])
            )
            for name, kind in KINDS.items()
        }

    def add(self, row: Row) -> None:
        """Take one row; a page of them is written at once."""
        page = self._pages[type(row)]
        page.append(row)
        if len(page) >= EXPORT_PAGE_ROWS:
            self._write(type(row))

    def close(self) -> None:
        """Write what is left, and the ends of the files."""
        for kind in self._pages:
            if self._pages[kind]:
                self._write(kind)
        self._stack.close()

    def _write(self, kind: type) -> None:
        schema = self._schemas[kind]
        columns = {name: [getattr(row, name) for row in self._pages[kind]] for name in schema.names}
        self._writers[kind].write_table(self._arrow.table(columns, schema=schema))
        self._pages[kind] = []


def _schema(arrow: Any, kind: type) -> Any:
    hints = typing.get_type_hints(kind)
    return arrow.schema([(name, _type(arrow, hints[name])) for name in kind.__struct_fields__])  # type: ignore[attr-defined]  # every msgspec Struct has them


def _type(arrow: Any, hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in hint.__args__ if part is not types.NoneType]
    return {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}.get(hint, arrow.string())
