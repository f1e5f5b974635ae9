"""Replies of Everruns to reads: one JSON object, with lines as `N|text`.

Content is cut between lines, and inside a line only if the line alone is too long. `truncated` and the next
offset follow from the shown lines. An outline of the lines that are not shown follows the content.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial

from msgspec.structs import replace

from readroom.contracts.everruns import requests
from readroom.contracts.everruns import words as everruns_words
from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.words import notes_of
from readroom.core import values
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.formats.kinds import default_lines
from readroom.core.text.select import byte_size

BINARY_NOTE = "Binary file — use a different tool or download to inspect."


def render(
    names: Names, result: values.ReadResult, cap: values.Cap, limit: int | None = None
) -> values.Reply:
    """The reply for a read that was selected under `cap`; `limit` is that of the call."""
    if result.image is not None:
        fields: dict[str, values.Fact] = {**_about(names, result), "media_type": result.image.media_type}
        return json_replies.reply(
            _in_order(result, fields),
            partial(native_facts.of_read, result, requests.calls(names)),
            images=(result.image,),
        )
    if result.raw is not None:
        return _render_raw(names, result, result.raw, cap)
    return json_replies.window(result, cap, partial(_fields, names, limit=limit), partial(_facts, names))


def _facts(names: Names, result: values.ReadResult) -> dict[str, values.Fact]:
    following = _following(result)
    facts = native_facts.of_read(result, requests.calls(names))
    return {**facts, "next": None if following is None else requests.read_call(names, following).to_fact()}


def _about(names: Names, result: values.ReadResult) -> dict[str, values.Fact]:
    kind = values.Kind.BINARY if result.kind is values.Kind.IMAGE else result.kind
    return {"path": names.shown(result.path), "content_type": kind.value, "read_mode": result.read_mode}


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


def _fields(names: Names, result: values.ReadResult, limit: int | None) -> dict[str, values.Fact]:
    about, content = _about(names, result), _content(result)
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


def _render_raw(names: Names, result: values.ReadResult, raw: bytes, cap: values.Cap) -> values.Reply:
    fields = _raw_fields(names, result, raw)
    over = json_replies.size(fields) - cap.size
    if over > 0:
        raw = raw[: max(0, len(raw) - over)]
        fields = _raw_fields(names, result, raw)
    cut = len(raw) < result.size_bytes
    return json_replies.reply(fields, lambda: {**native_facts.of_read(result), "truncated": cut})


def _raw_fields(names: Names, result: values.ReadResult, raw: bytes) -> dict[str, values.Fact]:
    content = b64encode(raw).decode("ascii")
    cut = len(raw) < result.size_bytes
    fields: dict[str, values.Fact] = {
        "path": names.shown(result.path),
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
