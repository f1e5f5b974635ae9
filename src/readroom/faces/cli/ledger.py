"""ledger: what was called, by whom, and what it showed; whether the record is whole."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import click
import msgspec

from readroom.errors import BadValue, UsageError
from readroom.faces.cli import ledger_text, terminal
from readroom.faces.cli.calling import Where
from readroom.faces.cli.exits import ExitCode
from readroom.ledger.book import Book, Head
from readroom.ledger.export import FORMATS, write_csv, write_jsonl, write_parquet
from readroom.ledger.policy import LedgerPolicy, open_book
from readroom.ledger.pruning import prune
from readroom.ledger.reading import GROUPS, Filter, most_read, shown_twice, totals
from readroom.ledger.verify import verify

ACTIONS = ("list", "totals", "files", "refused", "twice", "verify", "export", "prune")

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
    shown again while in view), verify, export or prune.
    """
    chosen = Filter(
        **wanted,
        since_us=_moment("since", since),
        until_us=_moment("until", until),
        refused=action == "refused",
    )
    with _opened(root, config, file, make=False) as book:
        if action == "verify":
            return _verified(book, noted, as_json)
        if action == "export":
            return _exported(book, chosen, format_name, output)
        if action == "prune":
            return _pruned(book, older_than)
        return _shown(book, action, chosen, by, limit, as_json)


def _shown(book: Book, action: str, chosen: Filter, by: str, limit: int, as_json: bool) -> ExitCode:
    conditions = chosen.conditions()
    if action in ("list", "refused"):
        total = book.count(conditions)
        rows = book.page(conditions, limit=limit, newest=True)
        found: list[dict[str, object]] = [ledger_text.fact_of(row) for row in rows]
        text = ledger_text.of_rows(rows, total)
    else:
        if action == "twice":
            twice = shown_twice(book.rows(conditions))
            found, total = [msgspec.to_builtins(one) for one in twice[:limit]], len(twice)
            text = ledger_text.of_twice(twice[:limit], total)
        else:
            sums = (
                totals(book.rows(conditions), by) if action == "totals" else most_read(book.rows(conditions))
            )
            found, total = [msgspec.to_builtins(one) for one in sums[:limit]], len(sums)
            text = ledger_text.of_totals(sums[:limit], sums, "path" if action == "files" else by)
    if as_json:
        terminal.write(msgspec.json.encode({"rows": found, "shown": len(found), "total": total}) + b"\n")
    else:
        terminal.write((terminal.visible(text) + "\n").encode("utf-8", "backslashreplace"))
    return ExitCode.OK if found else ExitCode.NOTHING_FOUND


def _verified(book: Book, noted: str | None, as_json: bool) -> ExitCode:
    verdict = verify(book, None if noted is None else _head(noted))
    if as_json:
        terminal.write(msgspec.json.encode(verdict) + b"\n")
    else:
        terminal.write((ledger_text.of_verdict(verdict, book.name) + "\n").encode())
    return ExitCode.FAILED if verdict.problems else ExitCode.OK


def _exported(book: Book, chosen: Filter, format_name: str, output: str | None) -> ExitCode:
    rows = book.rows(chosen.conditions())
    if format_name == "parquet":
        if output is None:
            raise UsageError("Parquet needs a file", "Name it with --output")
        count = write_parquet(rows, output)
    else:
        write = write_jsonl if format_name == "jsonl" else write_csv
        if output is None:
            write(rows, sys.stdout)
            return ExitCode.OK
        try:
            with open(output, "x", encoding="utf-8", newline="") as out:
                count = write(rows, out)
        except OSError as error:
            raise BadValue(
                "output", output, f"cannot be written: {error.strerror}", "Name a new file."
            ) from None
    terminal.complain(f"{count:,} rows written to {output}")
    return ExitCode.OK


