"""Avro files as tables: what the library writes is read, row by row, and damage is said."""

from __future__ import annotations

import io
import zlib
from typing import Any

import fastavro
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.documents.data.avro import open_document
from readroom.documents.formats import Area, Unreadable
from tests.hostile.tables import avro, avro_of

SCHEMA = {
    "type": "record",
    "name": "Row",
    "doc": "What was sold.",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "doc": "as printed"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    ],
}


def _written(rows: list[dict[str, Any]], codec: str, interval: int = 200) -> io.BytesIO:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(SCHEMA), rows, codec=codec, sync_interval=interval)
    return out


_rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(-(2**63), 2**63 - 1),
            "name": st.none() | st.text(max_size=20),
            "tags": st.lists(st.text(max_size=5), max_size=3),
            "at": st.integers(0, 10**12),
            "kind": st.sampled_from("AB"),
        }
    ),
    max_size=60,
)


@settings(max_examples=30, deadline=None)
@given(_rows, st.sampled_from(["null", "deflate", "bzip2", "xz"]), st.integers(1, 70), st.integers(1, 70))
def test_any_window_has_the_rows_that_were_written(
    rows: list[dict[str, Any]], codec: str, first: int, count: int
) -> None:
    opened = open_document(_written(rows, codec))
    table = opened.tables[0]
    assert table.total == len(rows)
    window = table.rows(first, count, [1, 0, 4], 100)
    wanted = [[row["name"], row["id"], row["kind"]] for row in rows[first - 1 : first - 1 + count]]
    assert [list(row) for row in window.values] == wanted


def test_types_and_words_of_the_schema_are_told() -> None:
    opened = open_document(_written([{"id": 1, "name": "x", "tags": [], "at": 0, "kind": "A"}], "null"))
    described = [(column.name, column.type, column.detail) for column in opened.tables[0].columns]
    assert described == [
        ("id", "long", ""),
        ("name", "null or string", "as printed"),
        ("tags", "array<string>", ""),
        ("at", "timestamp-millis", ""),
        ("kind", "enum<A, B>", ""),
    ]
    assert list(opened.tables[0].details) == ["1 block, compressed with null", "record Row", "What was sold."]
    part = opened.part(1, Area())
    assert part.total_rows == 1
    assert "1970-01-01" in part.lines[0]


def test_a_schema_that_is_no_record_is_one_column() -> None:
    opened = open_document(io.BytesIO(avro_of(b'"int"', b"\x54")))
    assert [column.name for column in opened.tables[0].columns] == ["value"]
    assert opened.tables[0].rows(1, 5, [0], 100).values == [[42]]


def test_a_file_that_is_cut_short_shows_what_it_has_and_says_so() -> None:
    whole = open_document(io.BytesIO(avro())).tables[0]
    cut = open_document(io.BytesIO(avro()[:-200])).tables[0]
    assert whole.total is not None
    assert cut.total is not None
    assert 0 < cut.total < whole.total == 5000
    window = cut.rows(1, 5000, [0, 1], 100)
    assert len(window.values) == cut.total
    assert "cut short" in window.notes[0]
    assert any("cut short" in line for line in cut.details)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=4))
def test_damage_anywhere_is_said_and_never_a_crash(at: int, damage: bytes) -> None:
    data = bytearray(avro())
    at %= len(data)
    data[at : at + len(damage)] = damage
    try:
        table = open_document(io.BytesIO(bytes(data))).tables[0]
        window = table.rows(1, 10_000, range(len(table.columns)), 100)
    except Unreadable:
        return
    assert len(window.values) <= 5000 or window.notes


@pytest.mark.parametrize("codec", ["snappy", "zstandard"])
def test_codecs_of_other_writers_are_read(codec: str) -> None:
    row = b"\x54" * 50
    if codec == "snappy":
        packed = pyarrow.Codec("snappy").compress(row, asbytes=True) + zlib.crc32(row).to_bytes(4, "big")
    else:
        packed = pyarrow.Codec("zstd").compress(row, asbytes=True)
    opened = open_document(io.BytesIO(avro_of(b'"int"', packed, count=50, codec=codec.encode())))
    assert opened.tables[0].rows(1, 60, [0], 100).values == [[42]] * 50
