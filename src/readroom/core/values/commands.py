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

from readroom.core.values.files import Warn

Verbosity: TypeAlias = Literal["silent", "concise", "normal", "verbose", "full"]
"""How much of the output a reply shows."""

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
    output: Verbosity = "concise"
    timeout_s: float | None = None
    name: str | None = None
    tail: Tail | None = None


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
    warnings: Sequence[Warn] = ()

    @property
    def failed(self) -> bool:
        """Whether the reader needs to know why."""
        return self.timed_out or self.exit_code != 0
