"""How the native contract words results: a header line, the content, one closing line.

The model reads one plain text part.  Lines are `N<TAB>text`, the cheapest
numbering measured (1.15 tokens per token of raw text, `cat -n` 1.39).  Where
something is missing, the first and the last line say so: clients that shorten a
reply keep its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from readroom.contracts import native_facts, native_outline
from readroom.contracts.base import reply_tokens
from readroom.contracts.native_calls import shown
from readroom.contracts.native_entries import entry_line, usual_day
from readroom.contracts.native_parts import heading_bytes, part_bytes
from readroom.errors import ReadroomError
from readroom.limits import CLOSING_BYTES
from readroom.model import (
    Cap,
    Fact,
    GrepFile,
    GrepLine,
    GrepResult,
    Image,
    ListEntry,
    ListResult,
    Omission,
    ReadRequest,
    ReadResult,
    Reply,
    Warn,
)
from readroom.outlines import Row
from readroom.quoting import quote, shortened
from readroom.shown import ShownPart

HASH_DIGITS = 12
"""Hex digits of a hash in the text: 7 tokens instead of 36, and 48 bits tell versions of one file apart."""

_LISTED_CUTS, _LISTED_WARNINGS = 5, 3
"""Cut lines and warnings that the closing line names; the facts hold all."""

_MORE = "More in the facts of this reply."

_HEADER_SHARE = 8
"""A path takes at most this part of a reply's first line; longer ones are shortened in the middle."""


class _NativeMeasure:
    """What the rendering below adds; kept beside it so that both change together."""

    def frame(self, path: str) -> int:
        # The path stands in the header and in two calls of the closing line.
        return CLOSING_BYTES + 3 * len(quote(path).encode("utf-8", "replace"))

    def numbered(self, number: int) -> int:
        return len(str(number)) + 2

    def heading(self, heading: tuple[int, str, int]) -> int:
        return heading_bytes(heading)

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        return part_bytes(part, unit, total)

    def found_in(self, file: GrepFile) -> int:
        return len(_file_line(file).encode()) + 1

    def found(self, line: GrepLine) -> int:
        return len(_found_line(line).encode()) + 1 + native_outline.symbol_bytes(line)

    def listed(self, entry: ListEntry) -> int:
        return len(entry_line(entry).encode()) + 1

    def outlined(self, row: Row) -> int:
        return len(native_outline.row_line(row).encode()) + 1


MEASURE = _NativeMeasure()


def render(result: ReadResult | GrepResult | ListResult, cap: Cap) -> Reply:
    """The reply for a result that was selected under `cap`."""
    if isinstance(result, ReadResult):
        images = (result.image,) if result.image else ()
        return reply(_read_text(result, cap), partial(native_facts.of_read, result), images)
    if isinstance(result, GrepResult):
        return reply(_grep_text(result, cap), partial(native_facts.of_grep, result))
    return reply(_list_text(result, cap), partial(native_facts.of_list, result))


def render_error(error: ReadroomError, cap: Cap) -> Reply:
    """What happened, what to do, and the call that works."""
    text = str(error)
    if error.next is not None:
        text += f" Next: {shown(error.next)}"
    if error.detail:
        text += "\n" + _cut(error.detail.rstrip("\n"), max(0, cap.size - size_bytes(text) - 1))
    return replace(reply(_fit(text, cap), partial(native_facts.of_error, error)), is_error=True)


def reply(text: str, facts: Callable[[], dict[str, Fact]], images: Sequence[Image] = ()) -> Reply:
    """A reply whose facts are built when they are asked for."""

    def build() -> dict[str, Fact]:
        from readroom.text.tokens import estimate  # 3 ms, and a person's terminal needs no facts

        return {**facts(), "tokens": reply_tokens(found, estimate), "counter": "estimate", "budget": []}

    found = Reply(text, build, images)
    return found


def _fit(text: str, cap: Cap) -> str:
    """The text within the cap; only names and patterns of thousands of characters ever reach it."""
    return _cut(text, cap.size)


