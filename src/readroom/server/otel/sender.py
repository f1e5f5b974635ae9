"""The queue between calls and a collector, and the thread that empties it.

A call puts a few small values into the queue, which is bounded; what does not fit is left out.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections import deque
from functools import cache
from typing import Any, final

from readroom.core.log import log
from readroom.core.session.journal import Entry
from readroom.server.otel import OtelPolicy
from readroom.server.otel.conventions import Measured, measured

MOST_WAITING = 2048
"""Spans that wait for a collector, as many as the SDK keeps; each has some kilobytes at most."""

_BATCH = 512
_GATHER_S = 1.0
"""How long the first span of a batch waits for others."""

_METRICS_S = 60.0
"""Between two reports of metrics."""

_LOADING_S = 30.0
"""The most that the end of a process waits until the packages are loaded, on a machine without time."""

LEAVING_S = 3.0
"""The most that it waits for the network, then."""


@final
class Sender:
    """Sends the spans and metrics of this process to one place. Safe to share between threads."""

    def __init__(self, policy: OtelPolicy) -> None:
        self._policy = policy
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Begin with an empty queue, also in a forked process, which has no such thread."""
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Measured, Any]] = deque()
        self._thread: threading.Thread | None = None
        self._pipeline: Any = None
        self._loaded = threading.Event()
        self._lost = 0
        self._hurry = self._broken = self._late = self._unsaid = False

    def told(self, entry: Entry) -> None:
        """See `Observer`."""
        if self._broken:
            return
        try:
            one = measured(entry, time.time_ns(), paths=self._policy.paths), _around()
            with self._changed:
                if len(self._waiting) >= MOST_WAITING:
                    self._lost += 1
                    return
                self._waiting.append(one)
                self._unsaid = True
                if self._thread is None:
                    self._start()
                elif len(self._waiting) in (1, _BATCH):
                    self._changed.notify_all()
        except Exception:  # whatever it is, the call goes on
            self._broken = True
            log().exception("spans are no longer sent")

    def flush(self) -> None:
        """See `Observer`: not at all if the collector did not answer, or not in time, when last asked."""
        if self._thread is None or not self._loaded.wait(_LOADING_S) or self._broken:
            return
        pipeline = self._pipeline
        if pipeline.is_away:
            return
        pipeline.impatient = True
        with self._changed:
            if self._late or not self._unsaid:
                return
            self._hurry = True
            self._changed.notify_all()
            self._late = not self._changed.wait_for(self._is_idle, LEAVING_S)
        pipeline.impatient = False

    def _is_idle(self) -> bool:
        return self._broken or not self._hurry

    def _start(self) -> None:
        # What it has not sent when the process ends, the process does not wait for.
        self._thread = threading.Thread(target=self._run, name="readroom-otel", daemon=True)
        self._thread.start()
        _at_exit(self)

    def _run(self) -> None:
        try:
            from readroom.server.otel.pipeline import Pipeline  # the SDK takes a third of a second

            self._pipeline = Pipeline(self._policy)
            self._loaded.set()
            due = time.monotonic() + _METRICS_S
            while True:
                batch, hurry = self._next(due)
                self._pipeline.send(batch, self._take_lost())
                if hurry or time.monotonic() >= due:
                    self._pipeline.report()
                    due = time.monotonic() + _METRICS_S
                with self._changed:
                    self._late = False
                    if hurry and not self._waiting:
                        self._hurry = self._unsaid = False
                    self._changed.notify_all()
        except Exception:
            self._broken = True
            self._waiting.clear()
            log().exception("spans are no longer sent")
        finally:
            self._loaded.set()
            with self._changed:
                self._changed.notify_all()

    def _next(self, due: float) -> tuple[list[tuple[Measured, Any]], bool]:
        """The next batch, and whether somebody waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._hurry, max(0.0, due - time.monotonic()))
            if self._waiting:
                self._changed.wait_for(lambda: len(self._waiting) >= _BATCH or self._hurry, _GATHER_S)
            return [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))], self._hurry

    def _take_lost(self) -> int:
        with self._changed:
            lost, self._lost = self._lost, 0
        return lost


def _around() -> Any:
    """The context of the span in which a program calls the library; None without one."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:  # nobody has begun one
        return None
    context = trace.get_current_span().get_span_context()
    return context if context.is_valid else None


def _at_exit(sender: Sender) -> None:
    """Flush when this process ends, whoever has forgotten to close a workspace."""
    atexit.register(sender.flush)


@cache
def sender_of(policy: OtelPolicy) -> Sender:
    """The sender of this process for a policy; workspaces share it."""
    return Sender(policy)
