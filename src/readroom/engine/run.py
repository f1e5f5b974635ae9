"""Run one command in the workspace.

    find      the folder it starts in, through the guard
    confine   what the same policy lets it see
    start     its warden, which starts the shell
    keep      both streams on disk, whole, as they come
    choose    the lines that a reply shows

A command that fails, or that the time limit ends, has a result like any other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import final

from readroom.commands import RunRequest, RunResult
from readroom.deadline import Deadline
from readroom.engine.run_child import Command, End, environment
from readroom.engine.run_text import chosen, hidden_in
from readroom.errors import BadValue, Cancelled, NoFolder
from readroom.limits import RUN_COMMAND_BYTES, RUN_MAX_TIMEOUT_S, Limits
from readroom.model import Cap
from readroom.notes import Warn
from readroom.policy.bubblewrap import Shutters, make_devices
from readroom.policy.commands import PATH, CommandPolicy
from readroom.policy.guard import Guard
from readroom.policy.sandbox import Private, Sandbox, Start
from readroom.quoting import joined
from readroom.stores.base import Store
from readroom.stores.outputs import Keeper, Kept, OwnOutputs
from readroom.stores.private import remove_tree

_SIGNALLED = 128
"""A shell reports a child that signal N ended as 128 + N."""

_CHOICE_S = 20.0
"""Time to choose what is shown of a command that has used up its own."""


@dataclass(frozen=True, slots=True)
class Runner:
    """What stays the same from command to command of one owner in one workspace."""

    guard: Guard
    sandbox: Sandbox
    outputs: OwnOutputs
    mount: Store
    policy: CommandPolicy
    limits: Limits


def run(runner: Runner, cap: Cap, request: RunRequest, deadline: Deadline) -> RunResult:
    """Run a command and keep what it writes.

    Raises:
        BadValue: It is no command.
        Denied, NotFound, NotAFolder, OutsideRoot: From the folder it would start in.
        NotConfined, NotStarted, NoFolder, BadConfig: It was not started.
        StoreFailed: There is no place for its output.
        Cancelled: The caller went away; the command was ended and its output dropped.
    """
    _require_usable(request)
    seconds = min(request.timeout_s or runner.limits.run_timeout_s, RUN_MAX_TIMEOUT_S)
    name, keepers = runner.outputs.begin(request.name)
    try:
        ran = _Run(runner, request, keepers, deadline.within(seconds), seconds).ran()
        if deadline.cancelled:
            raise Cancelled
        kept = runner.outputs.finish(name, keepers)
        return _result(runner, cap, request, name, ran, kept, deadline)
    except BaseException:
        for keeper in keepers:
            keeper.close()
        runner.outputs.drop(name)
        raise


def _require_usable(request: RunRequest) -> None:
    problem = None
    if not request.command.strip():
        problem = "is empty"
    elif "\0" in request.command:
        problem = "holds a NUL character"
    elif _half_characters(request.command):
        problem = "holds half of a surrogate pair"
    elif len(os.fsencode(request.command)) > RUN_COMMAND_BYTES:
        problem = f"is longer than {RUN_COMMAND_BYTES:,} bytes"
    if problem is not None:
        advice = "Send a command for /bin/sh; write long scripts to a file and run that."
        raise BadValue("command", request.command[:80].encode("utf-8", "replace").decode(), problem, advice)


def _half_characters(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return True
    return False


@dataclass(frozen=True, slots=True)
class _Ran:
    """A command that has ended."""

    end: End
    timed_out: bool
    duration_s: float
    start: Start


@final
class _Run:
    """One command. Holds what its steps share."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        keepers: Sequence[Keeper],
        deadline: Deadline,
        seconds: float,
    ) -> None:
        self._runner = runner
        self._request = request
        self._keepers = keepers
        self._deadline = deadline
        self._seconds = seconds

    def ran(self) -> _Ran:
        """Start it, keep what it writes, and wait for its end."""
        root = self._runner.guard.folder
        if root is None:
            raise NoFolder(self._runner.guard.store.name)
        private = self._private()
        with ExitStack() as held:
            held.callback(remove_tree, private.temporary)
            folder = held.enter_context(self._runner.guard.open_folder(self._request.path))
            start = self._runner.sandbox.start(folder.real, private, self._deadline)
            held.callback(start.close)
            here = os.path.join(root, folder.real) if folder.real != "." else root
            more = dict(self._runner.policy.environment)
            path = more.pop("PATH", PATH)
            variables = environment(here, private.home, start.temporary, path, list(more.items()))
            descriptor = None if start.program is not None else folder.fileno()
            if self._deadline.cancelled:
                raise Cancelled
            began = time.monotonic()
            most = self._runner.limits.run_processes
            with Command(
                self._request.command, start, variables, descriptor, most, self._deadline
            ) as command:
                self._keep(command, began)
                end = command.end()
            return _Ran(end, command.timed_out, time.monotonic() - began, start)

    def _keep(self, command: Command, began: float) -> None:
        for stream, data in command.output():
            if data:
                self._keepers[stream].write(data)
            size = sum(keeper.size for keeper in self._keepers)
            lines = sum(keeper.lines for keeper in self._keepers)
            elapsed = int(time.monotonic() - began)
            unit = f"s; output so far: {lines:,} line{'' if lines == 1 else 's'}, {size:,} bytes"
            self._deadline.report(elapsed, int(self._seconds), unit)

    def _private(self) -> Private:
        private = self._runner.outputs.private()
        private.inside("shutters")
        file, folder = private.file("shutters/file", 0o000), private.inside("shutters/folder", 0o000)
        devices = private.inside("devices")
        shutters = Shutters(file, folder, devices if make_devices(devices) else "")
        return Private(private.inside("home"), private.temporary(), shutters)


