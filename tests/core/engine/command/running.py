"""Workspaces in which commands are run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.limits import Limits
from readroom.core.policy.commands import CommandPolicy
from readroom.core.sandbox import available
from readroom.core.values import Reply
from readroom.core.values.commands import Confinement
from readroom.core.workspace import Workspace
from tests.core.sandbox.cells import CONFINEMENTS

BEST: Confinement = next((one for one in CONFINEMENTS if not available(one)), "none")
"""What this machine has: where confinement is not the matter of a test."""

FREE: Confinement = BEST if BEST == "bwrap" else "none"
"""Where a command must be able to make names anywhere: Landlock lets it make none next to a denied one."""

PATIENCE_S = 300
"""For what does not wait for a clock, however busy the machine is."""


@contextmanager
def room(
    root: Path, confinement: Confinement = BEST, *, limits: Limits | None = None, **policy: Any
) -> Iterator[Workspace]:
    commands = CommandPolicy(enabled=True, confinement=confinement, **policy)
    with Workspace(root, settings=Settings(commands=commands, limits=limits or Limits())) as found:
        yield found


def lines(reply: Reply, stream: str = "stdout") -> list[str]:
    """The shown lines of one stream, without their numbers."""
    body = reply.text.split("\n")[1:-1]
    at = body.index("stderr:") if "stderr:" in body else len(body)
    part = body[:at] if stream == "stdout" else body[at + 1 :]
    return [line.partition("\t")[2] for line in part]


def output(reply: Reply, stream: str = "stdout") -> Any:
    outputs: Any = reply.facts["outputs"]
    return outputs[0 if stream == "stdout" else 1]


def codes(reply: Reply) -> list[str]:
    warnings: Any = reply.facts["warnings"]
    return [warning["code"] for warning in warnings]


def follow(workspace: Workspace, call: Any) -> Reply:
    """The reply to a call that another reply named, which must be accepted."""
    reply = workspace.call(call["tool"], call["arguments"])
    assert not reply.is_error, reply.text
    return reply


def refused(workspace: Workspace, command: str, **options: Any) -> ReadroomError:
    """The failure of a command that is not run; its next step works."""
    try:
        reply = workspace.run(command, **options)
    except ReadroomError as error:
        call: Any = workspace.call("run_command", {"command": command, **options}).facts["error"]
        if call["next"] is not None:
            follow(workspace, call["next"])
        return error
    raise AssertionError(reply.text)


def ended_by_the_clock(workspace: Workspace, command: str, begun: Callable[[Reply], object]) -> Reply:
    """The reply to a command whose time limit came after it had begun: a busy machine takes longer to start
    one, and then gives it more time.
    """
    seconds = 0.5
    while not begun(reply := workspace.run(command, timeout_s=seconds)):
        seconds *= 4
        assert seconds <= 4 * PATIENCE_S, reply.text
    return reply


def when(condition: Callable[[], object]) -> None:
    """Come back when something has happened; each look gives the processor to others."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up
        os.sched_yield()


def go_on(root: Path) -> None:
    """Let a command end that reads the pipe `gate` of its workspace; it has no other reader."""
    with suppress(OSError):  # it reads no more, or does not yet: asked again by the next report
        os.close(os.open(root / "gate", os.O_WRONLY | os.O_NONBLOCK))


class Telling(Deadline):
    """A deadline that keeps what is reported, and can act on it."""

    def __init__(self, act: Callable[[str], None] = lambda unit: None) -> None:
        self.told: list[tuple[int, int | None, str]] = []

        def report(done: int, total: int | None, unit: str) -> None:
            self.told.append((done, total, unit))
            act(unit)

        super().__init__(progress=report)


def processes(mark: str) -> list[int]:
    """Those with a word on their command lines."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                words = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(name))
    return found


def changed(settings: Settings, **policy: Any) -> Settings:
    return replace(settings, commands=replace(settings.commands, **policy))
