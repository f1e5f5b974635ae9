"""Machine-readable facts of native replies, as values for JSON.

Hosts and scripts depend on them. The reference of facts in the documentation is generated from `FACTS`, and a
test compares it with what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct

from readroom.contracts.native.calls import to_call
from readroom.errors import ReadroomError
from readroom.quoting import as_value
from readroom.values import (
    Call,
    Fact,
    GrepFile,
    GrepResult,
    LineEnds,
    ListEntry,
    ListResult,
    Omission,
    ReadRequest,
    ReadResult,
    Request,
    Warn,
)
from readroom.values.changes import EditResult, WriteResult
from readroom.values.files import Cut, Image, OutlineView, PartView, Row, ShownDocument


def named(value: Struct, *names: str) -> dict[str, Fact]:
    """Fields of a value that are facts as they are, and of the same name."""
    return {name: getattr(value, name) for name in names}


# -----------------------------------------------------------------------------
# Machine facts of images, documents and definitions in a read.
# -----------------------------------------------------------------------------


def of_image(image: Image) -> dict[str, Fact]:
    """What an image is, and was before it was shrunk."""
    return named(image, "media_type", "width", "height", "original_width", "original_height")


def of_document(document: ShownDocument) -> dict[str, Fact]:
    """The facts of a document and of what is shown of it."""
    return {
        **named(document, "format", "unit", "total_parts"),
        "parts": [_part(part) for part in document.parts],
        "contents": [
            {"level": level, "title": title, "part": part} for level, title, part in document.contents
        ],
        "contents_left": document.contents_left,
    }


def columns(numbers: Sequence[int], cuts: Mapping[int, Cut]) -> Fact:
    """Of rests of lines, which characters are shown; None where lines are shown from their beginning."""
    if not numbers:
        return None
    line_cuts = ((number, cuts[number]) for number in numbers)
    return [{"line": line, "from": cut.first, "to": cut.last, "of": cut.total} for line, cut in line_cuts]


def _part(part: PartView) -> dict[str, Fact]:
    return {
        "part": part.number,
        "title": part.title,
        "total_lines": part.total_lines,
        "lines_shown": {"start": part.start if part.lines else 0, "end": part.end},
        "columns_shown": columns(part.numbers, part.cuts),
        **named(part, "header", "total_known"),
        "notes": list(part.notes),
        "images": [of_image(image) for image in part.images],
    }


def of_symbol(row: Row | None) -> Fact:
    """The fact `symbol`."""
    if row is None:
        return None
    return {"name": row.name, **named(row.item, "kind", "start", "end", "certain")}


def of_outline(outline: OutlineView | None) -> Fact:
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


COMMON = {
    "truncated": "Whether something that the call asked for is missing from the reply.",
    "omitted": "What is missing: [{what, from, to, line?, part?, reason, call}], counted from 1, inclusive.",
    "next": "The call that continues exactly where this reply ends, or null.",
    "warnings": "About the content: [{code, detail, line?, column?}].",
    "tokens": "Of the reply: its text in o200k tokens, its images by their size where they are charged.",
    "counter": "What counted them: estimate, or o200k where the exact counter is configured.",
    "budget": "What is left where budgets are set: [{scope, limit, used, left}], in tokens.",
}

FACTS: dict[str, dict[str, str]] = {
    "read_file": {
        "path": "The file, relative to the workspace root.",
        "kind": "source, log, csv, config, minified, text, image, document.",
        "size_bytes": "Size of the whole file.",
        "content_hash": "`sha256:` and 64 hex digits, of the raw bytes of the whole file; null when unknown.",
        "compression": "gzip, zstd, xz or bzip2 when what is shown is its expanded content, else null.",
        "expanded_bytes": "Size of that content, as far as it was expanded, or null.",
        "encoding": "How the text was decoded, as a Python codec name.",
        "bom": "Whether a byte order mark precedes the text (it is not shown).",
        "newline": "lf, crlf, mixed or none, over the whole file.",
        "line_ends": "{lf, crlf}: how many of each, where they are mixed; or null.",
        "final_newline": "Whether the last line has an end; null of an empty file, or when not known.",
        "total_lines": "Lines of the whole file; a final newline adds none. Null while not all are counted. "
        "0 for a document.",
        "lines_shown": "{start, end}, inclusive; both 0 when no line is shown, negative from the end.",
        "columns_shown": "[{line, from, to, of}] where the reply shows rests of cut lines, else null. Its "
        "rows are then `line:from<TAB>text`, and the lines need not follow each other.",
        "header_line": "1 when the table's first line is shown above a later window, else null.",
        "read_mode": "offset or tail.",
        "not_modified": "True in a receipt for `known_hash`.",
        "symbol": "{name, kind, start, end, certain} of the definition that is shown, or null; "
        "certain is false where a syntax error leaves the end in doubt.",
        "outline": "{language, items: [{name, kind, signature, start, end, line, depth, certain, folded}], "
        "folded, left_out, partial} or null: of the file, or of what a cut reply does not show; "
        'folded counts by kind what only view="full_outline" lists. '
        "An item of kind run stands for several functions, which its signature names.",
        "image": "{media_type, width, height, original_width, original_height} or null.",
        "document": "{format, unit, total_parts, parts, contents, contents_left} of a document, or null. "
        "parts are those shown, "
        "[{part, title, total_lines, lines_shown, columns_shown, header, total_known, notes, images}]; "
        "images are [{media_type, width, height, original_width, original_height}]; "
        "contents are [{level, title, part}].",
        **COMMON,
    },
    "grep_files": {
        "pattern": "As asked.",
        "path": "As asked, relative to the workspace root.",
        "output": "content, files or count.",
        "files": "[{path, matches, lines: [{line, part, text, match, column, chars, symbol?}]}] as shown; "
        "part is the page, slide, sheet, cell or section of a document, or null.",
        "shown": "Matches (content) or files (files, count) in this reply.",
        "complete": "Whether everything was searched and shown.",
        "reason": "Why not: limit, reply_cap, timeout, or unfinished: files that took too long were left.",
        "searched_files": "Files searched so far, null when not counted.",
        "total_files": "Files to search in all, null when not counted.",
        **COMMON,
    },
    "find_relevant": {
        "query": "As asked.",
        "path": "As asked, relative to the workspace root.",
        "output": "passages, outline or files.",
        "files": "[{path, score, content_hash, total_lines, unit, total_parts, "
        "passages: [{start, end, part, symbol, signature, score, why}], why}], best first, "
        "passages in the order of their lines; part is the page, slide, sheet, cell or section of a "
        "document, else null, as unit and total_parts are; "
        "why is [{what, points or factor}], empty without explain.",
        "shown": "Passages in this reply, or files with output files.",
        "more_passages": "Those behind it of the files taken apart so far.",
        "more_files": "Files that match and were not taken apart or shown.",
        "searched_files": "Files of text that were looked at.",
        "complete": "False when the time limit ended that; `next` then looks at the rest.",
        "reason": "Why not: timeout, or null.",
        "left_words": "Words of a long query that were not looked for.",
        **COMMON,
    },
    "list_directory": {
        "path": "The listed folder, relative to the workspace root.",
        "entries": "[{path, kind, size_bytes, modified, target?}], paths relative to the listed folder.",
        "first": "Number of the first entry shown, from 1; 0 when none is.",
        "total": "Entries in all that match the call.",
        "total_known": "False when the time limit ended the count.",
        "ignored": "Entries that ignore files hide.",
        "denied": "Entries that policy denies; they are never named.",
        "reason": "Why the page ends before the last entry: limit, reply_cap or timeout.",
        **COMMON,
    },
    "edit_file": {
        "path": "The file, relative to the workspace root.",
        "content_hash": "Of the new state; null in a dry run.",
        "previous_hash": "Of the state that was edited.",
        "size_bytes": "Size of the new state.",
        "total_lines": "Lines of the new state.",
        "encoding": "Of the file, kept.",
        "bom": "Whether it has a byte order mark, kept.",
        "edits": "Edits in the call.",
        "replacements": "Places that they changed.",
        "lines_changed": "{start, end}, inclusive, in the new state; its last line where its end went.",
        "dry_run": "True when nothing was changed.",
        "diff": "Unified diff of the touched hunks, without the lines that name the files.",
        **COMMON,
    },
    "write_file": {
        "path": "The file, relative to the workspace root.",
        "created": "False when it replaced a file.",
        "content_hash": "Of the new state.",
        "previous_hash": "Of the state that was replaced, or null.",
        "size_bytes": "Size of the new state.",
        "total_lines": "Lines of the new state.",
        "encoding": "Of the new state.",
        "bom": "Whether it has a byte order mark.",
        "newline": "lf, crlf, mixed or none.",
        "line_ends": "{lf, crlf}: how many of each, where they are mixed; or null.",
        "final_newline": "Whether the last line has an end; null of an empty file.",
        "folders": "Folders that were made for it.",
        **COMMON,
    },
    "run_command": {
        "command": "As asked.",
        "cwd": "The folder it started in, relative to the workspace root.",
        "call_id": "Names the kept outputs.",
        "exit_code": "As a shell reports it: 128 and the number of the signal that ended it.",
        "signal": "That signal, such as SIGKILL, or null.",
        "timed_out": "Whether the time limit ended it.",
        "duration_s": "How long it ran.",
        "ended": "Processes it left behind, which were ended; null where they cannot be counted.",
        "shell": "The shell that ran it: bash or sh.",
        "confinement": "bwrap, landlock or none.",
        "network": "Whether it could use the network.",
        "outputs": "[{stream, path, size_bytes, kept_bytes, total_lines, shown: [{start, end}], lost, "
        "binary}]; lost is {from, bytes, after_line} or null, path is null when it cannot be read later.",
        **COMMON,
    },
    "error": {
        "error": "{code, message, facts, next}: what happened and what to do; `next` is a call or null.",
        **{name: COMMON[name] for name in ("tokens", "counter", "budget")},
    },
}
"""Meaning of every fact by tool, for the reference."""


OwnCall: TypeAlias = Callable[[Request], Call | None]
"""How a contract says a request; None when it has no call for it."""


def of_read(result: ReadResult, own_call: OwnCall = to_call) -> dict[str, Fact]:
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


def of_grep(result: GrepResult, own_call: OwnCall = to_call) -> dict[str, Fact]:
    """Facts of a search, without the tokens."""
    return {
        "pattern": result.request.pattern,
        "path": as_value(result.request.path),
        "output": result.request.output,
        "files": [_grep_file(file) for file in result.files],
        **named(result, "shown", "complete", "reason", "searched_files", "total_files"),
        **common(result.omitted, result.next, result.warnings, own_call),
    }


def of_list(result: ListResult, own_call: OwnCall = to_call) -> dict[str, Fact]:
    """Facts of a listing, without the tokens."""
    return {
        "path": as_value(result.request.path),
        "entries": [_list_entry(entry) for entry in result.entries],
        **named(result, "first", "total", "total_known", "ignored", "denied", "reason"),
        **common(result.omitted, result.next, result.warnings, own_call),
    }


_STATE = ("content_hash", "previous_hash", "size_bytes", "total_lines", "encoding", "bom")
"""Facts about the state after a change."""


def of_edit(result: EditResult) -> dict[str, Fact]:
    """Facts of an edit, without the tokens."""
    last = result.last_line
    return {
        "path": as_value(result.path),
        **named(result, *_STATE, "edits", "replacements"),
        "lines_changed": {"start": min(result.first_line, last), "end": last},
        "dry_run": result.dry_run,
        "diff": result.diff.text,
        **common(omitted_hunks(result), None, result.warnings),
    }


def omitted_hunks(result: EditResult) -> tuple[Omission, ...]:
    """Hunks that had no room, as one omission; a read shows the file after the edit."""
    diff = result.diff
    if not diff.left_out:
        return ()
    limit = diff.left_last - diff.left_first + 1
    request = None if result.dry_run else ReadRequest(result.path, offset=diff.left_first, limit=limit)
    return (Omission("hunks", diff.left_first, diff.left_last, "reply_cap", request=request),)


def of_write(result: WriteResult) -> dict[str, Fact]:
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


def of_error(error: ReadroomError, own_call: OwnCall = to_call, words: str | None = None) -> dict[str, Fact]:
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
    omitted: Sequence[Omission],
    following: Request | None,
    warnings: Sequence[Warn],
    own_call: OwnCall = to_call,
) -> dict[str, Fact]:
    """The facts that every reply has, without the tokens; `own_call` is how the contract says a request."""
    return {
        "truncated": bool(omitted) or following is not None,
        "omitted": [_omission(item, own_call) for item in omitted],
        "next": _call(following, own_call),
        "warnings": [_warning(item) for item in warnings],
    }


def _mixed(ends: LineEnds) -> Fact:
    return {"lf": ends.total - ends.crlf, "crlf": ends.crlf} if ends.form == "mixed" else None


def _call(request: Request | None, own_call: OwnCall) -> Fact:
    call = None if request is None else own_call(request)
    return None if call is None else call.to_fact()


def _omission(item: Omission, own_call: OwnCall) -> dict[str, Fact]:
    fact: dict[str, Fact] = {"what": item.what, "from": item.first, "to": item.last}
    if item.line is not None:
        fact["line"] = item.line
    if item.part is not None:
        fact["part"] = item.part
    return {**fact, "reason": item.reason, "call": _call(item.request, own_call)}


def _warning(item: Warn) -> dict[str, Fact]:
    fact: dict[str, Fact] = {"code": item.code, "detail": item.detail}
    if item.line is not None:
        fact["line"] = item.line
    if item.column is not None:
        fact["column"] = item.column
    return fact


def _grep_file(file: GrepFile) -> dict[str, Fact]:
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
            }
            for line in file.lines
        ],
    }


def _list_entry(entry: ListEntry) -> dict[str, Fact]:
    fact: dict[str, Fact] = {
        "path": as_value(entry.path),
        "kind": entry.kind.value,
        "size_bytes": entry.size,
        "modified": timestamp(entry.mtime_ns),
    }
    if entry.target is not None:
        fact["target"] = as_value(entry.target)
    return fact
