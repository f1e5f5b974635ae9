"""Machine-readable facts of native replies, as values for JSON.

Hosts and scripts depend on them. `scripts/docs/facts.py` says what each means, for the reference, and a test
compares that with what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct

from readroom.core import values
from readroom.core.contracts.native.calls import to_call
from readroom.core.errors import ReadroomError
from readroom.core.quoting import as_value
from readroom.core.values.changes import EditResult, WriteResult
from readroom.core.values.files import Cut, Image, OutlineView, PartView, Row, ShownDocument


def named(value: Struct, *names: str) -> dict[str, values.Fact]:
    """Fields of a value that are facts as they are, and of the same name."""
    return {name: getattr(value, name) for name in names}


# -----------------------------------------------------------------------------
# Machine facts of images, documents and definitions in a read.
# -----------------------------------------------------------------------------


def of_image(image: Image) -> dict[str, values.Fact]:
    """What an image is, and was before it was shrunk."""
    return named(image, "media_type", "width", "height", "original_width", "original_height")


def of_document(document: ShownDocument) -> dict[str, values.Fact]:
    """The facts of a document and of what is shown of it."""
    return {
        **named(document, "format", "unit", "total_parts"),
        "parts": [_part(part) for part in document.parts],
        "contents": [
            {"level": level, "title": title, "part": part} for level, title, part in document.contents
        ],
        "contents_left": document.contents_left,
    }


def columns(numbers: Sequence[int], cuts: Mapping[int, Cut]) -> values.Fact:
    """Of rests of lines, which characters are shown; None where lines are shown from their beginning."""
    if not numbers:
        return None
    line_cuts = ((number, cuts[number]) for number in numbers)
    return [{"line": line, "from": cut.first, "to": cut.last, "of": cut.total} for line, cut in line_cuts]


def _part(part: PartView) -> dict[str, values.Fact]:
    return {
        "part": part.number,
        "title": part.title,
        "total_lines": part.total_lines,
        "lines_shown": {"start": part.start if part.lines else 0, "end": part.end},
        "columns_shown": columns(part.numbers, part.cuts),
        **named(part, "header", "total_known"),
        "notes": list(part.notes),
        "images": [of_image(image) for image in part.images],
        **({"figures": part.figures} if part.figures else {}),
        **({"region": part.region} if part.region else {}),
    }


def of_symbol(row: Row | None) -> values.Fact:
    """The fact `symbol`."""
    if row is None:
        return None
    return {"name": row.name, **named(row.item, "kind", "start", "end", "certain")}


def of_outline(outline: OutlineView | None) -> values.Fact:
    """The fact `outline`."""
    if outline is None:
        return None
    return {
        "language": outline.language,
        "items": [
            {
                "name": row.name,
                **named(row.item, "kind", "signature", "start", "end", "line"),
                "depth": row.depth,
                "certain": row.item.certain,
                "folded": dict(row.folded),
            }
            for row in outline.rows
        ],
        "folded": dict(outline.folded),
        "left_out": outline.left_out,
        "partial": outline.partial,
    }


OwnCall: TypeAlias = Callable[[values.Request], values.Call | None]
"""A request as a contract's call; None if it has no call for it."""


def of_read(result: values.ReadResult, own_call: OwnCall = to_call) -> dict[str, values.Fact]:
    """Facts of a read, without the tokens."""
    image = result.image
    return {
        "path": as_value(result.path),
        "kind": result.kind.value,
        "size_bytes": result.size_bytes,
        "content_hash": result.content_hash,
        "compression": None if result.packed is None else result.packed.compression,
        "expanded_bytes": None if result.packed is None else result.packed.expanded_bytes,
        "encoding": result.encoding,
        "bom": result.bom,
        "newline": result.ends.form,
        "line_ends": _mixed(result.ends),
        "final_newline": result.ends.final,
        "total_lines": result.total_lines,
        "lines_shown": {"start": result.start if result.lines else 0, "end": result.end},
        "columns_shown": columns(result.numbers, result.cuts),
        "header_line": None if result.header is None else 1,
        "read_mode": result.read_mode,
        "not_modified": result.not_modified,
        "symbol": of_symbol(result.symbol),
        "outline": of_outline(result.outline),
        "image": None if image is None else of_image(image),
        "document": None if result.document is None else of_document(result.document),
        **common(result.omitted, result.next, result.warnings, own_call),
    }


def of_grep(result: values.GrepResult, own_call: OwnCall = to_call) -> dict[str, values.Fact]:
    """Facts of a search, without the tokens."""
    return {
        "pattern": result.request.pattern,
        "path": as_value(result.request.path),
        "output": result.request.output,
        "files": [_grep_file(file) for file in result.files],
        **named(result, "shown", "complete", "reason", "searched_files", "total_files"),
        **_uses(result),
        **common(result.omitted, result.next, result.warnings, own_call),
    }


def _uses(result: values.GrepResult) -> dict[str, values.Fact]:
    """The counts of a name, by kind; null for another search."""
    if result.uses is None:
        return dict.fromkeys(("kinds", "unlabelled", "files_with_matches"))
    kinds: dict[str, values.Fact] = dict(result.uses.kinds.items())
    return {"kinds": kinds, **named(result.uses, "unlabelled", "files_with_matches")}


def of_list(result: values.ListResult, own_call: OwnCall = to_call) -> dict[str, values.Fact]:
    """Facts of a listing, without the tokens."""
    return {
        "path": as_value(result.request.path),
        "entries": [_list_entry(entry) for entry in result.entries],
        **named(result, "first", "total", "total_known", "ignored", "denied", "reason"),
        **common(result.omitted, result.next, result.warnings, own_call),
    }


