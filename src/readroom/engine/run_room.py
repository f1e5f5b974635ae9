"""Commands and their kept outputs in one workspace: what lives as long as it does.

The outputs are seen as `/.outputs`, by a guard of their own over a store of their
own, so that whatever reads files reads them, too.  They belong to who ran the
command, so that each owner has such a store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import final

from readroom import paths
from readroom.caller import Owner
from readroom.commands import RunRequest, RunResult
from readroom.deadline import Deadline
from readroom.engine.run import Runner, run
from readroom.errors import Binary, NotFound, OutsideRoot, ReadroomError
from readroom.limits import Limits
from readroom.model import Cap, ReadResult
from readroom.notes import Warn
from readroom.paths import OUTPUTS, ROOT, WorkPath
from readroom.policy.commands import CommandPolicy
from readroom.policy.guard import Guard
from readroom.policy.places import Places
from readroom.policy.rules import Rules
from readroom.policy.sandbox import Sandbox
from readroom.stores.mount import OutputsMount
from readroom.stores.outputs import Outputs, OwnOutputs


@final
class Room:
    """Safe to share between threads."""

    def __init__(
        self,
        guard: Guard,
        shown: Guard,
        own: Guard,
        places: Places,
        policy: CommandPolicy,
        limits: Limits,
    ) -> None:
        """Prepare; nothing is made before the first command.

        Args:
            guard: Of the tools.
            shown: What it denies and `own` does not, commands can read and not change.
            own: Of the commands.
            places: What nobody changes.
            policy: What commands may do.
            limits: How much of their output is kept.
        """
        self._outputs = Outputs(guard.folder or "/", limits.run_kept_bytes, limits.run_session_bytes)
        self._guard = guard
        self._sandbox = Sandbox(shown, own, places, policy)
        self._policy = policy
        self._limits = limits

    def of(self, owner: Owner) -> OwnRoom:
        """What an owner sees of it."""
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
        """See `Room.of`."""
        self._outputs = outputs
        self._runner = runner

    @cached_property
    def guard(self) -> Guard:
        """The guard of the outputs. No rule is about them: what a command may read was decided before."""
        return Guard(self._runner.mount, Rules(()))

    def run(self, cap: Cap, request: RunRequest, deadline: Deadline) -> RunResult:
        """Run a command. Raises as `engine.run.run` does."""
        return run(self._runner, cap, request, deadline)

    def parse(self, path: str) -> WorkPath | None:
        """The normal form of a path that means a kept output or all of them; None for any other."""
        try:
            inner = paths.parse(path, (OUTPUTS,))
        except ReadroomError as error:
            if isinstance(error, OutsideRoot):
                return None
            raise
        given = path[1:] if path[:1] == '"' else path
        if not given.startswith("/"):
            return None
        return OUTPUTS if inner == ROOT else WorkPath(f"{OUTPUTS}/{inner}")

    def named_inside(self, path: WorkPath, guard: Guard) -> WorkPath | None:
        """The kept output, or all of them, that a path means where they are files of the root.

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
        except NotFound:
            return kept
        except ReadroomError:
            return None
        return None

    def holds(self, path: WorkPath) -> bool:
        """Whether there is such an output."""
        try:
            self.guard.stat(path)
        except ReadroomError:
            return False
        return True

    def read(self, look: Callable[[], ReadResult]) -> ReadResult:
        """A read of an output, with what was not kept of it. Raises what `look` raises."""
        try:
            result = look()
        except Binary as error:
            advice = "To use it, let the command write it into a file of the workspace."
            raise Binary(error.path, error.media_type, error.size_bytes, advice) from None
        lost = self._outputs.lost(WorkPath(result.path))
        if lost is None:
            return result
        detail = f"{lost.bytes} bytes of the output after line {lost.after} were not kept"
        return replace(result, warnings=(*result.warnings, Warn("not_kept", detail)))
