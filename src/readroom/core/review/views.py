"""The engines that show agents their own changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from readroom.core.caller import Caller
from readroom.core.engine import Engine
from readroom.core.engine.suggest import with_warnings
from readroom.core.lru import LruCache
from readroom.core.paths import WorkPath
from readroom.core.review import Reviews, holder_of
from readroom.core.stores.base import Store
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.tree import Holder
from readroom.core.values import Request, Result
from readroom.core.values.files import Warn
from readroom.core.values.verbs import changes, is_edit

_VIEWS = 256
"""Conversations whose changes wait, of which caches are kept; the changes are on disk."""

_WAITS = Warn("waits_for_review", "nobody else sees it until a person accepts it")


@final
class Views:
    """One engine for each conversation whose changes wait. Safe to share between threads."""

    def __init__(self, engine: Engine, reviews: Reviews, make: Callable[[Store], Engine]) -> None:
        """`engine` is that of the folder itself, `make` makes one for another store."""
        self._base = engine.services.guard
        self.reviews = reviews
        self._make = make
        self._kept: LruCache[Holder, Engine] = LruCache(_VIEWS)

    def of(self, caller: Caller) -> Engine:
        """The engine that shows a caller the files with its own changes."""
        holder = holder_of(caller)
        engine = self._kept.get(holder)
        if engine is None:
            engine = self._make(ReviewStore(self._base.store, self.reviews.of(holder), self._allows))
            self._kept.put(holder, engine)
        store = engine.services.guard.store
        assert isinstance(store, ReviewStore)
        store.agent = caller.agent
        return engine

    def _allows(self, path: WorkPath) -> bool:
        return self._base.decide(path, folder=False).allowed

    def told(self, request: Request, result: Result) -> Result:
        """The result of a call, with the remark that its change waits."""
        return with_warnings(result, [_WAITS]) if is_edit(request) and changes(request) else result
