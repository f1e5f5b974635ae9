"""A look at a command that runs on: its output so far, after a wait for a line, its end, or a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.command.output import chosen, hidden_in
from readroom.core.engine.command.running import CHOICE_S, Runner
from readroom.core.engine.services import Job
from readroom.core.limits import BLOCK_BYTES, RUN_CLUE_CHARS, RUN_WAIT_S
from readroom.core.paths import OUTPUTS, WorkPath, join
from readroom.core.search.pattern import Pattern
from readroom.core.stores.base import Source
from readroom.core.stores.outputs import STREAMS, KeptStream
from readroom.core.text.output import last_drawn
from readroom.core.values.commands import Background, RunRequest, Wait, WatchRequest, WatchResult


class Watched(Protocol):
    """A command that runs on, wherever it runs."""

    def now(self) -> Background:
        """It as it is now."""

    def wait(self, seconds: float, seen: Background) -> None:
        """Wait until it is not as it was `seen`, at most for a moment."""


def watched(one: Watched, runner: Runner, job: Job[WatchRequest]) -> WatchResult:
    """Look at a command. Raises BadPattern and Cancelled."""
    request = job.request
    state, waited, matched = _waited(one, runner, request, job.deadline)
    result = WatchResult(
        state, waited=waited, matched=matched, age_s=(state.ended or time.time()) - state.began
    )
    try:
        if request.ends_bytes:
            return replace(result, ends=_ends(runner, state, request.ends_bytes))
        if job.cap.measure.output is None:  # the contract shows no lines of outputs
            return result
        # A separate deadline: the one of the call may have been used up by waiting.
        patience = Deadline(CHOICE_S)
        job.deadline.on_cancel(patience.cancel)
        kept = _kept(runner, state)
        shown = RunRequest(state.command, output=request.output)
        outputs = chosen(runner.mount, job.cap, shown, kept, state.failed, patience)
        return replace(result, outputs=outputs, warnings=(*state.warnings, *hidden_in(outputs)))
    except errors.OutputGone:
        return result


def _waited(
    one: Watched, runner: Runner, request: WatchRequest, deadline: Deadline
) -> tuple[Background, Wait, tuple[int, str, str] | None]:
    """The state after the wait, how the wait ended, and the line that ended it."""
    finder = None if request.until is None else _Finder(runner, request.id, request.until)
    left = deadline.remaining
    seconds = min(request.wait_s, RUN_WAIT_S) if left is None else min(request.wait_s, RUN_WAIT_S, left)
    until, check = time.monotonic() + seconds, deadline.grace(seconds + CHOICE_S).check
    while True:
        if deadline.cancelled:
            raise errors.Cancelled
        state = one.now()
        if finder is not None and (matched := finder.found(check)) is not None:
            return state, "matched", matched
        if not state.running:
            return state, "ended" if request.wait_s or finder else "", None
        left = until - time.monotonic()
        if left <= 0:
            return state, "time" if request.wait_s or finder else "", None
        one.wait(left, state)


def _kept(runner: Runner, state: Background) -> tuple[KeptStream, KeptStream]:
    """Its streams as they are kept now."""
    out, err = (
        KeptStream(
            path,
            state.sizes[number],
            runner.mount.stat(path)[1].size,
            state.lost[number],
        )
        for number, path in enumerate(_paths(state.id))
    )
    return out, err


def _paths(name: str) -> list[WorkPath]:
    return [join(OUTPUTS, f"{name}.{stream}") for stream in STREAMS]


def _ends(runner: Runner, state: Background, size: int) -> tuple[bytes, bytes]:
    """The beginning and the end of its first stream, which overlap nowhere."""
    with runner.mount.open(_paths(state.id)[0]) as source:
        head = source.read_at(0, min(size, source.size))
        begin = max(len(head), source.size - size)
        return head, source.read_at(begin, source.size - begin)


class _Finder:
    """Finds the first line of an output that matches, in what was written since it last looked."""

    def __init__(self, runner: Runner, name: str, pattern: str) -> None:
        self._runner = runner
        self._pattern = Pattern(pattern)
        if self._pattern.problem is not None:
            advice = "Send a plain text, or a pattern as of grep_files."
            raise errors.BadPattern(
                "until", pattern, f"its engine {self._pattern.problem}", advice, at=self._pattern.problem_at
            )
        self._places = dict.fromkeys(_paths(name), (0, 0, 1))
        """By stream: its file, and the place and number of its first line that was not searched yet."""

    def found(self, check: Callable[[], None]) -> tuple[int, str, str] | None:
        """The number of the line, its text and its stream."""
        for stream, path in zip(STREAMS, self._places, strict=True):
            try:
                with self._runner.mount.open(path) as source:
                    hit = self._in_file(path, source, check)
            except errors.OutputGone:
                continue
            if hit is not None:
                return *hit, stream
        return None

    def _in_file(self, path: WorkPath, source: Source, check: Callable[[], None]) -> tuple[int, str] | None:
        inode, at, number = self._places[path]
        if inode != source.version.inode:  # it was written anew, without its middle
            inode, at, number = source.version.inode, 0, 1
        while at < source.size:
            check()
            block = source.read_at(at, min(BLOCK_BYTES, source.size - at))
            whole = block.rfind(b"\n") + 1
            if not whole and len(block) == BLOCK_BYTES:
                whole = len(block)
            text = last_drawn(block[: whole or len(block)])
            for hit in self._pattern.hits(text, check):
                line = text[hit.start : hit.start + RUN_CLUE_CHARS].partition(b"\n")[0]
                return number + hit.number - 1, line.decode("utf-8", "replace").rstrip("\r")
            if not whole:
                break  # the last line may go on
            number += block.count(b"\n", 0, whole)
            at += whole
            self._places[path] = inode, at, number
        self._places[path] = inode, at, number
        return None
