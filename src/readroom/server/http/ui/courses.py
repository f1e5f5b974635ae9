"""The context of a conversation over time: as an audit knows it by requests, or from the ledger by calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec
from markupsafe import Markup
from msgspec import Struct

from readroom.core import context
from readroom.core.context import Band, Course, Piece
from readroom.core.rows import PastSession
from readroom.core.tool_kinds import kind_of_name
from readroom.server.http.ui.page import Cell, Table, number
from readroom.server.http.ui.queries import SessionSum, Step
from readroom.server.http.ui.view import View


class Drawn(Struct, frozen=True):
    """A chart for a page, and the table of its numbers.

    `svg` and `legend` are markup, made of numbers and of our words.
    """

    svg: Markup
    legend: Sequence[Markup]
    about: str
    most: str
    ends: tuple[str, str]
    table: Table


def over_time(view: View, one: SessionSum) -> Drawn | None:
    """The context of a conversation; None before its first call."""
    steps = view.questions.steps(view.workspace, one)
    past = view.past(one.session)
    if not steps:
        return None
    if past is not None and past.course is not None and past.course.points:
        course, calls = past.course, _first_calls(past, steps)
        about = "Tokens that each request carried. "
        about += "Instructions, prompts and answers are the rest of the input that the client recorded."
    else:
        course = of_steps(steps)
        calls = [steps[point.at - 1].number for point in course.points]
        about = "Tokens of results that the model had after each call; the ledger knows nothing else of it."

    def link(at: int) -> str:
        return view.bare("call", number=calls[at])

    title = f"Context over {course.points[-1].last:,} {course.unit}s"
    most = max(point.tokens for point in course.points)
    bands = [said for band, said in context.ABOUT_BANDS.items() if band in course.bands]
    return Drawn(
        Markup(context.picture(course, "context", title, link)),  # it escapes what it is given
        [Markup(context.swatch(band)) + context.BANDS[band] for band in course.bands],
        " ".join([about, *bands, "A click leads to the call and its lines."]),
        f"up to {most:,} tokens",
        (course.named(course.points[0]), course.named(course.points[-1])),
        _table(course, link),
    )


def _first_calls(past: PastSession, steps: Sequence[Step]) -> list[int]:
    """For each point the row of the last call before its request, whose result it is the first to carry."""
    return [steps[min(max(made, 1), len(steps)) - 1].number for made in past.made]


def of_steps(steps: Sequence[Step]) -> Course:
    """The context after each call, from the rows of a ledger."""
    last = {step.epoch: at for at, step in enumerate(steps, 1)}
    seen: defaultdict[tuple[int, str, str], list[tuple[int, int]]] = defaultdict(list)
    pieces: list[Piece] = []
    for at, step in enumerate(steps, 1):
        again = step.tokens * _again(seen, step) // 1000
        band: Band = context.band_of(kind_of_name(step.tool))
        pieces.append(Piece("repeats", again, at, last[step.epoch]))
        pieces.append(Piece(band, step.tokens - again, at, last[step.epoch]))
    compacted = [
        at for at, (before, step) in enumerate(pairwise(steps), 2) for _ in range(step.epoch - before.epoch)
    ]
    return context.course(len(steps), pieces, compacted, "call")


def _again(seen: dict[tuple[int, str, str], list[tuple[int, int]]], step: Step) -> int:
    """Thousandths of the lines of a call that the model still had, in the same version."""
    lines = again = 0
    for path, digest, first, last in _spans(step.shown):
        if not last:
            continue
        lines += last - first + 1
        if digest is None:
            continue
        known = seen[step.epoch, path, digest]
        again += sum(max(0, min(last, high) - max(first, low) + 1) for low, high in known)
        known[:] = _merged([*known, (first, last)])
    return 1000 * again // lines if lines else 0


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of lines that neither meet nor touch."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _spans(shown: str) -> list[tuple[str, str | None, int, int]]:
    try:
        return _DECODER.decode(shown)
    except msgspec.MsgspecError:  # a damaged row, which the chain reveals
        return []


_DECODER = msgspec.json.Decoder(list[tuple[str, str | None, int, int]])


def _table(course: Course, link: context.Link) -> Table:
    unit = course.unit.capitalize()
    heads = (unit, *(context.BANDS[band] for band in course.bands), "In all", "Compactions before")
    rows = [
        (
            Cell(course.named(point), link(at)),
            *map(number, [*course.of(point), point.tokens, point.compactions]),
        )
        for at, point in enumerate(course.points)
    ]
    return Table("context", "Context over time", heads, rows)
