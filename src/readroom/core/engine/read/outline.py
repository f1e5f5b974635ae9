"""Read by definition: the outline of a file, or one definition by its name.

Texts that fit in memory are parsed here, larger ones in a process of their own.  Outlines are cached by
the hash of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.read.window import Content, Windows, room
from readroom.core.engine.services import Documents
from readroom.core.errors import Ambiguous, BadRange, NoOutline, TimedOut, UnknownSymbol
from readroom.core.formats.registry import provided, table
from readroom.core.limits import HEAD_BYTES, MAX_WARNINGS, Limits
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.languages import DATA, FOLDS, language_of
from readroom.core.quoting import quote
from readroom.core.session.caches import OutlineCache
from readroom.core.stores.base import Source
from readroom.core.text import hidden
from readroom.core.text.encodings import decode
from readroom.core.text.select import IndexedText, WholeText, byte_size
from readroom.core.values import Cap, Kind, Omission, ReadRequest, ReadResult, Warn
from readroom.core.values.files import (
    OUTLINES,
    Item,
    Outline,
    OutlineView,
    Row,
    main_rows,
    rows,
)
from readroom.core.values.listings import NO_FOLDS, Listing, listing, named


def plain(request: ReadRequest) -> ReadRequest:
    """The read of the file as text, which always works."""
    return ReadRequest(request.path, encoding=request.encoding)


LARGE_OUTLINE_BYTES = 16 * 1024 * 1024
"""Largest text that is outlined at all; beyond OUTLINE_BYTES in a process of its own. Generated sources and
bundles have some megabytes."""


def language(source: Source, content: Content) -> str | None:
    """The language of a text that can be outlined; None for other texts."""
    from readroom.core.outline import can_outline

    if content.kind in (Kind.MINIFIED, Kind.LOG, Kind.CSV) or source.size > LARGE_OUTLINE_BYTES:
        return None
    if isinstance(content.text, WholeText):
        head = content.text.whole[:HEAD_BYTES]
    else:
        head = decode(source.read_at(len(content.encoding.bom), HEAD_BYTES), content.encoding)
    name = language_of(source.real, head)
    return name if can_outline(name) else None


def _is_large(source: Source, content: Content) -> bool:
    """Whether the outline is made in a process of its own."""
    return source.size > OUTLINE_BYTES or not isinstance(content.text, WholeText)


def outline_of(
    request: ReadRequest, content: Content, name: str, outlines: OutlineCache, deadline: Deadline
) -> Outline:
    """The outline of a text in memory, in a language that `language` returned.

    Raises:
        TimedOut, Cancelled: From the deadline.
        NoOutline: No parser is given this text.
    """
    from readroom.core.outline import Unparsable, build

    outline = outlines.get(name, content.encoding.name, content.digits)
    if outline is None:
        assert isinstance(content.text, WholeText)
        try:
            outline = build(content.text.whole, name, deadline)
        except Unparsable as problem:
            raise NoOutline(request.path, str(problem), next_request=plain(request)) from None
        outlines.put(outline, content.encoding.name, content.digits)
    return outline


OUTLINE_TIMEOUT_S = 5.0
"""Time for one requested outline. A well-formed text of OUTLINE_BYTES needs 0.3 s, a hostile one any."""

OUTLINE_PERCENT = 12
"""Size of an outline, in percent of its file, above which fields, constants and the like are folded. Outlines
of the Python library without them have 8."""


class Outliner(Struct, frozen=True):
    """Answers one request for an outline or a definition of one opened file."""

    source: Source
    outlines: OutlineCache
    limits: Limits
    cap: Cap
    request: ReadRequest
    deadline: Deadline
    documents: Callable[[], Documents]

    def result(self, content: Content) -> ReadResult:
        """The outline, or the window of a definition.

        Raises:
            NoOutline: Nothing is known of what the file defines.
            Ambiguous, UnknownSymbol: The name means several definitions, or none.
            BadRange: The definition, or the file, has no such line.
            TimedOut, Cancelled: From the deadline.
        """
        name = language(self.source, content)
        if name is None:
            raise NoOutline(self.request.path, self._why(content), next_request=plain(self.request))
        outline = self._outline(content, name)
        if self.request.symbol is None:
            return self._page(content, outline, self._listed(outline), None)
        row = self._resolved(outline, content)
        if self.request.view in OUTLINES:
            item = replace(row.item, owner=())
            inside = list(rows([item], 0, row.path[:-1]))
            return self._page(content, outline, Listing(inside), row)
        window = self._definition(content, row)
        return replace(window, warnings=(*window.warnings, *_doubts(row.item, outline.errors)))

    def require_text(self, problem: str) -> None:
        """Raise NoOutline if an outline or a definition is asked for."""
        if self.request.symbol is not None or self.request.view in OUTLINES:
            raise NoOutline(self.request.path, problem, next_request=plain(self.request))

    def _why(self, content: Content) -> str:
        if content.kind is Kind.MINIFIED:
            return "it is minified"
        if self.source.size > LARGE_OUTLINE_BYTES:
            return f"it is larger than {LARGE_OUTLINE_BYTES:,} bytes"
        return "no grammar knows its language"

    def _outline(self, content: Content, name: str) -> Outline:
        if not _is_large(self.source, content):
            within = self.deadline.within(OUTLINE_TIMEOUT_S)
            return outline_of(self.request, content, name, self.outlines, within)
        if "outline" not in table().parts:
            raise NoOutline(
                self.request.path, "it is too large to outline here", next_request=plain(self.request)
            )
        outlined: Outline = provided("outline")(
            self.documents(),
            self.request,
            self.source,
            name,
            content.encoding,
            content.text.total_lines,
            self.deadline,
        )
        return outlined

    def _listed(self, outline: Outline) -> Listing:
        """What the outline lists: everything, unless minor items would take too much of it."""
        if self.request.view == "full_outline":
            return Listing(list(rows(outline.items)))
        maximum, folds = self.source.size * OUTLINE_PERCENT / 100, FOLDS.get(outline.language, NO_FOLDS)
        return listing(outline.items, maximum, self.cap.measure.read.outlined, folds)

    # --- one definition -----------------------------------------------------------------------

    def _resolved(self, outline: Outline, content: Content) -> Row:
        from readroom.core.outline import look_up

        request = self.request
        looked_up = look_up(outline, request.symbol or "", request.offset)
        if len(looked_up.rows) > 1:
            first = looked_up.rows[0]
            raise Ambiguous(request, looked_up.rows, next_request=self._of(first, exact=True))
        if not looked_up.rows:
            lines = [] if outline.partial is None else _lines_with(content, request.symbol or "")
            if lines:
                there = replace(plain(request), offset=lines[0])
                raise UnknownSymbol(
                    request, looked_up.near, next_request=there, partial=outline.partial, lines=lines
                )
            following = replace(plain(request), view="outline")
            if looked_up.near:
                several = len(look_up(outline, looked_up.near[0].name).rows) > 1
                following = self._of(looked_up.near[0], exact=several)
            raise UnknownSymbol(request, looked_up.near, next_request=following)
        return looked_up.rows[0]

    def _of(self, row: Row, *, exact: bool = False) -> ReadRequest:
        """The read of a definition; `exact` adds its line, where the name is not enough."""
        offset = row.item.start if exact else None
        return replace(self.request, symbol=row.name, offset=offset, limit=None, column=1, known_hash=None)

    def _definition(self, content: Content, row: Row) -> ReadResult:
        self._require_inside(content, row)
        item, text = row.item, content.text
        request = replace(self.request, offset=self.request.offset or item.start)
        windows = Windows(self.source, self.limits, self.cap, request)
        assert isinstance(text, WholeText | IndexedText)
        shown = windows.window(replace(content, text=text.up_to(item.end)))
        return replace(shown, symbol=row, total_lines=text.total_lines, ends=text.ends)

    def _require_inside(self, content: Content, row: Row) -> None:
        item, offset = row.item, self.request.offset
        if offset is not None and not item.start <= offset <= item.end:
            raise BadRange(
                f"line {offset} of {quote(self.request.path)} is not in {quote(row.name)}, "
                f"which has the lines {item.start}-{item.end}",
                "Leave out `offset`, or leave out `symbol` to read any line.",
                total_lines=content.text.total_lines,
                next_request=self._of(row, exact=True),
            )

    # --- the outline --------------------------------------------------------------------------

    def _page(
        self,
        content: Content,
        outline: Outline,
        wanted: Listing,
        symbol: Row | None,
    ) -> ReadResult:
        request, total, listed = self.request, content.text.total_lines, wanted.rows
        windows = Windows(self.source, self.limits, self.cap, request)
        offset = request.offset or 1
        offset = max(1, total + offset + 1) if offset < 0 else offset
        if offset > max(total, 1):
            raise BadRange(
                f"offset={request.offset} is past the end of {quote(request.path)}, which has {total} lines",
                "Leave out `offset`.",
                total_lines=total,
                next_request=replace(request, offset=None, column=1),
            )
        places = list(_places(listed))
        beginning = (offset, request.column)
        first = next((at for at, place in enumerate(places) if place >= beginning), len(places))
        room = self.cap.size - self.cap.measure.frame(request.path)
        last = _fitting(listed, first, room, self.cap, request.limit)
        following, omitted = None, []
        if last < len(listed):
            line, number = places[last]
            following = replace(request, offset=line, column=number, known_hash=None)
            reason = "limit" if request.limit == last - first else "reply_cap"
            omitted.append(Omission("definitions", line, listed[-1].item.end, reason, request=following))
        page = listed[first:last]
        base = windows.base(content)
        if wanted.folded or any(row.folded for row in page):
            everything = replace(plain(request), view="full_outline")
            omitted.insert(0, Omission("members", 1, total, "folded", request=everything))
        return replace(
            base,
            outline=OutlineView(
                outline.language, page, named(listed), named(listed[last:]), outline.partial, wanted.folded
            ),
            symbol=symbol,
            omitted=omitted,
            next=following,
            warnings=(*base.warnings, *hidden_in(page)),
        )


def _doubts(item: Item, errors: Sequence[tuple[int, int]]) -> list[Warn]:
    """Warnings about a definition in a text with syntax errors."""
    inside = [first for first, _ in errors if item.line <= first <= item.end]
    if not item.certain:
        where = min(inside, default=errors[0][0] if errors else item.line)
        surely = f"; lines {item.start}-{where - 1} are certain" if inside and where > item.line else ""
        detail = f"where it ends is not certain, since line {where} does not parse{surely}"
        return [Warn("end_uncertain", f"lines {item.start}-{item.end}: {detail}")]
    if inside:
        detail = f"line {inside[0]} does not parse; its lines are indented as lines {item.start}-{item.end}"
        return [Warn("syntax_errors", detail)]
    return []


NAMED_LINES = 10
"""Lines named where a name occurs in a file that does not parse and has no definition of it."""


def _lines_with(content: Content, symbol: str) -> list[int]:
    """The first lines in which the last part of a name occurs as a word."""
    name = re.search(r"\w+\W*\Z", symbol)
    if name is None or not isinstance(content.text, WholeText):
        return []
    word = re.compile(rf"(?<!\w){re.escape(name[0].rstrip())}(?!\w)")
    lines = content.text.whole.split("\n")
    return list(islice((number for number, line in enumerate(lines, 1) if word.search(line)), NAMED_LINES))


def _places(listed: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """The place of each row for a continuation: its line, and its position among the rows of that line."""
    line = number = 0
    for row in listed:
        number = number + 1 if row.item.start <= line else 1
        line = max(line, row.item.start)
        yield line, number


def _fitting(listed: Sequence[Row], first: int, room: int, cap: Cap, limit: int | None) -> int:
    """The index after the last row that fits; at least one does."""
    used = 0
    for at in range(first, len(listed)):
        used += cap.measure.read.outlined(listed[at])
        if at > first and (used > room or at - first == limit):
            return at
    return len(listed)


def hidden_in(listed: Sequence[Row]) -> list[Warn]:
    """Warnings about hidden characters in signatures."""
    warnings: list[Warn] = []
    if hidden.is_clean("".join(row.item.signature for row in listed)):
        return warnings
    for row in listed:
        signature = row.item.signature
        if len(warnings) < MAX_WARNINGS:
            # The columns would be those of the shortened signature.
            warnings += [
                replace(warning, column=None) for warning in hidden.scan([signature], row.item.line, limit=1)
            ]
    return warnings[:MAX_WARNINGS]


# -----------------------------------------------------------------------------
# The outline of what a truncated reply leaves out, next to what it shows.
#
# It may take only a small part of the reply.  If not everything fits, the outermost
# definitions that are not shown come first, and members of a half-shown definition
# count as outermost; the reply names the call that shows the rest.
# -----------------------------------------------------------------------------

_SENTENCES = 200
"""Bytes of the sentences about the outline, without a path."""

_TRIES = 3
"""How often lines make room for signatures of lines that made room: hardly ever twice."""


OUTLINE_ASIDE_S = 1.0
"""Processor time for an outline that was not requested, of what a cut reply does not show."""


def with_outline(outliner: Outliner, content: Content, result: ReadResult) -> ReadResult:
    """Add an outline of the rest to a window of source code that does not reach the end."""
    if not _is_cut(outliner, result):
        return result
    budget = _budget(outliner, byte_size("".join(result.lines)), len(result.lines))
    if not budget:
        return result
    name = language(outliner.source, content)
    if name is None or name in DATA or _is_large(outliner.source, content):
        return result
    try:
        within = outliner.deadline.of_thread(OUTLINE_ASIDE_S)
        outline = outline_of(outliner.request, content, name, outliner.outlines, within)
    except (TimedOut, NoOutline):
        return result
    listed, cap = [replace(row, folded=()) for row in main_rows(outline.items)], outliner.cap
    chosen, reserved = _chosen(listed, result, budget, cap), 0
    sentences = _SENTENCES + len(quote(outliner.request.path).encode("utf-8", "replace"))
    for _ in range(_TRIES):
        needed = _cost(listed, chosen, cap) + sentences
        if needed <= max(reserved, _free(outliner, result)):
            break
        # Lines make room for the outline, which then shows the signatures on the lines that go.
        reserved = needed
        smaller = replace(cap, size=cap.size - reserved)
        result = Windows(outliner.source, outliner.limits, smaller, outliner.request, reserved).window(
            content
        )
        chosen = _chosen(listed, result, budget, cap)
    else:
        chosen = _chosen(listed, result, reserved - sentences, cap)
    missing = [at for at, row in enumerate(listed) if _is_missing(row, result)]
    if not chosen:
        return result
    return _added(
        outliner, result, listed, chosen, missing, OutlineView(name, (), len(listed), 0, outline.partial)
    )


def _free(outliner: Outliner, result: ReadResult) -> int:
    """How many bytes the lines leave in the reply."""
    numbers = len(result.lines) * outliner.cap.measure.read.numbered(result.end)
    return room(outliner.request, outliner.cap) - byte_size("".join(result.lines)) - numbers


OUTLINE_SHARE = 8
"""The outline of what a cut reply does not show takes at most this part of what it shows."""

OUTLINE_OWN_SHARE = 4
"""If a contract sets the size of that outline, it is at most this part of the whole reply."""

OUTLINE_ASIDE_BYTES = 200
"""If less than this is left for it, there is no outline next to a window: it would name two definitions."""


def _budget(outliner: Outliner, text_bytes: int, lines: int) -> int:
    """How many bytes an outline may take next to these lines; 0 for no outline."""
    maximum = outliner.request.options.outline_bytes
    if maximum is not None:
        return min(maximum, outliner.cap.size // OUTLINE_OWN_SHARE)
    share = text_bytes // OUTLINE_SHARE
    if outliner.cap.lines is not None:
        # Rows of an outline are charged their share of the reply, lines of text are not.
        share = min(share, (outliner.cap.lines - lines) * (outliner.cap.size // outliner.cap.lines))
    return share if share >= OUTLINE_ASIDE_BYTES else 0


def _is_cut(outliner: Outliner, result: ReadResult) -> bool:
    following = any(item.what == "lines" for item in result.omitted)
    return bool(result.lines) and following and result.start > 0 and outliner.request.column == 1


def _is_missing(row: Row, result: ReadResult) -> bool:
    return not result.start <= row.item.line <= result.end


def _is_around(row: Row, result: ReadResult) -> bool:
    """Whether some lines of the definition are shown; its members then count as one level nearer."""
    return row.item.start <= result.end and row.item.end >= result.start


def _cost(listed: Sequence[Row], chosen: Sequence[int], cap: Cap) -> int:
    return sum(cap.measure.read.outlined(listed[at]) for at in chosen)


def _chosen(listed: Sequence[Row], result: ReadResult, budget: int, cap: Cap) -> list[int]:
    """The rows to show: all levels that fit completely, or as much of the outermost level as fits."""
    levels: dict[int, int] = {}
    above: list[Row] = []
    for at, row in enumerate(listed):
        while above and above[-1].depth >= row.depth:
            above.pop()
        if _is_missing(row, result):
            levels[at] = sum(not _is_around(row_above, result) for row_above in above)
        above.append(row)
    for level in sorted(set(levels.values()), reverse=True):
        fitting = [at for at in levels if levels[at] <= level]
        if _cost(listed, fitting, cap) <= budget:
            return fitting
    fitting, used = [], 0

    def place(at: int) -> tuple[bool, bool, int]:
        # The enclosing definition says where the lines are; after it, what follows matters most.
        return not _is_around(listed[at], result), listed[at].item.line < result.start, at

    for at in sorted(levels, key=place):
        used += cap.measure.read.outlined(listed[at]) if not levels[at] else 0
        if used > budget:
            break
        if not levels[at]:
            fitting.append(at)
    return sorted(fitting)


def _added(
    outliner: Outliner,
    result: ReadResult,
    listed: Sequence[Row],
    chosen: Sequence[int],
    missing: Sequence[int],
    view: OutlineView,
) -> ReadResult:
    part = [listed[at] for at in chosen]
    left = sorted(set(missing) - set(chosen))
    omitted = list(result.omitted)
    below = [at for at in left if listed[at].item.line > result.end]
    above = [at for at in left if listed[at].item.line <= result.end]
    for group in filter(None, (below, above)):  # reading continues below
        first, last = listed[group[0]].item, listed[group[-1]].item
        whole = replace(plain(outliner.request), view="outline", offset=first.start)
        end = max(first.start, last.start)
        omitted.append(Omission("definitions", first.start, end, "reply_cap", request=whole))
    return replace(
        result,
        outline=replace(view, rows=part, left_out=len(left)),
        omitted=omitted,
        warnings=(*result.warnings, *hidden_in(part)),
    )
