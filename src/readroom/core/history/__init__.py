"""The past of a workspace: what every change took away, who made it, and how it is taken back.

Contents are kept once each, by their hash, in one database of this user.  A change and its past are one: what
is there is written down before it is changed, and what a killed process left is compared with what is there
by the next that looks.

Knows: what is kept of a change, how long, and whether it can be believed.
Does not know: who may see it and what is done about it; `engine.past` asks the policy and acts.
May be touched: with the laws of the history; `database` and `records` with a security review.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.history.settings import MEMORY_BYTES, HistoryPolicy
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Store
from readroom.core.values.history import Author, KeptChange

if TYPE_CHECKING:
    from readroom.core.history.book import Book
    from readroom.core.history.keeping import CallRecorder
    from readroom.core.history.records import Draft


class History:
    """The history of one workspace, opened when something is first changed or asked. Safe to share."""

    joins = False
    """Whether there is one for each of several roots."""

    def __init__(self, store: Store, policy: HistoryPolicy) -> None:
        if store.folder is None:
            policy = replace(policy, most_bytes=min(policy.most_bytes, MEMORY_BYTES))
        self.policy = policy
        self.store = store
        self._opening = threading.Lock()
        self._book: Book | None = None

    def book(self) -> Book:
        """The history, opened. Raises HistoryFailed."""
        book = self._book
        if book is None:
            from readroom.core.history.book import Book  # a database, which readers do not need

            with self._opening:
                book = self._book
                if book is None:
                    book = self._book = Book(self.store, self.policy)
        return book

    def recorder(self, guard: Guard, author: Author, deadline: Deadline) -> CallRecorder:
        """A recorder of the changes of one call, under the rules of that guard."""
        from readroom.core.history.keeping import CallRecorder

        return CallRecorder(self.book, self.policy, guard, author, deadline)

    def last_change(self, path: str) -> KeptChange | None:
        """The latest change of a real name, with that name alone; None for none. Raises HistoryFailed."""
        from readroom.core.history.queries import latest

        return latest(self.book(), path)

    def former(self, path: str, start: str) -> bytes | None:
        """The bytes of a former state of a real name, by the start of its hash. Raises HistoryFailed."""
        from readroom.core.history.queries import former

        return former(self.book(), path, start)

    def record(self, author: Author, drafts: Iterable[Draft]) -> int:
        """Keep a change that was made otherwise, as by a command; its number. Raises HistoryFailed."""
        book = self.book()
        change, _ = book.begin(author, None, drafts)
        book.made(change)
        return change

    def close(self) -> None:
        """Release the database."""
        with self._opening:
            book, self._book = self._book, None
            if book is not None:
                book.close()
