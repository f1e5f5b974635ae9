"""Content of a PDF outside of its pages: properties, files, scripts, signatures, a form of another make.

All of it is counted with its words. Attached files are named, so that policy is asked about each.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

from readroom.documents.formats import BESIDE_CHARS, told, told_file
from readroom.documents.formats.legible import legible
from readroom.documents.formats.pdf.strings import ascii_text, wide_text

ATTACHED = "attached file"
_XFA_FORMS = (raw.FORMTYPE_XFA_FULL, raw.FORMTYPE_XFA_FOREGROUND)
_KEYS = ("Title", "Author", "Subject", "Keywords")

PDF_CARRIED = 200
"""Attached files, scripts, signatures or packets of a form that are shown; more are counted."""

PDF_ATTACHED_BYTES = 4 * 1024 * 1024
"""An attached file that is looked into."""


def attached(attachment: Any, where: str) -> str:
    """The name under which an attached file is counted; `where` tells it from others of its name."""
    name = wide_text(lambda room, size: raw.FPDFAttachment_GetName(attachment, room, size)).strip()
    data = _content(attachment)
    size = "" if data is None else f", {len(data):,} bytes"
    head = f"{name or 'without a name'}{size}, {where}"
    short = name.replace("\\", "/").rpartition("/")[2] or "file"
    return told_file(ATTACHED, head, [] if data is None else legible(data), [short])


def of_document(document: pypdfium2.PdfDocument) -> Counter[str]:
    """All of it, counted once for the document."""
    found, it = Counter[str](), document.raw
    for key in _KEYS:
        if words := document.get_metadata_value(key).strip():
            found[told("document property", f"{key}: {words}")] += 1
    for number in _first(found, ATTACHED, raw.FPDFDoc_GetAttachmentCount(it)):
        if attachment := raw.FPDFDoc_GetAttachment(it, number):
            found[attached(attachment, f"file {number + 1} of the document")] += 1
    for number in _first(found, "script", raw.FPDFDoc_GetJavaScriptActionCount(it)):
        found[told("script", _script(it, number))] += 1
    for number in _first(found, "digital signature", raw.FPDF_GetSignatureCount(it)):
        found[told("digital signature", _signature(raw.FPDF_GetSignatureObject(it, number)))] += 1
    if document.get_formtype() in _XFA_FORMS:
        found[told("XFA form", "\n".join(_packets(it)))] += 1
    return found


def _first(counts: Counter[str], kind: str, total: int) -> range:
    """The numbers of those that are shown; the others are counted."""
    counts[kind] += max(0, total - PDF_CARRIED)
    return range(min(max(0, total), PDF_CARRIED))


def _content(attachment: Any) -> bytes | None:
    """The bytes of an attached file; None for one that is not in the document, is damaged or too large."""
    size = ctypes.c_ulong()
    if not raw.FPDFAttachment_GetFile(attachment, None, 0, size) or size.value > PDF_ATTACHED_BYTES:
        return None
    room = ctypes.create_string_buffer(max(1, size.value))
    return room.raw[: size.value] if raw.FPDFAttachment_GetFile(attachment, room, size.value, size) else None


def _script(document: Any, number: int) -> str:
    action = raw.FPDFDoc_GetJavaScriptAction(document, number)
    if not action:
        return "it cannot be read"
    try:
        name = wide_text(lambda room, size: raw.FPDFJavaScriptAction_GetName(action, room, size))
        source = wide_text(lambda room, size: raw.FPDFJavaScriptAction_GetScript(action, room, size))
    finally:
        raw.FPDFDoc_CloseJavaScriptAction(action)
    lines = source.replace("\r\n", "\n").replace("\r", "\n")
    return f"{name}: {lines}" if name else lines or "it is empty"


def _signature(signature: Any) -> str:
    """Why and when somebody signed, and in which form; whether it is valid is not checked."""
    if not signature:
        return "it cannot be read"
    texts: dict[str, Callable[[Any, int], int]] = {
        "form": lambda room, size: raw.FPDFSignatureObj_GetSubFilter(signature, room, size),
        "time": lambda room, size: raw.FPDFSignatureObj_GetTime(signature, room, size),
    }
    said = [f"{key}: {words}" for key, read in texts.items() if (words := ascii_text(read))]
    if reason := wide_text(lambda room, size: raw.FPDFSignatureObj_GetReason(signature, room, size)):
        said.append(f"reason: {reason}")
    return "; ".join([*said, "not verified"])


def _packets(document: Any) -> Iterator[str]:
    """The XML of a form of another make, packet by packet."""
    left = BESIDE_CHARS
    for number in range(min(max(0, raw.FPDF_GetXFAPacketCount(document)), PDF_CARRIED)):
        size = ctypes.c_ulong()
        got = raw.FPDF_GetXFAPacketContent(document, number, None, 0, size)
        if not got or left <= 0 or size.value > PDF_ATTACHED_BYTES:
            continue
        room = ctypes.create_string_buffer(max(1, size.value))
        raw.FPDF_GetXFAPacketContent(document, number, room, size.value, size)
        text = room.raw[: size.value].decode("utf-8", "replace")
        left -= len(text)
        yield from text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
