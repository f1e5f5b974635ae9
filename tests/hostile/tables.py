"""Hostile databases and tables; each function returns the bytes of one.

python -m tests.hostile.tables FOLDER [NAME...]   writes these, or all of them

Each is one trick; what it would become is said beside it.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import sqlite3
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet

MB = 1024 * 1024
PAGE = 4096


# --- SQLite ------------------------------------------------------------------------------------------------


def database(*statements: str) -> bytearray:
    """A database that these statements make."""
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    return bytearray(connection.serialize())


_WORDS = ("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)", "INSERT INTO t (word) VALUES ('words')")
_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "
_MANY = f"INSERT INTO t (word) {_COUNT.format(20_000)}SELECT printf('word %d', i) FROM n"


def cut_sqlite() -> bytes:
    """The first third of one."""
    whole = database(*_WORDS, _MANY)
    return bytes(whole[: len(whole) // 3])


def claimed_pages_sqlite() -> bytes:
    """A head that says to have two thousand million pages."""
    data = database(*_WORDS)
    data[28:32] = struct.pack(">I", 2**31 - 1)
    return bytes(data)


def circular_tree_sqlite() -> bytes:
    """A page of a tree whose children are the page itself."""
    data = database(*_WORDS, _MANY)
    root = PAGE  # of the only table
    assert data[root] == 5
    cells = struct.unpack_from(">H", data, root + 3)[0]
    for at in range(cells):
        place = root + struct.unpack_from(">H", data, root + 12 + 2 * at)[0]
        data[place : place + 4] = struct.pack(">I", 2)
    data[root + 8 : root + 12] = struct.pack(">I", 2)
    return bytes(data)


def circular_overflow_sqlite() -> bytes:
    """A text of which each page says that the same page follows."""
    data = database(_WORDS[0], "INSERT INTO t (word) VALUES (printf('%.*c', 200000, 'x'))")
    for page in range(3 * PAGE, len(data) - PAGE, PAGE):
        data[page : page + 4] = struct.pack(">I", page // PAGE + 1)
    return bytes(data)


def claimed_text_sqlite() -> bytes:
    """A row that says to be two gigabytes."""
    data = database(*_WORDS)
    at = data.index(b"words", PAGE) - 5
    return bytes(data[:at] + b"\x87\xff\xff\xff\x7f" + data[at + 5 :])


def strange_head_sqlite(offset: int, value: bytes) -> bytes:
    """A head with a page size, a text encoding or a version that there is not."""
    data = database(*_WORDS)
    data[offset : offset + len(value)] = value
    return bytes(data)


def _schema_of(sql: str) -> bytes:
    """A database whose stored schema is this SQL, which nobody could have run."""
    data = database("CREATE TABLE t (x TEXT)", "INSERT INTO t VALUES ('words')")
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(data))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = ?", (sql,))
    connection.commit()
    return bytes(connection.serialize())


def extension_sqlite() -> bytes:
    """A column that would load a program, and one that would read a file."""
    call = "load_extension('/tmp/evil')"
    return _schema_of(f"CREATE TABLE t (x TEXT, y AS ({call}), z AS (readfile('/etc/passwd')))")


def damaged_schema_sqlite() -> bytes:
    """A schema that is no SQL."""
    return _schema_of("CREATE TABLE t (((((")


def damaged_definitions_sqlite() -> bytes:
    """A sound table beside one that is no SQL, and one that begins on a page that is not there."""
    data = database("CREATE TABLE a (x)", "CREATE TABLE b (x)", *_WORDS)
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(data))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE a (((' WHERE name = 'a'")
    connection.execute("UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'b'")
    connection.commit()
    return bytes(connection.serialize())


def endless_views_sqlite() -> bytes:
    """Views that never end, that multiply, and that name each other."""
    cross = " , ".join(f"n AS n{at}" for at in range(12))
    return bytes(
        database(
            *_WORDS,
            f"CREATE VIEW endless AS {_COUNT.format(-1)}SELECT i FROM n",
            f"CREATE VIEW crossed AS {_COUNT.format(1000)}SELECT 1 FROM {cross}",
            "CREATE VIEW wide AS SELECT zeroblob(900000000) AS x, printf('%.*c', 900000000, 'x') AS y",
            "CREATE VIEW a AS SELECT * FROM b",
            "CREATE VIEW b AS SELECT * FROM a",
        )
    )


def many_tables_sqlite() -> bytes:
    """Two thousand tables."""
    return bytes(database(*(f"CREATE TABLE t{at} (x)" for at in range(2_000))))


def many_columns_sqlite() -> bytes:
    """As many columns as there can be, with names that would be commands and colours."""
    columns = ", ".join(f'"c{at}\x1b[31m=cmd|calc!A1\n{{at}}" TEXT' for at in range(1990))
    return bytes(database(f"CREATE TABLE t ({columns})", "INSERT INTO t DEFAULT VALUES"))


def freelist_sqlite() -> bytes:
    """A list of free pages that is longer than the file, and begins outside of it."""
    data = database(*_WORDS, _MANY, "DELETE FROM t WHERE id > 10")
    data[32:40] = struct.pack(">II", 99_999, 2**31 - 1)
    return bytes(data)


def other_module_sqlite() -> bytes:
    """Tables of a module that is nowhere, and of one that writes, beside a plain one."""
    data = database(*_WORDS, "CREATE VIRTUAL TABLE f USING fts5(a)", "INSERT INTO f VALUES ('words')")
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(data))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING evil(a)')"
    )
    connection.commit()
    return bytes(connection.serialize())


def nul_sqlite() -> bytes:
    """Texts with a character at which programs in C end them, a short and a long one."""
    return bytes(
        database(
            "CREATE TABLE t (x TEXT, y TEXT)",
            "INSERT INTO t VALUES (char(97, 0, 98), printf('%.*c', 9000, 'x') || char(0) || 'end')",
        )
    )


def noise_sqlite(seed: int) -> bytes:
    """A sound one with bytes changed all over, behind its first."""
    chance = random.Random(seed)
    data = database(*_WORDS, _MANY)
    for _ in range(300):
        data[chance.randrange(100, len(data))] = chance.randrange(256)
    return bytes(data)


# --- Parquet -----------------------------------------------------------------------------------------------


def parquet(table: pa.Table, **options: object) -> bytes:
    """A table as Parquet."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, **options)
    return out.getvalue()


