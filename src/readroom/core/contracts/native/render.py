"""Native replies: a header line, the content, and a closing line.

The model reads one plain text part. Lines are `N<TAB>text`, the cheapest numbering that was measured (1.15
tokens for each token of raw text, `cat -n` 1.39). If something is missing, the first and the last line say
so: clients that shorten a reply keep its ends.

An entry of a listing is `bytes<TAB>name`, with a date if it is unusual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import final

from msgspec.structs import replace

from readroom.core import values
from readroom.core.contracts.base import reply_tokens
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import outline as native_outline
from readroom.core.contracts.native.calls import (
    MORE,
    Aside,
    closing,
    ending,
    in_words,
    spelled_call,
    to_call,
    uncut,
)
from readroom.core.contracts.native.facts import OwnCall, timestamp
from readroom.core.errors import ReadroomError
from readroom.core.limits import CLOSING_BYTES
from readroom.core.quoting import quote, shortened
from readroom.core.text.client_tags import CODE as CLIENT_TAG
from readroom.core.text.select import byte_size

HASH_DIGITS = 12
"""Hex digits of a hash in the text: 7 tokens instead of 36, and 48 bits tell versions of one file apart."""

LISTED_CUTS, _LISTED_WARNINGS = 5, 3
"""Cut lines and warnings that the closing line names; the facts hold all."""

_HEADER_SHARE = 8
"""A path takes at most this part of a reply's first line; longer ones are shortened in the middle."""


def frame_bytes(path: str) -> int:
    """The maximum bytes of header and closing line, which has the path in up to two calls."""
    return CLOSING_BYTES + 3 * len(quote(path).encode("utf-8", "replace"))


def number_bytes(number: int) -> int:
    """The number before a line, and the line feed."""
    return len(str(number)) + 2


def render_read(result: values.ReadResult, cap: values.Cap) -> values.Reply:
    """The reply for a read that was selected under `cap`, of anything but a document."""
    images = (result.image,) if result.image else ()
    return reply(_read_text(result, cap), partial(native_facts.of_read, result), images)


def render_error(error: ReadroomError, cap: values.Cap, own_call: OwnCall = to_call) -> values.Reply:
    """What happened, what to do, and the call that works; `own_call` is how a contract says a request."""
    text = str(error)
    call = None if error.next is None else own_call(error.next)
    if call is not None:
        text += f" Next: {spelled_call(call)}"
    if error.detail:
        text += "\n" + _cut(error.detail.rstrip("\n"), max(0, cap.size - byte_size(text) - 1))
    facts = partial(native_facts.of_error, error, own_call)
    return replace(reply(_cut(text, cap.size), facts), is_error=True)


def reply(
    text: str, facts: Callable[[], dict[str, values.Fact]], images: Sequence[values.Image] = ()
) -> values.Reply:
    """A reply whose facts are built when they are asked for."""
    return values.Reply(text, facts, images, build_cost=_Estimate(text, images))


def told(reply: values.Reply, words: str) -> values.Reply:
    """The reply with a bracketed sentence in its closing line: clients that shorten a reply keep its ends."""
    last = reply.text.rpartition("\n")[2]
    between = " " if last.startswith("[") and last.endswith("]") else "\n"
    return replace(reply, text=f"{reply.text}{between}[{words}]")


def without_images(whole: values.Reply) -> values.Reply:
    """The reply without its images and files, which then cost nothing."""
    return replace(whole, images=(), attached=(), build_cost=_Estimate(whole.text, ()))


@final
class _Estimate:
    """The tokens of a reply that nothing has counted, estimated once."""

    __slots__ = ("_images", "_text", "_tokens")

    def __init__(self, text: str, images: Sequence[values.Image]) -> None:
        self._text = text
        self._images = images
        self._tokens: int | None = None

    def __call__(self) -> dict[str, values.Fact]:
        if self._tokens is None:
            from readroom.core.text.tokens import estimate  # 3 ms, and a person's terminal needs no facts

            self._tokens = reply_tokens(self._text, self._images, estimate)
        return {"tokens": self._tokens, "counter": "estimate", "budget": []}


def _cut(text: str, room: int) -> str:
    """The text within `room` bytes; only names and patterns of thousands of characters reach a whole cap."""
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return data.decode() if not text.isascii() else text
    return data[: room - len("…".encode())].decode("utf-8", "ignore") + "…"


def body_within(body: str, cap: values.Cap) -> str:
    """A body cut so that the shortest closing line still fits."""
    return _cut(body, cap.size - len(f"[{MORE}]") - 1)


# --- read_file ---------------------------------------------------------------------------------


