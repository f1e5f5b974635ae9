"""How Everruns words a read: one object, its lines as `N|text`, and what is left out.

The content is cut between lines, and within a line only where that alone is too
long; what is shown, `truncated` and the next offset are those of what is really
there.  Below the lines stands the outline of the part that is not shown.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from functools import partial

from readroom.contracts import envelope, everruns_outline, native_facts
from readroom.contracts.everruns_calls import READ, read_call, to_call
from readroom.contracts.everruns_notes import notes_of
from readroom.contracts.everruns_paths import shown
from readroom.contracts.native_text import size_bytes
from readroom.formats.kinds import default_lines
from readroom.limits_everruns import EVERRUNS_CONTENT_BYTES
from readroom.model import (
    Cap,
    Fact,
    GrepFile,
    GrepLine,
    Kind,
    ListEntry,
    ReadRequest,
    ReadResult,
    Reply,
)
from readroom.outlines import Row
from readroom.shown import ShownPart

BINARY_NOTE = "Binary file — use a different tool or download to inspect."

_FRAME_BYTES = 640
"""Names and values of a reply's fields, with a continuation, beside paths and content."""

_PATHS = 2
"""How often a path stands in a reply."""

_ENTRY_BYTES = len('"is_directory":false,"size_bytes":18446744073709551615,"is_readonly":false,')


class _Measure:
    """What the rendering adds; kept beside it so that both change together."""

    def frame(self, path: str) -> int:
        return _FRAME_BYTES + _PATHS * envelope.size(shown(path))

    def numbered(self, number: int) -> int:
        return len(str(number)) + len("|\n")

    def heading(self, heading: tuple[int, str, int]) -> int:
        raise AssertionError(heading)  # documents are binary files here

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        raise AssertionError(part)

    def found_in(self, file: GrepFile) -> int:
        return envelope.size(shown(file.path)) + len('"path":,')

    def found(self, line: GrepLine) -> int:
        entry: dict[str, Fact] = {"line_number": line.number, "line": line.text}
        return envelope.size(entry) + len(",")

    def listed(self, entry: ListEntry) -> int:
        # Its path stands in it whole, with the folder's; the frame of a page holds that once.
        return 2 * envelope.size(shown(entry.path)) + _ENTRY_BYTES

    def outlined(self, row: Row) -> int:
        return everruns_outline.longest(row) + len("\n")


MEASURE = _Measure()


def render(result: ReadResult, cap: Cap, limit: int | None = None) -> Reply:
    """The reply for a read that was selected under `cap`; `limit` is what the call says."""
    if result.image is not None:
        fields: dict[str, Fact] = {**_about(result), "media_type": result.image.media_type}
        return envelope.reply(
            _in_order(result, fields), partial(envelope.result_facts, result, to_call), images=(result.image,)
        )
    if result.raw is not None:
        return _render_raw(result, result.raw, cap)
    fits = envelope.fitted(result, cap, lambda one: envelope.size(_fields(one, limit)))
    return replace(envelope.reply(_fields(fits, limit), partial(_facts, fits)), shown=fits)


def _facts(result: ReadResult) -> dict[str, Fact]:
    following = _following(result)
    found = envelope.result_facts(result, to_call)
    return {**found, "next": None if following is None else read_call(following).to_fact()}


def _about(result: ReadResult) -> dict[str, Fact]:
    kind = Kind.BINARY if result.kind is Kind.IMAGE else result.kind
    return {"path": shown(result.path), "content_type": kind.value, "read_mode": result.read_mode}


def _in_order(result: ReadResult, fields: dict[str, Fact]) -> dict[str, Fact]:
    """The fields with those that close every object."""
    notes = notes_of(result.warnings) + _about_ends(result) + _about_header(result)
    found: dict[str, Fact] = {**fields, "size_bytes": result.size_bytes, "content_hash": result.content_hash}
    return {**found, envelope.NOTES: list(notes)} if notes else found


def _about_ends(result: ReadResult) -> list[str]:
    unusual = result.ends.unusual
    return [f"The file has {' and '.join(unusual)}."] if unusual else []


def _about_header(result: ReadResult) -> list[str]:
    cut = None if result.header is None else result.cuts.get(1)
    if cut is None or cut.last == cut.total:
        return []
    return [
        f"Line 1 is cut after {cut.last} of {cut.total} characters; {READ} with offset=0 shows more of it."
    ]


# --- text --------------------------------------------------------------------------------------


