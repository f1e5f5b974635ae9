"""Replies of Everruns to searches and listings: each one object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from readroom.contracts.everruns import requests
from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.words import Fields, with_notes
from readroom.core import values
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.quoting import as_value

_WRITABLE = 0o222
# --- grep_files --------------------------------------------------------------------------------


def render_grep(names: Names, result: values.GrepResult, cap: values.Cap) -> values.Reply:
    """The reply for a search."""
    del cap  # the cost of matches was counted to the byte
    request = result.request
    if request.output != "content":
        return _render_counts(names, result)
    blocks = bool(request.before or request.after)
    entries = list(_blocks(names, result)) if blocks else list(_matches(names, result))
    fields: Fields = {
        "pattern": request.pattern,
        "match_count": result.shown,
        "total_matches": result.total_matches,
        "offset": request.skip,
        "limit": request.limit,
        "blocks" if blocks else "matches": entries,
    }
    cuts = list(_cuts(names, result))
    fields["truncation"] = _grep_truncation(result, json_replies.size(entries), cut=bool(cuts))
    return json_replies.reply(
        with_notes(fields, result.warnings, cuts),
        partial(native_facts.of_grep, result, requests.calls(names)),
    )


def _render_counts(names: Names, result: values.GrepResult) -> values.Reply:
    """The reply when a budget leaves only how many lines match in which files."""
    request = result.request
    fields: Fields = {
        "pattern": request.pattern,
        "match_count": 0,
        "total_matches": sum(file.matches for file in result.files) if result.complete else None,
        "offset": request.skip,
        "limit": request.limit,
        "matches": [],
        "files": [{"path": names.shown(file.path), "match_count": file.matches} for file in result.files],
        "truncation": {"truncated": True, "reason": "exec_budget", "bytes_returned": 0},
    }
    return json_replies.reply(
        with_notes(fields, result.warnings),
        partial(native_facts.of_grep, result, requests.calls(names)),
    )


def _cuts(names: Names, result: values.GrepResult) -> Iterator[str]:
    """Lines that are shown in part, each with the call for the rest."""
    for item in result.omitted:
        if isinstance(item.request, values.ReadRequest):
            arguments = json_replies.encoded(requests.read_call(names, item.request).arguments)
            yield f"Line {item.line} is cut; characters {item.first}-{item.last}: {requests.READ} {arguments}"


def _matches(names: Names, result: values.GrepResult) -> Iterator[values.Fact]:
    for file in result.files:
        for line in file.lines:
            yield {"path": names.shown(file.path), "line_number": line.number, "line": line.text}


def _blocks(names: Names, result: values.GrepResult) -> Iterator[values.Fact]:
    for file in result.files:
        for lines in _neighbours(file.lines):
            yield {
                "path": names.shown(file.path),
                "start_line": lines[0].number,
                "end_line": lines[-1].number,
                "match_line_numbers": [line.number for line in lines if line.is_match],
                "lines": [
                    {"line_number": line.number, "line": line.text, "is_match": line.is_match}
                    for line in lines
                ],
            }


def _neighbours(lines: Sequence[values.GrepLine]) -> Iterator[list[values.GrepLine]]:
    block: list[values.GrepLine] = []
    for line in lines:
        if block and line.number > block[-1].number + 1:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


_REASONS = {"limit": "line_cap", "timeout": "exec_budget", "unfinished": "exec_budget"}


def _grep_truncation(result: values.GrepResult, size: int, *, cut: bool) -> Fields:
    if result.complete and not cut:
        return {"truncated": False, "reason": "size_cap", "bytes_returned": size}
    reason = _REASONS.get(result.reason or "", "size_cap")
    truncation: Fields = {"truncated": True, "reason": reason, "bytes_returned": size}
    if isinstance(result.next, values.GrepRequest):
        at = result.next.skip
        hint = f"call {requests.GREP} with offset={at} to resume from match {at + 1}"
        truncation.update(next_offset=at, resume_hint=hint)
    return truncation


# --- list_directory ----------------------------------------------------------------------------


def render_list(names: Names, result: values.ListResult, cap: values.Cap) -> values.Reply:
    """The reply for a listing."""
    del cap
    request = result.request
    skip = request.skip or 0
    entries: list[values.Fact] = [_entry(names, request.path, entry) for entry in result.entries]
    fields: Fields = {
        "path": names.shown(request.path),
        "entries": entries,
        "count": len(entries),
        "total_count": result.total if result.total_known else None,
        "offset": skip,
        "limit": request.limit,
        "truncation": _list_truncation(result, skip + len(entries), json_replies.size(entries)),
    }
    entries_are = "entry is" if result.denied == 1 else "entries are"
    notes = [f"{result.denied} {entries_are} denied by policy."] if result.denied else []
    return json_replies.reply(
        with_notes(fields, result.warnings, notes),
        partial(native_facts.of_list, result, requests.calls(names)),
    )


def _entry(names: Names, folder: str, entry: values.ListEntry) -> Fields:
    return {
        "name": as_value(entry.path),
        "path": names.shown_below(folder, entry.path),
        "is_directory": entry.kind is values.EntryKind.FOLDER,
        "size_bytes": entry.size or 0,
        "is_readonly": is_readonly(entry.mode),
    }


def is_readonly(mode: int | None) -> bool:
    """Whether no one may write to a file with this mode."""
    return mode is not None and not mode & _WRITABLE


def _list_truncation(result: values.ListResult, at: int, size: int) -> Fields:
    reason = {"timeout": "exec_budget", "reply_cap": "size_cap"}.get(result.reason or "", "item_cap")
    truncation: Fields = {"truncated": result.reason is not None, "reason": reason, "bytes_returned": size}
    if result.next is not None:
        hint = f"call {requests.LIST} with offset={at} to resume from item {at + 1}"
        truncation.update(next_offset=at, resume_hint=hint)
    return truncation
