"""The refusal of a change that was made against another state of its file: what changed since."""

from __future__ import annotations

from readroom.errors import Stale
from readroom.session.caches import TextCache
from readroom.stores.base import Source
from readroom.text import encodings, hashes
from readroom.text.edits.diff import between
from readroom.values import Cap, ReadRequest

_UNSEEN = "(only line ends, the byte order mark or the encoding differ)\n"


def stale(
    texts: TextCache, source: Source, path: str, expected: str, actual: str, cap: Cap, encoding: str | None
) -> Stale:
    """The refusal, with the differences when the expected state is still known.

    Args:
        texts: States that were shown.
        source: The file as it is.
        path: As it was asked for.
        expected: Hex digits that the call gave.
        found: All hex digits of the file's hash.
        cap: Of the reply.
        encoding: That the caller reads the file in, None to have it detected.
    """
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
    """The text with LF line ends; None when it is not one."""
    if name is None:
        encoding = encodings.detect(data, complete=True)
    else:
        encoding = encodings.with_bom(encodings.named(name), data)
    if encoding is None:
        return None
    return encodings.decode(data[len(encoding.bom) :], encoding).replace("\r\n", "\n")
