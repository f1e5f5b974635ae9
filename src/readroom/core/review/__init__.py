"""The sets of changes that wait for review in one workspace: whose they are, and where.

The agent of a set sees the files as they would be; everybody else sees them as they are.  A person accepts a
set, or names of it, or rejects them (`deciding`).

Knows: which conversation has which set.
Does not know: how a set is kept and seen (`stores.review`), and how people are asked.
May be touched: with a security review.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import final

from msgspec import Struct

from readroom.core.caller import Caller
from readroom.core.errors import NotFound, StoreFailed
from readroom.core.errors.review import NoSuchReview, ReviewUnusable
from readroom.core.paths import ROOT
from readroom.core.stores.base import Store
from readroom.core.stores.review.tree import EMPTY, Holder, Tree
from readroom.core.stores.review.waiting import WaitingSet, read_tree

REVIEW = "review"
"""The right to decide over HTTP, among the tools of a token; "all tools" do not include it."""

_KEY_DIGITS = 32
_SHOWN_DIGITS = 8
"""Digits by which people name a set."""


class Waiting(Struct, frozen=True):
    """A set in which something waits, or that cannot be read: then `problem` says why."""

    id: str
    waiting: WaitingSet
    tree: Tree
    problem: str = ""
    elsewhere: bool = False
    """It was made in another folder, whose name this one has now."""


def holder_of(caller: Caller) -> Holder:
    """Whose changes wait when this caller changes something.

    A client whose conversation has no name is known by its own name, so that its set is found again when it
    is started again.
    """
    if caller.passing:
        return Holder(caller.token, "", caller.agent, caller.face)
    if caller.session:
        return Holder(caller.token, caller.session)
    return Holder(caller.token, "", "", "" if caller.token else caller.face)


@final
class Reviews:
    """The sets of one workspace. Safe to share between threads and processes."""

    def __init__(self, store: Store, state: str) -> None:
        """`state` is the folder of this user in which sets are kept."""
        root = store.folder
        assert root is not None
        self._root = root
        self._inode = store.stat(ROOT)[1].inode
        self._folder = os.path.join(state, _digest(os.fsencode(root)))

    def of(self, holder: Holder) -> WaitingSet:
        """The set of a holder, whether or not something waits in it."""
        words = (holder.token, holder.session, holder.agent, holder.face, str(self._inode))
        key = _digest("\0".join(words).encode("utf-8", "surrogatepass"))
        return self._at(key, holder)

    def all(self) -> Sequence[Waiting]:
        """The sets in which something waits, the one that was changed last first."""
        try:
            keys = os.listdir(self._folder)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreFailed("the changes that wait for review", os.strerror(error.errno or 0)) from None
        found = [self._found(key) for key in keys if len(key) == _KEY_DIGITS]
        kept = [one for one in found if one.problem or one.tree.nodes]
        return sorted(kept, key=lambda one: -one.tree.changed)

    def named(self, asked: str) -> Waiting:
        """The one set whose id begins so. Raises NoSuchReview."""
        found = [one for one in self.all() if one.waiting.folder.endswith(f"/{asked}") or one.id == asked]
        if not found and len(asked) >= _FEWEST_DIGITS:
            found = [one for one in self.all() if os.path.basename(one.waiting.folder).startswith(asked)]
        if len(found) != 1:
            raise NoSuchReview(asked)
        return found[0]

    def _found(self, key: str) -> Waiting:
        folder, problem, tree = os.path.join(self._folder, key), "", EMPTY
        try:
            tree = read_tree(folder)
        except ReviewUnusable as error:
            problem = error.problem
        except (NotFound, OSError):
            problem = "it cannot be read"
        elsewhere = bool(tree.nodes) and tree.inode != self._inode
        return Waiting(key[:_SHOWN_DIGITS], self._at(key, tree.holder), tree, problem, elsewhere)

    def _at(self, key: str, holder: Holder) -> WaitingSet:
        return WaitingSet(os.path.join(self._folder, key), holder, self._root, self._inode)


_FEWEST_DIGITS = 4


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_KEY_DIGITS]
