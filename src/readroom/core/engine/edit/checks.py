"""Checks that all changes share: their arguments, the file, and the refusal of a stale edit.

A change that was made against another state of its file is refused with what changed since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from readroom.core.engine.services import Job, Services
from readroom.core.errors import Binary, BrokenPlace, Stale, TooLarge
from readroom.core.formats.compressed import by_magic
from readroom.core.formats.kinds import UNKNOWN, classify, sniff
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.stores.base import Source
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.diff import between
from readroom.core.text.encodings import Encoding
from readroom.core.values import Kind, ReadRequest
from readroom.core.values.changes import (
    CopyRequest,
    DeleteRequest,
    Edit,
    EditRequest,
    MoveRequest,
    WriteRequest,
)
from readroom.core.values.files import Warn

# --- the call ----------------------------------------------------------------------------------


EDITS = 500
"""Replacements in one call. Each is searched for in the whole file."""


def require_few(edits: Sequence[Edit]) -> None:
    """Raise TooLarge if a call has too many edits or too much text."""
    if len(edits) > EDITS:
        raise TooLarge("edits", len(edits), EDITS, "edits", "Send them in several calls.")
    texts = (text for edit in edits for text in (edit.old_text, edit.new_text))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    if size > CHANGE_TEXT_BYTES:
        raise TooLarge("The texts of all edits", size, CHANGE_TEXT_BYTES, "bytes", "Send smaller edits.")


# --- the file ----------------------------------------------------------------------------------


def binary_media(source: Source, sample: bytes, encoding: Encoding | None) -> str | None:
    """The media type of a file that is not text; None for text."""
    if encoding is not None and classify(source.real, sample, encoding) not in (Kind.BINARY, Kind.IMAGE):
        return None
    return (sniff(sample) or UNKNOWN).name


def require_editable(
    path: str, source: Source, sample: bytes, encoding: Encoding | None, advice: str, compressed: str = ""
) -> Encoding:
    """The encoding of a text that can be edited. Raises Binary, BrokenPlace."""
    media = binary_media(source, sample, encoding)
    if encoding is None or media is not None:
        if compressed and by_magic(sample) is not None:
            advice = compressed
        raise Binary(path, media or UNKNOWN.name, source.size, advice)
    if encoding.name in encodings.STATEFUL:
        raise BrokenPlace(path, 1, encoding.name, stateful=True)
    return encoding


def about_links(source: Source) -> tuple[Warn, ...]:
    """A warning if the replaced file had several names."""
    links = source.stat.links
    if links <= 1:
        return ()
    return (Warn("hard_link", f"the file had {links} names; the others keep the old content"),)


def about_nuls(text: str, line: int = 1) -> Iterator[Warn]:
    """A warning if a written text, which begins in that line, has a NUL."""
    at = text.find("\0")
    if at >= 0:
        line += text.count("\n", 0, at)
        detail = f"U+0000 in line {line}; other programs take the file for binary"
        yield Warn("nul_written", f"{detail}; write \\0 if the escape was meant")


_UNSEEN = "(only line ends, the byte order mark or the encoding differ)\n"


def stale(
    services: Services,
    job: Job[EditRequest] | Job[WriteRequest] | Job[DeleteRequest] | Job[MoveRequest] | Job[CopyRequest],
    source: Source,
    expected: str,
    actual: str,
    encoding: str | None = None,
) -> Stale:
    """The error for a stale hash, with the differences if the expected state is still known.

    Args:
        services: With the states that were shown.
        job: What is asked for.
        source: The file as it is.
        expected: Hex digits that the call gave.
        actual: All hex digits of the file's hash.
        encoding: That the caller reads the file in, None to have it detected.
    """
    path, texts, cap = job.request.path, services.texts, job.cap
    before = texts.find(source.real, expected)
    old = None if before is None else _text(before, encoding)
    new = _text(source.read_at(0, source.size), encoding) if texts.wants(source.size) else None
    if old is None or new is None:
        return Stale(
            path,
            hashes.full(expected),
            hashes.full(actual),
            changed=None,
            next_request=ReadRequest(path, encoding=encoding),
        )
    diff = between(old, new, cap.size - cap.measure.frame(path))
    first = min((hunk.new_start for hunk in diff.hunks), default=diff.left_first or 1)
    return Stale(
        path,
        hashes.full(expected),
        hashes.full(actual),
        changed=diff.text or ("" if diff.left_out else _UNSEEN),
        complete=not diff.left_out,
        next_request=ReadRequest(path, offset=max(1, first), encoding=encoding),
    )


def _text(data: bytes, name: str | None) -> str | None:
    """The text with LF line ends; None if it is not text."""
    if name is None:
        encoding = encodings.detect(data, complete=True)
    else:
        encoding = encodings.with_bom(encodings.named(name), data)
    if encoding is None:
        return None
    return encodings.decode(data[len(encoding.bom) :], encoding).replace("\r\n", "\n")