def cut_parquet() -> bytes:
    """One without its end, where all is said."""
    return parquet(pa.table({"x": ["words"] * 1000}))[:-20]


def footer_parquet(size: int) -> bytes:
    """A footer that says to be of another size."""
    data = parquet(pa.table({"x": ["words"]}))
    return data[:-8] + struct.pack("<I", size) + b"PAR1"


def lists_parquet() -> bytes:
    """A footer in which a list says to have two thousand million entries."""
    footer = b"\x15\x02\x19\xfc\xff\xff\xff\xff\x07"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def deep_footer_parquet() -> bytes:
    """A footer of structures in structures, a hundred thousand deep."""
    footer = b"\x1c" * 100_000
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def encrypted_parquet() -> bytes:
    """The mark of a footer that only a key opens."""
    return b"PARE" + b"\x9f" * 500 + struct.pack("<I", 400) + b"PARE"


def bomb_parquet() -> bytes:
    """One text of 128 MB in a few bytes."""
    table = pa.table({"x": ["x" * (128 * MB)], "y": ["words"]})
    return parquet(table, compression="zstd", use_dictionary=False, write_statistics=False)


def many_rows_parquet() -> bytes:
    """Sixty million rows in a few bytes."""
    out = io.BytesIO()
    rows = pa.table({"x": pa.repeat(0, 1_000_000)})
    with pyarrow.parquet.ParquetWriter(out, rows.schema, compression="zstd") as writer:
        for _ in range(60):
            writer.write_table(rows)
    return out.getvalue()