def _cut(text: str, room: int) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return data.decode() if not text.isascii() else text
    return data[: room - len("…".encode())].decode("utf-8", "ignore") + "…"


def body_within(body: str, cap: Cap) -> str:
    """A body cut so that the shortest closing line still fits."""
    return _cut(body, _body_room(cap))


def _body_room(cap: Cap) -> int:
    """What a body may take at most, so that the shortest closing line still fits."""
    return cap.size - len(f"[{_MORE}]") - 1


def closing(parts: Sequence[str], room: int) -> str:
    """One bracketed line of sentences; what does not fit is said to be in the facts.

    The last sentence, which names the next call, is the last to be left out.
    """
    whole = f"[{' '.join(parts)}]"
    if size_bytes(whole) <= room:
        return whole
    left = room - len(f"[{_MORE}]")
    kept: set[int] = set()
    for at in (len(parts) - 1, *range(len(parts) - 1)):
        cost = size_bytes(parts[at]) + 1
        if cost <= left:
            kept.add(at)
            left -= cost
    before = [part for at, part in enumerate(parts[:-1]) if at in kept]
    after = [parts[-1]] if len(parts) - 1 in kept else []
    return f"[{' '.join([*before, _MORE, *after])}]"


# --- read_file ---------------------------------------------------------------------------------


def _read_text(result: ReadResult, cap: Cap) -> str:
    header = _read_header(result, cap)
    if result.not_modified:
        return _fit(f"{header}\n[not modified: the file still has the known hash; nothing is shown]", cap)
    if result.image is not None:
        image = result.image
        size = f"{image.original_width}x{image.original_height}"
        if (image.width, image.height) != (image.original_width, image.original_height):
            size += f", shown at {image.width}x{image.height}"
        return _fit(f"{header}\n[image {image.media_type}, {size}]", cap)
    body = _numbered(result) + native_outline.outline_lines(result)
    parts = [*_omissions(result), *native_outline.outline_parts(result), *warning_parts(result.warnings)]
    if result.next is not None:
        parts.append(f"Next: {shown(result.next)}")
    room = cap.size - size_bytes(header) - 1 - size_bytes(body)
    return f"{header}{body}\n{closing(parts or [native_outline.end_of(result)], room)}"


def size_bytes(body: str) -> int:
    """Its size in UTF-8."""
    return len(body) if body.isascii() else len(body.encode("utf-8"))


