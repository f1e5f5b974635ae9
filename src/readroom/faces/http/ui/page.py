"""What a page is, before it looks like one: figures, tables and charts, as values.

A table is drawn, exported as CSV and read aloud from the same rows, and a chart is drawn
from a table or from points that a table beside it says in words.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, field

from readroom.ledger.queries import harmless
from readroom.lens.report import plain

if TYPE_CHECKING:  # only the dashboard needs it, and only when somebody looks
    from jinja2 import Environment

Tone: TypeAlias = Literal["", "good", "warn", "bad", "soft"]


class Cell(Struct, frozen=True):
    """One value of a table: how it reads, where it leads, and what a program gets instead."""

    text: str
    href: str = ""
    number: bool = False
    tone: Tone = ""
    code: bool = False
    raw: str | int | float | None = None
    share: int | None = None
    """Percent of the greatest in its column, drawn as a bar."""
    room: Literal["", "some", "much"] = ""
    """How much of the width its column keeps beside others with long texts."""


class Table(Struct, frozen=True):
    """Rows under heads. `more` leads to the rows behind the last one."""

    name: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    more: str = ""
    empty: str = "Nothing in this range."
    chart: Mapping[str, object] | None = None
    export: str = ""


class Figure(Struct, frozen=True):
    """One number that stands for much."""

    label: str
    value: str
    note: str = ""
    href: str = ""
    tone: Tone = ""


class Option(Struct, frozen=True):
    """One choice of a filter."""

    value: str
    label: str
    chosen: bool = False


class Filter(Struct, frozen=True):
    """A choice, or with no options a text, that stands in the address."""

    name: str
    label: str
    options: Sequence[Option] = ()
    value: str = ""


class Link(Struct, frozen=True):
    """A link and whether it leads to where the visitor is."""

    text: str
    href: str
    here: bool = False


class Page(Struct):
    """One page. `template` draws what `own` holds beside what all pages have."""

    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    filters: Sequence[Filter] = ()
    notes: Sequence[str] = ()
    crumbs: Sequence[Link] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    """What the form of the filters sends along."""
    template: str = "page.html"
    own: Mapping[str, object] = field(default_factory=dict)
    status: int = 200


def number(value: int, href: str = "", *, share: int | None = None) -> Cell:
    """A cell with a count."""
    return Cell(f"{value:,}", href, number=True, raw=value, share=share)


def moment(time_us: int) -> str:
    """A time as people read it, UTC."""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def stamp(time_us: int) -> Cell:
    """A cell with a time."""
    exact = datetime.fromtimestamp(time_us / 1_000_000, UTC).isoformat()
    return Cell(moment(time_us), raw=exact, tone="soft")


def lasted(duration_us: int) -> str:
    """A duration as people read it; records of other clients mostly have none."""
    if not duration_us:
        return "-"
    if duration_us < 1_000_000:
        return f"{duration_us / 1000:,.1f} ms"
    seconds = duration_us / 1_000_000
    if seconds < 120:
        return f"{seconds:,.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def address(base: str, page: str, **wanted: object) -> str:
    """Where a page is, with what is not empty of its filters."""
    query = urlencode({name: str(value) for name, value in wanted.items() if value not in ("", 0, None)})
    return f"{base}/{page}{'?' if query else ''}{query}"


def as_csv(table: Table) -> bytes:
    """The table for a spreadsheet: what it would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([harmless(plain(head)) for head in table.heads])
    for row in table.rows:
        writer.writerow([harmless(plain(cell.text) if cell.raw is None else cell.raw) for cell in row])
    return out.getvalue().encode("utf-8", "backslashreplace")


@cache
def environment() -> Environment:
    """The templates. Everything that they are given is text: escaped, and on one line with nothing hidden."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("readroom.faces.http.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = plain
    made.filters["line"] = _line
    made.filters["lines"] = lambda text: "\n".join(map(_line, text.split("\n")))
    made.filters["as_json"] = as_json
    return made


def _line(text: str) -> str:
    """A line with its tabs and blanks."""
    return "\t".join(plain(part, len(part)) for part in text.split("\t"))


def as_json(value: object) -> str:
    """A value for a `data-` attribute."""
    return msgspec.json.encode(value).decode("utf-8")


def rendered(page: Page, frame: Mapping[str, object]) -> bytes:
    """The page in HTML."""
    text = environment().get_template(page.template).render(page=page, **frame, **page.own)
    return text.encode("utf-8", "backslashreplace")
