"""The overview page: where the context was spent, over time and by name, and failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from readroom.core.quoting import plain
from readroom.server.budgets import BudgetPool
from readroom.server.http.ui import page
from readroom.server.http.ui.queries import PERCENTILES, PROBLEMS, By, Series, SessionSum, Slice, Sum
from readroom.server.http.ui.view import LIVE_US, View
from readroom.server.ledger.sums import DAY_US

_TITLES: Mapping[By, str] = {
    "tool": "By tool", "agent": "By agent", "token": "By token", "outcome": "By outcome",
}  # fmt: skip

_TOP = 15


def overview(view: View) -> page.Page:
    """Figures, tokens over time, and sums by every name."""
    wanted = view.slice
    whole = next(iter(view.questions.sums(wanted)), Sum("", 0, 0, 0, 0, 0, 0))
    by = view.text("by") if view.text("by") in _TITLES else "tool"
    tables = [
        over_time(view, view.questions.series(wanted, by), by),  # type: ignore[arg-type]  # looked up above
        sessions_table(view, view.questions.sessions(wanted, limit=view.rows(8)), "Latest sessions"),
        _days(view, wanted),
        _sums(view, wanted, "tool"),
        files_table(view, wanted, _TOP),
        *(_sums(view, wanted, one) for one in _TITLES if one != "tool"),
        *_budgets(view),
    ]
    choice = page.Filter("by", "Chart by", [page.Option(one, one, one == by) for one in _TITLES])
    filters = [*view.filters("agent", "token", "tool", "outcome"), choice]
    return page.Page("Overview", _figures(view, whole), tables, filters)


def _figures(view: View, whole: Sum) -> Sequence[page.Figure]:
    flood = whole.requests - whole.calls
    return (
        page.Figure("Tokens shown", f"{whole.tokens:,}"),
        page.Figure("Calls", f"{whole.calls:,}", href=view.link("calls")),
        page.Figure(
            "Failed", f"{whole.failed:,}", "including refused",
            view.link("calls", outcome="failed"), "warn" if whole.failed else "",
        ),
        page.Figure(
            "Refused", f"{whole.refused:,}", f"and {flood:,} more in floods" if flood else "",
            view.link("refused"), "bad" if whole.refused else "",
        ),
        page.Figure("Mean call", page.lasted(whole.duration_us // whole.calls) if whole.calls else "-"),
    )  # fmt: skip


def over_time(view: View, series: Series, by: str) -> page.Table:
    """Tokens over time as a chart, and each point's sum in the table."""
    times = [page.moment(time_us)[:16] for time_us in series.times_us]
    names = [plain(view.sight.text(one), 60) or "(none)" for one in series.names]
    rows = [
        (page.Cell(at), *(page.number(values[index]) for values in series.values))
        for index, at in enumerate(times)
    ]
    chart = {"kind": "time", "times": times, "names": names, "values": series.values}
    return page.Table(
        "time", f"Tokens over time by {by}", ("Time (UTC)", *names),
        [row for row in rows if any(cell.raw for cell in row[1:])], note=_step(series),
        chart=chart if times else None,
    )  # fmt: skip


def _step(series: Series) -> str:
    hours = series.step_us // 3_600_000_000
    return f"Each point is {hours} {'hour' if hours == 1 else 'hours'}." if series.names else ""


def _days(view: View, wanted: Slice) -> page.Table:
    """Sums by day, the latest first."""
    limit = view.rows(_TOP)
    every = view.questions.days(wanted, limit=limit + 1)
    most = max((one.tokens for one in every), default=0)
    rows = [
        (
            page.Cell(one.name), page.number(one.calls), page.number(one.failed),
            page.number(one.refused), _bar(one.tokens, most),
        )
        for one in every[:limit]
    ]  # fmt: skip
    notes = [f"The latest {limit}."] if len(every) > limit else []
    notes += ["The first day counts in full."] if wanted.since_us % DAY_US else []
    heads = ("Day (UTC)", "Calls", "Failed", "Refused", "Tokens")
    return page.Table("day", "By day", heads, rows, note=" ".join(notes))


REQUESTS = "(requests that became no call)"


def _tools(every: Sequence[Sum]) -> list[Sum]:
    """Sums by tool, those of the addresses of refused requests together: they are no tools."""
    tools = [one for one in every if one.name and not one.name.startswith("/")]
    rest = [one for one in every if not one.name or one.name.startswith("/")]
    if not rest:
        return tools
    names = Sum.__struct_fields__[1:]
    return [*tools, Sum(REQUESTS, *(sum(getattr(one, name) for one in rest) for name in names))]


def _sums(view: View, wanted: Slice, by: By) -> page.Table:
    every = view.questions.sums(wanted, by)
    if by == "tool":
        every = _tools(every)
    most = max((one.tokens for one in every), default=0)
    rows = [
        (
            page.Cell(REQUESTS, view.link("refused"))
            if one.name == REQUESTS
            else view.named(one.name, view.link("calls", **{by: one.name}) if one.name else "", "(none)"),
            page.number(one.calls),
            page.number(one.failed),
            _bar(one.tokens, most),
        )
        for one in every[: view.rows(page.UI_ROWS)]
    ]
    table = page.Table(
        by, _TITLES[by], (by.capitalize(), "Calls", "Failed", "Tokens"), rows,
        note=f"The first {page.UI_ROWS} of {len(every):,}." if len(every) > page.UI_ROWS else "",
    )  # fmt: skip
    return _timed(view, wanted, table, [one.name for one in every]) if by == "tool" else table


