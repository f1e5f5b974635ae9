"""Tables through the tools: every row once, columns as picked, schemas as outlines, texts as they were."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.documents.data.sqlite import SQLITE_COPIED_BYTES
from readroom.documents.data.texts import open_delimited
from tests.core.formats.packing import PACK, SUFFIX
from tests.documents.reading.making import pdf
from tests.each import each
from tests.hostile import containers as hostile
from tests.laws.driving import STORES, Driver, StoreName, fact, stored
from tests.suites import daily


def _sqlite(rows: Mapping[str, list[str]]) -> bytes:
    connection = sqlite3.connect(":memory:")
    for table, values in rows.items():
        name = '"' + table.replace('"', '""') + '"'
        connection.execute(f'CREATE TABLE {name} ("key" INTEGER PRIMARY KEY, "va lue" TEXT)')
        connection.executemany(f'INSERT INTO {name} ("va lue") VALUES (?)', [(value,) for value in values])
    connection.commit()
    return connection.serialize()


def _parquet(values: list[str]) -> bytes:
    out = io.BytesIO()
    table = pa.table({"key": list(range(1, len(values) + 1)), "va lue": pa.array(values, pa.string())})
    pyarrow.parquet.write_table(table, out, row_group_size=7)
    return out.getvalue()


def _table(driver: Driver, path: str, **arguments: object) -> dict[int, list[str]]:
    """Every row of one table that following `next` shows, each once."""
    rows: dict[int, list[str]] = {}
    for reply in driver.pages("read_file", path=path, **arguments):
        assert not reply.is_error, reply.text
        (part,) = fact(reply, "document")["parts"]
        first = part["lines_shown"]["start"]
        lines = [line for line in reply.text.split("\n") if line[:1].isdigit()]
        shown = [line.split("\t", 1) for line in lines]
        assert [int(number) for number, _ in shown] == list(range(first, first + len(shown)))
        assert not rows or first == max(rows) + 1
        rows |= {int(number): [cell.strip() for cell in text.split(" | ")] for number, text in shown}
    return rows


_values = st.lists(
    st.text(st.sampled_from("abcé "), min_size=1, max_size=60).map(lambda text: f"x{text}x"),
    min_size=1,
    max_size=60,
)


@daily(1, "store", STORES)
@settings(max_examples=4, deadline=None)
@given(values=_values, cap=st.sampled_from([1_200, 4_000, None]))
def test_following_next_shows_every_row_once(store: StoreName, values: list[str], cap: int | None) -> None:
    lines = "".join(
        json.dumps({"key": at, "va lue": value}, ensure_ascii=False) + "\n"
        for at, value in enumerate(values, 1)
    )
    text = "key,va lue\n" + "".join(f'{at},"{value}"\n' for at, value in enumerate(values, 1))
    files = {
        "d.sqlite": _sqlite({"only": values}),
        "d.parquet": _parquet(values),
        "d.csv": text.encode(),
        "d.jsonl": lines.encode(),
        "d.csv.gz": gzip.compress(text.encode()),
    }
    expected = {at: [str(at), value.strip()] for at, value in enumerate(values, 1)}
    with stored(store, files) as held:
        driver = Driver(held, reply_bytes=cap)
        for path in files:
            assert _table(driver, path, pages="1") == expected, path
            picked = _table(driver, path, pages="1!'va lue',key", limit=7)
            assert picked == {at: row[::-1] for at, row in expected.items()}, path
        driver.workspace.close()


def test_texts_that_are_tables_stay_texts() -> None:
    files = {"t.csv": b"a,b\n1,2\n", "t.jsonl": b'{"a": 1}\n', "t.tsv": b"a\tb\n1\t2\n"}
    with Workspace(MemoryStore(files)) as space:
        for path in files:
            reply = space.read(path)
            assert fact(reply, "document") is None
            assert "1\t" + files[path].decode().split("\n")[0] in reply.text
            found = str(fact(reply, "content_hash"))
            assert fact(space.read(path, pages="1"), "document")["format"] in ("csv", "jsonl")
            edited = space.edit(path, expected_hash=found, edits=[{"old_text": "1", "new_text": "3"}])
            assert "3" in edited.text
            with_encoding = space.call("read_file", {"path": path, "pages": "1", "encoding": "utf-8"})
            assert with_encoding.is_error


def test_an_outline_is_the_schema_and_goes_on() -> None:
    driver = Driver(
        MemoryStore({"d.db": _sqlite({f"table {at}": ["x"] for at in range(300)})}), reply_bytes=2_000
    )
    lines: list[str] = []
    for reply in driver.pages("read_file", path="d.db", view="outline"):
        lines += [
            line.split("\t", 1)[1] for line in reply.text.split("\n") if line[:1].isdigit() and "\t" in line
        ]
    assert len(lines) == 900
    assert [line for line in lines if line.startswith("table")] == sorted(
        f"table table {at} (1 row)" for at in range(300)
    )
    assert lines[1:3] == ["  key INTEGER primary key", "  va lue TEXT"]
    driver.workspace.close()


def test_a_database_shows_its_tables_and_some_rows_of_each() -> None:
    driver = Driver(
        MemoryStore(
            {"d.db": _sqlite({"one": [f"v{at}" for at in range(40)], "two": ["w"] * 3, "schema": ["s"]})}
        )
    )
    reply = driver.call("read_file", path="d.db")
    document = fact(reply, "document")
    assert [heading["title"].partition(" ")[0] for heading in document["contents"]] == [
        "one",
        "schema",
        "two",
    ]
    assert [part["lines_shown"]["end"] for part in document["parts"]] == [5, 1, 3]
    assert [part["total_lines"] for part in document["parts"]] == [40, 1, 3]
    left = [item["call"] for item in fact(reply, "omitted") if item["what"] == "lines"]
    assert "40\t 40 | v39" in driver.follow(left[0]).text
    assert "1\t  1 | s" in driver.call("read_file", path="d.db", pages="schema").text  # the table is meant
    assert "table one (40 rows)" in driver.call("read_file", path="d.db", pages="#schema").text
    both = driver.call("read_file", path="d.db", pages="two!key;one!'va lue'")
    assert [part["header"].strip() for part in fact(both, "document")["parts"]] == ["key", "va lue"]
    driver.workspace.close()


def test_wrong_parts_and_columns_name_the_right_ones() -> None:
    driver = Driver(
        MemoryStore({"d.db": _sqlite({"one": ["v"], "two": ["w"]}), "d.parquet": _parquet(["v"])})
    )
    for path, pages, word in (
        ("d.db", "three", "one"),
        ("d.db", "one!nothing", "va lue"),
        ("d.db", "7", "2 tables"),
        ("d.parquet", "nothing", "va lue"),
    ):
        reply = driver.call("read_file", path=path, pages=pages)
        error = fact(reply, "error")
        assert error["code"] == "bad_range", reply.text
        assert word in reply.text
        assert not driver.follow(error["next"]).is_error
    driver.workspace.close()


def test_wide_tables_and_cells_are_bounded_and_the_rest_is_named() -> None:
    header = ",".join(f"c{at}" for at in range(2_000))
    wide = f"{header}\n" + ",".join(map(str, range(2_000))) + "\n"
    driver = Driver(MemoryStore({"w.csv": wide.encode(), "d.db": _sqlite({"one": ["y" * 50_000 + "end"]})}))
    reply = driver.call("read_file", path="w.csv", pages="1")
    assert 'pages="1!31-60"' in reply.text
    assert "c59" in driver.call("read_file", path="w.csv", pages="1!31-60").text
    cell = driver.call("read_file", path="d.db")
    assert "pages=\"1!'va lue'\" shows one column whole" in cell.text
    whole = ""
    for page in driver.pages("read_file", path="d.db", pages="1!'va lue'"):
        (line,) = (line for line in page.text.split("\n") if re.match(r"1(:\d+)?\t", line))
        whole += re.sub(r" \[\+\d+ chars\]\Z", "", line.split("\t", 1)[1])
    assert whole == "y" * 50_000 + "end"
    driver.workspace.close()


def test_compressed_tables_are_tables(tmp_path: Path) -> None:
    data = _sqlite({"one": [f"v{at}" for at in range(100)]})
    files = {f"d.db.{SUFFIX[kind]}": pack(data) for kind, pack in PACK.items()}
    files |= {
        "d.parquet.gz": gzip.compress(_parquet(["v0", "v1"])),
        "z.zip": hostile.zipped({"in/d.db": data}),
    }
    with Workspace(MemoryStore(files)) as space:
        for path in [*list(files)[:-1], "z.zip!/in/d.db"]:
            reply = space.read(path, offset=2, limit=1)
            assert "2\t  2 | v1" in reply.text, path
            assert "key" in space.read(path, view="outline").text


def test_a_schema_that_cannot_be_read_is_no_table_of_a_number() -> None:
    data = _parquet(["v0"])
    with Workspace(MemoryStore({"d.parquet": data[:-8] + b"\xff\xff\xff\x7fPAR1"})) as space:
        assert (
            "cannot be read: it is damaged"
            in space.call("read_file", {"path": "d.parquet", "pages": "schema"}).text
        )


def test_compressed_documents_are_documents() -> None:
    page = pdf([["first page"], ["second page"]])
    files = {f"d.pdf.{SUFFIX[kind]}": pack(page) for kind, pack in PACK.items()}
    files |= {
        "m.eml.gz": gzip.compress(b"Subject: x\n\nwords\n"),
        "p.html.gz": gzip.compress(b"<p>words</p>"),
    }
    with Workspace(MemoryStore(files)) as space:
        for path in [*files][:-2]:
            assert "1\tsecond page" in space.read(path, pages="2").text, path
        assert "part 1 of 1" in space.read("m.eml.gz").text
        assert "1\tSubject: x" in space.read("m.eml.gz", encoding="utf-8").text
        assert "1\t<p>words</p>" in space.read("p.html.gz").text


def test_a_large_database_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, fill BLOB)")
    connection.executemany("INSERT INTO t VALUES (?, zeroblob(1000000))", [(n,) for n in range(1, 60)])
    connection.commit()
    connection.close()
    assert path.stat().st_size > SQLITE_COPIED_BYTES
    before = sorted(os.listdir(tmp_path))
    with Workspace(tmp_path) as space:
        assert "(1,000,000 bytes)" in space.read("large.db", offset=59).text
    assert sorted(os.listdir(tmp_path)) == before


def test_a_database_in_use_is_read_without_a_trace(tmp_path: Path) -> None:
    writer = sqlite3.connect(tmp_path / "d.db", isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE t (n INTEGER)")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("INSERT INTO t VALUES (1)")
    before = {one.name: (one.stat().st_mtime_ns, one.stat().st_size) for one in tmp_path.iterdir()}
    with Workspace(tmp_path) as space:
        assert "WAL mode" in space.read("d.db").text
    assert {one.name: (one.stat().st_mtime_ns, one.stat().st_size) for one in tmp_path.iterdir()} == before
    writer.execute("COMMIT")
    writer.close()


def test_without_pyarrow_a_sentence_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/pyarrow.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    with Workspace(MemoryStore({"d.parquet": _parquet(["v"])})) as space:
        reply = space.call("read_file", {"path": "d.parquet"})
    assert fact(reply, "error")["code"] == "bad_document"
    assert "readroom[data]" in reply.text


HOSTILE = {
    "endless.db": [
        "CREATE TABLE t (x)",
        "INSERT INTO t VALUES (1)",
        "CREATE VIEW v AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
        "SELECT max(n) AS n FROM c",
    ],
    "large.db": [
        "CREATE TABLE t (x)",
        "INSERT INTO t VALUES (1)",
        "CREATE VIEW v AS SELECT hex(zeroblob(900000000)) AS x FROM t",
    ],
    "join.db": [
        "CREATE TABLE t (x)",
        *["INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)"] * 5,
        "CREATE VIEW v AS SELECT count(*) AS n FROM t a, t b, t c, t d, t e, t f, t g",
    ],
}


@daily(1, "name", sorted(HOSTILE))
def test_a_view_that_never_ends_keeps_nobody_from_the_tables(name: str, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / name)
    for statement in HOSTILE[name]:
        connection.execute(statement)
    connection.commit()
    connection.close()
    (tmp_path / "readroom.toml").write_text("[limits]\ndocument_timeout_s = 2\n", encoding="utf-8")
    with Workspace(tmp_path) as space:
        assert "[columns: x]" in space.read(name, pages="t").text
        reply = space.call("read_file", {"path": name, "pages": "v"})
        assert reply.is_error
        assert fact(reply, "error")["code"] in ("bad_document", "timed_out")
        assert "[columns: x]" in space.read(name, pages="t").text


@pytest.mark.parametrize(("contract", "tool"), [("everruns", "read_file"), ("kilo", "read_file")])
def test_other_contracts_take_tables_for_what_they_took_them(
    contract: str, tool: str, tmp_path: Path
) -> None:
    (tmp_path / "d.db").write_bytes(_sqlite({"one": ["canary"]}))
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    with Workspace(tmp_path) as space:
        found = space.call(tool, {"path": "d.db"}, contract_name=contract)
        assert "columns:" not in found.text
        assert "canary" not in found.text


@each(
    ("text", "comments", "columns"),
    [
        ('# made by x, on monday\n# it is "so\nid,name\n1,a\n2,b\n', 2, ["id", "name"]),
        ("#id,name\n1,a\n", 0, ["#id", "name"]),
        ("# made by x\n#id\tname\n1\ta\n", 1, ["#id", "name"]),
        ("id,name\n#1,a\n", 0, ["id", "name"]),
        ("# made by x\n\n\nid;name\n1;a\n", 1, ["id", "name"]),
    ],
)
def test_comments_before_the_header_are_no_rows(text: str, comments: int, columns: list[str]) -> None:
    (table,) = open_delimited(io.BytesIO(text.encode())).tables
    assert [column.name for column in table.columns] == columns
    assert table.total == text.rstrip("\n").count("\n") - comments - text.count("\n\n") * 2
    said = f"the first {comments} lines are comments" if comments > 1 else "the first 1 line is a comment"
    assert any(said in line for line in table.details) is bool(comments)
