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

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import final

from msgspec.structs import replace

from readroom.core import errors, paths
from readroom.core.caller import Owner
from readroom.core.deadline import Deadline
from readroom.core.engine.command import shell
from readroom.core.engine.command.background import Backgrounds
from readroom.core.engine.command.changed import seen_by
from readroom.core.engine.command.output import chosen, hidden_in
from readroom.core.engine.command.running import (
    CHOICE_S,
    CommandRun,
    Ran,
    Runner,
    ended_code,
    remarks,
    require_usable,
)
from readroom.core.engine.services import Job, Services
from readroom.core.history.settings import CommandPast
from readroom.core.limits import HEAD_BYTES, RUN_MAX_TIMEOUT_S, Limits
from readroom.core.paths import OUTPUTS, ROOT, WorkPath
from readroom.core.policy.commands import CommandPolicy
from readroom.core.policy.guard import Guard
from readroom.core.policy.rules import Rules
from readroom.core.sandbox import Area, Sandbox
from readroom.core.stores.base import Shelf
from readroom.core.stores.mount import OutputsMount
from readroom.core.stores.outputs import KeptStream, Outputs, OwnOutputs
from readroom.core.text import encodings
from readroom.core.values import ReadRequest, ReadResult
from readroom.core.values.commands import (
    EndRequest,
    Reach,
    RunRequest,
    RunResult,
    StartedRequest,
    StartedResult,
    StartRequest,
    WatchRequest,
    WatchResult,
)
from readroom.core.values.files import Warn


def perform(services: Services, job: Job[RunRequest]) -> RunResult:
    """Run a command. Raises CommandsOff or NoFolder where commands do not run."""
    if services.commands is None:
        raise services.commands_off()
    result = services.commands.run(job, services)
    return replace(result, changes=seen_by(services.guard, result.changes)) if result.changes else result


def run(runner: Runner, job: Job[RunRequest], services: Services | None = None) -> RunResult:
    """Run a command and keep its output.

    `services` make and keep what it changes, where it runs on an overlay.

    Raises:
        BadValue: It is not a command.
        Denied, NotFound, NotAFolder, OutsideRoot: From the folder it would start in.
        NotConfined, NotStarted, NoFolder, BadConfig: The command was not started.
        StoreFailed: There is no room for its output.
        Cancelled: The caller went away; the command was ended and its output dropped.
    """
    request, deadline = job.request, job.deadline
    require_usable(request)
    seconds = min(request.timeout_s or runner.limits.run_timeout_s, RUN_MAX_TIMEOUT_S)
    name, keepers = runner.outputs.begin(request.name)
    try:
        within = deadline.within(seconds)
        ran = CommandRun(runner, request, keepers, within, seconds, services=services).ran()
        if deadline.cancelled:
            raise errors.Cancelled
        kept = runner.outputs.finish(name, keepers)
        return _result(runner, job, name, ran, kept)
    except BaseException:
        for keeper in keepers:
            keeper.close()
        runner.outputs.drop(name)
        raise


# --- the result ----------------------------------------------------------------------------------


