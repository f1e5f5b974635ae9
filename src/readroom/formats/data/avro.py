"""Avro files (object containers): the schema first, then rows in blocks, decoded by fastavro.

    beginning   a magic number, metadata (the schema, the codec), and a marker of 16 bytes
    block       how many rows, how many bytes, these bytes, and the same marker

Blocks are walked here, which counts rows without expanding any, and expanded here within a bound, since the
library expands a block whole.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, BinaryIO

from msgspec import Struct

from readroom.extras import install, problem
from readroom.formats.compressed import Broken, Expander
from readroom.formats.data import Column, Database, Rows
from readroom.formats.documents import Unreadable
from readroom.limits.documents import AVRO_BEGINNING_BYTES, AVRO_BLOCK_BYTES, AVRO_BLOCKS

try:
    # At once: the process that reads a file can load no library of the system any more.
    import fastavro
    import fastavro.schema
except ImportError:
    fastavro = None  # type: ignore[assignment]  # looked at before each use

try:
    import pyarrow
except ImportError:
    pyarrow = None

_ADVICE = f"Ask the user to run {install('data')}, or for an export as CSV."
_ANOTHER = "Ask for another copy, or for an export as CSV."
_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_MOST_ROWS = 1 << 50
"""A number of rows that can be one."""

_MOST_NUMBER_BYTES = 10
_MOST_DEPTH = 4
_TYPE_CHARS = 200
_DAMAGED = "it is damaged or cut short"

_ODD = (
    ValueError, TypeError, LookupError, EOFError, ArithmeticError, RecursionError, AttributeError, OSError,
    AssertionError,
)  # fmt: skip
"""Errors of damaged schemas and rows, found by changing files at every place."""


def open_document(file: BinaryIO) -> Database:
    """The file as one table. Raises Unreadable."""
    if fastavro is None:
        raise Unreadable(problem("fastavro"), _ADVICE)
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        raise Unreadable(_DAMAGED, _ANOTHER)
    about = dict(_metadata(file))
    sync = file.read(_SYNC_BYTES)
    text = about.get("avro.schema", b"")
    try:
        written = json.loads(text)
        schema = fastavro.schema.parse_schema(written)
    except (*_ODD, fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        words = _words(error) or type(error).__name__
        raise Unreadable(f"its schema cannot be read ({words})", _ANOTHER) from None
    codec = about.get("avro.codec", b"null").decode("utf-8", "replace")
    return Database([_Avro(file, file.tell(), sync, written, schema, codec)])


class _Block(Struct, frozen=True):
    """Rows `first` to `first + count - 1`, in `size` bytes from `at` on."""

    first: int
    count: int
    at: int
    size: int


class _Avro(Struct, frozen=True, dict=True):
    """The rows of a file; a schema that is not a record makes a table of one column."""

    file: BinaryIO
    start: int
    sync: bytes
    written: Any
    schema: Any
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

    @cached_property
    def _walked(self) -> tuple[Sequence[_Block], str]:
        """The blocks, and why there may be more of them; empty when there are none."""
        blocks, first, at = list[_Block](), 1, self.start
        self.file.seek(0, io.SEEK_END)
        end = self.file.tell()
        while at < end:
            if len(blocks) == AVRO_BLOCKS:
                return blocks, f"only its first {AVRO_BLOCKS:,} blocks are looked at"
            self.file.seek(at)
            try:
                count, size = _number(self.file), _number(self.file)
            except Unreadable:
                return blocks, f"it is damaged or cut short at byte {at:,}"
            begin = self.file.tell()
            self.file.seek(begin + max(size, 0))
            if not 0 <= count <= _MOST_ROWS or size < 0 or self.file.read(_SYNC_BYTES) != self.sync:
                return blocks, f"it is damaged or cut short at byte {at:,}"
            blocks.append(_Block(first, count, begin, size))
            first, at = first + count, begin + size + _SYNC_BYTES
        return blocks, ""

    @property
    def total(self) -> int | None:
        blocks, _ = self._walked
        return sum(block.count for block in blocks)

    @property
    def details(self) -> Sequence[str]:
        blocks, stopped = self._walked
        named = self.written.get("name") if isinstance(self.written, dict) else None
        lines = [f"{len(blocks):,} block{'' if len(blocks) == 1 else 's'}, compressed with {self.codec}"]
        lines += [f"record {named}"] if self._is_record and named else []
        doc = self.written.get("doc") if isinstance(self.written, dict) else None
        lines += [_words(doc)] if doc else []
        return [*lines, *([f"[{stopped}: what follows is not counted]"] if stopped else [])]

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        blocks, stopped = self._walked
        rows, notes, names = list[list[object]](), list[str](), [self.columns[at].name for at in columns]
        try:
            for value in self._values(blocks, first, count, notes):
                rows.append([value.get(name) for name in names] if self._is_record else [value])
        except Unreadable as error:
            if not rows:
                raise
            notes.append(f"Row {first + len(rows):,} and what follows cannot be read: {error.problem}.")
        if stopped and len(rows) < count:
            notes.append(f"{stopped[0].upper()}{stopped[1:]}: what follows is not shown and not counted.")
        return Rows(rows, notes)

    def _values(self, blocks: Sequence[_Block], first: int, count: int, notes: list[str]) -> Iterator[Any]:
        """The rows of a window, decoded one after the other, and notes of what blocks have beside theirs."""
        last = first + count - 1
        for block in blocks:
            if block.first + block.count <= first or block.first > last:
                continue
            data = io.BytesIO(self._expanded(block))
            for number in range(block.first, min(block.first + block.count, last + 1)):
                try:
                    value = fastavro.schemaless_reader(data, self.schema, None)
                except MemoryError:
                    raise Unreadable("reading it takes more memory than documents get", _ANOTHER) from None
                except _ODD as error:
                    words = _words(error) or type(error).__name__
                    raise Unreadable(f"{_DAMAGED} ({words})", _ANOTHER) from None
                if number >= first:
                    yield value
            if last >= block.first + block.count - 1 and (left := len(data.getbuffer()) - data.tell()):
                notes.append(f"A block has {left:,} bytes behind the rows that it says to have.")

    def _expanded(self, block: _Block) -> bytes:
        if block.size > AVRO_BLOCK_BYTES:
            raise Unreadable(f"a block has {block.size:,} bytes, more than are read", _ANOTHER)
        self.file.seek(block.at)
        data = self.file.read(block.size)
        expand = _CODECS.get(self.codec)
        if expand is None:
            named = self.codec[:40]
            raise Unreadable(f"its rows are compressed with {named}, which is not read here", _ANOTHER)
        try:
            content = expand(data)
        except Broken as error:
            raise Unreadable(f"{_DAMAGED}: a block {error.problem}", _ANOTHER) from None
        except (*_ODD, EOFError, zlib.error, lzma.LZMAError) as error:
            raise Unreadable(f"{_DAMAGED} ({_words(error)})", _ANOTHER) from None
        if len(content) > AVRO_BLOCK_BYTES:
            raise Unreadable(f"a block has more than {AVRO_BLOCK_BYTES:,} bytes expanded", _ANOTHER)
        return content


# -----------------------------------------------------------------------------
# Compressions: each expands one byte more than a block may have, at most.
# -----------------------------------------------------------------------------


def _deflated(data: bytes) -> bytes:
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, AVRO_BLOCK_BYTES + 1)


def _bzip2(data: bytes) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, AVRO_BLOCK_BYTES + 1)


def _xz(data: bytes) -> bytes:
    return lzma.LZMADecompressor().decompress(data, AVRO_BLOCK_BYTES + 1)


def _zstandard(data: bytes) -> bytes:
    expander, content = Expander("zstd"), bytearray()
    for piece in expander.expand(data):
        content += piece
        if len(content) > AVRO_BLOCK_BYTES:
            break
    return bytes(content)


def _snappy(data: bytes) -> bytes:
    """The length is at the beginning of the data, and a checksum at the end."""
    if pyarrow is None:
        raise Unreadable(problem("pyarrow"), _ADVICE)
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > AVRO_BLOCK_BYTES:
        raise Unreadable(f"a block has {size:,} bytes expanded, more than are read", _ANOTHER)
    content: bytes = pyarrow.Codec("snappy").decompress(data[:-4], size, asbytes=True)
    if zlib.crc32(content) != int.from_bytes(data[-4:], "big"):
        raise ValueError("a block is not what its sum says")
    return content


_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflated,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstandard": _zstandard,
    "snappy": _snappy,
}


# -----------------------------------------------------------------------------
# The beginning of a file, and types in words.
# -----------------------------------------------------------------------------


def _number(file: BinaryIO) -> int:
    """A number of up to 64 bits, its sign in the lowest one. Raises Unreadable."""
    value = 0
    for at in range(_MOST_NUMBER_BYTES):
        byte = file.read(1)
        if not byte:
            break
        value |= (byte[0] & 0x7F) << 7 * at
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise Unreadable(_DAMAGED, _ANOTHER)


def _metadata(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Names and values; together they are bounded, whatever they say to be. Raises Unreadable."""
    while count := _number(file):
        if count < 0:
            count = -count
            _number(file)
        for _ in range(count):
            name, value = _bytes(file), _bytes(file)
            yield name.decode("utf-8", "replace"), value


def _bytes(file: BinaryIO) -> bytes:
    size = _number(file)
    if size < 0 or file.tell() + size > AVRO_BEGINNING_BYTES:
        raise Unreadable(_DAMAGED, _ANOTHER)
    data = file.read(size)
    if len(data) < size:
        raise Unreadable(_DAMAGED, _ANOTHER)
    return data


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