def _read_text(result: values.ReadResult, cap: values.Cap) -> str:
    header = _read_header(result, cap)
    if result.not_modified:
        unchanged = "[not modified: the file still has the known hash; nothing is shown]"
        return _cut(f"{header}\n{unchanged}", cap.size)
    if result.image is not None:
        image = result.image
        size = f"{image.original_width}x{image.original_height}"
        if (image.width, image.height) != (image.original_width, image.original_height):
            size += f", shown at {image.width}x{image.height}"
            corner = values.ReadRequest(result.path, pages="0,0,50,50")
            size += f"; {in_words(corner, result.path)} shows a region, in percent"
        return _cut(f"{header}\n[image {image.media_type}, {size}]", cap.size)
    body = _numbered(result)
    asides = _omissions(result) if result.omitted else []
    if result.uncut:
        asides.insert(0, uncut(result.uncut))
    if result.outline is not None:
        body += native_outline.outline_lines(result)
        asides += native_outline.outline_parts(result)
    if result.warnings:
        asides += warning_parts(result.warnings)
    room = cap.size - byte_size(header) - 1 - byte_size(body)
    plain = result.outline is None and result.symbol is None and not result.numbers
    plain = plain and result.read_mode != "tail"
    if not asides and result.next is None and plain and room >= len(_END_OF_FILE):
        return f"{header}{body}\n{_END_OF_FILE}"
    parts = ending(asides, result.next, result.path) or [native_outline.end_of(result)]
    return f"{header}{body}\n{closing(parts, room)}"


_END_OF_FILE = "[end of file]"
"""The end of a reply that leaves nothing out."""


