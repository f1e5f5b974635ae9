"""The outline of what a cut reply does not show, beside what it shows.

It may take a small part of the reply only.  Where not all fits, the outermost
definitions that are not shown come first, and members of a definition that is
half shown count as such; what is left out is said with the call that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from readroom.engine.outline import Outliner, hidden_in, language, outline_of, plain
from readroom.engine.read_window import Content, Windows, room
from readroom.errors import NoOutline, TimedOut
from readroom.limits_outline import OUTLINE_ASIDE_BYTES, OUTLINE_ASIDE_S, OUTLINE_OWN_SHARE, OUTLINE_SHARE
from readroom.model import Cap, Omission, ReadRequest, ReadResult
from readroom.outline.languages import DATA
from readroom.outlines import Row, Shown, rows
from readroom.paths import quote
from readroom.text.select import byte_size

_SENTENCES = 200
"""Bytes of what is said about the outline, beside a path."""

_TRIES = 3
"""How often lines make room for the signatures of those that have made room: hardly ever twice."""


def with_outline(asked: Outliner, content: Content, result: ReadResult) -> ReadResult:
    """A window of source code that does not reach the end, with the outline of the rest."""
    if not _is_cut(asked, result):
        return result
    budget = _budget(asked, byte_size("".join(result.lines)), len(result.lines))
    if not budget:
        return result
    name = language(asked.source, content)
    if name is None or name in DATA:
        return result
    try:
        within = asked.deadline.within(OUTLINE_ASIDE_S)
        outline = outline_of(asked.request, content, name, asked.outlines, within)
    except (TimedOut, NoOutline):
        return result
    listed, cap = list(rows(outline.items)), asked.cap
    chosen, given = _chosen(listed, result, budget, cap), 0
    said = _SENTENCES + len(quote(asked.request.path).encode("utf-8", "replace"))
    for _ in range(_TRIES):
        needed = _cost(listed, chosen, cap) + said
        if needed <= max(given, _free(asked, result)):
            break
        # The lines make room, and signatures on those that go are shown in the outline instead.
        given = needed
        smaller, fewer = replace(cap, size=cap.size - given), _with_less(asked.request, given)
        result = Windows(asked.source, asked.limits, smaller, fewer).window(content)
        chosen = _chosen(listed, result, budget, cap)
    else:
        chosen = _chosen(listed, result, given - said, cap)
    missing = [at for at, row in enumerate(listed) if _is_missing(row, result)]
    if not chosen:
        return result
    return _added(asked, result, listed, chosen, missing, Shown(name, (), len(listed), 0, outline.partial))


def _free(asked: Outliner, result: ReadResult) -> int:
    """Bytes that the lines leave in the reply."""
    numbers = len(result.lines) * asked.cap.measure.numbered(result.end)
    return room(asked.request, asked.cap) - byte_size("".join(result.lines)) - numbers


def _budget(asked: Outliner, shown: int, lines: int) -> int:
    """Bytes of an outline beside so many lines of so many bytes; 0 for none."""
    manner = asked.request.manner
    if not manner.outline:
        return 0
    if manner.outline_bytes is not None:
        return min(manner.outline_bytes, asked.cap.size // OUTLINE_OWN_SHARE)
    share = shown // OUTLINE_SHARE
    if asked.cap.lines is not None:
        # Rows of an outline are charged their share of the reply, lines are not.
        share = min(share, (asked.cap.lines - lines) * (asked.cap.size // asked.cap.lines))
    return share if share >= OUTLINE_ASIDE_BYTES else 0


def _with_less(request: ReadRequest, size: int) -> ReadRequest:
    """The request for so many bytes less, where its manner bounds them."""
    most = request.manner.content_bytes
    if most is None:
        return request
    return replace(request, manner=replace(request.manner, content_bytes=most - size))


def _is_cut(asked: Outliner, result: ReadResult) -> bool:
    following = any(item.what == "lines" for item in result.omitted)
    return bool(result.lines) and following and result.start > 0 and asked.request.column == 1


def _is_missing(row: Row, result: ReadResult) -> bool:
    return not result.start <= row.item.line <= result.end


def _cost(listed: Sequence[Row], chosen: Sequence[int], cap: Cap) -> int:
    return sum(cap.measure.outlined(listed[at]) for at in chosen)


def _chosen(listed: Sequence[Row], result: ReadResult, budget: int, cap: Cap) -> list[int]:
    """Which rows are shown: all levels that fit whole, or as much of the outermost as fits."""
    levels: dict[int, int] = {}
    above: list[Row] = []
    for at, row in enumerate(listed):
        while above and above[-1].depth >= row.depth:
            above.pop()
        if _is_missing(row, result):
            levels[at] = sum(_is_missing(one, result) for one in above)
        above.append(row)
    for level in sorted(set(levels.values()), reverse=True):
        found = [at for at in levels if levels[at] <= level]
        if _cost(listed, found, cap) <= budget:
            return found
    found, used = [], 0
    # What follows is wanted rather than what precedes.
    for at in sorted(levels, key=lambda at: (listed[at].item.line < result.start, at)):
        used += cap.measure.outlined(listed[at]) if not levels[at] else 0
        if used > budget:
            break
        if not levels[at]:
            found.append(at)
    return sorted(found)


def _added(
    asked: Outliner,
    result: ReadResult,
    listed: Sequence[Row],
    chosen: Sequence[int],
    missing: Sequence[int],
    shown: Shown,
) -> ReadResult:
    part = [listed[at] for at in chosen]
    left = sorted(set(missing) - set(chosen))
    omitted = list(result.omitted)
    below = [at for at in left if listed[at].item.line > result.end]
    above = [at for at in left if listed[at].item.line <= result.end]
    for group in filter(None, (below, above)):  # reading goes on below
        first, last = listed[group[0]].item, listed[group[-1]].item
        whole = replace(plain(asked.request), view="outline", offset=first.start)
        end = max(first.start, last.start)
        omitted.append(Omission("definitions", first.start, end, "reply_cap", request=whole))
    return replace(
        result,
        outline=replace(shown, rows=part, left_out=len(left)),
        omitted=omitted,
        warnings=(*result.warnings, *hidden_in(part)),
    )