def short(path: str, cap: Cap) -> str:
    """The path as shown; of a very long one its beginning and its end."""
    return shortened(path, cap.size // _HEADER_SHARE)


def _read_header(result: ReadResult, cap: Cap) -> str:
    known = result.content_hash
    digest = "hash unknown" if known is None else known[: len("sha256:") + HASH_DIGITS]
    parts = [short(result.path, cap)]
    if result.image is None and not result.not_modified:
        parts.append(_span(result))
    parts.append(digest)
    if result.packed is not None:
        parts.append(f"{result.packed.compression}, {result.packed.expanded_bytes:,} bytes expanded")
    if result.encoding != "utf-8" or result.bom:
        parts.append(result.encoding + (" with BOM" if result.bom else ""))
    if result.ends.form == "crlf":
        parts.append("CRLF")
    parts += result.ends.unusual
    return " | ".join(parts)


def _span(result: ReadResult) -> str:
    if result.outline is not None and not result.lines:
        return native_outline.outline_span(result, result.outline)
    if result.start < 0 and result.lines:
        return f"lines {result.start} to {result.end}, from the end of uncounted lines{_missing(result)}"
    total = "an unknown number" if result.total_lines is None else result.total_lines
    if not result.lines:
        return "empty" if not total else f"no lines of {total}"
    cut = result.cuts.get(result.start)
    if cut is not None and cut.first > 1:
        more = " (more)" if cut.last < cut.total else ""
        return f"line {result.start} of {total}, characters {cut.first}-{cut.last} of {cut.total}{more}"
    return f"lines {result.start}-{result.end} of {total}{_missing(result)}"


def _missing(result: ReadResult) -> str:
    """Which sides of the window are not shown, for the first line of the reply."""
    sides = []
    if result.read_mode == "tail" and result.start not in (0, 1):
        sides.append("more above")
    if (result.total_lines is None or result.end < result.total_lines) and result.next is not None:
        sides.append("more below")
    if result.cuts:
        sides.append("long lines cut")
    return f" ({', '.join(sides)})" if sides else ""


def _numbered(result: ReadResult) -> str:
    lines = list(result.lines)
    prefixes = _prefixes(result.start, len(lines))
    first = result.start
    if result.header is not None:
        lines.insert(0, result.header)
        prefixes.insert(0, _FIRST_PREFIXES[1])
        first -= 1
    for number, cut in result.cuts.items():
        if cut.last < cut.total:
            # Line 1 among the cuts of a later window is the header above it.
            lines[max(number - first, 0)] += f" [+{cut.total - cut.last} chars]"
    # Interleaving slices and joining once is 2.3x faster than formatting line by line.
    pieces = [""] * (2 * len(lines))
    pieces[0::2] = prefixes
    pieces[1::2] = lines
    return "".join(pieces)


_FIRST_PREFIXES = [f"\n{number}\t" for number in range(4096)]
"""Most files are shorter than this: a slice instead of formatting, half the cost of rendering."""


def _prefixes(start: int, count: int) -> list[str]:
    if start >= 0 and start + count <= len(_FIRST_PREFIXES):
        return _FIRST_PREFIXES[start : start + count]
    return [f"\n{number}\t" for number in range(start, start + count)]


def _omissions(result: ReadResult) -> list[str]:
    parts = []
    # Where the reply goes on with the rest of a line, the next call says so already.
    cuts = [item for item in result.omitted if item.what == "columns" and item.request != result.next]
    lines = [item for item in result.omitted if item.what == "lines"]
    for item in result.omitted:
        if item.what == "bytes":
            amount = f"{item.last - item.first + 1:,} bytes"
            parts.append(f"{amount} {'above' if item.first == 1 else 'below'} not counted yet: {_call(item)}")
    if above := [item for item in lines if item.last < result.start]:
        nearest = max(above, key=lambda item: item.last)
        parts.append(f"{_left_out(above, 'above')} Before: {_call(nearest)}")
    if below := [item for item in lines if item.first > result.end]:
        parts.append(_left_out(below, "below"))
    if cuts:
        first = cuts[0]
        parts.append(f"Line {first.line} cut, {first.last - first.first + 1} characters more: {_call(first)}")
        others = [str(item.line) for item in cuts[1 : 1 + _LISTED_CUTS]]
        if others:
            more = "…" if len(cuts) > 1 + _LISTED_CUTS else ""
            parts.append(f"Also cut: lines {', '.join(others)}{more}.")
    return parts


def _left_out(items: Sequence[Omission], where: str) -> str:
    count = sum(item.last - item.first + 1 for item in items)
    return f"{count} line{'s' if count > 1 else ''} {where} not shown ({items[0].reason})."


def _call(item: Omission) -> str:
    return shown(item.request) if item.request is not None else "not reachable"


def warning_parts(warnings: Sequence[Warn]) -> list[str]:
    """Sentences for the closing line."""
    parts = []
    for item in warnings[:_LISTED_WARNINGS]:
        where = f" at {item.line}:{item.column}" if item.line is not None else ""
        parts.append(f"Warning: {item.code.replace('_', ' ')}{where} ({item.detail}).")
    if len(warnings) > _LISTED_WARNINGS:
        parts.append(f"{len(warnings) - _LISTED_WARNINGS} more warnings.")
    return parts


# --- grep_files --------------------------------------------------------------------------------


def _grep_text(result: GrepResult, cap: Cap) -> str:
    rows: list[str] = [_grep_header(result)]
    for file in result.files:
        rows.append(
            _file_line(file) if result.request.output != "count" else f"{file.matches}\t{quote(file.path)}"
        )
        rows.extend(native_outline.with_symbols(file.lines, _found_line))
    parts = _coverage(result) + warning_parts(result.warnings)
    parts += _beside(result) + _in_documents(result)
    if cuts := [item for item in result.omitted if item.what == "columns"]:
        parts.append(f"Long lines are shown around their match (…); for the rest: {_call(cuts[0])}")
    if result.next is not None:
        parts.append(f"Next: {shown(result.next)}")
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(parts or ['end of matches'], cap.size - size_bytes(body) - 1)}"