# --- the result ----------------------------------------------------------------------------------


def _result(
    runner: Runner,
    cap: Cap,
    request: RunRequest,
    name: str,
    ran: _Ran,
    kept: tuple[Kept, Kept],
    deadline: Deadline,
) -> RunResult:
    status = ran.end.status
    code = status if status >= 0 else _SIGNALLED - status
    failed = code != 0 or ran.timed_out
    # Of its own: the progress that is told is that of the command.
    patience = Deadline(_CHOICE_S)
    deadline.on_cancel(patience.cancel)
    shown = chosen(runner.mount, cap, request, kept, failed, patience)
    return RunResult(
        request=request,
        call_id=name,
        exit_code=code,
        timed_out=ran.timed_out,
        duration_s=ran.duration_s,
        ended=ran.end.ended,
        outputs=shown,
        confinement=ran.start.confinement,
        network=runner.policy.network or ran.start.confinement == "none",
        kept=not runner.policy.one_shot,
        warnings=[*_warnings(ran, kept, runner.limits.run_processes), *hidden_in(shown)],
    )


def _warnings(ran: _Ran, kept: Sequence[Kept], most: int) -> list[Warn]:
    found = [Warn("not_kept", f"{one.path}: {one.problem}") for one in kept if one.problem is not None]
    if ran.end.many:
        found.append(Warn("many", f"it had more than {most:,} processes and was ended"))
    if ran.start.limited:
        names = joined(ran.start.limited[:_NAMED])
        more = "" if len(ran.start.limited) <= _NAMED else f" and {len(ran.start.limited) - _NAMED} more"
        # Files that policy protects stand there, and Landlock cannot tell new names from theirs.
        told = f"a command cannot create or delete files directly in {names}{more}, only in folders below"
        found.append(Warn("limited", f"{told}; the tools that write and edit files can"))
    if ran.end.alive:
        found.append(Warn("alive", f"{ran.end.alive} processes could not be ended yet"))
    return found


_NAMED = 3
"""Folders that a warning names; more are counted."""
