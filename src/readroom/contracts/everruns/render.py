"""Replies of Everruns: one JSON object, for a read with lines as `N|text`.

Content is cut between lines, and inside a line only if the line alone is too long. `truncated` and the next
offset follow from the shown lines. An outline of the lines that are not shown follows the content.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from readroom.contracts.everruns import requests
from readroom.contracts.everruns import words as everruns_words
from readroom.contracts.everruns.words import notes_of
from readroom.core import values
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.formats.kinds import default_lines
from readroom.core.quoting import as_value
from readroom.core.text.select import byte_size
from readroom.core.values.changes import EditResult, WriteResult

DIFF_CHARS = 16_000
"""The diff that an edit shows."""

BINARY_NOTE = "Binary file — use a different tool or download to inspect."

_FRAME_BYTES = 640
"""Names and values of a reply's fields, with a continuation, other than paths and content."""

_PATHS = 2
"""How many times a reply has the path."""

_ENTRY_BYTES = len('"is_directory":false,"size_bytes":18446744073709551615,"is_readonly":false,')


def _line_bytes(line: values.GrepLine) -> int:
    entry: dict[str, values.Fact] = {"line_number": line.number, "line": line.text}
    return json_replies.size(entry) + len(",")


MEASURE = values.Measure(
    frame=lambda path: _FRAME_BYTES + _PATHS * json_replies.size(requests.shown(path)),
    read=values.ReadMeasure(
        numbered=lambda number: len(str(number)) + len("|\n"),
        outlined=lambda row: everruns_words.outline_row_bytes(row) + len("\n"),
        mark_bytes=0,
        content_bytes=requests.CONTENT_BYTES + 1,  # there is no line feed after the last line
    ),
    search=values.SearchMeasure(
        file=lambda file: json_replies.size(requests.shown(file.path)) + len('"path":,'),
        line=_line_bytes,
        names_each=True,
        content_bytes=requests.GREP_BYTES,
    ),
    # It has its whole path, with that of the folder, which the frame counts once.
    list=values.ListMeasure(lambda entry: 2 * json_replies.size(requests.shown(entry.path)) + _ENTRY_BYTES),
)
"""Size of what the rendering adds; next to it so that both change together."""


def render(result: values.ReadResult, cap: values.Cap, limit: int | None = None) -> values.Reply:
    """The reply for a read that was selected under `cap`; `limit` is that of the call."""
    if result.image is not None:
        fields: dict[str, values.Fact] = {**_about(result), "media_type": result.image.media_type}
        return json_replies.reply(
            _in_order(result, fields),
            partial(native_facts.of_read, result, requests.to_call),
            images=(result.image,),
        )
    if result.raw is not None:
        return _render_raw(result, result.raw, cap)
    return json_replies.window(result, cap, partial(_fields, limit=limit), _facts)


def _facts(result: values.ReadResult) -> dict[str, values.Fact]:
    following = _following(result)
    facts = native_facts.of_read(result, requests.to_call)
    return {**facts, "next": None if following is None else requests.read_call(following).to_fact()}


def _about(result: values.ReadResult) -> dict[str, values.Fact]:
    kind = values.Kind.BINARY if result.kind is values.Kind.IMAGE else result.kind
    return {"path": requests.shown(result.path), "content_type": kind.value, "read_mode": result.read_mode}


def _in_order(result: values.ReadResult, fields: dict[str, values.Fact]) -> dict[str, values.Fact]:
    """The fields with those that close every object."""
    unusual = result.ends.unusual
    ends = [f"The file has {' and '.join(unusual)}."] if unusual else []
    notes = notes_of(result.warnings) + ends + _about_cuts(result)
    ordered: dict[str, values.Fact] = {
        **fields,
        "size_bytes": result.size_bytes,
        "content_hash": result.content_hash,
    }
    return {**ordered, json_replies.NOTES: list(notes)} if notes else ordered


def _about_cuts(result: values.ReadResult) -> list[str]:
    """Whether the continuation does not begin with a cut line: a header, or the last of a tail."""
    line = 1 if result.header is not None else result.end if _is_below_others(result) else None
    cut = None if line is None else result.cuts.get(line)
    if line is None or cut is None or cut.last == cut.total:
        return []
    more = f"{requests.READ} with offset={line - 1}" + (f" and column={cut.last}" if line > 1 else "")
    return [f"Line {line} is cut after {cut.last} of {cut.total} characters; {more} shows more of it."]


def _is_below_others(result: values.ReadResult) -> bool:
    """Whether it is a tail with lines above it."""
    return result.read_mode == "tail" and bool(result.lines) and result.start != 1


# --- text --------------------------------------------------------------------------------------


