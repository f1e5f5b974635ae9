"""How the native contract words a read of a document: a line above each part, numbered lines below it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from readroom.contracts import native_facts
from readroom.contracts.native_calls import shown
from readroom.contracts.native_parts import CONTENTS, head_lines, heading_line, ranges
from readroom.contracts.native_text import (
    HASH_DIGITS,
    body_within,
    closing,
    reply,
    short,
    size_bytes,
    warning_parts,
)
from readroom.model import Cap, Omission, ReadResult, Reply
from readroom.shown import ShownDocument, ShownPart

_LISTED_CUTS = 3
"""Cut lines and shortened outputs that the closing line names; the facts hold all."""

_SHOWN_RANGES = 60
"""Characters of the list of parts in the first line."""


def render(result: ReadResult, document: ShownDocument, cap: Cap) -> Reply:
    """The reply for the parts that were selected under `cap`."""
    rows = [_header(result, document, cap), *_contents(document)]
    image = 1
    for part in document.parts:
        rows += head_lines(part, document.unit, document.total_parts, image)
        rows += _numbered(part)
        image += len(part.images)
    body = body_within("\n".join(rows), cap)
    parts = [*_omissions(result), *warning_parts(result.warnings)]
    if result.next is not None:
        parts.append(f"Next: {shown(result.next)}")
    text = f"{body}\n{closing(parts or ['end of document'], cap.size - size_bytes(body) - 1)}"
    return reply(text, partial(native_facts.of_read, result), document.images)


def _header(result: ReadResult, document: ShownDocument, cap: Cap) -> str:
    digest = (result.content_hash or "")[: len("sha256:") + HASH_DIGITS]
    return " | ".join([short(result.path, cap), _which(result, document), digest])


def _which(result: ReadResult, document: ShownDocument) -> str:
    numbers = [part.number for part in document.parts if part.number != CONTENTS]
    total = f"{document.total_parts} {document.unit}{'' if document.total_parts == 1 else 's'}"
    more = " (more below)" if result.next is not None else ""
    if not numbers:
        return f"{total}{more}"
    which = ranges(numbers)
    which = which if len(which) <= _SHOWN_RANGES else which[:_SHOWN_RANGES].rpartition(",")[0] + ", …"
    return f"{document.unit}{'' if which.isdigit() else 's'} {which} of {document.total_parts}{more}"


def _contents(document: ShownDocument) -> list[str]:
    if not document.contents:
        return []
    return ["contents:", *(heading_line(heading, document.unit) for heading in document.contents)]


def _numbered(part: ShownPart) -> list[str]:
    rows = [] if part.header is None else [f"1\t{part.header}{_cut(part, 1)}"]
    return rows + [
        f"{number}\t{line}{_cut(part, number)}" for number, line in enumerate(part.lines, part.start)
    ]


def _cut(part: ShownPart, number: int) -> str:
    cut = part.cuts.get(number)
    return "" if cut is None or cut.last >= cut.total else f" [+{cut.total - cut.last} chars]"


def _omissions(result: ReadResult) -> list[str]:
    found = []
    unit = result.document.unit if result.document else ""
    headings = [item for item in result.omitted if item.what == "headings"]
    outputs = [item for item in result.omitted if item.reason == "output"]
    cuts = [item for item in result.omitted if item.what == "columns" and item.request != result.next]
    for item in headings:
        found.append(f"{_count(item)} more headings: {_call(item)}")
    found += [
        f"{unit.capitalize()} {item.part}: {_count(item)} lines of output not shown: {_call(item)}"
        for item in outputs[:_LISTED_CUTS]
    ]
    found += [
        f"Line {item.line} of {unit} {item.part} cut, {_count(item)} characters more: {_call(item)}"
        for item in cuts[:_LISTED_CUTS]
    ]
    left = [*outputs[_LISTED_CUTS:], *cuts[_LISTED_CUTS:]]
    if left:
        found.append(f"{len(left)} more were shortened; their calls are in the facts of this reply.")
    return found + _stopped(result.omitted, unit)


def _stopped(omitted: Sequence[Omission], unit: str) -> list[str]:
    lines = [item for item in omitted if item.what == "lines" and item.reason != "output"]
    parts = [item for item in omitted if item.what == "parts"]
    found = [f"{_count(item)} lines of {unit} {item.part} not shown ({item.reason})." for item in lines]
    for item in parts:
        which = str(item.first) if item.first == item.last else f"s {item.first}-{item.last}"
        found.append(
            f"{unit.capitalize()}{' ' if item.first == item.last else ''}{which} not shown ({item.reason})."
        )
    return found


def _count(item: Omission) -> int:
    return item.last - item.first + 1


def _call(item: Omission) -> str:
    return shown(item.request) if item.request is not None else "not reachable"
