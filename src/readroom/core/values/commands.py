"""Values of commands: requests and results.

Lines are 1-based and those of the kept output, which is byte for byte what the
command wrote.  No I/O here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from readroom.core.values.files import EntryKind, Warn

Verbosity: TypeAlias = Literal["silent", "concise", "normal", "verbose", "full"]
"""How much of the output a reply shows."""

Shown: TypeAlias = Verbosity | Literal["auto"]
"""The same, or as much as its end asks for: little if the command succeeded, much if it failed."""

RUN_SILENT_BYTES = 200
"""Output of a command shown with output="silent". This and the next three are those of everruns."""

RUN_CONCISE_BYTES = 2 * 1024
"""Shown with output="concise", the default: about 700 tokens of a log."""

RUN_NORMAL_BYTES = 8 * 1024
"""Shown with output="normal"."""

RUN_VERBOSE_BYTES = 16 * 1024
"""Shown with output="verbose"."""

SHOWN_BYTES: Mapping[Verbosity, int] = MappingProxyType(
    {
        "silent": RUN_SILENT_BYTES,
        "concise": RUN_CONCISE_BYTES,
        "normal": RUN_NORMAL_BYTES,
        "verbose": RUN_VERBOSE_BYTES,
    }
)
"""Bytes by verbosity; "full" is the size of the reply."""

RUN_AUTO_BYTES = 384
"""Shown with output="auto" of a command that succeeded: with the name of the kept output some 500."""


def shown_bytes(output: Shown, *, failed: bool) -> int | None:
    """The bytes of output that a reply shows; None for as much as it can hold."""
    if output != "auto":
        return SHOWN_BYTES.get(output)
    return RUN_NORMAL_BYTES if failed else RUN_AUTO_BYTES


StreamName: TypeAlias = Literal["stdout", "stderr"]
Confinement: TypeAlias = Literal["bwrap", "landlock", "none"]

SIGNALLED = 128
"""A shell reports a child that was ended by signal N as 128 + N."""


class Tail(Struct, frozen=True):
    """The end of an output: at most so many lines and bytes, line ends counted."""

    lines: int
    bytes: int


class RunRequest(Struct, frozen=True):
    """A command for the shell. `path` is where it starts; `timeout_s` None is the workspace's limit.

    `name` is the caller's name for the kept outputs; without it they get a generated name.  With `tail`, both
    streams are one, in the order in which they arrive, and its end is shown, whatever is in it.
    """

    command: str
    path: str = "."
    output: Shown = "concise"
    timeout_s: float | None = None
    name: str | None = None
    tail: Tail | None = None


Signal: TypeAlias = Literal["terminate", "kill"]
"""How a command is ended: asked first, and forced a moment later; or forced at once."""


Reach: TypeAlias = Literal["own", "unnamed", "token"]
"""The conversations whose commands are meant: the caller's own; that, or none; or any of its token."""


class StartRequest(Struct, frozen=True):
    """A command that runs on after its call.

    Attributes:
        command: For the shell.
        path: The folder where it starts.
        timeout_s: Longest time that it runs; None for the limit of such commands.
        name: The caller's name for it and its outputs; without it they get a generated name.
        variables: Added to its environment, inside its confinement.
        merged: Both streams are kept as one, in the order of writing.
        background: What the caller calls it; recorded only.
    """

    command: str
    path: str = "."
    timeout_s: float | None = None
    name: str | None = None
    variables: tuple[tuple[str, str], ...] = ()
    merged: bool = False
    background: bool = True


class WatchRequest(Struct, frozen=True):
    """A look at a command that runs on, or ran on: at once, or after a wait.

    Attributes:
        id: Its name.
        wait_s: Longest wait, which its end ends.
        until: A pattern; a line that matches it ends the wait too.
        output: How much of the output is shown.
        ends_bytes: Show instead so many bytes of both ends of its first stream.
        reach: Whose commands are meant.
        path: Always the root; every request has one.
    """

    id: str
    wait_s: float = 0.0
    until: str | None = None
    output: Verbosity = "concise"
    ends_bytes: int = 0
    reach: Reach = "own"
    path: str = "."


