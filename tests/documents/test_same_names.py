"""Columns and fields that share a name, or have none, each show their own values."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from readroom.documents.data import SEPARATOR
from readroom.documents.formats import Area, Document, Unreadable, opener
from tests.each import each

_TYPES = (pa.int64(), pa.string(), pa.float64(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]))


def _column(kind: pa.DataType, at: int) -> pa.Array:
    values = {
        _TYPES[0]: [at, at + 1], _TYPES[1]: [f"t{at}", f"u{at}"], _TYPES[2]: [at + 0.5, at + 0.25],
        _TYPES[3]: [[at], [at, 7]], _TYPES[4]: [{"a": at}, {"a": at + 1}],
    }  # fmt: skip
    return pa.array(values[kind], kind)


def _saved(table: pa.Table, form: str) -> io.BytesIO:
    out = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(table, out)
    else:
        new = pyarrow.ipc.new_file if form == "file" else pyarrow.ipc.new_stream
        with new(out, table.schema) as writer:
            writer.write_table(table)
    return io.BytesIO(out.getvalue())


def _rows(file: io.BytesIO, form: str, area: Area | None = None) -> list[list[str]]:
    part = opener(form)(file).part(1, area)
    return [[cell.strip() for cell in line.split(SEPARATOR)] for line in part.lines]


@each("form", ["parquet", "file", "stream"])
@each("names", [("id", "id"), ("", ""), ("a", "a", "b", "a"), ("a.b", "a", "a.b"), ("A", "a")])
@each("turn", range(3))
def test_a_column_shows_its_own_values_whatever_its_name(
    form: str, names: tuple[str, ...], turn: int
) -> None:
    columns = [_column(_TYPES[(at + turn) % len(_TYPES)], at) for at in range(len(names))]
    file = _saved(pa.table(columns, names=list(names)), form)
    kind = "parquet" if form == "parquet" else "arrow"
    wanted = [[_written(column[row].as_py()) for column in columns] for row in range(2)]
    assert _rows(file, kind) == wanted
    for at in range(len(names)):
        assert _rows(file, kind, Area(columns=str(at + 1))) == [[row[at]] for row in wanted]


def _written(value: object) -> str:
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


@pytest.mark.parametrize("form", ["parquet", "file"])
def test_a_name_picks_all_columns_that_have_it(form: str) -> None:
    file = _saved(pa.table([pa.array([1]), pa.array(["x"]), pa.array([2])], names=["a", "b", "a"]), form)
    assert _rows(file, "parquet" if form == "parquet" else "arrow", Area(columns="a")) == [["1", "2"]]


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_fields_of_a_record_are_values_also_where_one_is_odd(form: str) -> None:
    same = pa.StructArray.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    inside = pa.ListArray.from_arrays(pa.array([0, 1]), same)
    odd = pa.StructArray.from_arrays(
        [pa.array([2**60 + 1], pa.timestamp("ns")), pa.array([5])], names=["at", "n"]
    )
    file = _saved(pa.table([same, inside, odd], names=["s", "l", "o"]), form)
    (row,) = _rows(file, "parquet" if form == "parquet" else "arrow")
    assert row == [
        '{"a": 1, "a": "x"}',
        '[{"a": 1, "a": "x"}]',
        '{"at": "2006-07-14 23:58:24.606846977", "n": 5}',
    ]


def _database(tmp_path: Path, name: bytes) -> Document:
    """A table with a column of this name, and a view with names that are the same or empty."""
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as base:
        base.execute('CREATE TABLE t ("xfeyx" TEXT, n INT)')
        base.execute("INSERT INTO t VALUES ('mine', 1)")
        base.execute('CREATE VIEW v AS SELECT n AS "", n + 1 AS "", n + 2 AS n, n + 3 AS n FROM t')
    return opener("sqlite")(io.BytesIO(path.read_bytes().replace(b"xfeyx", name)))


def test_columns_of_a_view_show_their_own_values(tmp_path: Path) -> None:
    document = _database(tmp_path, b"names")
    shown = {title: document.part(at).lines for at, title in enumerate(document.titles, 1)}
    assert [cell.strip() for cell in shown["t"][0].split(SEPARATOR)] == ["mine", "1"]
    assert [cell.strip() for cell in shown["v"][0].split(SEPARATOR)] == ["1", "2", "3", "4"]


def test_a_column_that_cannot_be_named_is_refused_and_not_shown_as_its_name(tmp_path: Path) -> None:
    """SQLite takes a name that it does not find for a text, and showed that as the value of every row."""
    with pytest.raises(Unreadable, match="decode"):
        _database(tmp_path, b"caf\xe9x").part(1)


def test_a_cut_cell_is_read_whole_by_the_number_of_its_column() -> None:
    long = "x" * 5_000
    file = _saved(pa.table([pa.array([1]), pa.array([long])], names=["a", "a"]), "parquet")
    notes = " ".join(opener("parquet")(file).part(1).notes)
    assert 'pages="1!2" shows one column whole' in notes
    assert _rows(file, "parquet", Area(columns="2")) == [[long]]