def _fields(result: values.ReadResult, limit: int | None) -> dict[str, values.Fact]:
    about, content = _about(result), _content(result)
    following = _following(result)
    cut = following is not None
    start = result.start if result.lines else 0
    fields: dict[str, values.Fact] = {
        "path": about["path"],
        "content": content,
        "total_lines": result.total_lines,
        "lines_shown": {"start": start, "end": result.end},
        "truncated": cut,
        "content_type": about["content_type"],
        "read_mode": about["read_mode"],
    }
    return {**_in_order(result, fields), "truncation": _truncation(result, content, following, limit)}


def _content(result: values.ReadResult) -> str:
    rows = [f"{number}|{line}" for number, line in enumerate(result.lines, result.start)]
    if result.header is not None:
        rows.insert(0, f"1|{result.header}")
    text = "\n".join(rows)
    return text if result.outline is None else text + everruns_words.outline_text(result, result.outline)


def _following(result: values.ReadResult) -> values.ReadRequest | None:
    """The read that continues: with a line's rest, the next line, or before a tail with the first."""
    plain = values.ReadRequest(result.path)
    if _is_below_others(result):
        return replace(plain, offset=1)
    cut = result.cuts.get(result.end) if result.lines else None
    if cut is not None and cut.last < cut.total:
        return replace(plain, offset=result.end, column=cut.last + 1)
    if result.next is not None and result.next.column > 1:
        return result.next
    if result.next is not None:
        return replace(plain, offset=result.next.offset)
    # The rest of one line was requested; the file may continue.
    if cut is not None and result.total_lines is not None and result.end < result.total_lines:
        return replace(plain, offset=result.end + 1)
    # A budget that runs low leaves the outline, or nothing.
    withheld = not result.lines and (result.outline is not None or result.omitted)
    return replace(plain, offset=1) if withheld else None


def _truncation(
    result: values.ReadResult, content: str, following: values.ReadRequest | None, limit: int | None
) -> dict[str, values.Fact]:
    size = byte_size(content)
    if following is None:
        return _complete(size)
    truncation: dict[str, values.Fact] = {
        "truncated": True,
        "reason": _reason(result, following, limit),
        "bytes_returned": size,
        "bytes_total": result.size_bytes,
    }
    offset = (following.offset or 1) - 1
    if following.column > 1:
        where = f"offset={offset} and column={following.column - 1}"
        hint = f"call {requests.READ} with {where} to resume inside line {offset + 1}"
    else:
        hint = f"call {requests.READ} with offset={offset} to resume from line {offset + 1}"
    truncation.update(next_offset=offset, resume_hint=hint)
    if following.column > 1:
        truncation["next_column"] = following.column - 1
    if result.read_mode == "tail" and result.start > 1:
        truncation["not_shown"] = {"start": 1, "end": result.start - 1}
    return truncation


def _complete(size: int) -> dict[str, values.Fact]:
    """Fields of a complete reply: all of it has been returned."""
    return {"truncated": False, "reason": "size_cap", "bytes_returned": size, "bytes_total": size}


def _reason(result: values.ReadResult, following: values.ReadRequest, limit: int | None) -> str:
    if following.column > 1:
        return "size_cap"
    if not result.lines or any(item.reason == "timeout" for item in result.omitted):
        return "exec_budget"
    by_size = any(item.what == "lines" and item.reason == "reply_cap" for item in result.omitted)
    # A tail has fewer lines than it may have, and there are more, when they did not fit.
    short = result.read_mode == "tail" and len(result.lines) < (limit or default_lines(result.kind))
    return "size_cap" if by_size or short else "line_cap"


# --- bytes -------------------------------------------------------------------------------------


def _render_raw(result: values.ReadResult, raw: bytes, cap: values.Cap) -> values.Reply:
    fields = _raw_fields(result, raw)
    over = json_replies.size(fields) - cap.size
    if over > 0:
        raw = raw[: max(0, len(raw) - over)]
        fields = _raw_fields(result, raw)
    cut = len(raw) < result.size_bytes
    return json_replies.reply(fields, lambda: {**native_facts.of_read(result), "truncated": cut})


def _raw_fields(result: values.ReadResult, raw: bytes) -> dict[str, values.Fact]:
    content = b64encode(raw).decode("ascii")
    cut = len(raw) < result.size_bytes
    fields: dict[str, values.Fact] = {
        "path": requests.shown(result.path),
        "content": content,
        "encoding": "base64",
        "truncated": cut,
        "content_type": values.Kind.BINARY.value,
        "read_mode": result.read_mode,
        "note": BINARY_NOTE,
    }
    truncation = _complete(len(content))
    if cut:
        truncation |= {"truncated": True, "bytes_total": result.size_bytes}
    return {**_in_order(result, fields), "truncation": truncation}


# -----------------------------------------------------------------------------
# How Everruns words searches, listings and changes: each one object.
# -----------------------------------------------------------------------------

