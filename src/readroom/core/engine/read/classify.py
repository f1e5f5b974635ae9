"""Decide how a file is read, from its name, its first bytes and the request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import BadEncoding, BadValue, Binary
from readroom.core.formats import regions
from readroom.core.formats.kinds import PICTURE_TYPES, Recognised, recognise, recognise_data, sniff
from readroom.core.formats.kinds import classify as kind_of
from readroom.core.session.expansions import ExpandedSource
from readroom.core.stores.base import Source
from readroom.core.text import encodings
from readroom.core.text.encodings import Encoding
from readroom.core.text.encodings.detect import NUL_BYTES, is_journal
from readroom.core.values import Kind, ReadRequest, Request
from readroom.core.values.files import OUTLINES
from readroom.core.values.steps import Accept, Candidate

# -----------------------------------------------------------------------------
# The encoding that a caller names, and the refusal when it is not known.
# -----------------------------------------------------------------------------


def asked_for(name: str, path: str, sample: bytes, retry: Request) -> Encoding:
    """The encoding of that name, with the file's byte order mark; `retry` is the request without `encoding`.

    Raises:
        BadEncoding: There is none of that name.
    """
    try:
        return encodings.with_bom(encodings.named(name), sample)
    except encodings.UnknownEncoding as unknown:
        near = f" Did you mean {' or '.join(unknown.near)}?" if unknown.near else ""
        raise BadEncoding(
            path,
            name[: encodings.MAX_NAME],
            f"it {unknown.problem}",
            f"Leave out `encoding` to have it detected, or name another.{near}",
            next_request=retry,
        ) from None


# -----------------------------------------------------------------------------
# Whether a file is read as a document or as plain text.
# -----------------------------------------------------------------------------


def asked_document(
    path: str, head: bytes, request: ReadRequest, *, packed: bool = False, tables: bool = True
) -> Recognised | None:
    """The format of a document to read; None if the bytes are read as they are.

    A notebook is a document unless an encoding is given, HTML one only if parts of it are asked for: both are
    also texts that can be edited.  So are CSV and JSON lines, which are tables if their parts or their
    outline are asked for. Raises BadValue.

    Args:
        path: The file's own name.
        head: Its first bytes.
        request: What is asked for.
        packed: Whether it was compressed.
        tables: Whether databases and tables are documents, and so is what was compressed.
    """
    recognised = None if packed and not tables else recognise(path, head)
    if recognised is None and tables:
        recognised = recognise_data(path, head)
    outlined = recognised is not None and recognised.row.is_data and request.view in OUTLINES
    if not packed and (request.view == "image" or regions.is_region(request.pages)) and _is_picture(head):
        return None
    if request.view == "image" and (recognised is None or not recognised.row.has_pictures):
        lost = recognised is None or regions.is_region(request.pages)
        raise _only_for(replace(request, pages=None) if lost else request, _PICTURES)
    if recognised is not None and request.encoding is not None and not recognised.is_text:
        raise BadValue(
            "encoding",
            request.encoding,
            f"means nothing in a document ({recognised.format})",
            "Leave it out.",
            next_request=replace(request, encoding=None),
        )
    if recognised is None or (recognised.is_text and request.encoding is not None):
        if request.view == "formulas":
            raise _only_for(request, _WORKBOOKS)
        if request.view == "not_shown":
            raise _only_for(request, "documents")
        if request.pages is None:
            return None
        raise BadValue(
            "pages",
            request.pages[:80],
            "is for documents and tables, and this is plain text or another kind of file",
            "Use `offset` and `limit` for lines.",
            next_request=replace(request, pages=None),
        )
    if request.view == "formulas" and not recognised.row.has_formulas:
        raise _only_for(request, _WORKBOOKS)
    if request.view == "not_shown" and request.pages is None:
        return recognised
    return None if recognised.only_asked and request.pages is None and not outlined else recognised


_PICTURES = "pages of PDF and TIFF, and images"
_WORKBOOKS = "workbooks (.xlsx, .xlsm, .ods)"


def _only_for(request: ReadRequest, which: str) -> BadValue:
    return BadValue(
        "view",
        request.view,
        f"is for {which}",
        "Leave it out.",
        next_request=replace(request, view="text"),
    )


# -----------------------------------------------------------------------------
# Every way to read a file.
# -----------------------------------------------------------------------------


class AsText(Struct, frozen=True):
    """Read as text, in this encoding."""

    kind: Kind
    encoding: Encoding


class AsDocument(Struct, frozen=True):
    """Read as a document, part by part; with `flat` as one text."""

    document: Recognised
    flat: bool = False


class AsImage(Struct, frozen=True):
    """Read as an image."""


class AsBytes(Struct, frozen=True):
    """Read as neither; only some contracts return the bytes."""


Sort: TypeAlias = AsText | AsDocument | AsImage | AsBytes


def classify(
    source: Source, sample: bytes, request: ReadRequest, accept: Accept | None, *, documents: bool = True
) -> Sort:
    """Decide how a file is read, from its name, its first bytes and the request.

    Args:
        source: The file, or its content if it is compressed.
        sample: The first bytes.
        request: What is asked for.
        accept: What the contract takes it for; None for what it is.
        documents: Whether it may be a document.

    Raises:
        BadValue: `pages` or `view` of what has none, or `encoding` of a document.
        BadEncoding: There is none of the name that is asked for.
        ReadroomError: What `accept` raises.
    """
    packed, document = isinstance(source, ExpandedSource), None
    if documents:
        document = asked_document(source.real, sample, request, packed=packed, tables=accept is None)
        if document is not None:
            if request.options.flat != "no" and document.row.flat:
                return AsDocument(document, flat=True)
            if accept is None:
                return AsDocument(document)
    if request.encoding is None:
        encoding = encodings.detect(sample, complete=len(sample) == source.size)
    else:
        encoding = asked_for(request.encoding, request.path, sample, replace(request, encoding=None))
    kind = kind_of(source.real, sample, encoding)
    if accept is not None:
        if document is not None and not document.is_text:
            kind = Kind.BINARY
        whole = kind if document is None else Kind.DOCUMENT
        one_byte = encoding is not None and encoding.unit == 1 and not is_journal(sample)
        nul = one_byte and b"\0" in sample[:NUL_BYTES]
        kind = accept(Candidate(request.path, source.real, source.stat, whole, kind, nul, sample))
        if kind is Kind.DOCUMENT and document is not None:
            return AsDocument(document)
    is_picture = kind is Kind.IMAGE or (accept is None and kind is Kind.BINARY and _is_picture(sample))
    if is_picture and not packed:
        return AsImage()
    if request.view == "image":
        raise _only_for(request, _PICTURES)
    if kind in (Kind.BINARY, Kind.IMAGE) or (encoding is None and accept is None):
        return AsBytes()
    if encoding is None:
        encoding = encodings.UTF8
    return AsText(kind, encoding)


def _is_picture(head: bytes) -> bool:
    media = sniff(head)
    return media is not None and media.name in PICTURE_TYPES


NUL = "It has NUL bytes."
"""Why a file is binary that would otherwise be text."""


def require_text(source: Source, request: ReadRequest, lines: Sequence[str]) -> None:
    """Raise Binary if a line has a NUL."""
    if any("\0" in line for line in lines):
        raise Binary(request.path, "application/octet-stream", source.stat.size, NUL)
