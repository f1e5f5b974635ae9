"""How Everruns words searches, listings and changes: each one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from readroom.changes import EditResult, WriteResult
from readroom.contracts import envelope, native_facts
from readroom.contracts.everruns_calls import GREP, LIST, READ, read_call, to_call
from readroom.contracts.everruns_notes import notes_of
from readroom.contracts.everruns_paths import named, shown, shown_below
from readroom.limits_everruns import EVERRUNS_DIFF_CHARS
from readroom.model import (
    Cap,
    EntryKind,
    Fact,
    GrepLine,
    GrepRequest,
    GrepResult,
    ListEntry,
    ListResult,
    ReadRequest,
    Reply,
    Warn,
)
from readroom.quoting import as_value

_WRITABLE = 0o222
_CUT_DIFF = f"\n... diff truncated after {EVERRUNS_DIFF_CHARS} characters ..."

Fields = dict[str, Fact]


def with_notes(fields: Fields, warnings: Sequence[Warn], more: Sequence[str] = ()) -> Fields:
    """The fields with sentences about them, where there are any."""
    notes: list[Fact] = [*more, *notes_of(warnings)]
    return {**fields, envelope.NOTES: notes} if notes else fields


# --- grep_files --------------------------------------------------------------------------------


def render_grep(result: GrepResult, cap: Cap) -> Reply:
    """The reply for a search."""
    del cap  # what a match costs was counted to the byte
    request = result.request
    if request.output != "content":
        return _render_counts(result)
    blocks = bool(request.before or request.after)
    entries = list(_blocks(result)) if blocks else list(_matches(result))
    fields: Fields = {
        "pattern": request.pattern,
        "match_count": result.shown,
        "total_matches": result.total_matches,
        "offset": request.skip,
        "limit": request.limit,
        "blocks" if blocks else "matches": entries,
    }
    cuts = list(_cuts(result))
    fields["truncation"] = _grep_truncation(result, envelope.size(entries), cut=bool(cuts))
    return envelope.reply(
        with_notes(fields, result.warnings, cuts), partial(envelope.result_facts, result, to_call)
    )


def _render_counts(result: GrepResult) -> Reply:
    """The reply when a budget leaves only how many lines match in which files."""
    request = result.request
    fields: Fields = {
        "pattern": request.pattern,
        "match_count": 0,
        "total_matches": sum(file.matches for file in result.files) if result.complete else None,
        "offset": request.skip,
        "limit": request.limit,
        "matches": [],
        "files": [{"path": shown(file.path), "match_count": file.matches} for file in result.files],
        "truncation": {"truncated": True, "reason": "exec_budget", "bytes_returned": 0},
    }
    return envelope.reply(
        with_notes(fields, result.warnings), partial(envelope.result_facts, result, to_call)
    )


def _cuts(result: GrepResult) -> Iterator[str]:
    """Lines of which a part is shown, each with the call for the rest."""
    for item in result.omitted:
        if isinstance(item.request, ReadRequest):
            arguments = envelope.encoded(read_call(item.request).arguments)
            yield f"Line {item.line} is cut; characters {item.first}-{item.last}: {READ} {arguments}"


def _matches(result: GrepResult) -> Iterator[Fact]:
    for file in result.files:
        for line in file.lines:
            yield {"path": shown(file.path), "line_number": line.number, "line": line.text}


def _blocks(result: GrepResult) -> Iterator[Fact]:
    for file in result.files:
        for lines in _neighbours(file.lines):
            yield {
                "path": shown(file.path),
                "start_line": lines[0].number,
                "end_line": lines[-1].number,
                "match_line_numbers": [line.number for line in lines if line.is_match],
                "lines": [
                    {"line_number": line.number, "line": line.text, "is_match": line.is_match}
                    for line in lines
                ],
            }


def _neighbours(lines: Sequence[GrepLine]) -> Iterator[list[GrepLine]]:
    block: list[GrepLine] = []
    for line in lines:
        if block and line.number > block[-1].number + 1:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


_REASONS = {"limit": "line_cap", "timeout": "exec_budget", "unfinished": "exec_budget"}


def _grep_truncation(result: GrepResult, size: int, *, cut: bool) -> Fields:
    if result.complete and not cut:
        return {"truncated": False, "reason": "size_cap", "bytes_returned": size}
    reason = _REASONS.get(result.reason or "", "size_cap")
    found: Fields = {"truncated": True, "reason": reason, "bytes_returned": size}
    if isinstance(result.next, GrepRequest):
        at = result.next.skip
        hint = f"call {GREP} with offset={at} to resume from match {at + 1}"
        found.update(next_offset=at, resume_hint=hint)
    return found


# --- list_directory ----------------------------------------------------------------------------


def render_list(result: ListResult, cap: Cap) -> Reply:
    """The reply for a listing."""
    del cap
    request = result.request
    skip = request.skip or 0
    entries: list[Fact] = [_entry(request.path, entry) for entry in result.entries]
    fields: Fields = {
        "path": shown(request.path),
        "entries": entries,
        "count": len(entries),
        "total_count": result.total if result.total_known else None,
        "offset": skip,
        "limit": request.limit,
        "truncation": _list_truncation(result, skip + len(entries), envelope.size(entries)),
    }
    notes = [f"{result.denied} entries are denied by policy."] if result.denied else []
    return envelope.reply(
        with_notes(fields, result.warnings, notes), partial(envelope.result_facts, result, to_call)
    )


def _entry(folder: str, entry: ListEntry) -> Fields:
    return {
        "name": as_value(entry.path),
        "path": shown_below(folder, entry.path),
        "is_directory": entry.kind is EntryKind.FOLDER,
        "size_bytes": entry.size or 0,
        "is_readonly": is_readonly(entry.mode),
    }


def is_readonly(mode: int | None) -> bool:
    """Whether nobody may write to what has this mode."""
    return mode is not None and not mode & _WRITABLE


def _list_truncation(result: ListResult, at: int, size: int) -> Fields:
    reason = {"timeout": "exec_budget", "reply_cap": "size_cap"}.get(result.reason or "", "item_cap")
    found: Fields = {"truncated": result.reason is not None, "reason": reason, "bytes_returned": size}
    if result.next is not None:
        hint = f"call {LIST} with offset={at} to resume from item {at + 1}"
        found.update(next_offset=at, resume_hint=hint)
    return found


# --- edit_file, write_file ---------------------------------------------------------------------


def render_edit(result: EditResult, cap: Cap) -> Reply:
    """The reply for an edit."""
    path = named(result.path)
    names = f"--- {path} (before)\n+++ {path} (after)\n"
    diff, cut = _cut_diff(names + result.diff.text, bool(result.diff.left_out))
    fields = _edit_fields(result, diff, cut=cut)
    while envelope.size(fields) > cap.size and diff:
        # What escapes take is known only now; the change itself is made and is told whatever happens.
        diff, cut = diff[: len(diff) // 2], True
        fields = _edit_fields(result, diff + _CUT_DIFF, cut=cut)
    return envelope.reply(fields, partial(native_facts.of_edit, result))


def _cut_diff(text: str, left_out: bool) -> tuple[str, bool]:
    if len(text) > EVERRUNS_DIFF_CHARS:
        return text[:EVERRUNS_DIFF_CHARS] + _CUT_DIFF, True
    return (text + _CUT_DIFF, True) if left_out else (text, False)


def _edit_fields(result: EditResult, diff: str, *, cut: bool) -> Fields:
    fields: Fields = {
        "path": shown(result.path),
        "size_bytes": result.size_bytes,
        "content_hash": result.content_hash,
        "previous_content_hash": result.previous_hash,
        "applied_edits": result.edits,
        "rebased": False,
        "first_changed_line": result.first_line,
        "diff": diff,
        "diff_truncated": cut,
    }
    return with_notes(fields, result.warnings)


def render_write(result: WriteResult, cap: Cap) -> Reply:
    """The reply for a file that was written."""
    del cap
    fields: Fields = {
        "path": shown(result.path),
        "size_bytes": result.size_bytes,
        "created": result.previous_hash is None,
        "content_hash": result.content_hash,
    }
    return envelope.reply(with_notes(fields, result.warnings), partial(native_facts.of_write, result))
