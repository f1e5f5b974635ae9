"""A document format: one row of a table, which the documents wing registers.

Rows are light: they name the module that reads a format, which is imported in the child that opens a file.
Without a table a document is a binary file like any other.

Knows: how rows are looked up, by the names of files and by their first bytes.
Does not know: any format.
May be touched: freely; a new format is a row of `formats.table` and a module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Stored: TypeAlias = Literal["", "JSON", "XML", "RTF"]


class Format(Struct, frozen=True, kw_only=True):
    """A format of documents or tables.

    Attributes:
        name: Its name in replies.
        opener: The module that opens it in the child, and after a colon its function, if not `open_document`.
        flat: What opens it to be read as one text, as `opener`; empty if it cannot be.
        suffixes: Of files that only their bytes make documents of this format.
        zipped: Suffixes of files that are ZIP archives.
        compound: Suffixes of compound files (OLE).
        texts: Suffixes of files that are texts, too.
        magic: First bytes that make a file of any name one of this format.
        within: How far `magic` may be from the beginning under a name of the format.
        named: First bytes that do under a name of the format.
        members: Beginnings of early members of a ZIP that do; a `mimetype` is followed by what it holds.
        begins: A pattern for a text whose later bytes may be any, also under the names `begins_in`.
        disguised: A pattern for a text that programs give names of Office.
        is_office: Whether its names are of Office, which opens such texts.
        only_asked: Whether it is read as a document only when parts of it are asked for.
        stored: The stored form of a text that is read as other lines.
        is_data: Whether it holds tables, whose outline is their schema; searches of documents skip it.
        has_formulas: Whether its cells can show their formulas.
        has_pictures: Whether its pages can be shown as pictures.
    """

    name: str
    opener: str
    flat: str = ""
    suffixes: tuple[str, ...] = ()
    zipped: tuple[str, ...] = ()
    compound: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    within: int = 0
    named: tuple[bytes, ...] = ()
    members: tuple[bytes, ...] = ()
    begins: bytes = b""
    begins_in: tuple[str, ...] = ()
    disguised: bytes = b""
    is_office: bool = False
    only_asked: bool = False
    stored: Stored = ""
    is_data: bool = False
    has_formulas: bool = False
    has_pictures: bool = False

    @property
    def every_suffix(self) -> tuple[str, ...]:
        """The suffixes of all its files."""
        return (*self.suffixes, *self.zipped, *self.compound, *self.texts)


class KnownFormats:
    """Rows by what is known of a file. Suffixes are in lower case, without the dot."""

    def __init__(
        self, rows: Iterable[Format], archives: Iterable[str] = (), parts: Mapping[str, str] | None = None
    ) -> None:
        """`archives` are suffixes of archives, with the dot; `parts` are as of `provided`."""
        self.parts = parts or {}
        self.rows = {row.name: row for row in rows}
        self.archives = tuple(archives)
        self.data = [row for row in self.rows.values() if row.is_data]
        self.documents = [row for row in self.rows.values() if not row.is_data]
        self.zipped = {suffix: row for row in self.documents for suffix in row.zipped}
        self.compound = {suffix: row for row in self.documents for suffix in row.compound}
        self.by_bytes = {suffix: row for row in self.documents for suffix in row.suffixes}
        self.texts = {suffix: row for row in self.documents for suffix in row.texts}
        self.tables = {suffix: row for row in self.data for suffix in row.texts}
        self.office = frozenset(
            suffix for row in self.documents if row.is_office for suffix in (*row.zipped, *row.compound)
        )
        self.beginning = {
            suffix: row for row in self.documents if row.begins for suffix in (*row.texts, *row.begins_in)
        }
        self.magic = tuple(magic for row in self.documents for magic in row.magic)
        self.searched = frozenset(
            suffix for row in self.documents if not row.only_asked for suffix in row.every_suffix
        )


_BROUGHT = "readroom.documents.table"
_added: list[Format] = []


@cache
def table() -> KnownFormats:
    """The table; empty if none is registered."""
    try:
        rows = import_module(_BROUGHT)
    except ModuleNotFoundError:
        return KnownFormats(_added)
    return KnownFormats((*rows.ROWS, *_added), rows.ARCHIVES, rows.PARTS)


def provided(name: str) -> Any:
    """The implementation of a step with documents or archives, by its name in `PARTS`."""
    module, _, attribute = table().parts[name].partition(":")
    return getattr(import_module(module), attribute)


@contextmanager
def added(row: Format) -> Iterator[None]:
    """A table with one more row meanwhile."""
    _added.append(row)
    table.cache_clear()
    try:
        yield
    finally:
        _added.remove(row)
        table.cache_clear()
