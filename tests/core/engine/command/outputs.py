"""What a reply shows of outputs, without running anything: real keepers, a real mount, the real choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from readroom.core.caller import ANONYMOUS
from readroom.core.contracts.native import MEASURE
from readroom.core.contracts.native import changes as native_command
from readroom.core.deadline import Deadline
from readroom.core.engine.command.output import chosen
from readroom.core.limits import REPLY_BYTES, RUN_KEPT_BYTES, RUN_SESSION_BYTES
from readroom.core.stores.mount import OutputsMount
from readroom.core.stores.outputs import Outputs, OwnOutputs
from readroom.core.values import Cap, Reply
from readroom.core.values.commands import Output, OutputLine, RunRequest, RunResult, Verbosity
from scripts.record_outputs import OUTPUTS, cases

CAP = Cap(REPLY_BYTES, MEASURE)


@dataclass(frozen=True)
class Recorded:
    """What a command that failed wrote, and beginnings of the lines that say why."""

    lines: tuple[str, ...]
    silent: bool
    stdout: bytes
    stderr: bytes

    @property
    def merged(self) -> bytes:
        """Both streams in one."""
        return self.stdout + self.stderr


@cache
def recorded() -> Mapping[str, Recorded]:
    """All recorded outputs by name."""
    return {
        name: Recorded(tuple(one.lines), one.silent, _bytes(name, "stdout"), _bytes(name, "stderr"))
        for name, one in cases().items()
    }


def _bytes(name: str, stream: str) -> bytes:
    file = OUTPUTS / f"{name}.{stream}"
    return file.read_bytes() if file.exists() else b""


@dataclass(frozen=True)
class Shown:
    """A command's result as it would be replied."""

    result: RunResult

    @property
    def out(self) -> Output:
        return self.result.outputs[0]

    @property
    def err(self) -> Output:
        return self.result.outputs[1]

    @property
    def rows(self) -> list[OutputLine]:
        return [*self.out.lines, *self.err.lines]

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows]

    @property
    def reply(self) -> Reply:
        return native_command.render(self.result, CAP)

    @property
    def size(self) -> int:
        """Bytes of the inline part, numbers and the label of standard error included."""
        label = ["stderr:"] if self.err.lines else []
        rows = [
            f"{row.number}\t{row.text}" + (f" [+{row.left} chars]" if row.left else "") for row in self.rows
        ]
        return sum(len(row.encode()) + 1 for row in [*label, *rows])

    def holds(self, line: str) -> bool:
        """Whether a line that begins so is shown, or as much of it as there is room for."""
        return any(
            row.text.strip().startswith(line) or (row.left and line.startswith(row.text.strip()))
            for row in self.rows
        )


@contextmanager
def keeping(most: int = RUN_KEPT_BYTES) -> Iterator[OwnOutputs]:
    """Where outputs are kept while a test lasts."""
    outputs = Outputs("/proc", most, RUN_SESSION_BYTES)
    try:
        yield outputs.of(ANONYMOUS.owner)
    finally:
        outputs.close()


def shown(
    outputs: OwnOutputs,
    stdout: bytes,
    stderr: bytes = b"",
    *,
    output: Verbosity = "concise",
    failed: bool = True,
    cap: Cap = CAP,
    deadline: Deadline | None = None,
) -> Shown:
    """What a reply shows of a command that wrote this."""
    name, keepers = outputs.begin()
    for keeper, data in zip(keepers, (stdout, stderr), strict=True):
        keeper.write(data)
    kept = outputs.finish(name, keepers)
    request = RunRequest("true", output=output)
    both = chosen(OutputsMount(outputs), cap, request, kept, failed, deadline or Deadline())
    return Shown(RunResult(request, name, int(failed), False, 0.1, 0, both, "bwrap", False))
