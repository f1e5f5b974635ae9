"""One request for a page: who looks, at which workspace, with which filters in the address."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, final

from readroom.errors import BadValue
from readroom.faces.calls import Access
from readroom.faces.http.ui.page import Cell, Filter, Option, address
from readroom.faces.http.ui.queries import By, Questions, Slice
from readroom.faces.http.ui.sight import HIDDEN, Sight
from readroom.ledger.sums import DAY_US, HOUR_US
from readroom.lens.normal_form import Finding
from readroom.lens.report import plain

RANGES: Final = {
    "": ("All time", 0),
    "1d": ("Last day", DAY_US),
    "7d": ("7 days", 7 * DAY_US),
    "30d": ("30 days", 30 * DAY_US),
}
"""What `since` may say, how it reads, and how far it goes back."""

LIVE_US: Final = 10 * 60 * 1_000_000
"""A conversation whose last call is no older counts as live."""

KEPT: Final = ("since", "agent", "token", "tool", "outcome")
"""Filters that go along from page to page."""


@final
class View:
    """What the pages are made of."""

    def __init__(
        self,
        access: Access,
        base: str,
        wanted: Mapping[str, str],
        questions: Questions,
        workspace: str,
        *,
        unsummed: int = 0,
        findings: Sequence[Finding] | None = None,
    ) -> None:
        """Take what the address says.

        Args:
            access: Who looks, at which workspace.
            base: Of the addresses of pages.
            wanted: The query of the address.
            questions: To the ledger.
            workspace: As the ledger's rows name it.
            unsummed: Rows that are in no sum yet.
            findings: Of an audit; None when none is shown.
        """
        self.access = access
        self.base = base
        self.wanted = wanted
        self.questions = questions
        self.workspace = workspace
        self.unsummed = unsummed
        self.findings = findings
        self.sight = Sight(access)
        self.now_us = time.time_ns() // 1000

    def text(self, name: str, most: int = 4096) -> str:
        """A text of the address."""
        return self.wanted.get(name, "")[:most]

    def count(self, name: str, default: int = 0) -> int:
        """A number of the address. Raises BadValue."""
        given = self.wanted.get(name, "")
        if not given:
            return default
        if not given.isascii() or not given.isdigit() or len(given) > 15:
            raise BadValue(name, given, "is no number", "Use digits, or leave it out of the address.")
        return int(given)

    @property
    def slice(self) -> Slice:
        """The rows that the filters leave. Raises BadValue."""
        since = self.text("since")
        if since not in RANGES:
            raise BadValue("since", since, "is none of the ranges", f"Use {', '.join(filter(None, RANGES))}.")
        back_us = RANGES[since][1]
        since_us = (self.now_us - back_us) // HOUR_US * HOUR_US if back_us else 0
        agent, token, tool, outcome = (self.text(name, 200) for name in KEPT[1:])
        return Slice(self.workspace, agent, token, tool, outcome, since_us=since_us)

    def link(self, page: str, **wanted: object) -> str:
        """The address of a page, with the filters that go along."""
        kept = {name: self.text(name, 200) for name in KEPT}
        return address(self.base, page, **{**kept, **wanted})

    def bare(self, page: str, **wanted: object) -> str:
        """The address of a page without filters."""
        return address(self.base, page, **wanted)

    def file_cell(self, path: str | None) -> Cell:
        """The name of a file with a link to it, when the visitor may see it."""
        if not path:
            return Cell("")
        if self.sight.path(path) is None:
            return Cell(HIDDEN, tone="soft")
        return Cell(path, self.bare("file", path=path), code=True)

    def filters(self, *names: By) -> list[Filter]:
        """The choices of the visitor: what there is in the ledger, and what is chosen."""
        found = [
            Filter(
                "since",
                "Time",
                [Option(value, label, value == self.text("since")) for value, (label, _) in RANGES.items()],
            )
        ]
        every = Slice(self.workspace)
        for name in names:
            chosen = self.text(name, 200)
            # A name with something hidden in it would not be chosen for what it is.
            kinds = [one.name for one in self.questions.sums(every, name) if one.name == plain(one.name)]
            extra = ["failed", "refused"] if name == "outcome" else []
            values = sorted({*filter(None, kinds), *([chosen] if chosen else [])} - set(extra))[:200]
            options = [
                Option("", "All", not chosen),
                *(Option(one, one, one == chosen) for one in (*extra, *values)),
            ]
            found.append(Filter(name, _LABELS[name], options))
        return found


_LABELS = {"agent": "Agent", "token": "Token", "tool": "Tool", "outcome": "Outcome"}
