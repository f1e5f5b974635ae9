"""One request for a page: the visitor, the workspace, and the filters in the address.

A visitor sees names that the policy of their workspace allows, and no others.

The ledger records requests of agents, and so the names of refused files. Every name, and every
text that may contain one, passes through here before it reaches a page, a chart, an export or an address.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, final

from msgspec import Struct, field

from readroom.core.errors import BadValue, ReadroomError
from readroom.core.paths import ROOT, WorkPath
from readroom.core.quoting import plain
from readroom.core.rows import Audit, Finding, PastSession
from readroom.core.short_ids import short_id
from readroom.mcp.access import Access
from readroom.server.http.ui.books import Books
from readroom.server.http.ui.naming import is_long, names_in, spellings
from readroom.server.http.ui.page import Cell, Filter, Option, address, moment
from readroom.server.http.ui.queries import By, Questions, Slice
from readroom.server.ledger.sums import DAY_US, HOUR_US

UI_EXPORT_ROWS = 10_000
"""Rows of one exported table: 2 MB, and more than anybody scrolls through."""


HIDDEN: Final = "(hidden by policy)"

_TEXTS_KEPT: Final = 2_000
"""Texts whose verdict is kept for a page."""


@final
class Sight:
    """The visible names of one visitor, by the policy at the moment of the request."""

    def __init__(self, access: Access) -> None:
        """Take the guard of the visitor's workspace, and the tools that the token allows."""
        self._guard = access.workspace.guard
        self._guard.refresh()
        granted = access.granted
        self.contents: Final = granted is None or "read_file" in granted
        """Whether the visitor could also read files."""
        self.listings: Final = granted is None or "list_directory" in granted
        self._known: dict[str, WorkPath | None] = {}
        self._told: dict[str, str] = {}

    def path(self, value: str | None) -> WorkPath | None:
        """The name as spelled in the workspace; None if it is hidden from this visitor."""
        if not value:
            return None
        if value not in self._known:
            self._known[value] = self._allowed(value)
        return self._known[value]

    def text(self, value: str) -> str:
        """The text, unless it names a path that policy denies."""
        if not value:
            return value
        if value not in self._told:
            hidden = is_long(value) or any(name and self.denies(name) for name in set(names_in(value)))
            if len(self._told) >= _TEXTS_KEPT:
                self._told.clear()
            self._told[value] = HIDDEN if hidden else value
        return self._told[value]

    def denies(self, word: str) -> bool:
        """Whether a text as a whole names a path that policy denies."""
        try:
            path = self._guard.parse(word)
        except ReadroomError:
            return False  # not a valid name in this workspace, so its policy does not apply
        return not self._lets(path)

    def _allowed(self, value: str) -> WorkPath | None:
        try:
            path = self._guard.parse(value)
        except ReadroomError:
            return None
        if any(self.denies(spelling) for spelling in spellings(value) if spelling != value):
            return None
        outer = path.partition("!")[0].rstrip("/")
        seen = self._lets(path) and (outer in ("", path) or self._lets(WorkPath(outer)))
        return path if seen else None

    def _lets(self, path: WorkPath) -> bool:
        """Whether a name is allowed both as a file and as a folder: a missing one may have been either."""
        if path == ROOT:
            return True
        return self._guard.allows(path, folder=False) and self._guard.allows(path, folder=True)


_ID = re.compile(r"(?=.*[0-9])(?:[A-Za-z_]{1,8}[_-])?[0-9a-fA-F][0-9a-fA-F-]{10,}(?:/.*)?")


def is_id(session: str) -> bool:
    """Whether a machine made the name of a conversation, with or without the token's before it."""
    return bool(_ID.fullmatch(own_id(session)))


def own_id(session: str) -> str:
    """The id that a machine made, without the token's before it."""
    return session.rpartition(":")[2]


RANGES: Final = {
    "": ("All time", 0),
    "1d": ("Last day", DAY_US),
    "7d": ("7 days", 7 * DAY_US),
    "30d": ("30 days", 30 * DAY_US),
}
"""Values of `since`, their labels, and how far they go back."""

LIVE_US: Final = 10 * 60 * 1_000_000
"""A conversation is live if its last call is no older."""

KEPT: Final = ("since", "agent", "token", "tool", "outcome")
"""Filters that links keep from page to page."""


