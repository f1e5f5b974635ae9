"""ledger: what was called, by whom and what it showed, and whether the record is whole."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import click
import msgspec
from msgspec.structs import replace

from readroom.cli import output as terminal
from readroom.cli.answers import Where
from readroom.cli.exits import ExitCode
from readroom.cli.folders import Folder
from readroom.cli.options import json_option, option, subcommand
from readroom.core.errors import BadValue, UsageError
from readroom.core.moments import as_iso, moment
from readroom.core.quoting import as_given
from readroom.core.stores.bucket.address import absolute
from readroom.server.ledger import open_book, queries
from readroom.server.ledger.ledger import Head, Ledger
from readroom.server.ledger.rows import COLUMNS, Event, Row, decoded
from readroom.server.ledger.sums import LOOKED_AT
from readroom.server.ledger.verify import Verdict, prune, verify

# -----------------------------------------------------------------------------
# How the ledger looks on a terminal: columns as wide as they need, and always of how many.
# -----------------------------------------------------------------------------

_PATH_CHARS = 48
"""A longer path is shortened in the middle; --json has all of it."""


def fact_of(row: Row) -> dict[str, object]:
    """A row for programs."""
    fields = dict(zip(COLUMNS, row.values(), strict=True))
    return {
        **fields,
        "time": as_iso(row.event.time_us),
        "arguments": decoded(row.event.arguments or "null"),
        "shown": decoded(row.event.shown),
    }


def of_rows(rows: Sequence[Row], total: int) -> str:
    """Calls, one a line."""
    if not rows:
        return "No calls."
    heads = ("row", "time (UTC)", "agent", "folder", "tool", "path", "lines", "outcome", "tokens", "ms")
    return f"{_table(heads, list(map(_cells, rows)))}\n{_of(len(rows), total, 'calls')}"


def _cells(row: Row) -> Sequence[str]:
    event = row.event
    return (
        str(row.number), _time(event.time_us, "%m-%d %H:%M:%S"), _who(event),
        _short(_home(event.workspace)), event.tool, _short(as_given(event.path or "")), _lines(row),
        event.outcome, f"{event.tokens:,}", f"{event.duration_us / 1000:,.1f}",
    )  # fmt: skip


def _who(event: Event) -> str:
    """The agent; a look at the dashboard is named as one."""
    if event.face == LOOKED_AT:
        return f"{event.agent} (looked)" if event.agent else LOOKED_AT
    return event.agent or event.face


def of_totals(shown: Sequence[queries.Total], every: Sequence[queries.Total], by: str) -> str:
    """Sums, one a line, then the sum of all."""
    if not every:
        return "No calls."
    heads = (by, "calls", "failed", "tokens")
    named = as_given if by == "path" else str
    cells = [
        (_short(named(total.name)) or "-", f"{total.calls:,}", f"{total.failed:,}", f"{total.tokens:,}")
        for total in shown
    ]
    tokens = sum(total.tokens for total in every)
    return f"{_table(heads, cells)}\n{_of(len(shown), len(every), 'lines')}, {tokens:,} tokens in all"


def of_twice(shown: Sequence[queries.Twice], total: int) -> str:
    """Spans that were shown again."""
    if not shown:
        return "Nothing was shown twice."
    heads = ("path", "lines", "session", "times", "rows")
    cells = [
        (
            _short(as_given(twice.path)),
            f"{twice.first}-{twice.last}",
            _short(twice.session) or "-",
            str(len(twice.rows)),
            ", ".join(map(str, twice.rows[:8])) + (", ..." if len(twice.rows) > 8 else ""),
        )
        for twice in shown
    ]
    return f"{_table(heads, cells)}\n{_of(len(shown), total, 'spans')}"


def of_verdict(verdict: Verdict, name: str) -> str:
    """Whether the chain holds, and the head to note elsewhere."""
    if verdict.problems:
        problems = "\n".join(f"  {problem}" for problem in verdict.problems)
        return f"{name} does not verify:\n{problems}"
    since = f" after row {verdict.start.number:,}" if verdict.start.number else ""
    if verdict.uncompared:
        since += ", but not against the noted head"
    lines = [f"{name} verifies: {verdict.rows:,} rows{since}, each as it was written."]
    if verdict.head.number:
        lines.append(f"Head: {verdict.head.number}:{verdict.head.hash}")
    if verdict.uncompared:
        lines.append(f"{verdict.uncompared[0].upper()}{verdict.uncompared[1:]}")
    return "\n".join(lines)


def _home(folder: str) -> str:
    """A folder below the user's own as a shell writes it."""
    home = os.path.expanduser("~")
    return f"~{folder[len(home) :]}" if folder == home or folder.startswith(home + os.sep) else folder


def _time(time_us: int, form: str) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime(form)


