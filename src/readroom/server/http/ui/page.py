"""Pages as values: figures, tables and charts, before they are rendered.

One set of rows makes a table on the page, its CSV export and its text for screen readers; a chart is drawn
from a table, or from points that a table next to it has in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, field

from readroom.core.quoting import plain
from readroom.server.ledger.queries import csv_line

if TYPE_CHECKING:  # only the dashboard needs it, when it has a visitor
    from jinja2 import Environment

UI_ROWS = 100
"""Rows of one table on a page; `next` or the export has the rest."""


Tone: TypeAlias = Literal["", "good", "warn", "bad", "soft"]


class Cell(Struct, frozen=True):
    """One value of a table: its text, its link, and its value in an export."""

    text: str
    href: str = ""
    number: bool = False
    tone: Tone = ""
    code: bool = False
    raw: str | int | float | None = None
    share: int | None = None
    """Percent of the largest value in its column, drawn as a bar."""
    note: str = ""
    """A second line below it, which an export leaves out."""
    room: Literal["", "some", "much"] = ""
    """How much width its column keeps next to columns with long texts."""


class Table(Struct, frozen=True):
    """Rows under a header. `more` links to the rows after the last one."""

    name: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    more: str = ""
    empty: str = "Nothing in this range."
    chart: Mapping[str, object] | None = None
    export: str = ""
    wide: bool = False
    """Whether it needs the width of the page though it has few columns."""


class Figure(Struct, frozen=True):
    """One number with a label."""

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
    """A choice, or a text field without options, stored in the address."""

    name: str
    label: str
    options: Sequence[Option] = ()
    value: str = ""


class Link(Struct, frozen=True):
    """A link, and whether it is the current page."""

    text: str
    href: str
    here: bool = False


class Page(Struct):
    """One page. `template` renders `own`; the rest is common to all pages."""

    title: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    filters: Sequence[Filter] = ()
    notes: Sequence[str] = ()
    crumbs: Sequence[Link] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    """Values that the form of the filters submits too."""
    template: str = "page.html"
    own: Mapping[str, object] = field(default_factory=dict)
    status: int = 200


def missing(dash: str = "-") -> Cell:
    """A cell without a value: a dash on the page, and empty in an export."""
    return Cell(dash, raw="", tone="soft")


def number(value: int, href: str = "", *, share: int | None = None) -> Cell:
    """A cell with a count."""
    return Cell(f"{value:,}", href, number=True, raw=value, share=share)


def moment(time_us: int) -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def stamp(time_us: int) -> Cell:
    """A cell with a time."""
    exact = datetime.fromtimestamp(time_us / 1_000_000, UTC).isoformat()
    return Cell(moment(time_us), raw=exact, tone="soft")


def lasted(duration_us: int) -> str:
    """A duration for people; records of other clients mostly have none."""
    if not duration_us:
        return "-"
    if duration_us < 50:
        return "under 0.1 ms"
    if duration_us < 1_000_000:
        return f"{duration_us / 1000:,.{int(duration_us < 10_000)}f} ms"
    seconds = duration_us / 1_000_000
    if seconds < 120:
        return f"{seconds:,.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def duration(duration_us: int) -> Cell:
    """A cell with a duration, which an export has in microseconds; 0 is none."""
    return Cell(lasted(duration_us), number=True, raw=duration_us or "")


def address(base: str, page: str, **wanted: object) -> str:
    """The address of a page, with the filters that are not empty."""
    query = urlencode({name: str(value) for name, value in wanted.items() if value not in ("", 0, None)})
    return f"{base}/{page}{'?' if query else ''}{query}"


def as_csv(table: Table) -> bytes:
    """The table for a spreadsheet; values that it would take for formulas get a leading apostrophe."""
    lines = [csv_line(map(plain, table.heads))]
    lines += [
        csv_line(plain(cell.text) if cell.raw is None else cell.raw for cell in row) for row in table.rows
    ]
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "backslashreplace")


@cache
def environment() -> Environment:
    """The templates. All their values are text: escaped, and on one line without hidden characters."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("readroom.server.http.ui"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["shown"] = plain
    made.filters["line"] = _line
    made.filters["lines"] = lambda text: "\n".join(map(_line, text.split("\n")))
    made.filters["as_json"] = as_json
    return made


def _line(text: str) -> str:
    """A line with its tabs and spaces."""
    return "\t".join(plain(part, len(part)) for part in text.split("\t"))


def as_json(value: object) -> str:
    """A value for a `data-` attribute."""
    return msgspec.json.encode(value).decode("utf-8")


def rendered(page: Page, frame: Mapping[str, object]) -> bytes:
    """The page as HTML."""
    text = environment().get_template(page.template).render(page=page, **frame, **page.own)
    return text.encode("utf-8", "backslashreplace")
