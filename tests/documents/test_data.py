"""Tables of data: what each format's own reader finds is shown, and nothing hurts."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom import Workspace
from readroom.core.stores.memory import MemoryStore
from readroom.documents.data import (
    BRIEF_ROWS,
    Database,
    aligned,
    cell,
    columnar,
    picked_columns,
    sqlite,
    texts,
)
from readroom.documents.data import Column as DataColumn
from readroom.documents.data.sqlite import SQLITE_COPIED_BYTES, SQLITE_VALUE_BYTES
from readroom.documents.data.texts import FIELD_CHARS, SAMPLE_ROWS
from readroom.documents.formats import Area, Encrypted, Part, Unreadable
from readroom.documents.formats.page_ranges import SCHEMA
from readroom.documents.limits import DOCUMENT_NOTE_CHARS
from tests.each import each
from tests.hostile import tables as hostile


def _database(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def _shop(path: Path) -> Path:
    return _database(
        path,
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x', photo BLOB, note TEXT)",
        "CREATE TABLE orders (number INTEGER, user INTEGER REFERENCES users(id), total REAL, "
        "PRIMARY KEY (number, user)) WITHOUT ROWID",
        "CREATE UNIQUE INDEX users_name ON users (name)",
        "CREATE VIEW rich AS SELECT name FROM users WHERE id > 1",
        "CREATE TRIGGER keep AFTER INSERT ON users BEGIN SELECT 1; END",
        "INSERT INTO users VALUES (1, 'Ann', x'89504e47', NULL), (2, 'Bob', NULL, '')",
        "INSERT INTO users VALUES (3, 'Eve\nAdam', NULL, 'NULL')",
        "INSERT INTO orders VALUES (1, 1, 9.5), (2, 2, 100)",
    )


def _rows(part: Part) -> list[list[str]]:
    return [[value.strip() for value in line.split(" | ")] for line in part.lines]


def test_a_database_shows_its_tables_with_types_keys_and_indexes(tmp_path: Path) -> None:
    with _shop(tmp_path / "shop.db").open("rb") as file:
        found = sqlite.open_document(file)
    assert found.titles == ["orders", "users", "rich"]
    schema = "\n".join(found.part(SCHEMA).lines)
    for line in (
        "trigger keep on users",
        "table orders (2 rows)",
        "  number INTEGER primary key 1",
        "  user INTEGER primary key 2 not null references users(id)",
        "table users (3 rows)",
        "  id INTEGER primary key",
        "  name TEXT not null default 'x'",
        "  index users_name (name) unique",
        "view rich (rows not counted)",
        "  as CREATE VIEW rich AS SELECT name FROM users WHERE id > 1",
    ):
        assert line in schema, line
    assert found.contents[1].title == "users (3 rows: id INTEGER, name TEXT, photo BLOB, note TEXT)"


def test_a_virtual_table_names_the_tables_in_which_its_content_is(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "a.db")
    made.executescript(
        "CREATE VIRTUAL TABLE f USING fts5(title, body); INSERT INTO f VALUES ('hello', 'world');"
        "CREATE VIRTUAL TABLE 'alone' -- a comment\n USING fts5vocab('f', 'row');"
    )
    made.close()
    with (tmp_path / "a.db").open("rb") as file:
        found = sqlite.open_document(file)
        titles = list(found.titles)
        for title, module, advice in (
            ("f", "fts5", "Read its stored tables: f_config, f_content, f_data, f_docsize, f_idx."),
            ("alone", "fts5vocab", "Read the table that it is based on."),
        ):
            with pytest.raises(Unreadable, match=rf"a virtual table \({module}\)") as failure:
                found.part(titles.index(title) + 1, Area(1, 10))
            assert failure.value.advice == advice
        kept = found.part(titles.index("f_content") + 1, Area(1, 10))
    assert _rows(kept) == [["1", "hello", "world"]]


def test_rows_are_aligned_and_values_are_told_apart(tmp_path: Path) -> None:
    with _shop(tmp_path / "shop.db").open("rb") as file:
        part = sqlite.open_document(file).part(2, Area(1, 10))
    assert part.header == "id | name      | photo                 | note"
    assert part.lines == [
        " 1 | Ann       | x'89504e47' (4 bytes) | NULL",
        " 2 | Bob       | NULL                  | ''",
        " 3 | Eve\\nAdam | NULL                  | 'NULL'",
    ]
    assert (part.total_rows, part.total_known) == (3, True)


def test_columns_are_picked_by_name_number_and_range(tmp_path: Path) -> None:
    with _shop(tmp_path / "shop.db").open("rb") as file:
        found = sqlite.open_document(file)
        part = found.part(2, Area(2, 3, columns="NAME,id"))
        assert _rows(part) == [["Bob", "2"], ["Eve\\nAdam", "3"]]
        assert found.part(2, Area(1, 1, columns="2-3")).header == "name | photo"
        with pytest.raises(match="no column 'nome'"):
            found.part(2, Area(1, 1, columns="nome"))
    columns = [DataColumn(name, "") for name in ("a", "b, c", "3", "A")]
    assert list(picked_columns("'b, c',3,A,a", columns)) == [1, 2, 3, 0]


def test_bytes_larger_than_a_value_may_be_cost_no_row(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "a.db",
        "CREATE TABLE t (name, data)",
        f"INSERT INTO t VALUES ('large', zeroblob({SQLITE_VALUE_BYTES + 8}))",
        "INSERT INTO t VALUES ('small', x'01')",
    )
    with path.open("rb") as file:
        rows = _rows(sqlite.open_document(file).part(1))
    assert [row[0] for row in rows] == ["large", "small"]
    assert f"{SQLITE_VALUE_BYTES + 8:,} bytes" in rows[0][1]


def test_no_bytes_are_not_no_value(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (x''), (NULL), (''), (x'07')"
    )
    with path.open("rb") as file:
        assert sqlite.open_document(file).part(1).lines == ["x'' (0 bytes)", "NULL", "''", "x'07' (1 byte)"]


def test_types_that_are_too_long_for_a_note_are_counted(tmp_path: Path) -> None:
    long = ", ".join(f"column_number_{at} CHARACTER_VARYING_OF_{at:03}" for at in range(30))
    path = _database(tmp_path / "a.db", f"CREATE TABLE t ({long})", "INSERT INTO t DEFAULT VALUES")
    with path.open("rb") as file:
        found = sqlite.open_document(file)
        types = found.part(1).notes[0]
        shown = types.count("CHARACTER")
        assert 10 < shown < 30
        assert types.endswith(f'… and {30 - shown} more: pages="schema" shows them')
        assert len(types) <= DOCUMENT_NOTE_CHARS
    deep = pa.int32()
    for _ in range(60):
        deep = pa.struct([("x", deep)])
    out = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"deep": pa.array([None], deep)}), out)
    assert columnar.open_document(out).part(1).notes[0].endswith("…")


def test_damaged_definitions_cost_no_other_table() -> None:
    found = sqlite.open_document(io.BytesIO(hostile.damaged_definitions_sqlite()))
    assert found.titles == ["a", "b", "t"]
    assert found.part(3).lines
    assert found.part(3).notes[0].startswith("Definitions in its schema are damaged")
    for number in (1, 2):
        with pytest.raises(Unreadable):
            found.part(number)


def test_the_file_is_left_alone(tmp_path: Path) -> None:
    path = _shop(tmp_path / "wal.db")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("INSERT INTO users VALUES (9, 'late', NULL, NULL)")
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with path.open("rb") as file:
        part = sqlite.open_document(file).part(2, Area(1, 10))
    assert "WAL mode" in part.notes[0]
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    writer.execute("INSERT INTO users VALUES (10, 'later', NULL, NULL)")  # nothing is locked
    writer.close()


def test_a_database_whose_tables_are_not_written_back_yet_says_so(tmp_path: Path) -> None:
    """It would look empty, and a note has nothing to stand beside."""
    writer = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE t (a)")
    with (tmp_path / "new.db").open("rb") as file, pytest.raises(Unreadable, match="in its -wal file"):
        sqlite.open_document(file)
    writer.close()
    with (tmp_path / "new.db").open("rb") as file:
        assert sqlite.open_document(file).titles == ["t"]


def test_a_large_database_is_opened_by_its_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "large ?#%.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (n INTEGER, fill BLOB)")
    connection.executemany("INSERT INTO t VALUES (?, zeroblob(1000000))", [(n,) for n in range(60)])
    connection.commit()
    connection.close()
    assert path.stat().st_size > SQLITE_COPIED_BYTES
    with path.open("rb") as file:
        found = sqlite.open_document(file)
        part = found.part(1, Area(59, 60))
        assert [row[0] for row in _rows(part)] == ["58", "59"]
        path.rename(tmp_path / "elsewhere.db")
        _shop(path)
        assert [row[0] for row in _rows(sqlite.open_document(file).part(1, Area(1, 1)))] == ["0"]
        (tmp_path / "elsewhere.db").unlink()
        with pytest.raises(Unreadable, match="not in a file"):
            sqlite.open_document(file)


def test_sql_of_the_file_cannot_reach_out(tmp_path: Path) -> None:
    other = _shop(tmp_path / "other.db")
    path = _database(
        tmp_path / "evil.db",
        "CREATE TABLE t (x)",
        "INSERT INTO t VALUES (1)",
        "CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        "SELECT n FROM c",
        "CREATE VIEW loader AS SELECT load_extension('/tmp/evil.so') FROM t",
        "CREATE VIEW large AS SELECT zeroblob(1000000000) AS z FROM t",
    )
    with path.open("rb") as file:
        found = sqlite.open_document(file)
        numbers = {title: number for number, title in enumerate(found.titles, 1)}
        assert _rows(found.part(numbers["endless"], Area(1, 3))) == [["1"], ["2"], ["3"]]
        assert not found.part(numbers["endless"], Area(1, 3)).total_known
        for name in ("loader", "large"):
            with pytest.raises(Unreadable, match="SQLite reports"):
                found.part(numbers[name], Area(1, 1))
        table = found.tables[0]
        with pytest.raises(sqlite3.DatabaseError, match=r"authorized|too many attached"):
            table.connection.execute("ATTACH DATABASE ? AS other", (str(other),))  # type: ignore[attr-defined]


def test_wide_cells_are_cut_inside_of_sql_and_shown_whole_alone(tmp_path: Path) -> None:
    path = _database(
        tmp_path / "wide.db",
        "CREATE TABLE t (id INTEGER, long_text TEXT, blob BLOB)",
        "INSERT INTO t VALUES (1, printf('%.*c', 5000, 'é'), zeroblob(1000000))",
    )
    with path.open("rb") as file:
        found = sqlite.open_document(file)
        part = found.part(1, Area(1, 1))
        assert "[+4,880 chars]" in part.lines[0]
        assert "(1,000,000 bytes)" in part.lines[0]
        assert 'pages="1!long_text" shows one column whole' in part.notes[-1]
        assert found.part(1, Area(1, 1, columns="long_text")).lines == ["é" * 5000]


def test_damage_in_the_middle_shows_what_is_before(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (n INTEGER, fill TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 400) for n in range(2000)])
    connection.commit()
    connection.close()
    data = bytearray(path.read_bytes())
    for page in range(100, 110):
        data[page * 4096 : (page + 1) * 4096] = b"\xff" * 4096
    found = sqlite.open_document(io.BytesIO(data))
    part = found.part(1, Area(1, 2000))
    assert 0 < len(part.lines) < 2000
    assert "cannot be read: it is damaged" in part.notes[0]
    with pytest.raises(Unreadable, match="cut short"):
        sqlite.open_document(io.BytesIO(data[:50]))
    cut = sqlite.open_document(io.BytesIO(data[:40960])).part(1, Area(1, 50))
    assert "It is cut short: it has 40,960 of" in cut.notes[0]
    assert len(cut.lines) == 50


def test_what_can_be_read_of_a_damaged_table_is_there_for_the_first_who_asks() -> None:
    """SQLite refuses a damaged page as a whole to the first question, and not to the next ones."""
    parts = [
        sqlite.open_document(io.BytesIO(hostile.noise_sqlite(0))).part(1, Area(1, 300)) for _ in range(2)
    ]
    for part in parts:
        assert len(_rows(part)) == 198
        assert "Row 199 and the rest cannot be read: it is damaged." in part.notes


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 20_000), st.binary(min_size=1, max_size=8), st.booleans())
def test_damage_anywhere_in_a_database_is_said(at: int, damage: bytes, cut: bool) -> None:
    data = bytearray(_SHOP)
    at %= len(data)
    data[at : at + len(damage)] = damage
    try:
        found = sqlite.open_document(io.BytesIO(bytes(data[:at] if cut else data)))
    except Unreadable:
        return
    for number in (SCHEMA, *range(1, len(found.titles) + 1)):
        try:
            assert isinstance(found.part(number, Area(1, 5)).lines, Sequence)
        except Unreadable:
            continue


def _shop_bytes() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
    connection.execute("CREATE INDEX names ON users (name)")
    connection.executemany("INSERT INTO users (name) VALUES (?)", [(f"user {n}",) for n in range(300)])
    connection.commit()
    return connection.serialize()


_SHOP = _shop_bytes()


def _table(rows: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "name": [f"user {n}" for n in range(rows)],
            "tags": [[n, n + 1] for n in range(rows)],
            "place": [{"x": n, "y": None} for n in range(rows)],
            "day": pa.array([date(2026, 1, 1)] * rows),
            "at": pa.array([datetime(2026, 1, 1, 12)] * rows, pa.timestamp("us")),
        }
    )


def _columnar(form: str, rows: int = 5_000) -> bytes:
    out = io.BytesIO()
    if form == "parquet":
        pyarrow.parquet.write_table(_table(rows), out, row_group_size=700)
    elif form == "feather":
        pyarrow.feather.write_feather(_table(rows), out, chunksize=900)
    else:
        with pa.ipc.new_stream(out, _table(1).schema) as writer:
            writer.write_table(_table(rows), max_chunksize=600)
    return out.getvalue()


@pytest.mark.parametrize("form", ["parquet", "feather", "stream"])
def test_a_window_of_a_columnar_file_is_what_its_own_reader_has(form: str) -> None:
    found = columnar.open_document(io.BytesIO(_columnar(form)))
    expected = _table(5_000).to_pylist()
    for first, last in ((1, 3), (699, 702), (4_999, 5_000), (1_400, 1_400)):
        part = found.part(1, Area(first, last, columns="id,name,tags"))
        assert _rows(part) == [
            [str(row["id"]), row["name"], json.dumps(row["tags"])] for row in expected[first - 1 : last]
        ]
    assert found.part(1, Area(5_001, 5_010)).lines == []
    part = found.part(1, Area(1, 1))
    assert [line.lstrip() for line in part.lines] == [
        '0 | user 0 | [0, 1] | {"x": 0, "y": null} | 2026-01-01 | 2026-01-01 12:00:00'
    ]
    assert (part.total_rows, part.total_known) == ((2, False) if form == "stream" else (5_000, True))
    schema = found.part(SCHEMA).lines
    assert "  name string" in schema
    assert any("list<" in line for line in schema)


def test_a_column_of_a_type_that_python_has_nothing_for_costs_no_other() -> None:
    out = io.BytesIO()
    table = pa.table({"age": pa.array([pa.MonthDayNano([1, 2, 3])] * 2), "n": [5, 6]})
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    data = bytearray(out.getvalue())
    changed = [at for at in range(400) if data[at] == 2 and _as_months(data, at)]
    data[changed[0]] = 0  # intervals of months in place of those of months, days and nanoseconds
    part = columnar.open_document(io.BytesIO(bytes(data))).part(1)
    assert _rows(part) == [["<month_interval>", "5"], ["<month_interval>", "6"]]


def _as_months(data: bytearray, at: int) -> bool:
    changed = bytes(data[:at]) + b"\0" + bytes(data[at + 1 :])
    try:
        return "month_interval" in str(pa.ipc.open_stream(changed).schema)
    except (pa.ArrowException, OSError, ValueError):
        return False


_SMALL = {form: _columnar(form, 50) for form in ("parquet", "feather", "stream")}


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(sorted(_SMALL)),
    st.integers(0, 10**6),
    st.binary(min_size=1, max_size=6),
)
def test_damage_anywhere_in_a_columnar_file_is_said(form: str, at: int, damage: bytes) -> None:
    data = bytearray(_SMALL[form])
    at %= len(data)
    data[at : at + len(damage)] = damage
    name = {"parquet": "a.parquet", "feather": "a.feather", "stream": "a.arrows"}[form]
    for broken in (bytes(data), bytes(data[:at])):
        # In its process: a library that ends it is one more answer.
        with Workspace(MemoryStore({name: broken})) as workspace:
            reply = workspace.call("read_file", {"path": name})
        error = reply.facts.get("error")
        assert not isinstance(error, Mapping) or error["code"] != "internal"


def test_what_is_not_read_is_named() -> None:
    with pytest.raises(Unreadable, match="version 1"):
        columnar.open_document(io.BytesIO(b"FEA1" + b"\0" * 100))
    with pytest.raises(Encrypted):
        columnar.open_document(io.BytesIO(b"PARE" + b"\0" * 100))


def test_a_csv_that_says_what_parts_its_fields_is_believed() -> None:
    found = texts.open_delimited(io.BytesIO(b"sep=;\r\na;b,c\r\n1;2,5\r\n"))
    part = found.part(1)
    assert list(part.lines)[-1].split() == ["1", "|", "2,5"]
    assert part.total_rows == 1
    plain = texts.open_delimited(io.BytesIO(b"sep=x,b\n1,2\n"))
    assert plain.part(1).total_rows == 1


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'a,b\n1,2\n3,"open\n4,5\n', 3),
        (b'sep=,\na,b\n"x\ny",2\n\n3,"', 6),
        (b'a,b\r\n1,"said ""so\r\n', 2),
    ],
)
def test_a_quote_that_is_never_closed_is_named(data: bytes, line: int) -> None:
    """All behind it is one field: what is shown of that looks like a table with fewer rows."""
    found = texts.open_delimited(io.BytesIO(data))
    said = [note for note in found.part(1, Area(1, 1)).notes if "never closed" in note]
    assert [f"begins in line {line} " in note for note in said] == [True]
    assert said[0] in found.part(SCHEMA).lines[-1]


def test_a_quote_that_is_not_closed_for_long_is_named() -> None:
    data = b'a,b\n1,2\n3,"' + b"x,y\n" * (FIELD_CHARS // 4 + 1)
    with pytest.raises(Unreadable, match="row that begins in line 3 is not closed within"):
        texts.open_delimited(io.BytesIO(data))


@pytest.mark.parametrize("data", [b'a,b\n1,"x\ny"\n', b'a,b\n1,"x"', b'a,b\n1,5" long\n', b'a,b\n1,"x"y\n'])
def test_quotes_that_are_closed_or_none_are_not(data: bytes) -> None:
    found = texts.open_delimited(io.BytesIO(data))
    assert not any("never closed" in note for note in found.part(1, Area(1, 9)).notes)


def test_fields_beyond_the_columns_are_counted() -> None:
    """Columns are those of the first rows; what a later row has more is not dropped without a word."""
    lines = ["a,b", *["1,2"] * SAMPLE_ROWS, "3,4,5", "6,7"]
    found = texts.open_delimited(io.BytesIO("\n".join(lines).encode()))
    assert not any("more fields" in note for note in found.part(1, Area(1, 10)).notes)
    notes = found.part(1, Area(SAMPLE_ROWS, None)).notes
    assert any(note.startswith("1 row has more fields than there are columns") for note in notes)


def test_lines_that_are_no_objects_behind_the_first_ones_are_named() -> None:
    lines = ['{"a": 1, "b": 2}'] * SAMPLE_ROWS + ["[1, 2]", "no json"]
    part = texts.open_json_lines(io.BytesIO("\n".join(lines).encode())).part(1, Area(SAMPLE_ROWS, None))
    assert f"Not an object, shown in the last column: line {SAMPLE_ROWS + 1}." in part.notes
    assert f"Not JSON, shown as text: line {SAMPLE_ROWS + 2}." in part.notes


def test_csv_has_columns_types_and_rows() -> None:
    data = b'id;name;since\n1;"Ann;\nA";2026-01-01\n2;Bob;2026-02-01\n'
    found = texts.open_delimited(io.BytesIO(data))
    assert found.part(SCHEMA).lines == [
        "table (2 rows)",
        "  id integer",
        "  name text",
        "  since date",
        "  fields separated by semicolon; the first row names the columns; types are from the first rows",
    ]
    assert _rows(found.part(1, Area(1, 9))) == [["1", "Ann;\\nA", "2026-01-01"], ["2", "Bob", "2026-02-01"]]
    plain = texts.open_delimited(io.BytesIO(b"1,2\n3,4\n"))
    assert (plain.part(1, Area(1, 9)).header, plain.part(1).total_rows) == ("column 1 | column 2", 2)
    utf16 = texts.open_delimited(io.BytesIO("a\tb\nä\t1\n".encode("utf-16")))
    assert _rows(utf16.part(1, Area(1, 9))) == [["ä", "1"]]


@each(
    ("text", "header", "rows"),
    [
        (",name,at\n0,Ann,1\n", "column 1 | name | at", 1),
        ("name,at,\nAnn,1,\n", "name | at | column 3", 1),
        ("name,,at\nAnn,,1\n", "column 1 | column 2 | column 3", 2),
        (",,\nAnn,,1\n", "column 1 | column 2 | column 3", 2),
        (",0,1\n2,3,4\n", "column 1 | column 2 | column 3", 2),
        ("a,b,a,a\nx,y,1,2\n", "a | b | a (2) | a (3)", 1),
        ("yes,no,yes\nno,no,yes\n", "column 1 | column 2 | column 3", 2),
    ],
)
def test_a_header_may_name_all_columns_but_the_first_or_the_last(text: str, header: str, rows: int) -> None:
    found = texts.open_delimited(io.BytesIO(text.encode()))
    part = found.part(1, Area(1, 9))
    assert (" | ".join(name.strip() for name in str(part.header).split("|")), part.total_rows) == (
        header,
        rows,
    )


_FIELD = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n")
"""What a text that is not binary may hold."""


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(
            st.text(_FIELD, max_size=6),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
        max_size=20,
    )
)
def test_every_row_of_a_csv_is_shown_once(rows: list[list[str]]) -> None:
    import csv

    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([["first column", "second column"], *rows])
    found = texts.open_delimited(io.BytesIO(out.getvalue().encode()))
    shown = [line for at in range(1, len(rows) + 1) for line in found.part(1, Area(at, at)).lines]
    assert len(shown) == len(rows)
    assert found.part(1, Area(1, 1)).total_rows == len(rows)
    for line, row in zip(shown, rows, strict=True):
        first = cell(row[0], 120)[0]
        assert line.lstrip().startswith(first.strip()) or not first.strip()


def test_json_lines_have_the_keys_of_the_first_lines_as_columns() -> None:
    lines = [{"a": 1, "b": {"c": [1]}}, {"a": 2.5}, "", {"a": 3, "z": "new"}]
    data = "\n".join(json.dumps(line) if line else "" for line in lines) + "\nnot json\n"
    found = texts.open_json_lines(io.BytesIO(data.encode()))
    schema = found.part(SCHEMA).lines
    assert schema[1:3] == ["  a number", "  b object in 1 of the first 3"]
    part = found.part(1, Area(1, 10))
    assert part.total_rows == 5
    assert _rows(part)[4][-1] == "not json"
    assert any("Not JSON, shown as text: line 5" in note for note in part.notes)


def test_a_million_columns_are_bounded_and_said() -> None:
    header = ",".join(f"c{n}" for n in range(100_000))
    found = texts.open_delimited(io.BytesIO(f"{header}\n{'1,' * 99_999}1\n".encode()))
    part = found.part(1, Area(1, 1))
    assert len(part.lines[0]) < 2_000
    assert '99,970 more columns: pages="1!31-60" continues.' in part.notes
    assert len(found.part(SCHEMA).lines) < 2_100
    assert found.part(1, Area(1, 1, columns="99999-")).header == "c99998 | c99999"


def test_a_text_table_without_an_end_of_line_is_bounded() -> None:
    with pytest.raises(Unreadable, match="characters"):
        texts.open_json_lines(io.BytesIO(b'{"a": "' + b"x" * 5_000_000))


@given(st.lists(st.lists(st.text(max_size=50), min_size=3, max_size=3), max_size=5))
def test_aligned_rows_are_lines(rows: list[list[str]]) -> None:
    written = [[cell(value, 20)[0] for value in row] for row in rows]
    header, lines = aligned(["a", "b", "c"], written, [False, True, False])
    assert len(lines) == len(rows)
    assert "\n" not in header + "".join(lines)


def test_several_tables_are_shown_briefly(tmp_path: Path) -> None:
    with _shop(tmp_path / "shop.db").open("rb") as file:
        found: Database = sqlite.open_document(file)
    assert found.part(1, Area(1, 100)).brief == BRIEF_ROWS