_STATE = ("content_hash", "previous_hash", "size_bytes", "total_lines", "encoding", "bom")
"""Facts about the state after a change."""


def of_edit(result: EditResult) -> dict[str, values.Fact]:
    """Facts of an edit, without the tokens."""
    last = result.last_line
    return {
        "path": as_value(result.path),
        **named(result, *_STATE, "edits", "replacements"),
        "lines_changed": {"start": min(result.first_line, last), "end": last},
        **_cells(result),
        "dry_run": result.dry_run,
        "diff": result.diff.text,
        **common(omitted_hunks(result), None, result.warnings),
    }


def _cells(result: EditResult) -> dict[str, values.Fact]:
    """The changed cells of a notebook, whose lines above are those of its JSON; null for another file."""
    cells = result.cells
    if cells is None:
        return {"cells_changed": None, "total_cells": None}
    return {"cells_changed": {"start": cells.first, "end": cells.last}, "total_cells": cells.total}


def omitted_hunks(result: EditResult) -> tuple[values.Omission, ...]:
    """Hunks that had no room, as one omission; a read shows the file after the edit."""
    diff = result.diff
    if not diff.left_out:
        return ()
    if result.cells is not None:
        first, last = result.cells.first, result.cells.last
        pages = None if result.dry_run else values.ReadRequest(result.path, pages=f"{first}-{last}")
        return (values.Omission("hunks", first, last, "reply_cap", request=pages),)
    limit = diff.left_last - diff.left_first + 1
    request = None if result.dry_run else values.ReadRequest(result.path, offset=diff.left_first, limit=limit)
    return (values.Omission("hunks", diff.left_first, diff.left_last, "reply_cap", request=request),)


def of_write(result: WriteResult) -> dict[str, values.Fact]:
    """Facts of a write, without the tokens."""
    return {
        "path": as_value(result.path),
        "created": result.previous_hash is None,
        **named(result, *_STATE),
        "newline": result.ends.form,
        "line_ends": _mixed(result.ends),
        "final_newline": result.ends.final,
        "folders": [as_value(folder) for folder in result.folders],
        **common((), None, result.warnings),
    }


def of_error(
    error: ReadroomError, own_call: OwnCall = to_call, words: str | None = None
) -> dict[str, values.Fact]:
    """Facts of a refusal or failure; `own_call` turns requests into calls of the contract, `words` is the
    message.
    """
    return {
        "error": {
            "code": error.code,
            "message": str(error) if words is None else words,
            "facts": error.facts,
            "next": _call(error.next, own_call),
        }
    }


def timestamp(mtime_ns: int | None) -> str | None:
    """A time as ISO 8601 in UTC, to the second; None when unknown, or outside the years 1 to 9999."""
    if mtime_ns is None:
        return None
    try:
        moment = datetime.fromtimestamp(mtime_ns // 1_000_000_000, UTC)
    except (ValueError, OverflowError, OSError):  # some file systems hold any 64-bit number
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}".rjust(len("2026-01-01T00:00:00Z"), "0")


def common(
    omitted: Sequence[values.Omission],
    following: values.Request | None,
    warnings: Sequence[values.Warn],
    own_call: OwnCall = to_call,
) -> dict[str, values.Fact]:
    """The facts that every reply has, without the tokens; `own_call` is how the contract says a request."""
    return {
        "truncated": bool(omitted) or following is not None,
        "omitted": [_omission(item, own_call) for item in omitted],
        "next": _call(following, own_call),
        "warnings": [_warning(item) for item in warnings],
    }


def _mixed(ends: values.LineEnds) -> values.Fact:
    return {"lf": ends.total - ends.crlf, "crlf": ends.crlf} if ends.form == "mixed" else None


def _call(request: values.Request | None, own_call: OwnCall) -> values.Fact:
    call = None if request is None else own_call(request)
    return None if call is None else call.to_fact()


def _omission(item: values.Omission, own_call: OwnCall) -> dict[str, values.Fact]:
    fact: dict[str, values.Fact] = {"what": item.what, "from": item.first, "to": item.last}
    if item.line is not None:
        fact["line"] = item.line
    if item.part is not None:
        fact["part"] = item.part
    return {**fact, "reason": item.reason, "call": _call(item.request, own_call)}


def _warning(item: values.Warn) -> dict[str, values.Fact]:
    fact: dict[str, values.Fact] = {"code": item.code, "detail": item.detail}
    if item.line is not None:
        fact["line"] = item.line
    if item.column is not None:
        fact["column"] = item.column
    return fact


def _grep_file(file: values.GrepFile) -> dict[str, values.Fact]:
    return {
        "path": as_value(file.path),
        "matches": file.matches,
        "lines": [
            {
                "line": line.number,
                "part": line.part,
                "text": line.text,
                "match": line.is_match,
                "column": line.column,
                "chars": line.chars,
                **({} if line.symbol is None else {"symbol": line.symbol}),
                **(
                    {} if line.kind is None else named(line, "kind", "certain") | {"columns": [*line.columns]}
                ),
            }
            for line in file.lines
        ],
    }


def _list_entry(entry: values.ListEntry) -> dict[str, values.Fact]:
    fact: dict[str, values.Fact] = {
        "path": as_value(entry.path),
        "kind": entry.kind.value,
        "size_bytes": entry.size,
        "modified": timestamp(entry.mtime_ns),
    }
    if entry.target is not None:
        fact["target"] = as_value(entry.target)
    return fact
