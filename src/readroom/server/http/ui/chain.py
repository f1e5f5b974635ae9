"""The page of the ledger itself: how many rows it has, and whether each is as it was written."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.server.http.ui.page import Figure, Page, moment
from readroom.server.http.ui.view import View


def ledger(view: View) -> Page:
    """The state of the ledger, and a button to verify every row."""
    book = view.books.of(view.access.workspace)
    head, start, found = book.head(), book.start(), view.books.verified(view.access.workspace)
    figures = [Figure("Rows", f"{head.number - start.number:,}")]
    problems: Sequence[str] = ()
    state = "No verification has run since the server started."
    if found is True:
        state = "Verification is running; reload the page for the result."
    elif found is not None and not isinstance(found, bool):
        problems = found.verdict.problems
        said = "is broken" if problems else "is intact: every row is as it was written"
        state = f"{found.verdict.rows:,} rows checked in {found.seconds:,.1f} s, "
        state += f"{moment(found.at_us)} UTC: the chain {said}."
        figures.append(Figure("Chain", "broken" if problems else "whole", tone="bad" if problems else "good"))
    figures += [Figure("Summed", f"{head.number - start.number - view.unsummed:,}")]
    return Page(
        "Ledger", figures, template="ledger.html",
        own={"state": state, "problems": list(problems), "head": f"{head.number}:{head.hash}"},
    )  # fmt: skip
