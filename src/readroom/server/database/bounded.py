"""A connection to PostgreSQL that waits for no answer beyond a time.

A limit that the server keeps does not help while it hangs, or its machine does: it then neither answers nor
closes the connection, and libpq waits for hours.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar, final

import psycopg

R = TypeVar("R")


@final
class BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when an answer has not come in time.

    Attributes:
        until: When that is, on the monotonic clock.
    """

    until = float("inf")

    def wait(self, gen: Generator[Any, Any, R], *args: Any, **kwargs: Any) -> R:
        """Wait as the driver does, which looks up ten times a second when nothing comes."""
        return super().wait(self._bounded(gen), *args, **kwargs)

    def _bounded(self, gen: Generator[Any, Any, R]) -> Generator[Any, Any, R]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() >= self.until:
                    # Closed first: the driver would otherwise wait for the answer to a rollback.
                    self.close()
                    raise psycopg.OperationalError("it did not answer in time")
                wanted = gen.send(ready)
        except StopIteration as done:
            answer: R = done.value
            return answer