def _timed(view: View, wanted: Slice, table: page.Table, tools: Sequence[str]) -> page.Table:
    """The table of tools, with percentiles of how long their calls took before the tokens."""
    durations = view.questions.durations(wanted)
    none = (0,) * len(PERCENTILES)
    rows = [
        (*row[:-1], *map(page.duration, durations.get(tool, none)), row[-1])
        for tool, row in zip(tools, table.rows, strict=False)  # tools that have no row are at the end
    ]
    heads = (*table.heads[:-1], *(f"p{one}" for one in PERCENTILES), table.heads[-1])
    notes = [table.note] if table.note else []
    notes.append("Half of the calls took no longer than p50, 95 % than p95, and 99 % than p99.")
    if wanted.agent or wanted.token or wanted.outcome:
        notes.append("The filters of agent, token and outcome do not apply to these times.")
    if wanted.since_us % DAY_US:
        notes.append("In these times the first day counts in full.")
    return replace(table, heads=heads, rows=rows, note=" ".join(notes))


def files_table(view: View, wanted: Slice, limit: int) -> page.Table:
    """Files by how much of them was shown, if the visitor may see their names."""
    # Hidden names do not take the places of others.
    limit = view.rows(limit)
    every = view.questions.files(wanted, limit * 4)
    seen = [one for one in every if view.sight.path(one.path) is not None][:limit]
    most = max((one.tokens for one in seen), default=0)
    rows = [
        (view.file_cell(one.path), page.number(one.calls), page.number(one.lines), _bar(one.tokens, most))
        for one in seen
    ]
    notes = of_files(wanted)
    if len(seen) == limit:
        notes.append(f"The first {limit}.")
    return page.Table(
        "file", "By file", ("File", "Calls", "Lines", "Tokens"), rows, note=" ".join(notes),
        more=view.link("files") if rows and view.page != "files" else "",
    )  # fmt: skip


def of_files(wanted: Slice) -> list[str]:
    """Filters that do not apply to sums of files."""
    notes = ["The outcome filter does not apply to this table."] if wanted.outcome else []
    return [*notes, "The first day counts in full."] if wanted.since_us % DAY_US else notes


def files(view: View) -> page.Page:
    """All files with shown lines."""
    limit = view.count("limit", page.UI_ROWS)
    found = files_table(view, view.slice, min(limit, 10 * page.UI_ROWS))
    return page.Page("Files", tables=[found], filters=view.filters("agent", "token", "tool"))


def sessions_table(view: View, every: Sequence[SessionSum], title: str, more: str = "") -> page.Table:
    """Conversations, one per row."""
    most = max((one.tokens for one in every), default=0)
    rows = [
        (
            view.conversation(one.session, one.agent, one.token, one.first_us),
            page.Cell("live", tone="good")
            if view.now_us - one.last_us < LIVE_US
            else page.Cell("past", tone="soft"),
            view.named(one.agent),
            page.Cell(page.moment(one.last_us), tone="soft"),
            page.number(one.calls),
            page.Cell(f"{one.failed:,}", number=True, raw=one.failed, tone="warn" if one.failed else ""),
            _bar(one.tokens, most),
        )
        for one in every
    ]
    heads = ("Session", "State", "Agent", "Last call (UTC)", "Calls", "Failed", "Tokens")
    return page.Table(
        "sessions", title, heads, rows, note=" ".join(_of_sessions(view.slice)), more=more,
    )  # fmt: skip


def _of_sessions(wanted: Slice) -> Iterator[str]:
    """Filters that do not apply to conversations."""
    if wanted.tool:
        yield "The tool filter does not apply to sessions."
    if wanted.outcome in PROBLEMS:
        yield "Only sessions with such calls."
    elif wanted.outcome:
        yield "The outcome filter does not apply to sessions."
    if wanted.since_us or wanted.outcome in PROBLEMS:
        yield "Sums cover whole sessions."


def sessions(view: View) -> page.Page:
    """Live and past conversations."""
    skip, search = view.count("skip"), view.text("q", 200)
    limit = view.rows(page.UI_ROWS)
    found = view.questions.sessions(view.slice, limit=limit + 1, skip=skip, search=search)
    more = view.link("sessions", q=search, skip=skip + limit) if len(found) > limit else ""
    table = sessions_table(view, found[:limit], "Sessions", more)
    return page.Page(
        "Sessions",
        tables=[table],
        filters=[page.Filter("q", "Search", value=search), *view.filters("agent", "token")],
    )


def _budgets(view: View) -> list[page.Table]:
    pool = view.access.workspace.gatekeeper.meter
    if pool is None:
        return []
    assert isinstance(pool, BudgetPool)
    rows = [
        (
            page.Cell(use.scope),
            page.Cell(name) if name else page.missing(),
            page.number(use.used, share=min(100, use.used * 100 // max(1, use.limit))),
            page.number(use.limit),
            page.number(use.left),
            page.Cell(level.name.lower(), tone="" if level == 0 else "warn"),
        )
        for name, use, level in pool.all()[: view.rows(page.UI_ROWS)]
    ]
    note = "The guide to budgets explains the states."
    heads = ("Budget", "Owner", "Used", "Limit", "Left", "State")
    empty = "No call has used a budget yet."
    return [page.Table("budgets", "Budgets", heads, rows, note=note, empty=empty)]


def _bar(value: int, most: int) -> page.Cell:
    return page.number(value, share=round(100 * value / most) if most else 0)