def _grep_header(result: GrepResult) -> str:
    unit = "match" if result.request.output == "content" else "file"
    count = f"{result.shown} {unit}{'' if result.shown == 1 else 'es' if unit == 'match' else 's'}"
    if unit == "match":
        count += f" in {len(result.files)} file{'' if len(result.files) == 1 else 's'}"
    if result.reason == "unfinished":
        return f"{count} (not all files were searched to their end)"
    more = f" (more: {result.reason})" if not result.complete and result.reason else ""
    return f"{count}{more}"


def _coverage(result: GrepResult) -> list[str]:
    if result.complete or result.reason != "timeout":
        return []
    searched = "part of the tree" if result.searched_files is None else f"{result.searched_files} files"
    total = "" if result.total_files is None else f" of {result.total_files}"
    return [f"Time limit: {searched}{total} searched."]


_BESIDE = {"timeout": "To search just that:", "compressed": "To search them too:"}
"""What stands before the first call for files that were left, by why they were."""


def _beside(result: GrepResult) -> list[str]:
    """How files are searched that were left out, or left before their end."""
    calls: dict[str, str] = {}
    for item in result.omitted:
        if item.reason in _BESIDE and item.request is not None:
            calls.setdefault(item.reason, f"{_BESIDE[item.reason]} {shown(item.request)}")
    return list(calls.values())


def _in_documents(result: GrepResult) -> list[str]:
    """How a place in a document is read."""
    for file in result.files:
        for line in file.lines:
            if line.part is not None:
                call = shown(ReadRequest(file.path, pages=str(line.part), offset=line.number))
                return [f"p{line.part}:{line.number} is part {line.part}, line {line.number}: {call}"]
    return []


def _file_line(file: GrepFile) -> str:
    return quote(file.path)


def _found_line(line: GrepLine) -> str:
    before = "…" if line.column > 1 else ""
    after = "…" if line.chars is None or line.column - 1 + len(line.text) < line.chars else ""
    mark = "" if line.is_match else "-"
    where = "" if line.part is None else f"p{line.part}:"
    return f"{where}{line.number}{mark}\t{before}{line.text}{after}"


# --- list_directory ----------------------------------------------------------------------------


def _list_text(result: ListResult, cap: Cap) -> str:
    usual = usual_day(result.entries)
    rows = [_list_header(result, usual, cap), *(entry_line(entry, usual) for entry in result.entries)]
    parts = []
    if result.ignored:
        parts.append(f"{result.ignored} ignored.")
    if result.denied:
        parts.append(f"{result.denied} denied by policy.")
    if not result.total_known:
        parts.append("Time limit: not everything below was seen.")
    parts += warning_parts(result.warnings)
    if result.next is not None:
        parts.append(f"Next: {shown(result.next)}")
    elif result.omitted:
        parts.append(f"Instead: {_call(result.omitted[0])}")
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(parts or ['end of list'], cap.size - size_bytes(body) - 1)}"


def _list_header(result: ListResult, usual: str | None, cap: Cap) -> str:
    path = short(result.request.path, cap)
    total = f"{result.total}{'' if result.total_known else '+'}"
    if not result.entries:
        none = "no entry matches the glob" if result.request.glob else "no entries"
        return f"{path} | {f'no entries of {total}' if result.total else none}"
    last = result.first + len(result.entries) - 1
    more = " (more below)" if result.next is not None else ""
    dates = f" | files modified {usual} unless dated" if usual is not None else ""
    return f"{path} | entries {result.first}-{last} of {total}{more}{dates}"
