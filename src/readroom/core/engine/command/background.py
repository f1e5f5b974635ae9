"""Commands that run on after the call that started them: start, list, look with a wait, end.

Each has a thread that keeps its output, in files that grow and that every tool can read.  They belong to the
token and the conversation that started them, are bounded in number, time and bytes, and end with the
workspace: its supervisor ends a command when the process that started it is gone, however that ended.

Knows: which commands run on, and whose they are.
Does not know: how a command is run (`running`), and what of its output a reply shows (`output`).
May be touched: with a security review.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.caller import Owner
from readroom.core.deadline import Deadline
from readroom.core.engine.command import shell
from readroom.core.engine.command.changed import seen_by
from readroom.core.engine.command.posted import POST_S, Elsewhere, asked, encoded, posted
from readroom.core.engine.command.process import RUN_DRAIN_S, RUN_GRACE_S, Command
from readroom.core.engine.command.running import CommandRun, Ran, Runner, ended_code, remarks, require_usable
from readroom.core.engine.command.watching import watched
from readroom.core.engine.services import Job, Services
from readroom.core.limits import (
    RUN_BACKGROUND,
    RUN_BACKGROUND_ENDED,
    RUN_BACKGROUND_OWN,
    RUN_BACKGROUND_S,
)
from readroom.core.log import log
from readroom.core.lru import LruCache
from readroom.core.sandbox import Start
from readroom.core.stores.base import Shelf
from readroom.core.stores.growing import GrowingKeeper
from readroom.core.stores.outputs import STREAMS
from readroom.core.values.commands import (
    UNCHANGED,
    Background,
    EndRequest,
    Lost,
    Reach,
    Signal,
    StartedRequest,
    StartedResult,
    StartRequest,
    WatchRequest,
    WatchResult,
)
from readroom.core.values.files import Warn

_Key: TypeAlias = tuple[Owner, str]


def start(services: Services, job: Job[StartRequest]) -> WatchResult:
    """Start a command that runs on.

    Raises:
        CommandsOff: Commands do not run here.
        BadValue: It is not a command, or its output could not be read later.
        TooManyCommands: As many run as may.
        Denied, NotFound, NotAFolder, OutsideRoot: From the folder it would start in.
        NotConfined, NotStarted, NoFolder, BadConfig, StoreFailed: It was not started.
        Cancelled, TimedOut: The caller went away; it was ended.
    """
    if services.commands is None:
        raise services.commands_off()
    return services.commands.start(job)


def watch(services: Services, job: Job[WatchRequest]) -> WatchResult:
    """Look at a command, also after a wait. Raises CommandsOff, NoSuchCommand, BadPattern, Cancelled."""
    if services.commands is None:
        raise services.commands_off()
    return _seen(services, services.commands.watch(job))


def end(services: Services, job: Job[EndRequest]) -> WatchResult:
    """End a command; one that has ended stays as it is. Raises CommandsOff, NoSuchCommand, Cancelled."""
    if services.commands is None:
        raise services.commands_off()
    return _seen(services, services.commands.end(job))


def _seen(services: Services, result: WatchResult) -> WatchResult:
    """The result with the changed names that the rules of a call let through."""
    changes = result.state.changes
    if not changes:
        return result
    return replace(result, state=replace(result.state, changes=seen_by(services.guard, changes)))


def started(services: Services, job: Job[StartedRequest]) -> StartedResult:
    """The commands of the caller. Raises CommandsOff."""
    if services.commands is None:
        raise services.commands_off()
    return services.commands.started(job.request)


# -----------------------------------------------------------------------------
# One command, with the thread that keeps its output.
# -----------------------------------------------------------------------------


@final
@dataclass(eq=False)
class _Running:
    """A command of this process. Safe to share between threads."""

    owner: Owner
    runner: Runner
    request: StartRequest
    id: str
    keepers: tuple[GrowingKeeper, GrowingKeeper]
    seconds: float
    command: Command | None = None
    state: Background | None = None
    failure: errors.ReadroomError | None = None
    unwanted: bool = False
    thread: threading.Thread | None = None
    shelf: Shelf | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.deadline = Deadline(self.seconds)
        self._posted_at = 0.0
        self._stored: dict[str, tuple[int, Lost | None]] = {}
        """By stream, how much the other processes have, and what was missing then."""

    # --- its own thread --------------------------------------------------------------------------

    def run(self) -> None:
        """Run it to its end."""
        outputs = self.runner.outputs
        try:
            ran = CommandRun(self.runner, self.request, self.keepers, self.deadline, self.seconds, self).ran()
        except errors.ReadroomError as error:
            self._over(None, error)
        except Exception as error:
            log().exception("a background command failed")
            self._over(None, errors.Internal(type(error).__name__))
        else:
            self._over(ran, None)
        if self.state is None or self.unwanted:
            outputs.drop(self.id)

    def began(self, command: Command, start: Start, chosen: shell.Shell) -> None:
        """Note that it has been started."""
        network = self.runner.policy.network or start.confinement == "none"
        state = Background(
            self.id,
            self.request.command,
            self.request.path,
            self.request.background,
            time.time(),
            self.seconds,
            chosen.name,
            start.confinement,
            network,
        )
        self.command = command
        self._post(state)  # before its start is reported: the next call may come to another process
        with self.changed:
            self.state = state
            self.changed.notify_all()

    def wrote(self) -> None:
        """Note what it has written."""
        out, err = self.keepers
        with self.changed:
            assert self.state is not None
            if (out.size, err.size) != self.state.sizes:
                lost = (out.lost, err.lost)
                if lost != self.state.lost:
                    self.runner.outputs.note_lost(self.id, {"stdout": out.lost, "stderr": err.lost})
                self.state = replace(self.state, sizes=(out.size, err.size), lost=lost)
                self.changed.notify_all()
        if self.shelf is not None and time.monotonic() >= self._posted_at + POST_S:
            self._post(self.state)

    def _post(self, state: Background) -> None:
        """Post it for the other processes, and do what they ask. One that cannot be posted runs on."""
        if self.shelf is None:
            return
        try:
            if state.running:
                self._store()
            text = self.shelf.post(self.owner, self.id, encoded(self.owner, state), running=state.running)
        except errors.DatabaseFailed:
            return
        finally:
            self._posted_at = time.monotonic()
        wanted = asked(text)
        if wanted is not None:
            self.ask(wanted.signal, below_s=None, cancels=wanted.cancels)

    def _store(self) -> None:
        """Store what was written since the last time."""
        now: dict[str, tuple[int, Lost | None]] = {}
        since: dict[str, int] = {}
        for stream, keeper in zip(STREAMS, self.keepers, strict=True):
            now[stream] = keeper.kept().kept_bytes, keeper.lost
            size, lost = self._stored.get(stream, (0, None))
            since[stream] = size if lost == keeper.lost else 0  # otherwise it was written anew
        if now != self._stored:
            self.runner.outputs.grow(self.id, {stream: lost for stream, (_, lost) in now.items()}, since)
            self._stored = now

    def _over(self, ran: Ran | None, failure: errors.ReadroomError | None) -> None:
        warnings: tuple[Warn, ...] = ()
        if self.state is None or self.unwanted:
            for keeper in self.keepers:
                keeper.close()
        else:
            kept = self.runner.outputs.finish(self.id, self.keepers)
            warnings = tuple(remarks(ran, kept, self.runner.limits.run_processes))
            self.wrote()
        with self.changed:
            self.command, self.failure = None, failure
            if self.state is not None:
                self.state = replace(
                    self.state,
                    ended=time.time(),
                    exit_code=None if ran is None else ended_code(ran.end),
                    timed_out=ran is not None and ran.timed_out,
                    left=None if ran is None else ran.end.ended,
                    problem="" if failure is None else failure.message,
                    changes=UNCHANGED if ran is None else ran.changes,
                    warnings=warnings,
                )
        if self.state is not None and not self.unwanted:
            self._post(self.state)
        with self.changed:
            self.changed.notify_all()

    # --- the threads of calls --------------------------------------------------------------------

    def wait_for_start(self, deadline: Deadline) -> Background:
        """Wait until it has started. Raises why it has not, and what the deadline raises."""
        with self.changed:
            while self.state is None and self.failure is None:
                try:
                    deadline.check()
                except errors.ReadroomError:
                    self.unwanted = True
                    self.deadline.cancel()
                    raise
                self.changed.wait(_MOMENT_S)
            if self.state is None:
                assert self.failure is not None
                raise self.failure
            return self.state

    def now(self) -> Background:
        """It as it is now."""
        assert self.state is not None
        return self.state

    def wait(self, seconds: float, seen: Background) -> None:
        """Wait until it is not as it was `seen`, or a moment."""
        with self.changed:
            if self.state is seen:
                self.changed.wait(min(seconds, _MOMENT_S))

    def ask(self, signal: Signal, *, below_s: float | None, cancels: bool) -> bool:
        """End it, unless it has ended or has run for `below_s`; whether it was asked."""
        with self.changed:
            state, command = self.now(), self.command
            if not state.running or command is None:
                return False
            if below_s is not None and time.time() - state.began >= below_s:
                return False
            self.state = replace(state, asked=signal, cancelled=state.cancelled or cancels)
        if signal == "kill":
            command.kill()
        else:
            command.ask()
        return True


_MOMENT_S = 0.25
"""How often a thread that waits looks whether its caller is still there."""


# -----------------------------------------------------------------------------
# All of them in one workspace.
# -----------------------------------------------------------------------------


@final
class Backgrounds:
    """The commands of one workspace that run on or ran on. Safe to share between threads."""

    def __init__(self, shelf: Shelf | None, runner_of: Callable[[Owner], Runner]) -> None:
        """Starts nothing. `shelf` is shared with other processes of the server."""
        self._shelf = shelf
        self._runner_of = runner_of
        self._lock = threading.Lock()
        self._running: dict[_Key, _Running] = {}
        self._places: list[Owner] = []
        """The owners of those that run or are being started."""
        self._ended: LruCache[_Key, _Running] = LruCache(RUN_BACKGROUND_ENDED)
        self._closed = False

    def start(self, owner: Owner, runner: Runner, job: Job[StartRequest]) -> WatchResult:
        """Start one. Raises as the function `start` does."""
        request = job.request
        require_usable(request)
        if runner.policy.one_shot:
            advice = "Leave it out; only a server (readroom mcp, readroom serve) keeps one running."
            raise errors.BadValue("background", True, "means nothing for a single call", advice)
        if runner.guard.folder is None:
            raise errors.NoFolder(runner.guard.store.name)
        self._take_place(owner)
        one = None
        try:
            one = self._made(owner, runner, request)
            one.thread = threading.Thread(target=self._run, args=(one,), name="readroom-command", daemon=True)
            one.thread.start()
        except BaseException as error:
            self._leave_place(owner)
            if one is not None:
                with self._lock:
                    self._running.pop((owner, one.id), None)
                runner.outputs.drop(one.id)
            if isinstance(error, RuntimeError):  # the system has no more threads
                raise errors.NotStarted("the thread that keeps its output", str(error)) from None
            raise
        return WatchResult(one.wait_for_start(job.deadline))

    def watch(self, owner: Owner, job: Job[WatchRequest]) -> WatchResult:
        """Look at one. Raises as the function `watch` does."""
        one = self._found(owner, job.request.id, job.request.reach)
        return watched(one, one.runner, job)

    def end(self, owner: Owner, job: Job[EndRequest]) -> WatchResult:
        """End one. Raises as the function `end` does."""
        request = job.request
        one = self._found(owner, request.id, request.reach)
        done = one.ask(request.signal, below_s=request.below_s, cancels=request.cancels)
        look = WatchRequest(
            request.id, request.wait_s if done else 0.0, None, request.output, request.ends_bytes
        )
        return replace(watched(one, one.runner, Job(look, job.cap, job.deadline, job.steps)), signalled=done)

    def runs(self, owner: Owner, name: str, reach: Reach) -> bool:
        """Whether one runs. Raises StateFailed."""
        try:
            return self._found(owner, name, reach).now().running
        except errors.NoSuchCommand:
            return False

    def started(self, owner: Owner, reach: Reach = "own") -> StartedResult:
        """Those of one owner, running ones first, then the latest first."""
        with self._lock:
            ended = [one for (other, _), one in self._ended.items() if _reaches(owner, other, reach)]
            running = [one for (other, _), one in self._running.items() if _reaches(owner, other, reach)]
        states = [one.state for one in (*running, *ended) if one.state is not None]
        known = {state.id for state in states}
        states += [state for _, state in self._elsewhere(owner, reach) if state.id not in known]
        states.sort(key=lambda state: (not state.running, -state.began))
        return StartedResult(states)

    def close(self) -> None:
        """End all of them, and wait until they have ended."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for one in running:
            one.deadline.cancel()
        until = time.monotonic() + RUN_GRACE_S + 3 * RUN_DRAIN_S
        for one in running:
            if one.thread is not None:
                one.thread.join(max(0.0, until - time.monotonic()))

    def _made(self, owner: Owner, runner: Runner, request: StartRequest) -> _Running:
        # All that run have room for as much as is kept of all others.
        most = max(1, runner.limits.run_session_bytes // (2 * RUN_BACKGROUND))
        seconds = min(request.timeout_s or RUN_BACKGROUND_S, RUN_BACKGROUND_S)
        name, keepers = runner.outputs.begin(request.name, GrowingKeeper, most)
        out, err = keepers
        assert isinstance(out, GrowingKeeper)
        assert isinstance(err, GrowingKeeper)
        one = _Running(owner, runner, request, name, (out, err), seconds, shelf=self._shelf)
        with self._lock:
            self._running[owner, name] = one
        return one

    def _run(self, one: _Running) -> None:
        try:
            one.run()
        finally:
            key = (one.owner, one.id)
            with self._lock:
                self._running.pop(key, None)
                if one.state is not None and not one.unwanted:
                    self._ended.put(key, one)
            self._leave_place(one.owner)

    def _found(self, owner: Owner, name: str, reach: Reach) -> _Running | Elsewhere:
        with self._lock:
            one = self._running.get((owner, name)) or self._ended.get((owner, name))
            if one is None and reach != "own":
                every = (*self._running.items(), *self._ended.items())
                others = (
                    found for (other, id_), found in every if id_ == name and _reaches(owner, other, reach)
                )
                one = next(others, None)
        if one is None or one.state is None:
            for other, state in self._elsewhere(owner, reach):
                if state.id == name and self._shelf is not None:
                    return Elsewhere(self._shelf, other, state, self._runner_of(other))
            known = [state.id for state in self.started(owner).commands]
            raise errors.NoSuchCommand(name, known[:_NAMED])
        return one

    def _elsewhere(self, owner: Owner, reach: Reach) -> list[tuple[Owner, Background]]:
        """The commands that a caller reaches, of all processes. Raises StateFailed."""
        if self._shelf is None:
            return []
        found = [(other, state) for other, state in posted(self._shelf) if _reaches(owner, other, reach)]
        return sorted(found, key=lambda one: one[0] != owner)  # its own first

    def _take_place(self, owner: Owner) -> None:
        token = owner[0]
        with self._lock:
            here = {(one.owner, one.id) for one in self._running.values()}
        others = [] if self._shelf is None else list(posted(self._shelf))
        beside = [other for other, state in others if state.running and (other, state.id) not in here]
        with self._lock:
            if self._closed:
                raise errors.Closed
            places = [*self._places, *beside]
            own, of_token = places.count(owner), sum(other[0] == token for other in places)
            if own >= RUN_BACKGROUND_OWN:
                raise errors.TooManyCommands(own, " in this conversation")
            if token and of_token >= RUN_BACKGROUND - RUN_BACKGROUND // 4:
                raise errors.TooManyCommands(of_token, " for this token")
            if len(places) >= RUN_BACKGROUND:
                raise errors.TooManyCommands(len(places), "")
            self._places.append(owner)

    def _leave_place(self, owner: Owner) -> None:
        with self._lock:
            self._places.remove(owner)


def _reaches(owner: Owner, other: Owner, reach: Reach) -> bool:
    """Whether a caller reaches the commands of another conversation, which is of the same token."""
    token, session = other
    return owner == other or (
        token == owner[0] and (reach == "token" or (reach == "unnamed" and not session))
    )


_NAMED = 10
"""Commands that an error names."""