class EndRequest(Struct, frozen=True):
    """End a command that runs on. `below_s`: only if it has run for less; `wait_s`: for its end."""

    id: str
    signal: Signal = "terminate"
    wait_s: float = 0.0
    output: Verbosity = "concise"
    below_s: float | None = None
    cancels: bool = False
    ends_bytes: int = 0
    reach: Reach = "own"
    path: str = "."


class StartedRequest(Struct, frozen=True):
    """The commands that were started to run on."""

    reach: Reach = "own"
    path: str = "."


class OutputLine(Struct, frozen=True):
    """A shown line: its characters from `first` on, of `total`, without terminal escapes."""

    number: int
    text: str
    first: int = 1
    total: int = 0

    @property
    def left(self) -> int:
        """Characters that are missing after those shown."""
        return max(0, self.total - self.first - len(self.text) + 1)


class Lost(Struct, frozen=True):
    """Bytes of an output that were not kept, from byte `first` (from 1); they would follow line `after`."""

    first: int
    bytes: int
    after: int


class Output(Struct, frozen=True):
    """One stream of a command.

    Attributes:
        stream: Its name.
        path: The kept file.
        size_bytes: The number of bytes that the command wrote.
        kept_bytes: The size of the kept file.
        total_lines: The number of lines in the kept file.
        lines: The shown lines, in order.
        redrawn: Numbers of lines that later ones overwrote; they are not missing.
        lost: What was not kept.
        nuls: Numbers of shown lines with NULs, for which a sign is shown.
        binary: The stream is not text, so nothing of it is shown.
        ended: Whether its last line has a line end.
    """

    stream: StreamName
    path: str
    size_bytes: int = 0
    kept_bytes: int = 0
    total_lines: int = 0
    lines: Sequence[OutputLine] = ()
    redrawn: frozenset[int] = frozenset()
    lost: Lost | None = None
    nuls: Sequence[int] = ()
    binary: bool = False
    ended: bool = False

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The lines that are not shown, as spans; found anew at each look."""
        if self.binary:
            return []
        numbers = sorted({line.number for line in self.lines} | self.redrawn)
        return [
            (before + 1, after - 1)
            for before, after in pairwise([0, *numbers, self.total_lines + 1])
            if after - before > 1
        ]

    @property
    def cut(self) -> bool:
        """Whether something that the command wrote is not in the reply."""
        return bool(self.gaps or self.lost or any(line.left or line.first > 1 for line in self.lines)) or (
            self.binary and self.size_bytes > 0
        )


# -----------------------------------------------------------------------------
# What changed in the workspace while a command ran.
# -----------------------------------------------------------------------------

TreeAction: TypeAlias = Literal["created", "changed", "deleted", "moved"]

Followed: TypeAlias = Literal["all", "visible", "no"]
"""The names that were compared: "visible" leaves out those that are ignored or denied."""

CHANGES_NAMED = 100
"""Changed names in a result; more are counted. A formatter or a code generator changes fewer."""


class TreeChange(Struct, frozen=True):
    """A name that is not as it was before a command.

    Attributes:
        action: What became of it.
        kind: What it is, or was.
        path: The name, before the command if it was moved.
        to: The name that it has now, if it was moved.
        names: How many names below a folder went the same way.
        content_hash: Of a file that is there now, if it is known.
    """

    action: TreeAction
    kind: EntryKind
    path: str
    to: str | None = None
    names: int = 0
    content_hash: str | None = None


class TreeChanges(Struct, frozen=True):
    """Changes of the workspace while a command ran, by it or by others.

    Attributes:
        named: The changes by path; those below a changed folder are counted there.
        total: How many there are; the first `CHANGES_NAMED` are named.
        ignored: Changed names that ignore files hide.
        denied: Changed names that policy denies.
        followed: Which names were compared.
        problem: Why none were, if so.
        apart: The command ran on an overlay: what it changed is `undo`, and anything else is by others.
        undo: The change of the history that takes back all of it; None if nothing does.
        lasting: Why not, where that was asked for.
    """

    named: tuple[TreeChange, ...] = ()
    total: int = 0
    ignored: int = 0
    denied: int = 0
    followed: Followed = "all"
    problem: str = ""
    apart: bool = False
    undo: int | None = None
    lasting: str = ""

    def __bool__(self) -> bool:
        return bool(self.total or self.ignored or self.denied or self.problem)


UNCHANGED = TreeChanges()
"""Nothing changed."""


class RunResult(Struct, frozen=True):
    """The result of a command.

    Attributes:
        request: The request.
        call_id: Names the kept outputs.
        exit_code: As a shell reports it: 128 plus the signal number if a signal ended it.
        timed_out: The time limit ended it.
        duration_s: How long it ran.
        ended: Processes that it left behind and that were ended; None if they cannot be counted.
        outputs: Standard output, then standard error.
        shell: The shell that ran it, bash or sh.
        confinement: What confined it to the workspace.
        network: Whether it could use the network.
        kept: Whether the outputs can be read after this call.
        changes: What changed in the workspace while it ran.
        warnings: Further remarks.
    """

    request: RunRequest
    call_id: str
    exit_code: int
    timed_out: bool
    duration_s: float
    ended: int | None
    outputs: tuple[Output, Output]
    confinement: Confinement
    network: bool
    shell: str = "bash"
    kept: bool = True
    changes: TreeChanges = UNCHANGED
    warnings: Sequence[Warn] = ()

    @property
    def failed(self) -> bool:
        """Whether the reader needs to know why."""
        return self.timed_out or self.exit_code != 0


class Background(Struct, frozen=True):
    """A command that runs on after its call, at one moment.

    Attributes:
        id: Names it and its outputs.
        command: Its command line.
        path: The folder where it started.
        background: What its caller called it.
        began: When it started, in seconds since the epoch.
        limit_s: Longest time that it runs.
        shell: The shell that runs it.
        confinement: What confines it to the workspace.
        network: Whether it can use the network.
        sizes: Bytes that it has written to each stream.
        lost: What was not kept of each stream.
        asked: The signal that a caller sent.
        cancelled: Whether the call that started it was cancelled with it.
        ended: When it ended, in seconds since the epoch; None while it runs.
        exit_code: As a shell reports it; None while it runs, or if it is not known.
        timed_out: The time limit ended it.
        left: Processes of its own that were ended after it; None if they cannot be counted.
        problem: Why it was not started, or why its end is not known.
        changes: What changed in the workspace while it ran; nothing before its end.
        warnings: Further remarks.
    """

    id: str
    command: str
    path: str
    background: bool
    began: float
    limit_s: float
    shell: str
    confinement: Confinement
    network: bool
    sizes: tuple[int, int] = (0, 0)
    lost: tuple[Lost | None, Lost | None] = (None, None)
    asked: Signal | None = None
    cancelled: bool = False
    ended: float | None = None
    exit_code: int | None = None
    timed_out: bool = False
    left: int | None = 0
    problem: str = ""
    changes: TreeChanges = UNCHANGED
    warnings: tuple[Warn, ...] = ()

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self.ended is None

    @property
    def failed(self) -> bool:
        """Whether the reader needs to know why."""
        return not self.running and (self.timed_out or bool(self.problem) or self.exit_code != 0)


Wait: TypeAlias = Literal["", "matched", "ended", "time"]
"""How a wait ended; empty if there was none."""


class WatchResult(Struct, frozen=True):
    """A command that runs on, and what of its output is shown.

    Attributes:
        state: The command.
        outputs: Standard output and standard error; empty where `ends` was asked for.
        waited: How the wait for it ended.
        matched: The number, from 1, the text and the stream of the line for which the wait ended.
        ends: The beginning and the end of the first stream, and what lies between was left out.
        age_s: How long it has run.
        signalled: Whether it was sent a signal by this call.
    """

    state: Background
    outputs: tuple[Output, ...] = ()
    waited: Wait = ""
    matched: tuple[int, str, str] | None = None
    ends: tuple[bytes, bytes] = (b"", b"")
    age_s: float = 0.0
    signalled: bool = False
    warnings: Sequence[Warn] = ()


class StartedResult(Struct, frozen=True):
    """The commands that run, the latest first, and then those that have ended."""

    commands: Sequence[Background]


CommandRequest: TypeAlias = RunRequest | StartRequest | WatchRequest | EndRequest | StartedRequest
CommandResult: TypeAlias = RunResult | WatchResult | StartedResult