def _lines(row: Row) -> str:
    spans = [span for span in row.event.spans if span.last]
    if not spans:
        return ""
    if len(spans) == 1:
        return f"{spans[0].first}-{spans[0].last}"
    lines, files = sum(span.last - span.first + 1 for span in spans), {span.path for span in spans}
    return f"{lines} in {len(files)} files"


def _short(text: str) -> str:
    if len(text) <= _PATH_CHARS:
        return text
    half = _PATH_CHARS // 2
    return f"{text[: half - 1]}…{text[-half:]}"


def _of(shown: int, total: int, unit: str) -> str:
    unit = unit[:-1] if total == 1 else unit
    return f"{total:,} {unit}" if shown == total else f"{shown:,} of {total:,} {unit} (--limit shows more)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns; those of numbers to the right."""
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    right = {"row", "tokens", "ms", "calls", "failed", "times"}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if head in right else cell.ljust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        ).rstrip()
        for row in [heads, *rows]
    )


ACTIONS = ("list", "totals", "files", "refused", "twice", "verify", "replay", "export", "prune")

_ROWS = 50
"""Shown without --limit: a screen or two."""


def _ledger(
    action: str,
    root: str | None,
    config: str | None,
    file: str | None,
    by: str,
    limit: int,
    as_json: bool,
    since: str | None,
    until: str | None,
    noted: str | None,
    output: str | None,
    format_name: str,
    older_than: float | None,
    **wanted: str | None,
) -> ExitCode:
    """Show the record of calls, newest last.

    ACTION is list (the default), totals (by tool, or --by), files (most shown first), refused, twice (lines
    shown again while in view), verify, replay (which calls would show the same today), export or prune.
    """
    chosen = queries.Filter(
        **wanted,
        since_us=_moment("since", since),
        until_us=_moment("until", until),
        refused=action == "refused",
        # A visitor to the dashboard is not an agent.
        of_agents=action in ("totals", "files", "twice") and by != "face" and wanted.get("face") is None,
    )
    with _opened(root, config, file, make=False) as book:
        if action == "verify":
            return _verified(book, noted, as_json)
        if action == "replay":
            return _replayed(book, chosen, root, config, limit, as_json)
        if action == "export":
            return _exported(book, chosen, format_name, output)
        if action == "prune":
            return _pruned(book, older_than)
        return _shown(book, action, chosen, by, limit, as_json)


def _shown(book: Ledger, action: str, chosen: queries.Filter, by: str, limit: int, as_json: bool) -> ExitCode:
    conditions = chosen.conditions()
    if action in ("list", "refused"):
        total = book.count(conditions)
        rows = book.page(conditions, limit=limit, newest=True)
        listed: list[dict[str, object]] = [fact_of(row) for row in rows]
        text = of_rows(rows, total)
    else:
        found = book.rows(conditions)
        if action == "twice":
            every: Sequence[queries.Twice | queries.Total] = (twice := queries.shown_twice(found))
            text = of_twice(twice[:limit], len(twice))
        else:
            every = sums = queries.totals(found, by) if action == "totals" else queries.most_read(found)
            text = of_totals(sums[:limit], sums, "path" if action == "files" else by)
        listed, total = [msgspec.to_builtins(row) for row in every[:limit]], len(every)
    _print({"rows": listed, "shown": len(listed), "total": total}, text, as_json)
    return ExitCode.OK if listed else ExitCode.NOTHING_FOUND


def _print(facts: object, text: str, as_json: bool) -> None:
    if as_json:
        terminal.write_json(facts)
    else:
        terminal.write_text(text)


def _verified(book: Ledger, noted: str | None, as_json: bool) -> ExitCode:
    verdict = verify(book, None if noted is None else _head(noted))
    _print(verdict, of_verdict(verdict, book.name), as_json)
    if verdict.problems:
        return ExitCode.FAILED
    return ExitCode.UNCHECKED if verdict.uncompared else ExitCode.OK


def _replayed(
    book: Ledger, chosen: queries.Filter, root: str | None, config: str | None, limit: int, as_json: bool
) -> ExitCode:
    from readroom.core import config as configuration
    from readroom.core.workspace import Workspace
    from readroom.server.ledger.replay import STATES, ReplayedRow, replay

    where = Where(root, config)
    folder = absolute(where.root or ".")
    rows = book.rows(replace(chosen, workspace=chosen.workspace or folder).conditions())
    settings = configuration.load(configuration.open_store(folder), where.config)
    # Reads for a comparison are not calls of an agent.
    settings = replace(settings, ledger=None)
    counts = dict.fromkeys(STATES, 0)
    others: list[ReplayedRow] = []
    with Workspace(folder, settings=settings) as workspace:
        for replayed in replay(rows, workspace):
            counts[replayed.state] += 1
            if replayed.state != "same" and len(others) < limit:
                others.append(replayed)
    lines = [", ".join(f"{count:,} {state}" for state, count in counts.items() if count)]
    for replayed in others:
        files = ", ".join(f"{path} {state}" for path, state in replayed.files[:3])
        lines.append(f"{replayed.number}  {replayed.tool}  {files}")
    text = "\n".join(lines) if any(counts.values()) else "No call showed lines of a file here."
    _print({"states": counts, "calls": others}, text, as_json)
    return ExitCode.OK if any(counts.values()) else ExitCode.NOTHING_FOUND


