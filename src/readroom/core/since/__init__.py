"""Changes of files since a conversation saw them: looked for with each call, reported once, in its reply.

Each call costs a stat of the files that were shown last.  Only a file whose version differs is opened,
through the guard, and what the conversation changes itself is noted when the call ends.  Changes that a
background command makes while it runs look like those of others, and are reported.

Knows: what a conversation was shown, and where that is now.
Does not know: who made a change; the history and the ledger do (`Authors`).
May be touched: with the laws of `tests/laws/test_since.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.caller import Caller
from readroom.core.contracts.base import Contract
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.log import log
from readroom.core.paths import WorkPath
from readroom.core.session.conversation import Session, ShownLines
from readroom.core.session.seen import SeenFile
from readroom.core.since.authors import Authors
from readroom.core.since.note import Notes
from readroom.core.since.values import CLOSELY, News, What
from readroom.core.text import hashes
from readroom.core.values import Reply, Request, Result
from readroom.core.values.history import Author
from readroom.core.values.verbs import changes

if TYPE_CHECKING:
    from readroom.core.since.report import Report

LOOK_S = 0.05
"""Longest time for the stats of one call: a network file system may take milliseconds for each."""

CLOSE_S = 0.3
"""Time in which changed files are compared with what was shown; of further ones only that is said."""

SHARE = 4
"""News take at most this part of a reply."""


@final
class Since:
    """The news of one call, and what it adds to what its conversation knows. Used by one thread."""

    def __init__(
        self, services: Services, session: Session, caller: Caller, record: Contract, authors: Authors
    ) -> None:
        """Looks at once; raises nothing."""
        self._services = services
        self._session = session
        self._caller = caller
        self._record = record
        self._authors = authors
        self._began_ns = time.time_ns()
        self._found: Sequence[News] = ()
        self._told: Sequence[News] | None = None
        self._changing = False
        self._files: Sequence[SeenFile] = ()
        self._still: set[str] = set()
        try:
            self._files = session.files()
            if self._files and caller.is_one_reader:
                self._found = self._news()
        except errors.ReadroomError as error:
            log().warning("what changed since it was seen is not known: %s", error)

    # --- before the call ------------------------------------------------------------------------

    def begin(self, request: Request) -> None:
        """The call is about to be performed."""
        if changes(request):
            self._session.own.begin()
            self._changing = True

    def end(self) -> None:
        """The call is over."""
        if self._changing:
            self._changing = False
            self._session.own.end()

    def size(self, cap: int) -> int:
        """The bytes of a reply that the news may need."""
        if not self._found:
            return 0
        return min(cap // SHARE, self._report.size(self._found))

    def _news(self) -> list[News]:
        own, store = self._session.own, self._services.guard.store
        quiet = own.quiet
        if quiet is None:
            return []
        until = time.monotonic() + LOOK_S
        differing = []
        for at, seen in enumerate(self._files):
            if store.is_still(seen.path, seen.version):
                self._still.add(seen.path)
            elif not self._is_linked(seen):
                differing.append(seen)
            if at % 8 == 7 and time.monotonic() > until:
                break
        if not differing:
            return []
        from readroom.core.since.look import looked_at  # most calls find nothing

        found: list[News] = []
        deadline = Deadline(CLOSE_S)
        for seen in differing:
            closely = len(found) < CLOSELY and not deadline.expired
            news = looked_at(self._services, seen, deadline, closely=closely)
            if isinstance(news, SeenFile):
                self._session.exchange(seen.path, seen, news)
            elif own.quiet == quiet:
                found.append(news)
        return [news for news in map(self._by, found) if news is not None]

    def _is_linked(self, seen: SeenFile) -> bool:
        """Whether a name leads through a link to the state that is known."""
        try:
            return seen.version is not None and self._services.guard.store.version(seen.path) == seen.version
        except errors.ReadroomError:
            return False

    def _by(self, news: News) -> News | None:
        """The news with who did it; None if that was this conversation, at another process."""
        after = news.after or news.seen
        state = after if news.to is None else replace(news.seen, version=None, digits=None)
        made = self._authors.of(state, news.at_ns)
        if made is None:
            return news
        author, at_ns = made
        if self._is_own(author):
            self._exchange(news)
            return None
        return self._followed(replace(news, author=author, at_ns=at_ns))

    def _followed(self, news: News) -> News:
        """The news of a file that has another name, by the record of who gave it, if that may be seen."""
        to = self._authors.moved_to(news.seen.path) if news.what is What.GONE else None
        if to is None:
            return news
        try:
            guard = self._services.guard
            path = WorkPath(guard.stat(to)[0] and to)
            version = guard.store.version(path)
        except errors.ReadroomError:
            return news
        after = replace(news.seen, path=path, name=path, version=version)
        return replace(news, what=What.RENAMED, to=path, after=after)

    def _is_own(self, author: Author | None) -> bool:
        """Whether this conversation made a change; those without a name may be several."""
        own = self._caller.session, self._caller.token
        return author is not None and bool(author.session) and (author.session, author.token) == own

    # --- in the reply ---------------------------------------------------------------------------

    def told(self, reply: Reply, shown: Sequence[ShownLines] = ()) -> Reply:
        """The reply with the news, which no other call reports from now on."""
        if not self._found:
            return reply
        if self._told is None:
            self._told = [news for news in self._found if self._exchange(news)]
        return self._report.added(reply, self._told, [span.path for span in shown]) if self._told else reply

    def explain(self, error: errors.ReadroomError) -> None:
        """Add to the refusal of a stale change who made the other one, when, and where the lines are."""
        causes = [one for _, one in error.failures] if isinstance(error, errors.EditsFailed) else [error]
        for cause in causes:
            if not isinstance(cause, errors.Stale) or isinstance(cause, errors.AlreadyAppended):
                continue
            if cause.changed_at is None and self._was_there(cause):
                self._explain(cause)

    def _was_there(self, error: errors.Stale) -> bool:
        """Whether the state that a call names is known to have been there: hashes are made up, too."""
        path, expected = WorkPath(error.path), error.expected.removeprefix(hashes.PREFIX)
        services = self._services
        with _unless_failed():
            if self._session.has_in_view(path, expected) or services.texts.find(path, expected) is not None:
                return True
            return services.history is not None and services.history.former(path, error.expected) is not None
        return False

    def _explain(self, error: errors.Stale) -> None:
        news = next((one for one in self._found if error.path in (one.seen.path, one.seen.name)), None)
        if news is not None:
            self._exchange(news)
        else:
            news = self._unseen(error)
        if news is not None and news.at_ns is not None:
            self._report.explain(error, news, own=self._is_own(news.author))

    def _unseen(self, error: errors.Stale) -> News | None:
        """The change of a file that the conversation was not shown, or has heard of already."""
        path = WorkPath(error.path)
        try:
            self._services.guard.stat(path)
            version = self._services.guard.store.version(path)
        except errors.ReadroomError:
            return None
        if version is None:
            return None
        seen = SeenFile(path, path, version, error.found.removeprefix(hashes.PREFIX))
        author, at_ns = self._authors.of(seen, version.mtime_ns) or (None, version.mtime_ns)
        return News(seen, seen, What.CHANGED, author=author, at_ns=at_ns)

    def _exchange(self, news: News) -> bool:
        """Note that news are known; False if another call reports them, or if that cannot be noted."""
        seen, after = news.seen, news.after
        with _unless_failed():
            if after is None or after.path == seen.path:
                return self._session.exchange(seen.path, seen, after)
            done = self._session.exchange(seen.path, seen, None)
            if done:
                self._session.exchange(after.path, None, after)
            return done
        return False

    @property
    def _report(self) -> Report:
        from readroom.core.since.report import Report  # most calls report nothing

        return Report(self._record, self._caller)

    # --- after the call -------------------------------------------------------------------------

    def note(self, request: Request, result: Result, shown: Sequence[ShownLines]) -> None:
        """Remember what the reply shows, and what the call changed."""
        with _unless_failed():
            self._notes.take(request, result, shown)

    def note_failed(self, request: Request) -> None:
        """Remember what a call that failed may have changed."""
        with _unless_failed():
            self._notes.take_failed(request)

    @property
    def _notes(self) -> Notes:
        return Notes(self._services, self._session, self._files, self._still, self._began_ns)


@contextmanager
def _unless_failed() -> Iterator[None]:
    """Survive a state that cannot be written: lines are then shown, or changes reported, once more."""
    try:
        yield
    except errors.ReadroomError as error:
        log().warning("what a call showed or changed is not remembered: %s", error)