def many_columns_parquet() -> bytes:
    """Twenty thousand columns."""
    return parquet(pa.table({f"c{at}": pa.array([1], pa.int8()) for at in range(20_000)}))


def deep_type_parquet() -> bytes:
    """A list of lists of lists, sixty deep."""
    kind: pa.DataType = pa.int8()
    value: object = 1
    for _ in range(60):
        kind, value = pa.list_(kind), [value]
    return parquet(pa.table({"x": pa.array([value], kind)}))


def more_rows_parquet() -> bytes:
    """An end that says to have sixty rows more than there are: a next step to them would never end."""
    data = parquet(pa.table({"x": ["words", "b", "c"]}))
    assert b"\x16\x06" in data
    return data.replace(b"\x16\x06", b"\x16\x7e")


def zones_parquet() -> bytes:
    """Instants of a zone whose name leads to a file, also within others, and one that is no zone."""
    instant = pa.array([1_000_000_000_123_456_789], pa.timestamp("ns", "Asia/Tokyo"))
    second = pa.array([1_000_000_000], pa.timestamp("s", "Asia/Tokyo"))
    odd = pa.array([1_000_000_000], pa.timestamp("s", "../../etc/passwd"))
    nested = pa.StructArray.from_arrays([second], names=["at"])
    return parquet(pa.table({"x": instant, "y": nested, "z": odd}))


def noise_parquet(seed: int) -> bytes:
    """A sound one with bytes changed in its pages and its footer."""
    chance = random.Random(seed)
    data = bytearray(parquet(pa.table({"x": [f"word {at}" for at in range(5000)], "y": list(range(5000))})))
    for _ in range(40):
        data[chance.randrange(4, len(data) - 8)] = chance.randrange(256)
    return bytes(data)


# --- Arrow -------------------------------------------------------------------------------------------------


def arrow(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as an Arrow file."""
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue()


def cut_arrow() -> bytes:
    """One without its end."""
    data = arrow(pa.table({"x": ["words"] * 1000}))
    return data[: len(data) // 2]


def footer_arrow(size: int) -> bytes:
    """A footer that says to be of another size."""
    data = arrow(pa.table({"x": ["words"]}))
    return data[:-10] + struct.pack("<i", size) + b"ARROW1"


def bomb_arrow() -> bytes:
    """A compressed buffer that says to be a terabyte."""
    data = arrow(pa.table({"x": pa.array([0] * MB, pa.int64())}), "zstd")
    size = struct.pack("<q", 8 * MB)
    assert size in data
    return data.replace(size, struct.pack("<q", 2**40))


def large_arrow() -> bytes:
    """Two hundred megabytes of nothing in a few bytes."""
    return arrow(pa.table({"x": pa.repeat(0, 25 * MB)}), "zstd")


def noise_arrow(seed: int) -> bytes:
    """A sound one with bytes changed all over."""
    chance = random.Random(seed)
    data = bytearray(arrow(pa.table({"x": [f"word {at}" for at in range(5000)], "y": list(range(5000))})))
    for _ in range(40):
        data[chance.randrange(8, len(data) - 10)] = chance.randrange(256)
    return bytes(data)


# --- texts -------------------------------------------------------------------------------------------------


def lines(*values: bytes) -> bytes:
    """Values, one a line, among others that are sound."""
    return b'{"x": "words"}\n' + b"".join(value + b"\n" for value in values) + b'{"x": "more words"}\n'


def many_keys_jsonl() -> bytes:
    """An object of three hundred thousand keys."""
    return lines(json.dumps({f"k{at}": at for at in range(300_000)}).encode())


def wide_csv() -> bytes:
    """A million columns."""
    return b",".join(b"c%d" % at for at in range(1_000_000)) + b"\n" + b"," * 999_999 + b"\n"


def formulas_csv() -> bytes:
    """Cells that a program for sheets would run."""
    return b"name,value\n=cmd|' /C calc'!A0,@SUM(1+1)\n\x1b]0;title\x07,+1-1\nwords,1\n"


def packed(pieces: Iterable[bytes]) -> bytes:
    """In gzip."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        for piece in pieces:
            file.write(piece)
    return out.getvalue()


def bomb_sqlite_gz() -> bytes:
    """A database of 200 MB of nothing in 200 KB."""
    return packed([bytes(database(*_WORDS)), *[bytes(MB)] * 200])


def zigzag(value: int) -> bytes:
    """A number as Avro writes it."""
    value, out = (value << 1) ^ (value >> 63), b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def avro() -> bytes:
    """Rows of two columns, in several blocks."""
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": ["null", "long"]}],
    }
    rows = [{"x": f"word {at}", "y": at if at % 7 else None} for at in range(5000)]
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="deflate", sync_interval=4000)
    return out.getvalue()