def short(path: str, cap: values.Cap) -> str:
    """The path as shown; of a very long one its beginning and its end."""
    return shortened(path, cap.size // _HEADER_SHARE)


def _read_header(result: values.ReadResult, cap: values.Cap) -> str:
    known = result.content_hash
    digest = "hash unknown" if known is None else known[: len("sha256:") + HASH_DIGITS]
    parts = [shortened(result.path, cap.size // _HEADER_SHARE)]
    if result.image is None and not result.not_modified:
        parts.append(_span(result))
    parts.append(digest)
    if result.packed is not None:
        parts.append(f"{result.packed.compression}, {result.packed.expanded_bytes:,} bytes expanded")
    if result.encoding != "utf-8" or result.bom:
        parts.append(result.encoding + (" with BOM" if result.bom else ""))
    if result.ends.crlf or not result.ends.final:
        if result.ends.form == "crlf":
            parts.append("CRLF")
        parts += result.ends.unusual
    return " | ".join(parts)


def _span(result: values.ReadResult) -> str:
    if result.outline is not None and not result.lines:
        return native_outline.outline_span(result, result.outline)
    if result.start < 0 and result.lines:
        return f"lines {result.start} to {result.end}, counted from the end{_missing(result)}"
    total = "an unknown number" if result.total_lines is None else result.total_lines
    if not result.lines:
        return "empty" if not total else f"no lines of {total}"
    if result.numbers:
        return _span_of_rests(result, total)
    missing = _missing(result) if result.omitted or result.cuts or result.read_mode == "tail" else ""
    return f"lines {result.start}-{result.end} of {total}{missing}"


def _span_of_rests(result: values.ReadResult, total: int | str) -> str:
    """What the header says of a reply that shows rests of cut lines."""
    more = " (more)" if result.next is not None and result.next.column > 1 else ""
    if len(result.numbers) > 1:
        which = f"lines {result.start}-{result.end} of {total}"
        return f"{which}, the rest of {len(result.numbers)} long lines{more}"
    cut = result.cuts[result.start]
    return f"line {result.start} of {total}, characters {cut.first}-{cut.last} of {cut.total}{more}"


def _missing(result: values.ReadResult) -> str:
    """Which sides of the window are not shown, for the first line of the reply."""
    sides = []
    if result.read_mode == "tail" and result.start not in (0, 1):
        sides.append("more above")
    if any(item.what in ("lines", "bytes") and _is_below(item, result) for item in result.omitted):
        sides.append("more below")
    if result.cuts:
        sides.append("long lines cut")
    return f" ({', '.join(sides)})" if sides else ""


def rest_rows(numbers: Sequence[int], lines: Sequence[str], cuts: Mapping[int, values.Cut]) -> list[str]:
    """Rests of cut lines, each after its number and the column where it continues."""
    return [
        f"{number}:{cuts[number].first}\t{line}{cut_mark(cuts.get(number))}"
        for number, line in zip(numbers, lines, strict=True)
    ]


def cut_mark(cut: values.Cut | None) -> str:
    """The mark after a line that is not shown whole."""
    return "" if cut is None or cut.last >= cut.total else f" [+{cut.total - cut.last} chars]"


def _numbered(result: values.ReadResult) -> str:
    if result.numbers:
        return "".join(f"\n{row}" for row in rest_rows(result.numbers, result.lines, result.cuts))
    lines = list(result.lines)
    first, end = result.start, result.start + len(lines)
    prefixes = _prefixes(first, end)
    if result.header is not None:
        lines.insert(0, result.header)
        prefixes.insert(0, "\n1\t")
        first -= 1
    for number, cut in result.cuts.items():
        # Line 1 among the cuts of a later window is the header above it.
        lines[max(number - first, 0)] += cut_mark(cut)
    # Interleaving slices and joining once is 2.3x faster than formatting line by line.
    pieces = [""] * (2 * len(lines))
    pieces[0::2] = prefixes
    pieces[1::2] = lines
    return "".join(pieces)


_KEPT_PREFIXES = 4096
"""Most files are shorter than this: a slice instead of formatting, half the cost of rendering."""


@cache
def _first_prefixes(count: int) -> list[str]:
    """The numbers before the first lines; lists of a few lengths are cached."""
    return [f"\n{number}\t" for number in range(count)]


def _prefixes(first: int, end: int) -> list[str]:
    """The number prefixes of the lines from `first` up to, and without, `end`."""
    if first < 0 or end > _KEPT_PREFIXES:
        return [f"\n{number}\t" for number in range(first, end)]
    return _first_prefixes(1 << max(end - 1, _FEW).bit_length())[first:end]


_FEW = 511


def _omissions(result: values.ReadResult) -> list[str | Aside]:
    """The note on what is left out."""
    parts: list[str | Aside] = []
    lines = [item for item in result.omitted if item.what == "lines"]
    for item in result.omitted:
        if item.what == "bytes":
            where = "below" if _is_below(item, result) else "above"
            text = f"{item.last - item.first + 1:,} bytes {where} not counted yet"
            parts.append(Aside(text, item.request))
    if above := [item for item in lines if not _is_below(item, result)]:
        nearest = max(above, key=lambda item: item.last)
        text = _left_out(above, "above")
        parts.append(text if result.next is not None else Aside(f"{text} Before", nearest.request))
    if below := [item for item in lines if _is_below(item, result)]:
        parts.append(_left_out(below, "below"))
    return parts + _cut_lines(result)


def _is_below(item: values.Omission, result: values.ReadResult) -> bool:
    """Whether what is left out comes after what is shown; bytes can also be left out before a shown end."""
    return item.first > 1 if item.what == "bytes" else item.first > result.end


def _cut_lines(result: values.ReadResult) -> list[str | Aside]:
    """Notes on shown lines whose ends are not."""
    cuts = [item for item in result.omitted if item.what == "columns"]
    own = [item for item in cuts if not result.numbers and (item.line or 0) >= result.start]
    parts: list[str | Aside] = [
        Aside(f"Header line cut, {_columns(item)}", item.request)
        for item in cuts
        if result.header is not None and item.line == 1
    ]
    if not own:
        return parts
    if result.next is None or result.next.column == 1:
        return [*parts, Aside(f"{len(own)} cut, {_columns(own[0])} in line {own[0].line}", own[0].request)]
    listed = ", ".join(str(item.line) for item in own[:LISTED_CUTS])
    more = ", …" if len(own) > LISTED_CUTS else ""
    which = f"Line {listed} is" if len(own) == 1 else f"{len(own)} lines are"
    which += " cut" if len(own) == 1 else f" cut ({listed}{more})"
    skip = _skipping(result)
    skip = f"; {skip} skips it" if skip else ""
    return [*parts, f"{which}: the next call shows the rest{skip}."]


def _skipping(result: values.ReadResult) -> str:
    """The call that continues without the cut ends of lines; empty at the end."""
    lines = [item for item in result.omitted if item.what == "lines"]
    if result.read_mode == "tail":
        nearest = max(lines, default=None, key=lambda item: item.last)
        return "" if nearest is None else f"offset={nearest.last} limit=-{nearest.last - nearest.first + 1}"
    rest = next((item for item in lines if _is_below(item, result)), None)
    return "" if rest is None else f"offset={rest.first}"


def _columns(item: values.Omission) -> str:
    return f"{item.last - item.first + 1} more characters"


def _left_out(items: Sequence[values.Omission], where: str) -> str:
    count = sum(item.last - item.first + 1 for item in items)
    return f"{count} line{'s' if count > 1 else ''} {where} not shown ({items[0].reason})."


def warning_parts(warnings: Sequence[values.Warn]) -> list[str]:
    """Sentences for the closing line."""
    parts = []
    # A tag that the client obeys is told in any case.
    for item in sorted(warnings, key=lambda warn: warn.code != CLIENT_TAG)[:_LISTED_WARNINGS]:
        if item.code == "left_out":  # its detail lists files
            parts.append(f"Not searched: {item.detail}.")
            continue
        if item.code == "folders":
            parts.append(f"Other folders of this workspace: {item.detail}.")
            continue
        where = "" if item.line is None else f" at line {item.line}"
        if item.column is not None:
            where = f" at {item.line}:{item.column}"
        parts.append(f"Warning: {item.code.replace('_', ' ')}{where} ({item.detail}).")
    if (more := len(warnings) - _LISTED_WARNINGS) > 0:
        parts.append(f"{more} more warning{'s' if more > 1 else ''}.")
    return parts


# -----------------------------------------------------------------------------
# A name of a listing as a line: `bytes<TAB>name`, dated where its date is not the usual one of the page.
# -----------------------------------------------------------------------------

_DAY_NS = 86_400_000_000_000

_NO_DAY = "?"

_SHARED_DAYS = 3
"""Number of files of one date from which the date is shorter in the header than next to each file."""


def usual_day(entries: Sequence[values.ListEntry]) -> str | None:
    """The date that most files of a page share, when saying it once is shorter than saying it each time.

    A date costs 7 tokens, a file without one 8 (o200k): in a fresh checkout this halves the page.
    """
    days = Counter(_day(entry) for entry in entries if entry.kind is values.EntryKind.FILE)
    if not days:
        return None
    day, count = days.most_common(1)[0]
    return day if day != _NO_DAY and count >= _SHARED_DAYS else None


def _day(entry: values.ListEntry) -> str:
    return _NO_DAY if entry.mtime_ns is None else _date(entry.mtime_ns // _DAY_NS)


@lru_cache
def _date(day: int) -> str:
    """The date of a day since the epoch; formatting one for each entry took a tenth of a listing's time."""
    return (timestamp(day * _DAY_NS) or _NO_DAY)[: len("2026-01-01")]


def entry_line(entry: values.ListEntry, usual: str | None = None) -> str:
    """Size first: `123<TAB>name` is one token shorter than the other way round."""
    name = quote(entry.path)
    if entry.kind is values.EntryKind.FOLDER:
        return f"{name}/"
    if entry.kind is values.EntryKind.LINK:
        return f"{name} -> {'(denied or outside)' if entry.target is None else quote(entry.target)}"
    if entry.kind is values.EntryKind.OTHER:
        return f"{name} (special file)"
    day = _day(entry)
    size = "?" if entry.size is None else entry.size
    return f"{size}\t{name}" if day == usual else f"{size} {day}\t{name}"


def entry_bytes(entry: values.ListEntry) -> int:
    """The maximum bytes of an entry, with its date."""
    return len(entry_line(entry).encode()) + 1


def render_list(result: values.ListResult, cap: values.Cap) -> values.Reply:
    """The reply for a listing that was selected under `cap`."""
    return reply(_list_text(result, cap), partial(native_facts.of_list, result))


def _list_text(result: values.ListResult, cap: values.Cap) -> str:
    usual = usual_day(result.entries)
    rows = [_list_header(result, usual, cap), *(entry_line(entry, usual) for entry in result.entries)]
    parts: list[str | Aside] = []
    if result.ignored:
        parts.append(f"{result.ignored} ignored.")
    if result.denied:
        parts.append(f"{result.denied} denied by policy.")
    if not result.total_known:
        parts.append("Time limit: not everything below was seen.")
    parts += warning_parts(result.warnings)
    if result.next is None and result.omitted:
        item = result.omitted[0]
        parts.append(Aside("To include them" if item.reason == "depth" else "Instead", item.request))
    sentences = ending(parts, result.next)
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(sentences or ['end of list'], cap.size - byte_size(body) - 1)}"


def _list_header(result: values.ListResult, usual: str | None, cap: values.Cap) -> str:
    path = short(result.request.path, cap)
    total = f"{result.total}{'' if result.total_known else '+'}"
    if not result.entries:
        none = "no entry matches the glob" if result.request.glob else "no entries"
        return f"{path} | {f'no entries of {total}' if result.total else none}"
    last = result.first + len(result.entries) - 1
    more = " (more below)" if result.next is not None else ""
    dates = f" | files modified {usual} unless dated" if usual is not None else ""
    return f"{path} | entries {result.first}-{last} of {total}{more}{dates}"
