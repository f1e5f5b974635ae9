"""Run one command in the workspace.

    find      the folder it starts in, through the guard
    confine   it to what the policy lets it see
    start     its supervisor, which starts the shell
    keep      both output streams on disk, complete, as they arrive
    choose    the lines that the reply shows

A command that fails or times out has a result like any other.

Knows: the steps from a command line to its result.
Does not know: how a command is confined (`sandbox`).
May be touched: with a security review.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors, paths
from readroom.core.caller import Owner
from readroom.core.deadline import Deadline
from readroom.core.engine.command import shell
from readroom.core.engine.command.output import chosen, hidden_in
from readroom.core.engine.command.process import Command, End, environment
from readroom.core.engine.services import Job, Services
from readroom.core.limits import HEAD_BYTES, RUN_MAX_TIMEOUT_S, Limits
from readroom.core.paths import OUTPUTS, ROOT, WorkPath
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.commands import PATH, CommandPolicy
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Rules
from readroom.core.quoting import first_of
from readroom.core.sandbox import Private, Sandbox, Start
from readroom.core.sandbox.bubblewrap import Masks, make_devices
from readroom.core.stores.base import Shelf, Store
from readroom.core.stores.mount import OutputsMount
from readroom.core.stores.outputs import KeptStream, OutputKeeper, Outputs, OwnOutputs
from readroom.core.stores.private import remove_tree
from readroom.core.text import encodings
from readroom.core.values import ReadRequest, ReadResult
from readroom.core.values.commands import SIGNALLED, RunRequest, RunResult
from readroom.core.values.files import Warn

_CHOICE_S = 20.0
"""Time to choose the lines to show, for a command that has used up its own."""


class Runner(Struct, frozen=True):
    """What all commands of one owner in one workspace share."""

    guard: Guard
    sandbox: Sandbox
    outputs: OwnOutputs
    mount: Store
    policy: CommandPolicy
    limits: Limits


def perform(services: Services, job: Job[RunRequest]) -> RunResult:
    """Run a command. Raises CommandsOff or NoFolder where commands do not run."""
    if services.commands is None:
        raise services.commands_off()
    return services.commands.run(job)


def run(runner: Runner, job: Job[RunRequest]) -> RunResult:
    """Run a command and keep its output.

    Raises:
        BadValue: It is not a command.
        Denied, NotFound, NotAFolder, OutsideRoot: From the folder it would start in.
        NotConfined, NotStarted, NoFolder, BadConfig: The command was not started.
        StoreFailed: There is no room for its output.
        Cancelled: The caller went away; the command was ended and its output dropped.
    """
    request, deadline = job.request, job.deadline
    _require_usable(request)
    seconds = min(request.timeout_s or runner.limits.run_timeout_s, RUN_MAX_TIMEOUT_S)
    name, keepers = runner.outputs.begin(request.name)
    try:
        ran = _Run(runner, request, keepers, deadline.within(seconds), seconds).ran()
        if deadline.cancelled:
            raise errors.Cancelled
        kept = runner.outputs.finish(name, keepers)
        return _result(runner, job, name, ran, kept)
    except BaseException:
        for keeper in keepers:
            keeper.close()
        runner.outputs.drop(name)
        raise


RUN_COMMAND_BYTES = 120 * 1024
"""Longest command. Linux takes 128 KiB for one argument of a program."""


def _require_usable(request: RunRequest) -> None:
    problem = None
    if not request.command.strip():
        problem = "is empty"
    elif "\0" in request.command:
        problem = "contains a NUL character"
    elif _half_characters(request.command):
        problem = "contains half of a surrogate pair"
    elif len(os.fsencode(request.command)) > RUN_COMMAND_BYTES:
        problem = f"is longer than {RUN_COMMAND_BYTES:,} bytes"
    if problem is not None:
        advice = "Send a command for the shell; write long scripts to a file and run that."
        raise errors.BadValue(
            "command", request.command[:80].encode("utf-8", "replace").decode(), problem, advice
        )


def _half_characters(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return True
    return False


class _Ran(Struct, frozen=True):
    """A command that has ended."""

    end: End
    timed_out: bool
    duration_s: float
    start: Start
    shell: shell.Shell


@final
class _Run:
    """The run of one command."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest,
        keepers: Sequence[OutputKeeper],
        deadline: Deadline,
        seconds: float,
    ) -> None:
        self._runner = runner
        self._request = request
        self._keepers = keepers
        self._deadline = deadline
        self._seconds = seconds

    def ran(self) -> _Ran:
        """Start the command, keep its output, and wait for its end."""
        root = self._runner.guard.folder
        if root is None:
            raise errors.NoFolder(self._runner.guard.store.name)
        private = self._private()
        with ExitStack() as opened:
            opened.callback(remove_tree, private.temporary)
            folder = opened.enter_context(self._runner.guard.open_folder(self._request.path))
            start = self._runner.sandbox.start(folder.real, private, self._deadline)
            opened.callback(start.close)
            here = os.path.join(root, folder.real) if folder.real != "." else root
            more = dict(self._runner.policy.environment)
            path = more.pop("PATH", PATH)
            variables = environment(here, private.home, start.temporary, path, list(more.items()))
            descriptor = None if start.program is not None else folder.fileno()
            if self._deadline.cancelled:
                raise errors.Cancelled
            began = time.monotonic()
            maximum = self._runner.limits.run_processes
            chosen_shell = shell.found()
            line = chosen_shell.line(self._request.command)
            with Command(line, start, variables, descriptor, maximum, self._deadline) as command:
                self._keep(command, began)
                end = command.end()
            return _Ran(end, command.timed_out, time.monotonic() - began, start, chosen_shell)

    def _keep(self, command: Command, began: float) -> None:
        for stream, data in command.output():
            if data:
                self._keepers[stream if self._request.tail is None else 0].write(data)
            size = sum(keeper.size for keeper in self._keepers)
            lines = sum(keeper.lines for keeper in self._keepers)
            elapsed = int(time.monotonic() - began)
            unit = f"s; output so far: {lines:,} line{'' if lines == 1 else 's'}, {size:,} bytes"
            self._deadline.report(elapsed, int(self._seconds), unit)

    def _private(self) -> Private:
        private = self._runner.outputs.private()
        private.inside("masks")
        file, folder = private.file("masks/file", 0o000), private.inside("masks/folder", 0o000)
        devices = private.inside("devices")
        masks = Masks(file, folder, devices if make_devices(devices) else "")
        return Private(private.inside("home"), private.temporary(), masks)