def avro_of(schema: bytes, row: bytes = b"", *, count: int = 1, codec: bytes = b"null") -> bytes:
    """A file of one block that says whatever it is told."""
    sync = b"0123456789abcdef"
    about = {b"avro.schema": schema, b"avro.codec": codec}
    head = b"".join(zigzag(len(part)) + part for pair in about.items() for part in pair)
    return (
        b"Obj\x01" + zigzag(len(about)) + head + b"\0" + sync + zigzag(count) + zigzag(len(row)) + row + sync
    )


def packed_bytes(size: int) -> bytes:
    """A value of so many zeros, as a block holds it that is compressed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [packer.compress(zigzag(size)), *(packer.compress(bytes(MB)) for _ in range(size // MB))]
    return b"".join([*parts, packer.flush()])


def deep_row_avro() -> bytes:
    """A list that goes on in itself a million times, by a schema that names itself."""
    schema = b'{"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}'
    return avro_of(schema, b"\2" * 1_000_000 + b"\0")


def noise_avro(seed: int) -> bytes:
    """Rows with bytes changed anywhere."""
    data, order = bytearray(avro()), random.Random(seed)
    for _ in range(20):
        data[order.randrange(len(data))] = order.randrange(256)
    return bytes(data)


FILES: Mapping[str, Callable[[], bytes]] = {
    "cut.sqlite": cut_sqlite,
    "claimed-pages.sqlite": claimed_pages_sqlite,
    "circular-tree.sqlite": circular_tree_sqlite,
    "circular-overflow.sqlite": circular_overflow_sqlite,
    "claimed-text.sqlite": claimed_text_sqlite,
    "page-size.sqlite": lambda: strange_head_sqlite(16, b"\0\3"),
    "encoding.sqlite": lambda: strange_head_sqlite(56, struct.pack(">I", 7)),
    "version.sqlite": lambda: strange_head_sqlite(18, b"\x63\x63"),
    "only-mark.sqlite": lambda: b"SQLite format 3\0",
    "extension.sqlite": extension_sqlite,
    "damaged-schema.sqlite": damaged_schema_sqlite,
    "damaged-definitions.sqlite": damaged_definitions_sqlite,
    "endless-views.sqlite": endless_views_sqlite,
    "many-tables.sqlite": many_tables_sqlite,
    "many-columns.sqlite": many_columns_sqlite,
    "freelist.sqlite": freelist_sqlite,
    "other-module.sqlite": other_module_sqlite,
    "nul.sqlite": nul_sqlite,
    **{f"noise{seed}.sqlite": lambda seed=seed: noise_sqlite(seed) for seed in range(3)},  # type: ignore[misc]  # mypy infers no lambda with defaults
    "cut.parquet": cut_parquet,
    "footer-huge.parquet": lambda: footer_parquet(2**32 - 1),
    "footer-none.parquet": lambda: footer_parquet(0),
    "lists.parquet": lists_parquet,
    "deep-footer.parquet": deep_footer_parquet,
    "encrypted.parquet": encrypted_parquet,
    "bomb.parquet": bomb_parquet,
    "many-rows.parquet": many_rows_parquet,
    "many-columns.parquet": many_columns_parquet,
    "deep-type.parquet": deep_type_parquet,
    "more-rows.parquet": more_rows_parquet,
    "zones.parquet": zones_parquet,
    **{f"noise{seed}.parquet": lambda seed=seed: noise_parquet(seed) for seed in range(3)},  # type: ignore[misc]  # as above
    "cut.avro": lambda: avro()[:-200],
    "schema.avro": lambda: avro_of(b'{"type": "record", "name": "R", "fields": "none"}'),
    "deep-schema.avro": lambda: avro_of(b'{"type": "array", "items": ' * 5_000 + b'"int"' + b"}" * 5_000),
    "deep-json.avro": lambda: avro_of(b"[" * 500_000),
    "deep-row.avro": deep_row_avro,
    "many-nulls.avro": lambda: avro_of(b'{"type": "array", "items": "null"}', zigzag(1 << 60) + b"\0"),
    "endless-rows.avro": lambda: avro_of(b'"null"', b"", count=1 << 50),
    "fewer-rows.avro": lambda: avro_of(b'"string"', b"\x0awords" * 3),
    "more-rows.avro": lambda: avro_of(b'"string"', b"\x0awords", count=3),
    "negative-rows.avro": lambda: avro_of(b'"string"', b"\x0awords", count=-5),
    "negative-text.avro": lambda: avro_of(b'"string"', b"\1words"),
    "no-such-branch.avro": lambda: avro_of(b'["null", "int"]', b"\x63"),
    "huge-fixed.avro": lambda: avro_of(b'{"type": "fixed", "name": "F", "size": 4000000000}', b"1234"),
    "codec.avro": lambda: avro_of(b'"int"', b"\2", codec=b"lz4"),
    "bomb.avro": lambda: avro_of(b'"bytes"', packed_bytes(200 * MB), codec=b"deflate"),
    "claimed.avro": lambda: avro_of(b'"bytes"', zigzag(1 << 40) + b"x"),
    "only-mark.avro": lambda: b"Obj\x01",
    **{f"noise{seed}.avro": lambda seed=seed: noise_avro(seed) for seed in range(3)},  # type: ignore[misc]  # as above
    "cut.arrow": cut_arrow,
    "footer-huge.arrow": lambda: footer_arrow(2**31 - 1),
    "footer-negative.arrow": lambda: footer_arrow(-5),
    "bomb.arrow": bomb_arrow,
    "large.arrow": large_arrow,
    **{f"noise{seed}.arrow": lambda seed=seed: noise_arrow(seed) for seed in range(3)},  # type: ignore[misc]  # as above
    "deep.jsonl": lambda: lines(b"[" * 200_000, b'{"x":' * 100_000),
    "long.jsonl": lambda: lines(b'{"x": "' + b"y" * (20 * MB) + b'"}'),
    "number.jsonl": lambda: lines(b'{"x": ' + b"9" * 100_000 + b"}", b'{"x": 1e999999}', b'{"x": NaN}'),
    "many-keys.jsonl": many_keys_jsonl,
    "surrogates.jsonl": lambda: lines(b'{"x": "\\ud800 \\u202e"}', b"\xff\xfe", b"\0"),
    "wide.csv": wide_csv,
    "long.csv": lambda: b"name,value\nwords,1\n" + b"x" * (20 * MB) + b",2\n",
    "unclosed.csv": lambda: b'name,value\nwords,1\n"never closed,2\n' + b"line,3\n" * 500_000,
    "formulas.csv": formulas_csv,
    "bomb.csv.gz": lambda: packed([b"name,value\nwords,1\n", *[b"1,2\n" * MB] * 5]),
    "bomb.sqlite.gz": bomb_sqlite_gz,
}
"""Each file by its name; some are sound and only large."""


def main(folder: str, *names: str) -> None:
    """Write these, or all of them."""
    for name in names or FILES:
        Path(folder, name).write_bytes(FILES[name]())


if __name__ == "__main__":
    main(*sys.argv[1:])
