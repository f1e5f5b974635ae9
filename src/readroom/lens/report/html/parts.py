"""Tables, texts and links of the page. Every text of a record becomes one harmless line here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

import msgspec

from readroom.core.quoting import plain
from readroom.lens.report import Totals
from readroom.lens.report.statements import title_of


def text(value: str, most: int = 400) -> str:
    """A text of a record, harmless in a terminal as in markup."""
    return escape(plain(value, most), quote=True)


def table(
    heads: Sequence[str], numbers: Sequence[str], rows: Iterable[Row], last: str = "", *, low: bool = False
) -> Iterator[str]:
    """A table: columns of text, columns of numbers, and perhaps a `last` one; a row has as many of each.

    A `low` one has a height of its own, in which it scrolls.
    """
    yield f'<div class="wide{" low" if low else ""}" tabindex="0"><table>\n<thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in heads)
    yield "".join(f'<th scope="col" class="number">{head}</th>' for head in numbers)
    yield f'<th scope="col">{last}</th>' if last else ""
    yield "</tr></thead>\n<tbody>\n"
    named = [*heads[1:], *numbers]
    for one in rows:
        yield from _row(one, named, len(heads) - 1)
    yield "</tbody></table></div>\n"


def _row(row: Row, heads: Sequence[str], texts: int) -> Iterator[str]:
    """A row; its cells have the heads of their columns, for screens that are too narrow for columns."""
    named = f' id="{row.id}"' if row.id else ""
    found = "" if row.words is None else f' data-words="{escape(row.words, quote=True)}"'
    yield f'<tr{named}{found}><th scope="row">{row.texts[0]}</th>'
    cells = [*row.texts[1:], *(one if isinstance(one, str) else f"{one:,}" for one in row.numbers)]
    for at, (head, cell) in enumerate(zip(heads, cells, strict=True)):
        kind = "" if at < texts else ' class="number"'
        yield f'<td{kind} data-h="{head}">{cell}</td>'
    yield f"<td>{row.last}</td></tr>\n" if row.last is not None else "</tr>\n"


COMPARED = "Share of the largest"
"""The head of a column of bars."""


class Row(msgspec.Struct, frozen=True):
    """A row of a table, whose first text names it.

    `texts` and `last` are markup; a row has a `last` cell unless that is None. The search of the page looks
    at a row with `words`.
    """

    texts: Sequence[str]
    numbers: Sequence[int | str] = ()
    last: str | None = None
    id: str = ""
    words: str | None = None


def more(count: int, where: str = "the export") -> str:
    """How many rows are not on the page, and where they are."""
    return f'<p class="soft">{count:,} more are in {where}.</p>\n' if count > 0 else ""


def bar(share: int) -> str:
    """A share of the largest value, in percent."""
    drawn = f'<rect class="share" width="{share + 1}" height="12"/>'
    return f'<svg width="102" height="12" role="img" aria-label="{share} % of the largest">{drawn}</svg>'


class Names(msgspec.Struct, frozen=True):
    """The names of sessions, with links to their rows where the page has one."""

    totals: Totals
    rows: Mapping[str, int]

    def of(self, session: str) -> str:
        """The title of a session, its client and the beginning of its id."""
        title = text(title_of(self.totals.title(session)), 100)
        at = self.rows.get(session)
        link = f'<a href="#session-{at}">{title}</a>' if at is not None else title
        return f'<bdi>{link}</bdi><br><span class="soft">{text(self.totals.called(session), 80)}</span>'


def names(totals: Totals) -> Names:
    """The names of all sessions of an audit."""
    return Names(totals, {one.session: at for at, one in enumerate(totals.dearest_sessions(), 1)})