def _exported(book: Ledger, chosen: queries.Filter, format_name: str, output: str | None) -> ExitCode:
    rows = book.rows(chosen.conditions())
    if format_name == "parquet":
        if output is None:
            raise UsageError("Parquet needs a file", "Name it with --output")
        count = queries.write_parquet(rows, output)
    else:
        write = queries.write_jsonl if format_name == "jsonl" else queries.write_csv
        if output is None:
            write(rows, sys.stdout)
            return ExitCode.OK
        try:
            with open(output, "x", encoding="utf-8", newline="") as out:
                count = write(rows, out)
        except OSError as error:
            problem = f"cannot be written: {error.strerror}"
            raise BadValue("output", output, problem, "Name a new file.") from None
    terminal.complain(f"{count:,} rows written to {output}")
    return ExitCode.OK


def _pruned(book: Ledger, older_than: float | None) -> ExitCode:
    if older_than is None:
        raise UsageError("No age was given", "Give it in days, with --older-than")
    removed = prune(book, older_than)
    rows = "1 row" if removed == 1 else f"{removed:,} rows"
    text = f"{rows} removed; the chain continues from the last of them." if removed else "No row is that old."
    terminal.write(f"{text}\n".encode())
    return ExitCode.OK


@contextmanager
def _opened(root: str | None, config: str | None, file: str | None, *, make: bool) -> Iterator[Ledger]:
    """The ledger that a server started alike would write."""
    from readroom.core import config as configuration
    from readroom.server.ledger.settings import ledger_at, policy_of

    if file is not None:
        policy = ledger_at(file)
    else:
        where = Where(root, config)
        policy = policy_of(configuration.load(configuration.open_store(where.root or "."), where.config))
    book = open_book(policy, make=make)
    try:
        yield book
    finally:
        book.close()


def _moment(name: str, text: str | None) -> int | None:
    return None if text is None else moment(name, text)


def _head(text: str) -> Head:
    number, _, digest = text.partition(":")
    if not number.isdigit() or not re.fullmatch("[0-9a-f]{64}", digest):
        advice = "Give the head that an earlier verification printed: NUMBER:HASH."
        raise BadValue("noted", text, "is not a valid head", advice)
    return Head(int(number), digest)


def _folder(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """As the ledger names it: links resolved."""
    return None if value is None else os.path.realpath(value)


def _filters() -> list[click.Parameter]:
    return [
        option("--agent", "Only calls of this agent."),
        option("--session", "Only calls of this conversation."),
        option(
            "--workspace",
            "Only calls in this folder, the root of a workspace: `.` is the current one.",
            metavar="DIR",
            callback=_folder,
        ),
        option("--tool", "Only calls of this tool."),
        option("--path", "Only calls about this file, or below this folder."),
        option("--face", "Only calls through one interface: library, cli, mcp or http."),
        option("--outcome", "Only calls that ended so: ok, begun, failed, or the code of an error."),
        option(
            "--since", "Only calls since then: 2h or 7d (ago), or 2026-01-31T12:00 (UTC).", metavar="TIME"
        ),
        option("--until", "Only calls until then.", metavar="TIME"),
    ]


ledger = subcommand(
    "ledger",
    _ledger,
    click.Argument(
        ["action"], required=False, default="list", type=click.Choice(ACTIONS), metavar="[ACTION]"
    ),
    *_filters(),
    option("--by", "totals: group by this.", type=click.Choice(queries.GROUPS), default="tool"),
    option("--limit", "Rows to show.", type=click.IntRange(min=1), default=_ROWS),
    json_option("Print one JSON object."),
    option("--noted", "verify: the head that an earlier verification printed.", metavar="NUMBER:HASH"),
    option("--output", "export: write to a new file instead of standard output.", metavar="FILE"),
    option(
        "--format format_name", "export: the format.", type=click.Choice(queries.FORMATS), default="jsonl"
    ),
    option(
        "--older-than", "prune: remove calls that are older.", type=click.FloatRange(min=0), metavar="DAYS"
    ),
    option(
        "--file",
        "A ledger instead of the configured one, also as postgresql://...",
        metavar="FILE",
    ),
    option("--root", "The workspace whose configuration is used.", type=Folder(), metavar="DIR"),
    option("--config", "The server's configuration file.", metavar="FILE"),
)