@final
class View(Struct, dict=True):
    """The data of a page.

    Attributes:
        access: The visitor's access to a workspace.
        base: Prefix of the addresses of pages.
        wanted: The query of the address.
        questions: Queries to the ledger.
        workspace: Its name in the ledger's rows.
        unsummed: The number of rows that are in no sum yet.
        audit: An audit shown with the ledger; None if none is shown.
        books: All ledgers.
        page: The requested page.
        chosen: The parameters of its address that exports keep, besides filters.
        whole: Whether the visitor's token has no restrictions in the workspace.
    """

    access: Access
    base: str
    wanted: Mapping[str, str]
    questions: Questions
    workspace: str
    books: Books
    unsummed: int = 0
    audit: Audit | None = None
    page: str = ""
    chosen: tuple[str, ...] = ()
    whole: bool = False
    now_us: int = field(default_factory=lambda: time.time_ns() // 1000)

    @cached_property
    def sight(self) -> Sight:
        """The names of the workspace that the visitor may see."""
        return Sight(self.access)

    def text(self, name: str, most: int = 4096) -> str:
        """A text parameter of the address."""
        return self.wanted.get(name, "")[:most]

    def count(self, name: str, default: int = 0) -> int:
        """A number parameter of the address. Raises BadValue."""
        given = self.wanted.get(name, "")
        if not given:
            return default
        if not given.isascii() or not given.isdigit() or len(given) > 15:
            raise BadValue(name, given, "is not a number", "Use digits, or leave it out of the address.")
        return int(given)

    @property
    def slice(self) -> Slice:
        """The rows that match the filters. Raises BadValue."""
        since = self.text("since")
        if since not in RANGES:
            raise BadValue("since", since, "is not a range", f"Use {', '.join(filter(None, RANGES))}.")
        back_us = RANGES[since][1]
        since_us = (self.now_us - back_us) // HOUR_US * HOUR_US if back_us else 0
        agent, token, tool, outcome = (self.text(name, 200) for name in KEPT[1:])
        return Slice(self.workspace, agent, token, tool, outcome, since_us=since_us)

    def link(self, page: str, **wanted: object) -> str:
        """The address of a page, with the filters that links keep."""
        kept = {name: self.text(name, 200) for name in KEPT}
        return address(self.base, page, **{**kept, **wanted})

    def bare(self, page: str, **wanted: object) -> str:
        """The address of a page without filters."""
        return address(self.base, page, **wanted)

    def rows(self, most: int) -> int:
        """The maximum rows of a table: an export has more than a page."""
        return UI_EXPORT_ROWS if self.text("format") == "csv" else most

    def export(self, table: str) -> str:
        """The address of a table of this page as CSV: with the current filters, and all rows."""
        chosen = {name: self.text(name) for name in (*KEPT, *self.chosen)}
        return address(self.base, self.page, **chosen, format="csv", table=table)

    def named(self, name: str, href: str = "", none: str = "-") -> Cell:
        """The name of an agent, a tool or a conversation, which may contain the name of a file."""
        if self.sight.text(name) != name:
            return Cell(HIDDEN, tone="soft")
        return Cell(name, href) if name else Cell(none, href, raw="")

    @property
    def findings(self) -> Sequence[Finding]:
        """The findings of the audit; none without one."""
        return self.audit.findings if self.audit is not None else ()

    def past(self, session: str) -> PastSession | None:
        """A conversation as the audit knows it."""
        return self.audit.sessions.get(session) if self.audit is not None else None

    @cached_property
    def _ids(self) -> Sequence[str]:
        """The ids of the latest conversations, in order."""
        return sorted(map(own_id, self.questions.latest_names(self.workspace)))

    def short(self, session: str) -> str:
        """The beginning of an id that tells it apart from others; of a sub-agent both parts."""
        if not is_id(session):
            return session
        own = own_id(session)
        outer, slash, _ = own.partition("/")
        first = short_id(outer, self._ids)
        return f"{first}/{short_id(own, self._ids, len(outer) + 1)}" if slash else first

    def conversation(self, session: str, agent: str, token: str, began_us: int = 0) -> Cell:
        """The name of a conversation, with a link to its page.

        It is its first prompt, or the name that a person gave it. An id that a machine made says nothing to
        people, so the agent and the time stand for it, and the beginning of the id is below.
        """
        link = self.bare("session", id=session, agent=agent, token=token)
        link = "" if self.sight.text(agent) != agent else link
        if self.sight.text(session) != session:
            return Cell(HIDDEN, tone="soft")
        past = self.past(session)
        title = self.sight.text(past.title) if past is not None else ""
        who = agent or "Unnamed agent"
        if title and title != HIDDEN:
            return Cell(title, link, raw=session, note=f"{who} {self.short(session)}")
        if session and not is_id(session):
            return Cell(session, link)
        if self.sight.text(agent) != agent:
            return Cell(HIDDEN, tone="soft")
        when = f", {moment(began_us)[:16]}" if began_us else ""
        if not session:
            return Cell(f"{who}, no session named", link, raw="")
        return Cell(f"{who}{when}", link, raw=session, note=self.short(session))

    def file_cell(self, path: str | None) -> Cell:
        """The name of a file, with a link if the visitor may see it."""
        if not path:
            return Cell("")
        if self.sight.path(path) is None:
            return Cell(HIDDEN, tone="soft")
        return Cell(path, self.bare("file", path=path), code=True)

    def filters(self, *names: By) -> list[Filter]:
        """The filters of the visitor: choices from the ledger, and the current ones."""
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
            # A name with hidden characters could be mistaken for another.
            sums = [one.name for one in self.questions.sums(every, name)]
            kinds = [one for one in sums if one == plain(one) and one == self.sight.text(one)]
            if name == "tool":  # the addresses of refused requests are no tools
                kinds = [one for one in kinds if not one.startswith("/")]
            extra = ["failed", "refused"] if name == "outcome" else []
            values = sorted({*filter(None, kinds), *([chosen] if chosen else [])} - set(extra))[:200]
            options = [
                Option("", "All", not chosen),
                *(Option(one, one, one == chosen) for one in (*extra, *values)),
            ]
            found.append(Filter(name, _LABELS[name], options))
        return found


_LABELS = {"agent": "Agent", "token": "Token", "tool": "Tool", "outcome": "Outcome"}
