"""Sessions on the page: their list, and the context of the dearest over time, down to the lines of files."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from readroom.core import context
from readroom.lens.normal_form import Session, counted
from readroom.lens.report import Totals
from readroom.lens.report import statements as said
from readroom.lens.report.courses import CallLine, Drawn
from readroom.lens.report.html import parts
from readroom.lens.report.spending import Bill
from readroom.lens.wanted import parsed


def contexts(totals: Totals) -> Iterator[str]:
    """A chart of each of the dearest sessions, a table of its numbers, and its calls."""
    kept = totals.courses.of()
    drawn = [kept[session.session] for session, _ in said.dearest(totals) if session.session in kept]
    if not drawn:
        return
    yield '<h2 id="contexts">Context over time</h2>\n'
    about = f"Tokens that each request carried. {' '.join(context.ABOUT_BANDS.values())} {_ABOUT_REST}"
    yield f'<p class="soft">{escape(about)}</p>\n'
    for at, one in enumerate(drawn, 1):
        yield from _context(totals, one, f"c{at}", is_open=at == 1)


_ABOUT_REST = (
    "Instructions, prompts and answers are the rest of the input that the client recorded, where it did."
)


def _context(totals: Totals, drawn: Drawn, name: str, *, is_open: bool) -> Iterator[str]:
    title = f"<bdi>{parts.text(said.title_of(totals.title(drawn.session)), 100)}</bdi>"
    called = parts.text(totals.called(drawn.session), 80)
    yield f'<details id="{name}"{" open" if is_open else ""}>'
    yield f'<summary>{title} <span class="soft">{called}</span></summary>\n'
    course = drawn.course
    most = max(point.tokens for point in course.points)
    yield f'<p class="ends"><span>up to {most:,} tokens</span><span>{_compactions(course)}</span></p>\n'
    yield context.picture(
        course,
        name,
        f"Context over {counted(course.points[-1].last, course.unit)}",
        lambda at: f"#{name}-{at}",
    )
    yield f'<p class="ends"><span>{course.named(course.points[0])}</span>'
    yield f"<span>{course.named(course.points[-1])}</span></p>\n"
    legend = "".join(f"<li>{context.swatch(band)}{context.BANDS[band]}</li>" for band in course.bands)
    yield f'<ul class="bands">{legend}</ul>\n'
    yield "<details><summary>As a table</summary>\n"
    yield from _numbers(drawn, name)
    yield "</details>\n<details><summary>Calls, and the lines that they showed</summary>\n"
    yield from _calls(drawn, name)
    yield "</details></details>\n"


def _compactions(course: context.Course) -> str:
    count = sum(point.compactions for point in course.points)
    return f"{counted(count, 'compaction')}, dashed" if count else ""


def _numbers(drawn: Drawn, name: str) -> Iterator[str]:
    course = drawn.course
    called = {one.point for one in drawn.calls}
    heads = [*(context.BANDS[band] for band in course.bands), "In all", "Compactions before"]
    rows = (
        parts.Row(
            [
                f'<a href="#{name}-{at}-calls">{course.named(point)}</a>'
                if at in called
                else course.named(point)
            ],
            [*course.of(point), point.tokens, point.compactions],
            id=f"{name}-{at}",
        )
        for at, point in enumerate(course.points)
    )
    yield from parts.table([course.unit.capitalize()], heads, rows, low=True)


def _calls(drawn: Drawn, name: str) -> Iterator[str]:
    rows = (
        _call(call, drawn, f"{name}-{at}-calls" if not number else "")
        for at, calls in groupby(sorted(drawn.calls, key=lambda one: one.point), key=lambda one: one.point)
        for number, call in enumerate(calls)
    )
    yield from parts.table(["Call", "Tool", "Lines"], ["Tokens", "In all requests"], rows, low=True)
    yield parts.more(drawn.calls_left_out)


def _call(call: CallLine, drawn: Drawn, id: str) -> parts.Row:
    point = drawn.course.points[call.point]
    failed = ", failed" if call.error else ""
    lines = [f"<code>{parts.text(place)}</code>" for place in call.places]
    if call.command:
        lines.append(f'<span class="quoted">{parts.text(call.command, 120)}</span>')
    texts = [
        f'Call {call.call:,}<br><span class="soft">from {drawn.course.named(point).lower()} on</span>',
        f"{parts.text(call.tool, 60)}{failed}",
        "<br>".join(lines),
    ]
    words = "\n".join([*call.places, call.command])
    return parts.Row(texts, [call.tokens, call.carried_tokens], id=id, words=words)


def sessions(totals: Totals) -> Iterator[str]:
    """The list of sessions, the dearest first."""
    listed = totals.dearest_sessions()
    yield '<h2 id="sessions">Sessions</h2>\n'
    numbers = ("Requests", "Calls", "Failed", "Tokens", "In all requests", "Money")
    rows = (_session(totals, session, at) for at, session in enumerate(listed, 1))
    yield from parts.table(("Session", "Client", "Started"), numbers, rows)
    yield parts.more(totals.sessions - len(listed))


def _session(totals: Totals, session: Session, at: int) -> parts.Row:
    called = parts.text(totals.called(session.session), 80)
    of = f", sub-agent of {parts.text(totals.called(session.parent), 80)}" if session.parent else ""
    of += f", in {parts.text(session.folder, 120)}" if session.folder else ""
    began = parsed(session.started)
    texts = (
        f'<bdi>{parts.text(said.title_of(session.title), 120)}</bdi><br><span class="soft">{called}{of}<br>'
        f'{parts.text(session.record)}</span><br><small class="why"></small>',
        f"{parts.text(f'{session.client} {session.version}')}<br>{parts.text(session.model, 80)}",
        f"{began:%Y-%m-%d %H:%M}" if began else parts.text(session.started, 40),
    )
    bill = totals.spending.sessions.get(session.session, Bill())
    used = (session.turns, session.calls, session.errors, session.result_tokens, session.carried_tokens)
    words = totals.words.get(session.session, "")
    return parts.Row(texts, [*used, said.money(bill)], id=f"session-{at}", words=words)
