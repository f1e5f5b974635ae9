"""The supervisor: several processes behind one socket, restarted when they die, and ended together.

The supervisor serves nothing and has only the socket open. Each worker is a fork of it that opens everything
for itself and accepts connections from that socket; if it dies, another one accepts those that wait. Workers
end by a signal, and when the supervisor is gone for any reason: they see the end of a pipe that
it keeps open.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TypeAlias, final

from msgspec import Struct

from readroom.core.errors import Internal, ReadroomError
from readroom.core.limits import MCP_EXIT_S, SERVE_EXIT_S
from readroom.core.limits.session import WORKER_LEAST_S, WORKER_MOST_S
from readroom.core.log import log

Work: TypeAlias = "Callable[[Callable[[], None], int], int]"
"""The work of a worker, given a function that reports it ready, and its lifeline; returns an exit code."""

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The last is sent when a terminal is closed, and is ignored if it was ignored before (`nohup`)."""
_LATE_S = SERVE_EXIT_S + MCP_EXIT_S + 5.0
"""Workers that still run after that are killed."""

_HOPELESS = 5
"""This many workers that die in a row before one was ready mean a defect common to all."""


class _Worker(Struct):
    """One worker process, or the place for one."""

    number: int
    pid: int = 0
    pipe: int = -1
    """The pipe with which it reports that it is ready, and which closes when it ends."""
    ready: bool = False
    began: float = 0.0
    pause: float = 0.0
    starts_at: float = 0.0


WORKER_READY_S = 60.0
"""Longest start of a worker. It takes 0.1 s; a machine under load some seconds."""


@final
class Supervisor:
    """The workers of one server. Used by one thread, which must be the only one of its process."""

    def __init__(
        self, count: int, work: Work, on_ready: Callable[[], None], on_gone: Callable[[int], None]
    ) -> None:
        """Call `on_ready` once all `count` workers are ready, and `on_gone` with the number of each process
        that has ended."""
        self._work = work
        self._on_ready = on_ready
        self._on_gone = on_gone
        self._workers = [_Worker(number + 1) for number in range(count)]
        self._lifeline, self._life = os.pipe()
        self._ending = 0.0
        self._told = False
        self._failed = 0

    def run(self) -> None:
        """Run until a signal to end came and all workers have ended. Raises Internal if none can start."""
        with self._signals() as wake:
            try:
                while True:
                    self._start_due()
                    if not any(worker.pid for worker in self._workers) and self._ending:
                        return
                    self._wait(wake)
                    self._reap()
                    self._look_at_time()
            finally:
                self._send(signal.SIGKILL)  # all have ended, unless an error leads here
                os.close(self._life)
                os.close(self._lifeline)

    # --- starting ----------------------------------------------------------------------------------

    def _start_due(self) -> None:
        for worker in self._workers:
            if not worker.pid and not self._ending and worker.starts_at <= time.monotonic():
                self._start(worker)

    def _start(self, worker: _Worker) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal in between would be handled by a copy of the supervisor, or miss the worker.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            pid = os.fork()
            if not pid:
                self._be_worker(reading, writing)
            os.close(writing)
            worker.pid, worker.pipe, worker.ready, worker.began = pid, reading, False, time.monotonic()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)

    def _be_worker(self, reading: int, writing: int) -> NoReturn:
        """Never returns: the stack above belongs to the supervisor."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _heard():
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            # Ctrl+C goes to the supervisor alone, which passes it on once.
            os.setpgid(0, 0)
            os.close(self._life)
            os.close(reading)
            for worker in self._workers:
                if worker.pid:
                    os.close(worker.pipe)
            code = self._work(lambda: _tell(writing), self._lifeline)
        except ReadroomError as error:
            log().error("a worker could not continue: %s", error)
        except BaseException:
            log().exception("a worker could not continue")
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    # --- watching ----------------------------------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """A descriptor that is readable when a signal has arrived."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        before = {number: signal.signal(number, self._end) for number in _heard()}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        wakes = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakes)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _wait(self, wake: int) -> None:
        waiting = [wake, *(worker.pipe for worker in self._workers if worker.pid and not worker.ready)]
        readable, _, _ = select.select(waiting, [], [], self._patience())
        if wake in readable:
            with suppress(BlockingIOError):
                os.read(wake, 4096)
        for worker in self._workers:
            if worker.pid and not worker.ready and worker.pipe in readable:
                worker.ready = bool(os.read(worker.pipe, 1))
        if not self._told and all(worker.ready for worker in self._workers):
            self._told = True
            self._on_ready()

    def _patience(self) -> float | None:
        """Seconds until the next deadline."""
        now = time.monotonic()
        if self._ending:
            return max(0.0, self._ending + _LATE_S - now)
        due = [worker.starts_at for worker in self._workers if not worker.pid]
        due += [worker.began + WORKER_READY_S for worker in self._workers if worker.pid and not worker.ready]
        return max(0.0, min(due) - now) if due else None

    def _reap(self) -> None:
        for worker in self._workers:
            if worker.pid:
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
                if pid:
                    self._gone(worker, status)

    def _gone(self, worker: _Worker, status: int) -> None:
        os.close(worker.pipe)
        lived = time.monotonic() - worker.began
        pid, worker.pid = worker.pid, 0
        self._on_gone(pid)
        self._failed = 0 if worker.ready else self._failed + 1
        worker.ready = False
        if self._ending:
            return
        if self._failed >= _HOPELESS and not self._told:
            raise Internal("Worker")
        worker.pause = WORKER_LEAST_S if lived > WORKER_MOST_S else min(WORKER_MOST_S, worker.pause * 2)
        worker.pause = max(worker.pause, WORKER_LEAST_S)
        worker.starts_at = time.monotonic() + worker.pause
        code = os.waitstatus_to_exitcode(status)
        how = f"was ended by signal {-code}" if code < 0 else f"has ended with code {code}"
        log().warning(
            "worker %d (process %d) %s; another starts in %.1f s", worker.number, pid, how, worker.pause
        )

    def _look_at_time(self) -> None:
        now = time.monotonic()
        if self._ending and now >= self._ending + _LATE_S:
            self._send(signal.SIGKILL)
        for worker in self._workers:
            if worker.pid and not worker.ready and now >= worker.began + WORKER_READY_S:
                os.kill(worker.pid, signal.SIGKILL)

    # --- ending ------------------------------------------------------------------------------------

    def _end(self, number: int, _frame: object) -> None:
        """The signal handler: passes the signal to the workers, and stops restarting them."""
        self._ending = self._ending or time.monotonic()
        self._send(number)

    def _send(self, number: int) -> None:
        for worker in self._workers:
            if worker.pid:
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)


def _heard() -> list[signal.Signals]:
    """The signals that end it."""
    return [one for one in _ENDING if one != signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]


def _tell(pipe: int) -> None:
    with suppress(OSError):  # the supervisor is gone; the lifeline shows that too
        os.write(pipe, b"r")
