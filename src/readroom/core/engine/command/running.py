"""One command from its start to its end: folder, confinement, supervisor, kept output.

Knows: the steps of a command, whoever waits for it.
Does not know: what a reply shows of it.
May be touched: with a security review.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.command import shell
from readroom.core.engine.command.changed import Following
from readroom.core.engine.command.process import Command, End, environment
from readroom.core.limits import RUN_BACKGROUND_OWN, RUN_FOLLOWED_NAMES, Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.commands import PATH, CommandPolicy
from readroom.core.policy.guard import Guard
from readroom.core.quoting import first_of
from readroom.core.sandbox import Private, Sandbox, Start
from readroom.core.sandbox.bubblewrap import Masks, make_devices
from readroom.core.stores.base import Store
from readroom.core.stores.outputs import Keeper, KeptStream, OwnOutputs
from readroom.core.stores.private import remove_tree
from readroom.core.values.commands import SIGNALLED, RunRequest, StartRequest, TreeChanges
from readroom.core.values.files import Warn

if TYPE_CHECKING:
    from readroom.core.engine.command.layered import Applied, Begun
    from readroom.core.engine.services import Services

CHOICE_S = 20.0
"""Time to choose the lines to show, for a command that has used up its own."""


class Runner(Struct, frozen=True):
    """Shared by all commands of one owner in one workspace; `layered` if they shall run on an overlay."""

    guard: Guard
    sandbox: Sandbox
    outputs: OwnOutputs
    mount: Store
    policy: CommandPolicy
    limits: Limits
    layered: bool = False


RUN_COMMAND_BYTES = 120 * 1024
"""Longest command. Linux takes 128 KiB for one argument of a program."""


def require_usable(request: RunRequest | StartRequest) -> None:
    """Raise BadValue for what cannot be run."""
    problem = None
    if not request.command.strip():
        problem = "is empty"
    elif "\0" in request.command:
        problem = "contains a NUL character"
    elif _half_characters(request.command):
        problem = "contains half of a surrogate pair"
    elif len(os.fsencode(request.command)) > RUN_COMMAND_BYTES:
        problem = f"is longer than {RUN_COMMAND_BYTES:,} bytes"
    if isinstance(request, StartRequest):
        _require_variables(request.variables)
    if problem is not None:
        advice = "Send a command for the shell; write long scripts to a file and run that."
        raise errors.BadValue(
            "command", request.command[:80].encode("utf-8", "replace").decode(), problem, advice
        )


RUN_VARIABLES_BYTES = 32 * 1024
"""Longest list of variables; Linux takes 128 KiB for one argument, and 2 MiB for all with the command."""

_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _require_variables(variables: Sequence[tuple[str, str]]) -> None:
    for name, value in variables:
        if not _VARIABLE.fullmatch(name):
            shown = name[:80].encode("utf-8", "replace").decode()
            raise errors.BadValue("env", shown, "is not the name of a variable", "Use letters, digits and _.")
        if "\0" in value or _half_characters(value):
            raise errors.BadValue("env", name, "has a value that no variable can have", "Send other text.")
    size = sum(len(os.fsencode(f"{name}={value}")) for name, value in variables)
    if size > RUN_VARIABLES_BYTES:
        problem = f"is longer than {RUN_VARIABLES_BYTES:,} bytes"
        raise errors.BadValue("env", f"{size:,} bytes", problem, "Write long values to a file.")


def _half_characters(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return True
    return False


class Ran(Struct, frozen=True):
    """A command that has ended."""

    end: End
    timed_out: bool
    duration_s: float
    start: Start
    shell: shell.Shell
    changes: TreeChanges
    warnings: Sequence[Warn] = ()


class Witness(Protocol):
    """Notified by the thread of a run."""

    def began(self, command: Command, start: Start, chosen: shell.Shell) -> None:
        """It has been started."""

    def wrote(self) -> None:
        """It has written something, or a moment has passed."""


@final
class CommandRun:
    """The run of one command."""

    def __init__(
        self,
        runner: Runner,
        request: RunRequest | StartRequest,
        keepers: Sequence[Keeper],
        deadline: Deadline,
        seconds: float,
        witness: Witness | None = None,
        services: Services | None = None,
    ) -> None:
        """`services` make and keep the changes of a command that is waited for."""
        self._services = services
        self._runner = runner
        self._witness = witness
        self._request = request
        self._keepers = keepers
        self._deadline = deadline
        self._seconds = seconds

    def ran(self) -> Ran:
        """Start the command, keep its output, and wait for its end."""
        own, place = self._runner.guard.own(WorkPath(self._request.path))
        root = own.folder
        if root is None:
            raise errors.NoFolder(own.store.name)
        private = self._private()
        with ExitStack() as opened:
            opened.callback(remove_tree, private.temporary)
            if private.layers:
                opened.callback(remove_tree, private.layers)
            with place.naming():
                folder = opened.enter_context(own.open_folder(place.inner(self._request.path)))
            start = self._runner.sandbox.start(folder.real, private, self._deadline, place.at)
            opened.callback(start.close)
            here = os.path.join(root, folder.real) if folder.real != "." else root
            more = dict(self._runner.policy.environment)
            path = more.pop("PATH", PATH)
            variables = environment(here, private.home, start.temporary, path, list(more.items()))
            descriptor = None if start.program is not None else folder.fileno()
            following = Following(self._runner.guard, self._followed())
            if self._deadline.cancelled:
                raise errors.Cancelled
            began, begun = time.monotonic(), self._begun(start)
            maximum = self._runner.limits.run_processes
            chosen_shell = shell.found()
            request = self._request
            variables_of_call: Sequence[tuple[str, str]] = ()
            merged = False
            if isinstance(request, StartRequest):
                variables_of_call, merged = request.variables, request.merged
            line = chosen_shell.line(request.command, variables_of_call)
            with Command(
                line, start, variables, descriptor, maximum, self._deadline, merged=merged
            ) as command:
                if self._witness is not None:
                    self._witness.began(command, start, chosen_shell)
                self._keep(command, began)
                end = command.end()
            seconds = time.monotonic() - began
            made = self._made(start, begun, end)
            changes = self._with_undo(following.changes(), start, made)
            return Ran(
                end, command.timed_out, seconds, start, chosen_shell, changes, made.warnings if made else ()
            )

    def _keeps(self) -> bool:
        """Whether its changes shall be made and kept when it has ended."""
        services = self._services
        return self._runner.layered and services is not None and services.recorder is not None

    def _begun(self, start: Start) -> Begun | None:
        if not start.layers:
            return None
        from readroom.core.engine.command.layered import Begun
        from readroom.core.sandbox.overlay import begun_ns

        return Begun(begun_ns(), time.monotonic_ns())

    def _made(self, start: Start, begun: Begun | None, end: End) -> Applied | None:
        """Make the changes of a command that has ended, unless nobody waits for it any more."""
        if begun is None or self._services is None or self._deadline.cancelled:
            return None
        from readroom.core.engine.command.layered import applied, unmade

        if end.alive:
            return unmade("some of its processes could not be ended")
        return applied(self._services, start.layers, begun)

    def _with_undo(self, changes: TreeChanges, start: Start, made: Applied | None) -> TreeChanges:
        """The changes, with how they can be undone or why not."""
        if made is not None:
            return replace(changes, apart=True, undo=made.change, lasting=made.lasting)
        if not self._runner.layered or not changes.total:
            return changes
        why = start.unlayered or ("no history is kept" if self._services else "it ran in the background")
        return replace(changes, lasting=why)

    def _followed(self) -> int:
        """The names that are compared: fewer if they are held while others run."""
        runs_on = isinstance(self._request, StartRequest)
        return RUN_FOLLOWED_NAMES // RUN_BACKGROUND_OWN * 2 if runs_on else RUN_FOLLOWED_NAMES

    def _keep(self, command: Command, began: float) -> None:
        tail = self._request.tail if isinstance(self._request, RunRequest) else None
        for stream, data in command.output():
            if data:
                self._keepers[stream if tail is None else 0].write(data)
            if self._witness is not None:
                self._witness.wrote()
                continue
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
        layers = private.temporary() if self._keeps() else ""
        return Private(private.inside("home"), private.temporary(), masks, layers)


def ended_code(end: End) -> int:
    """The exit code as a shell reports it."""
    return end.status if end.status >= 0 else SIGNALLED - end.status


def remarks(ran: Ran | None, kept: Sequence[KeptStream], maximum: int) -> list[Warn]:
    """Warnings about a command that has ended, and about what of its output is kept."""
    warnings = [] if ran is None else [*ran.warnings]
    warnings += [
        Warn("not_kept", f"{output.path}: {output.problem}") for output in kept if output.problem is not None
    ]
    if ran is None:
        return warnings
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
