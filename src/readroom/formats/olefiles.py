"""What an OLE file is: an encrypted document, or one of the binary formats before 2007.

The names of its streams tell, in capitals or not; they stand in its directory as UTF-16.  Only that
they occur is looked at: what is inside is for a library, or nobody, to read.
"""

from __future__ import annotations

from enum import Enum
from typing import BinaryIO

from readroom.formats.documents import Document, Encrypted, Unreadable
from readroom.limits_documents import OLE_SCAN_BYTES

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Ole(Enum):
    """What an OLE file holds, by the stream that says so, in the order in which they are looked for."""

    ENCRYPTED = "EncryptedPackage"
    SHEETS = "Workbook"
    OLD_SHEETS = "Book"
    WORD = "WordDocument"
    SLIDES = "PowerPoint Document"
    MAIL = "__properties_version1.0"


REFUSALS = {
    Ole.WORD: (
        "it is in the binary format of Word before 2007",
        "Ask for it as DOCX or PDF, or look for a copy as text.",
    ),
    Ole.SLIDES: (
        "it is in the binary format of PowerPoint before 2007",
        "Ask for it as PPTX or PDF, or look for a copy as text.",
    ),
    Ole.MAIL: ("it is a message of Outlook", "Ask for it as EML or as text."),
}
UNKNOWN = ("it is a binary file of an older office program", "Ask for it in a current format, or as text.")
SHEETS = ("it is a workbook of Excel before 2007", "Ask for the document itself, or for an export as text.")


def is_ole(file: BinaryIO) -> bool:
    """Whether the magic bytes say so."""
    file.seek(0)
    return file.read(len(OLE_MAGIC)) == OLE_MAGIC


def kind(file: BinaryIO) -> Ole | None:
    """What the file holds, as far as its first OLE_SCAN_BYTES and its last ones tell."""
    size = file.seek(0, 2)
    file.seek(0)
    text = file.read(OLE_SCAN_BYTES)
    if size > OLE_SCAN_BYTES:
        file.seek(max(OLE_SCAN_BYTES, size - OLE_SCAN_BYTES))
        text += file.read(OLE_SCAN_BYTES)
    # Names of streams are the same in any case, says the format; some programs write BOOK.
    names = text.upper()
    return next((held for held in Ole if _entry(held.value.upper()) in names), None)


def refusal(held: Ole | None) -> Unreadable:
    """Why a file that holds this is not read, and what to do."""
    if held is Ole.ENCRYPTED:
        return Encrypted("it is encrypted", "Ask for a copy without a password.")
    return Unreadable(*UNKNOWN if held is None else REFUSALS.get(held, SHEETS))


def check_not_ole(file: BinaryIO) -> None:
    """Refuse an OLE file where a ZIP is expected.

    Raises:
        Unreadable: It is one.
    """
    if is_ole(file):
        raise refusal(kind(file))


def open_document(file: BinaryIO) -> Document:
    """Nothing: says what is in an old file, and what to ask for. Raises Unreadable."""
    check_not_ole(file)
    raise Unreadable("it is not what its name says", "Look at its first bytes with `encoding`.")


def _entry(name: str) -> bytes:
    """A stream's name as its directory entry starts; the length that follows keeps shorter ones apart."""
    return name.encode("utf-16-le").ljust(64, b"\0") + (2 * len(name) + 2).to_bytes(2, "little")