# --- the result ----------------------------------------------------------------------------------


def _result(
    runner: Runner, job: Job[RunRequest], name: str, ran: _Ran, kept: tuple[KeptStream, KeptStream]
) -> RunResult:
    status = ran.end.status
    code = status if status >= 0 else SIGNALLED - status
    failed = code != 0 or ran.timed_out
    # A separate deadline, because progress reports are about the command.
    patience = Deadline(_CHOICE_S)
    job.deadline.on_cancel(patience.cancel)
    outputs = chosen(runner.mount, job.cap, job.request, kept, failed, patience)
    return RunResult(
        request=job.request,
        call_id=name,
        exit_code=code,
        timed_out=ran.timed_out,
        duration_s=ran.duration_s,
        ended=ran.end.ended,
        shell=ran.shell.name,
        outputs=outputs,
        confinement=ran.start.confinement,
        network=runner.policy.network or ran.start.confinement == "none",
        kept=not runner.policy.one_shot,
        warnings=[
            *(shell.misread(job.request.command) if ran.shell.name == "sh" else ()),
            *_warnings(ran, kept, runner.limits.run_processes),
            *hidden_in(outputs),
        ],
    )


def _warnings(ran: _Ran, kept: Sequence[KeptStream], maximum: int) -> list[Warn]:
    warnings = [
        Warn("not_kept", f"{output.path}: {output.problem}") for output in kept if output.problem is not None
    ]
    if ran.end.many:
        warnings.append(Warn("many", f"it had more than {maximum:,} processes and was ended"))
    if ran.start.limited:
        names = first_of(ran.start.limited, _NAMED)
        # Files that policy protects are there, and Landlock cannot tell new names from theirs.
        limited = f"a command cannot create or delete files directly in {names}, only in folders below"
        warnings.append(Warn("limited", f"{limited}; the tools that write and edit files can"))
    if ran.end.alive:
        warnings.append(Warn("alive", f"{ran.end.alive} processes could not be ended yet"))
    return warnings


_NAMED = 3
"""Folders that a warning names; more are counted."""


# -----------------------------------------------------------------------------
# Commands and their kept outputs in one workspace, for its lifetime.
#
# Outputs appear as `/.outputs`, through a guard and a store of their own, so that every tool
# that reads files can read them.  They belong to the caller that ran the command, so each
# owner has such a store.
# -----------------------------------------------------------------------------


