"""Edits before and after they meet their file: unusable calls, plans, results, and repeated appends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.anchors import name_of, require_one_place, searched
from readroom.core.engine.edit.checks import require_few
from readroom.core.limits import VALUE_CHARS
from readroom.core.stores.base import PutFile, Source
from readroom.core.text import hashes
from readroom.core.text.edits import Scan, prepare
from readroom.core.text.edits.splice import NotEncodable, encode, new_lines, new_size
from readroom.core.text.encodings import Encoding
from readroom.core.text.hashes import Hashing, blocks
from readroom.core.values import ReadRequest
from readroom.core.values.changes import ABSENT, Diff, Edit, EditRequest, EditResult
from readroom.core.values.files import Warn


def expected_digits(request: EditRequest) -> str:
    """The digits of the hash that an edit names, "" for none. Raises BadValue."""
    if request.expected_hash == ABSENT:
        raise errors.BadValue(
            "expected_hash",
            ABSENT,
            "is for new files",
            "Send the hash that reading the file shows; write_file creates files.",
            next_request=ReadRequest(request.path, encoding=request.encoding),
        )
    return "" if request.expected_hash is None else hashes.parse_hash("expected_hash", request.expected_hash)


def require_usable(request: EditRequest) -> None:
    """Refuse edits that cannot fit any file. Raises BadValue, TooLarge."""
    if not request.edits:
        raise errors.BadValue("edits", [], "is empty", "Send at least one edit with old_text and new_text.")
    require_few(request.edits)
    for number, item in enumerate(request.edits):
        if item.cell and not item.old_text and request.by_cells:
            continue  # a whole cell
        name = name_of(request.edits, number)
        require_one_place(item, name)
        if not item.is_placed and not prepare(searched(item), bom=True).pieces:
            raise unchanged(item, name)


def unchanged(item: Edit, name: str) -> errors.BadValue:
    """The refusal of an edit that changes nothing."""
    same = "old_text" if item.old_text else "what is there"
    return errors.BadValue(
        f"{name}.new_text",
        item.new_text[:VALUE_CHARS],
        f"is the same as {same}",
        "Leave the edit out. Line ends make no difference: they stay those of the file.",
    )


class PlannedEdit(Struct):
    """An edit of an opened file that can be made.

    Attributes:
        result: Its effect, as in a dry run.
        put: The new content, whose pieces are read only once.
        ready: Raises Moved if the file is not what was read.
        made: The result, with warnings, when the content is put.
        told: Warnings about what the edit broke; asked for once the file and its folder are free again.
    """

    result: EditResult
    put: PutFile
    ready: Callable[[], None]
    made: Callable[[Sequence[Warn]], EditResult]
    told: Callable[[], Sequence[Warn]]


def ends_with(source: Source, encoding: Encoding, text: str, expected: str, deadline: Deadline) -> bool:
    """Whether a file is the state with that hash and a text after it, so that the text was appended."""
    plain = text.replace("\r\n", "\n")
    for ended in (plain, plain.replace("\n", "\r\n")):
        try:
            data = encode(ended, encoding)
        except NotEncodable:
            return False
        size = source.size - len(data)
        if size >= 0 and source.read_at(size, len(data)) == data:
            before = Hashing()
            for piece in blocks(source, deadline, 0, size):
                before.add(piece)
            if before.digits.startswith(expected):
                return True
    return False


def described(
    request: EditRequest,
    source: Source,
    encoding: Encoding,
    scanned: Scan,
    digits: str,
    diff: Diff,
    matched: str,
) -> EditResult:
    """The result of an edit, as in a dry run; `digits` are those of the state that it is made on."""
    splices = scanned.splices
    moved = sum(splice.added - splice.removed for splice in splices[:-1])
    first, last = splices[0].line, splices[-1]
    # A line feed at the end of the new text ends its last line; it does not begin another.
    ended = last.data.endswith(encoding.newline)
    total = new_lines(source, encoding, scanned.line_feeds, splices)
    return EditResult(
        path=request.path,
        previous_hash=hashes.full(digits),
        content_hash=None,
        size_bytes=new_size(source.size, splices),
        total_lines=total,
        edits=len(request.edits),
        replacements=sum(place.count for place in scanned.found),
        first_line=first,
        last_line=min(total, max(first, last.line + moved + last.added - ended)),
        encoding=encoding.name,
        bom=bool(encoding.bom),
        diff=diff,
        dry_run=request.dry_run,
        matched=matched,
    )