_WRITABLE = 0o222
_CUT_DIFF = f"\n... diff truncated after {DIFF_CHARS} characters ..."

Fields = dict[str, values.Fact]


def with_notes(fields: Fields, warnings: Sequence[values.Warn], more: Sequence[str] = ()) -> Fields:
    """The fields with sentences about them, where there are any."""
    notes: list[values.Fact] = [*more, *notes_of(warnings)]
    return {**fields, json_replies.NOTES: notes} if notes else fields


# --- grep_files --------------------------------------------------------------------------------


def render_grep(result: values.GrepResult, cap: values.Cap) -> values.Reply:
    """The reply for a search."""
    del cap  # the cost of matches was counted to the byte
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
    fields["truncation"] = _grep_truncation(result, json_replies.size(entries), cut=bool(cuts))
    return json_replies.reply(
        with_notes(fields, result.warnings, cuts), partial(native_facts.of_grep, result, requests.to_call)
    )


def _render_counts(result: values.GrepResult) -> values.Reply:
    """The reply when a budget leaves only how many lines match in which files."""
    request = result.request
    fields: Fields = {
        "pattern": request.pattern,
        "match_count": 0,
        "total_matches": sum(file.matches for file in result.files) if result.complete else None,
        "offset": request.skip,
        "limit": request.limit,
        "matches": [],
        "files": [{"path": requests.shown(file.path), "match_count": file.matches} for file in result.files],
        "truncation": {"truncated": True, "reason": "exec_budget", "bytes_returned": 0},
    }
    return json_replies.reply(
        with_notes(fields, result.warnings), partial(native_facts.of_grep, result, requests.to_call)
    )


def _cuts(result: values.GrepResult) -> Iterator[str]:
    """Lines that are shown in part, each with the call for the rest."""
    for item in result.omitted:
        if isinstance(item.request, values.ReadRequest):
            arguments = json_replies.encoded(requests.read_call(item.request).arguments)
            yield f"Line {item.line} is cut; characters {item.first}-{item.last}: {requests.READ} {arguments}"


def _matches(result: values.GrepResult) -> Iterator[values.Fact]:
    for file in result.files:
        for line in file.lines:
            yield {"path": requests.shown(file.path), "line_number": line.number, "line": line.text}


def _blocks(result: values.GrepResult) -> Iterator[values.Fact]:
    for file in result.files:
        for lines in _neighbours(file.lines):
            yield {
                "path": requests.shown(file.path),
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


def render_list(result: values.ListResult, cap: values.Cap) -> values.Reply:
    """The reply for a listing."""
    del cap
    request = result.request
    skip = request.skip or 0
    entries: list[values.Fact] = [_entry(request.path, entry) for entry in result.entries]
    fields: Fields = {
        "path": requests.shown(request.path),
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
        with_notes(fields, result.warnings, notes), partial(native_facts.of_list, result, requests.to_call)
    )


def _entry(folder: str, entry: values.ListEntry) -> Fields:
    return {
        "name": as_value(entry.path),
        "path": requests.shown_below(folder, entry.path),
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


# --- edit_file, write_file ---------------------------------------------------------------------


def render_edit(result: EditResult, cap: values.Cap) -> values.Reply:
    """The reply for an edit."""
    path = requests.named(result.path)
    names = f"--- {path} (before)\n+++ {path} (after)\n"
    diff, cut = _cut_diff(names + result.diff.text, bool(result.diff.left_out))
    fields = _edit_fields(result, diff, cut=cut)
    most = min(cap.size, requests.REPLY_BYTES)
    while json_replies.size(fields) > most and diff:
        # The size of escapes is known only now; the change itself is made and is reported anyway.
        diff, cut = diff[: len(diff) // 2], True
        fields = _edit_fields(result, diff + _CUT_DIFF, cut=cut)
    return json_replies.reply(fields, partial(native_facts.of_edit, result))


def _cut_diff(text: str, left_out: bool) -> tuple[str, bool]:
    if len(text) > DIFF_CHARS:
        return text[:DIFF_CHARS] + _CUT_DIFF, True
    return (text + _CUT_DIFF, True) if left_out else (text, False)


def _edit_fields(result: EditResult, diff: str, *, cut: bool) -> Fields:
    fields: Fields = {
        "path": requests.shown(result.path),
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


def render_write(result: WriteResult, cap: values.Cap) -> values.Reply:
    """The reply for a file that was written."""
    del cap
    fields: Fields = {
        "path": requests.shown(result.path),
        "size_bytes": result.size_bytes,
        "created": result.previous_hash is None,
        "content_hash": result.content_hash,
    }
    return json_replies.reply(with_notes(fields, result.warnings), partial(native_facts.of_write, result))