def _result(
    runner: Runner, job: Job[RunRequest], name: str, ran: Ran, kept: tuple[KeptStream, KeptStream]
) -> RunResult:
    code = ended_code(ran.end)
    failed = code != 0 or ran.timed_out
    # A separate deadline, because progress reports are about the command.
    patience = Deadline(CHOICE_S)
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
        changes=ran.changes,
        warnings=[
            *(shell.misread(job.request.command) if ran.shell.name == "sh" else ()),
            *remarks(ran, kept, runner.limits.run_processes),
            *hidden_in(outputs),
        ],
    )


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
        areas: Sequence[Area],
        policy: CommandPolicy,
        limits: Limits,
        shared: Shelf | None = None,
        *,
        past: CommandPast = "listed",
    ) -> None:
        """Prepare; nothing is created before the first command.

        Args:
            guard: The guard of the tools.
            areas: The roots as commands have them. They can read but not change names that the guard of the
                tools denies and the other allows.
            policy: What commands may do.
            limits: Including how much of their output is kept.
            shared: The outputs that other processes of the same server keep.
            past: What is kept of what they change.
        """
        bounds = (limits.run_kept_bytes, limits.run_session_bytes)
        self._outputs = Outputs(guard.folder or "/", *bounds, shared)
        self._guard = guard
        self._sandbox = Sandbox(areas, policy)
        self._policy = policy
        self._limits = limits
        self._layered = past == "overlay"
        self._backgrounds = Backgrounds(shared, self._runner)

    def of(self, owner: Owner) -> OwnRoom:
        """The commands and outputs of one owner."""
        runner = self._runner(owner)
        return OwnRoom(owner, runner.outputs, runner, self._backgrounds)

    def runs(self, owner: Owner, name: str, reach: Reach) -> bool:
        """Whether a background command that the owner reaches runs. Raises StateFailed."""
        return self._backgrounds.runs(owner, name, reach)

    def _runner(self, owner: Owner) -> Runner:
        outputs = self._outputs.of(owner)
        mount = OutputsMount(outputs, self._guard.shown)
        return Runner(self._guard, self._sandbox, outputs, mount, self._policy, self._limits, self._layered)

    def close(self) -> None:
        """End the commands that run on, and remove the outputs."""
        self._backgrounds.close()
        self._outputs.close()


@final
class OwnRoom:
    """The commands of one owner, and the outputs that are kept of them."""

    def __init__(self, owner: Owner, outputs: OwnOutputs, runner: Runner, backgrounds: Backgrounds) -> None:
        """Use `CommandService.of`."""
        self._owner = owner
        self._backgrounds = backgrounds
        self._outputs = outputs
        self._runner = runner

    @cached_property
    def guard(self) -> Guard:
        """The guard of the outputs, without rules: what a command may read was decided before."""
        return Guard(self._runner.mount, Rules(()), ignore_files=())  # readroom alone writes there

    def run(self, job: Job[RunRequest], services: Services | None = None) -> RunResult:
        """Run a command. Raises as the function `run` does."""
        return run(self._runner, job, services)

    def start(self, job: Job[StartRequest]) -> WatchResult:
        """Start a command that runs on."""
        return self._backgrounds.start(self._owner, self._runner, job)

    def watch(self, job: Job[WatchRequest]) -> WatchResult:
        """Look at one."""
        return self._backgrounds.watch(self._owner, job)

    def end(self, job: Job[EndRequest]) -> WatchResult:
        """End one."""
        return self._backgrounds.end(self._owner, job)

    def started(self, request: StartedRequest) -> StartedResult:
        """Those of the owner."""
        return self._backgrounds.started(self._owner, request.reach)

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

    def named_inside(self, path: WorkPath, guard: Guard, folders: Sequence[str]) -> WorkPath | None:
        """The kept output that a path like `.outputs/NAME` means, although it names a file of the root.

        None for any other path, and for a file of the root that is not a kept output.  A hidden folder is
        taken for that of the outputs; in any other, only what was an output is one.
        """
        folder = next((name for name in folders if path == name or path.startswith(f"{name}/")), None)
        if folder is None:
            return None
        kept, hidden = WorkPath(f"{OUTPUTS}{path[len(folder) :]}"), folder.startswith(".")
        if (hidden or path != folder) and self.holds(kept):
            return kept
        try:
            guard.stat(path)
        except errors.NotFound:
            return kept if hidden or self._was_kept(kept) else None
        except errors.ReadroomError:
            return None
        return None

    def _was_kept(self, path: WorkPath) -> bool:
        """Whether there is or was an output at this path; at that of the folder, whether there is any."""
        if path == OUTPUTS:
            with self.guard.open_folder(OUTPUTS) as folder:
                return next(iter(folder.entries()), None) is not None
        return self._outputs.gone(path.removeprefix(f"{OUTPUTS}/").rpartition(".")[0])

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
