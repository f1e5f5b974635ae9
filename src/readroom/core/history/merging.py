"""Take the lines of one change back out of a text that was changed since, where they are as it left them.

Three states: what the change left (`after`), what it found (`before`), and what is there now.  A block of
lines that the change made is taken back if no change since lies in it or touches it.
"""

from __future__ import annotations

from msgspec import Struct

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.core.text.edits.diff import DiffBlock, blocks, hunks, split, within
from readroom.core.text.edits.splice import NotEncodable, encode
from readroom.core.text.encodings import Encoding
from readroom.core.values.changes import Diff

MERGED_BYTES = 4 * 1024 * 1024
"""Larger texts are not merged or compared."""

DIFF_BYTES = 64 * 1024
"""The maximum of one diff that is shown; the rest is counted."""


class Merged(Struct, frozen=True):
    """A text with what could be taken back, how many places that were, and how many stay."""

    data: bytes
    fits: int
    left: int


def encoding_of(*states: bytes) -> Encoding | None:
    """The encoding in which all states are text that keeps its bytes; None if there is none."""
    found: Encoding | None = None
    for data in states:
        if len(data) > MERGED_BYTES:
            return None
        own = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES) if data else None
        if data and own is None:
            return None
        found = own if found is None or (found.name == "ascii" and own is not None) else found
    found = found or encodings.UTF8
    return found if all(_keeps(data, found) for data in states) else None


def _keeps(data: bytes, encoding: Encoding) -> bool:
    try:
        return encode(encodings.decode(data, encoding), encoding) == data
    except (NotEncodable, UnicodeError):
        return False


def diff(before: bytes, after: bytes, room: int = DIFF_BYTES) -> Diff | None:
    """The lines that differ; None if either is no text or too large."""
    if len(before) > MERGED_BYTES or len(after) > MERGED_BYTES:
        return None
    texts = []
    for data in (before, after):
        encoding = (
            encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES) if data else encodings.UTF8
        )
        if encoding is None:
            return None
        texts.append(split(encodings.decode(data[len(encoding.bom) :], encoding)))
    return within(hunks(*texts), room)


def merged(after: bytes, before: bytes, now: bytes) -> Merged | None:
    """The present text with the change taken back where that fits; None if lines cannot be compared."""
    encoding = encoding_of(after, before, now)
    if encoding is None:
        return None
    base, old, there = (split(encodings.decode(data, encoding)) for data in (after, before, now))
    back, since = blocks(base, old), blocks(base, there)
    fitting = [block for block in back if not any(_touch(block, other) for other in since)]
    lines: list[str] = []
    at = 0
    for block in fitting:
        start, end = _moved(block.old_start, since), _moved(block.old_end, since)
        lines += there[at:start]
        lines += old[block.new_start : block.new_end]
        at = end
    lines += there[at:]
    try:
        data = encode("".join(lines), encoding)
    except NotEncodable:
        return None
    return Merged(data, len(fitting), len(back) - len(fitting))


def _touch(one: DiffBlock, other: DiffBlock) -> bool:
    """Whether two blocks of the same lines overlap, or have no line between them."""
    return one.old_start <= other.old_end and other.old_start <= one.old_end


def _moved(line: int, since: list[DiffBlock]) -> int:
    """The place in the second text of a line of the first one that no block contains."""
    shift = 0
    for block in since:
        if block.old_end > line:
            break
        shift = block.new_end - block.old_end
    return line + shift