def _fields(result: ReadResult, limit: int | None) -> dict[str, Fact]:
    about, content = _about(result), _content(result)
    following = _following(result)
    cut = following is not None
    start = result.start if result.lines else 0
    fields: dict[str, Fact] = {
        "path": about["path"],
        "content": content,
        "total_lines": result.total_lines,
        "lines_shown": {"start": start, "end": result.end},
        "truncated": cut,
        "content_type": about["content_type"],
        "read_mode": about["read_mode"],
    }
    return {**_in_order(result, fields), "truncation": _truncation(result, content, following, limit)}


def _content(result: ReadResult) -> str:
    rows = [f"{number}|{line}" for number, line in enumerate(result.lines, result.start)]
    if result.header is not None:
        rows.insert(0, f"1|{result.header}")
    text = "\n".join(rows)
    return text if result.outline is None else text + everruns_outline.text(result, result.outline)


def _following(result: ReadResult) -> ReadRequest | None:
    """The read that goes on: with the rest of a line, with the next line, or before a tail with the first."""
    plain = ReadRequest(result.path)
    cut = result.cuts.get(result.end) if result.lines else None
    if cut is not None and cut.last < cut.total:
        return replace(plain, offset=result.end, column=cut.last + 1)
    if result.next is not None and result.next.column > 1:
        return result.next
    if result.next is not None:
        return replace(plain, offset=result.next.offset)
    # The rest of one line was asked for; the file may go on.
    if cut is not None and result.total_lines is not None and result.end < result.total_lines:
        return replace(plain, offset=result.end + 1)
    above = result.read_mode == "tail" and result.lines and result.start != 1
    # A budget that runs low leaves the outline, or nothing.
    withheld = not result.lines and (result.outline is not None or result.omitted)
    return replace(plain, offset=1) if above or withheld else None


def _truncation(
    result: ReadResult, content: str, following: ReadRequest | None, limit: int | None
) -> dict[str, Fact]:
    size = size_bytes(content)
    if following is None:
        return _complete(size)
    found: dict[str, Fact] = {
        "truncated": True,
        "reason": _reason(result, following, limit),
        "bytes_returned": size,
        "bytes_total": result.size_bytes,
    }
    offset = (following.offset or 1) - 1
    if following.column > 1:
        where = f"offset={offset} and column={following.column - 1}"
        hint = f"call {READ} with {where} to resume inside line {offset + 1}"
    else:
        hint = f"call {READ} with offset={offset} to resume from line {offset + 1}"
    found.update(next_offset=offset, resume_hint=hint)
    if following.column > 1:
        found["next_column"] = following.column - 1
    if result.read_mode == "tail" and result.start > 1:
        found["not_shown"] = {"start": 1, "end": result.start - 1}
    return found


def _complete(size: int) -> dict[str, Fact]:
    """Of a reply to which nothing is missing: all of it has been returned."""
    return {"truncated": False, "reason": "size_cap", "bytes_returned": size, "bytes_total": size}


def _reason(result: ReadResult, following: ReadRequest, limit: int | None) -> str:
    if following.column > 1:
        return "size_cap"
    if not result.lines or any(item.reason == "timeout" for item in result.omitted):
        return "exec_budget"
    by_size = any(item.what == "lines" and item.reason == "reply_cap" for item in result.omitted)
    # A tail has fewer lines than it may have, and there are more, when they did not fit.
    short = result.read_mode == "tail" and len(result.lines) < (limit or default_lines(result.kind))
    return "size_cap" if by_size or short else "line_cap"


# --- bytes -------------------------------------------------------------------------------------


def _render_raw(result: ReadResult, raw: bytes, cap: Cap) -> Reply:
    fields = _raw_fields(result, raw)
    over = envelope.size(fields) - cap.size
    if over > 0:
        raw = raw[: max(0, len(raw) - over)]
        fields = _raw_fields(result, raw)
    cut = len(raw) < result.size_bytes
    return envelope.reply(fields, partial(_raw_facts, result, cut=cut))


def _raw_facts(result: ReadResult, *, cut: bool) -> dict[str, Fact]:
    return {**native_facts.of_read(result), "truncated": cut}


def _raw_fields(result: ReadResult, raw: bytes) -> dict[str, Fact]:
    content = b64encode(raw).decode("ascii")
    cut = len(raw) < result.size_bytes
    fields: dict[str, Fact] = {
        "path": shown(result.path),
        "content": content,
        "encoding": "base64",
        "truncated": cut,
        "content_type": Kind.BINARY.value,
        "read_mode": result.read_mode,
        "note": BINARY_NOTE,
    }
    truncation = _complete(len(content))
    if cut:
        truncation |= {"truncated": True, "bytes_total": result.size_bytes}
    return {**_in_order(result, fields), "truncation": truncation}


RAW_BYTES = EVERRUNS_CONTENT_BYTES // 4 * 3
"""Bytes whose base64 is as long as a content may be."""