def _pruned(book: Book, older_than: float | None) -> ExitCode:
    if older_than is None:
        raise UsageError("How old is old was not given", "Say it in days with --older-than")
    removed = prune(book, older_than)
    terminal.write(f"{removed:,} rows removed; the chain goes on from the last of them.\n".encode())
    return ExitCode.OK


@contextmanager
def _opened(root: str | None, config: str | None, file: str | None, *, make: bool) -> Iterator[Book]:
    """The ledger that a server started alike would write."""
    from readroom import config as configuration

    if file is not None:
        policy = LedgerPolicy(file=os.path.abspath(file))
    else:
        where = Where(root, config)
        policy = configuration.load(configuration.open_store(where.root or "."), where.config).ledger
    book = open_book(policy, make=make)
    try:
        yield book
    finally:
        book.close()


_AGO = re.compile(r"(\d+(?:\.\d+)?)(m|h|d|w)")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _moment(name: str, text: str | None) -> int | None:
    """Microseconds since 1970 of "2h" (ago), a day, or a day and a time."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return time.time_ns() // 1000 - int(float(ago[1]) * _SECONDS[ago[2]] * 1_000_000)
    try:
        found = datetime.fromisoformat(text)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        advice = "Use 30m, 2h, 7d or 2w (ago), 2026-01-31, or 2026-01-31T12:00 (UTC)."
        raise BadValue(name, text, "is no time", advice) from None


def _head(text: str) -> Head:
    number, _, digest = text.partition(":")
    if not number.isdigit() or not re.fullmatch("[0-9a-f]{64}", digest):
        raise BadValue("noted", text, "is no head", "Give what an earlier verification printed: NUMBER:HASH.")
    return Head(int(number), digest)


def _folder(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """As the ledger names it: links resolved."""
    return None if value is None else os.path.realpath(value)


def _filters() -> list[click.Parameter]:
    return [
        click.Option(["--agent"], help="Only calls of this agent."),
        click.Option(["--session"], help="Only calls of this conversation."),
        click.Option(
            ["--workspace"],
            metavar="DIR",
            callback=_folder,
            help="Only calls in this folder, the root of a workspace: `.` is the current one.",
        ),
        click.Option(["--tool"], help="Only calls of this tool."),
        click.Option(["--path"], help="Only calls about this file, or below this folder."),
        click.Option(["--face"], help="Only calls that came this way: library, cli, mcp or http."),
        click.Option(["--outcome"], help="ok, begun, failed, or the code of an error."),
        click.Option(["--since"], metavar="TIME", help="As 2h or 7d (ago), or 2026-01-31T12:00 (UTC)."),
        click.Option(["--until"], metavar="TIME", help="The same."),
    ]


ledger = click.Command(
    "ledger",
    params=[
        click.Argument(["action"], required=False, default="list", type=click.Choice(ACTIONS)),
        *_filters(),
        click.Option(
            ["--by"], type=click.Choice(GROUPS), default="tool", show_default=True, help="What totals are by."
        ),
        click.Option(
            ["--limit"], type=click.IntRange(min=1), default=_ROWS, show_default=True, help="Rows to show."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
        click.Option(
            ["--noted"], metavar="NUMBER:HASH", help="verify: a head that an earlier verification printed."
        ),
        click.Option(["--output"], metavar="FILE", help="export: a new file instead of standard output."),
        click.Option(
            ["--format", "format_name"],
            type=click.Choice(FORMATS),
            default="jsonl",
            show_default=True,
            help="export: as what.",
        ),
        click.Option(
            ["--older-than"], type=click.FloatRange(min=0), metavar="DAYS", help="prune: what is removed."
        ),
        click.Option(["--file"], metavar="FILE", help="The ledger, instead of the configured one."),
        click.Option(["--root"], metavar="DIR", help="The workspace whose configuration counts."),
        click.Option(["--config"], metavar="FILE", help="The configuration that the server has."),
    ],
    callback=_ledger,
    help=_ledger.__doc__,
)