@final
class CommandService:
    """The commands of a workspace and their kept outputs. Safe to share between threads."""

    def __init__(
        self,
        guard: Guard,
        visible: Guard,
        own: Guard,
        places: WriteTargets,
        policy: CommandPolicy,
        limits: Limits,
        shared: Shelf | None = None,
    ) -> None:
        """Prepare; nothing is created before the first command.

        Args:
            guard: The guard of the tools.
            visible: Of names that `guard` denies and `own` allows: commands can read but not change those.
            own: The guard of the commands.
            places: Which files must not be changed.
            policy: What commands may do.
            limits: Including how much of their output is kept.
            shared: The outputs that other processes of the same server keep.
        """
        bounds = (limits.run_kept_bytes, limits.run_session_bytes)
        self._outputs = Outputs(guard.folder or "/", *bounds, shared)
        self._guard = guard
        self._sandbox = Sandbox(visible, own, places, policy)
        self._policy = policy
        self._limits = limits

    def of(self, owner: Owner) -> OwnRoom:
        """The commands and outputs of one owner."""
        outputs = self._outputs.of(owner)
        mount = OutputsMount(outputs)
        return OwnRoom(
            outputs, Runner(self._guard, self._sandbox, outputs, mount, self._policy, self._limits)
        )

    def close(self) -> None:
        """Remove the outputs."""
        self._outputs.close()


@final
class OwnRoom:
    """The commands of one owner, and the outputs that are kept of them."""

    def __init__(self, outputs: OwnOutputs, runner: Runner) -> None:
        """Use `CommandService.of`."""
        self._outputs = outputs
        self._runner = runner

    @cached_property
    def guard(self) -> Guard:
        """The guard of the outputs, without rules: what a command may read was decided before."""
        return Guard(self._runner.mount, Rules(()), ignore_files=())  # readroom alone writes there

    def run(self, job: Job[RunRequest]) -> RunResult:
        """Run a command. Raises as the function `run` does."""
        return run(self._runner, job)

    def parse(self, path: str) -> WorkPath | None:
        try:
            inner = paths.parse(path, (OUTPUTS,))
        except errors.ReadroomError as error:
            if isinstance(error, errors.OutsideRoot):
                return None
            raise
        unquoted_path = path[1:] if path[:1] == '"' else path
        if not unquoted_path.startswith("/"):
            return None
        return OUTPUTS if inner == ROOT else WorkPath(f"{OUTPUTS}/{inner}")

    def named_inside(self, path: WorkPath, guard: Guard) -> WorkPath | None:
        """The kept output that a path like `.outputs/NAME` means, although it names a file of the root.

        None for any other path, and for a file of the root that is not a kept output.
        """
        name = OUTPUTS[1:]
        if path != name and not path.startswith(f"{name}/"):
            return None
        kept = WorkPath(f"/{path}")
        if self.holds(kept):
            return kept
        try:
            guard.stat(path)
        except errors.NotFound:
            return kept
        except errors.ReadroomError:
            return None
        return None

    def holds(self, path: WorkPath) -> bool:
        try:
            self.guard.stat(path)
        except errors.DatabaseFailed:
            raise  # whether there is one is not known
        except errors.ReadroomError:
            return False
        return True

    def read(self, request: ReadRequest, look: Callable[[ReadRequest], ReadResult]) -> ReadResult:
        try:
            result = look(self._as_printed(request))
        except errors.Binary as error:
            advice = "To use it, have the command write it to a file of the workspace."
            raise errors.Binary(error.path, error.media_type, error.size_bytes, advice) from None
        lost = self._outputs.lost(WorkPath(result.path))
        if lost is None:
            return result
        detail = f"{lost.bytes} bytes of the output after line {lost.after} were not kept"
        return replace(result, warnings=(*result.warnings, Warn("not_kept", detail)))

    def _as_printed(self, request: ReadRequest) -> ReadRequest:
        """The request in the encoding in which the reply of the command showed the output.

        Only where NULs would make it binary; otherwise a read detects the same.
        """
        if request.encoding is not None:
            return request
        with self.guard.open(WorkPath(request.path)) as source:
            head = source.read_at(0, HEAD_BYTES)
        complete = len(head) == source.size
        if b"\0" not in head or encodings.detect(head, complete=complete) is not None:
            return request
        encoding = encodings.detect_printed(head, complete=complete)
        return request if encoding is None else replace(request, encoding=encoding.name)
