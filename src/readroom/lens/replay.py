"""The calls of a session made again with our tools, in a folder as it is now: what would have come, and
at what price.

Each read, search and listing that a session made is made through a workspace, under its policy, in the
order in which it came. A reply that is cut is followed by its `next` until it has shown what the model
was shown then. What counts is the evidence: a line that the model was shown and used later (wrote,
quoted, edited) and that stands in the file unchanged must be shown again. Lines that differ now are told
as changed, files that policy denies as denied.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from readroom.errors import ReadroomError, StoreFailed
from readroom.lens.evidence import Known, Run, commands, evidence, tools
from readroom.lens.normal_form import Replayed, ReplayState
from readroom.lens.records.events import Called, Returned
from readroom.lens.records.values import as_count, as_object, as_text
from readroom.lens.sessions import Counter, Result
from readroom.limits.lens import LINES_REMEMBERED, REPLAY_REPLIES
from readroom.values import Reply
from readroom.workspace import Workspace


class _Missed(msgspec.Struct, frozen=True):
    """A line that was shown then and is not shown now: it is missing when it is used and still stands
    there.
    """

    replayed: int
    file: str
    number: int
    line: str


class Replay:
    """Makes the calls of one session again; a detector among others, so that results are at hand once,
    when they pass.
    """

    def __init__(self, workspace: Workspace, counter: Counter) -> None:
        self._workspace = workspace
        self._counter = counter
        self._rows: list[Replayed] = []
        self._waiting: dict[int, list[_Missed]] = {}
        self._remembered = 0

    def model(self, turn: int, text: str) -> None:
        """A line the model writes is used: if it was not shown again, that is missed."""
        if not self._waiting:
            return
        for line in text.split("\n"):
            for missed in self._waiting.pop(hash(line.strip()), ()):
                if self._stands(missed):
                    row = self._rows[missed.replayed]
                    self._rows[missed.replayed] = msgspec.structs.replace(row, missing=row.missing + 1)

    def attached(self, turn: int, text: str) -> None:
        """What a client attaches is not a call."""

    def findings(self, session: str) -> Iterator[Any]:
        """A replay finds nothing by itself."""
        return iter(())

    def rows(self) -> list[Replayed]:
        """One row for each call, in order."""
        return self._rows

    def result(self, result: Result) -> None:
        """Make the call again and compare what it shows."""
        made = requests(result)
        then = _by_place(result.seen.runs)
        replies: list[Reply] = []
        state: ReplayState = "same" if made else "not replayed"
        for tool, arguments in made:
            state = self._followed(tool, arguments, set(then), replies)
            if state != "same":
                break
        tokens = sum(self._counter.count(reply.text) for reply in replies)
        runs = [run for reply in replies for run in _shown(made[0][0], reply)]
        calls = "; ".join(f"{tool} {msgspec.json.encode(arguments).decode()}" for tool, arguments in made[:3])
        self._add(result, calls, state, tokens, runs, then)

    def _followed(
        self, tool: str, arguments: dict[str, Any], then: set[tuple[str, int]], replies: list[Reply]
    ) -> ReplayState:
        """Make a call, and those that its reply names next, until what was shown then is shown."""
        wanted = {place for place in then if "limit" not in arguments or _within(place[1], arguments)}
        call: Mapping[str, Any] | None = {"tool": tool, "arguments": arguments}
        while call is not None and len(replies) < REPLAY_REPLIES:
            try:
                reply = self._workspace.call(str(call["tool"]), dict(call["arguments"]))
            except ReadroomError as error:
                return state_of(error.code)
            if reply.is_error:
                return state_of(as_text(as_object(reply.facts.get("error")).get("code")))
            replies.append(reply)
            for run in _shown(tool, reply):
                wanted -= {(run.file, number) for number in range(run.first, run.last + 1)}
            call = _next(reply, wanted)
        return "same"

    def _add(
        self,
        result: Result,
        made: str,
        state: ReplayState,
        tokens: int,
        runs: list[Run],
        then: Mapping[tuple[str, int], str],
    ) -> None:
        now = _by_place(runs)
        kept = sum(1 for place, line in then.items() if now.get(place) == line)
        changed = sum(1 for place, line in then.items() if place in now and now[place] != line)
        if state == "same" and changed:
            state = "changed"
        index = len(self._rows)
        called = result.called
        self._rows.append(
            Replayed(
                called.session, result.number, tools.bare_name(called.tool)[0], result.seen.file, made, state,
                result.tokens, tokens, len(then), len(now), kept, changed, 0,
            )
        )  # fmt: skip
        if state in ("same", "changed"):
            texts = set(now.values())
            for place, line in then.items():
                if place not in now and line not in texts and len(line.strip()) >= _LEAST_LINE:
                    self._wait(_Missed(index, *place, line))

    def _wait(self, missed: _Missed) -> None:
        if self._remembered < LINES_REMEMBERED:
            self._remembered += 1
            self._waiting.setdefault(hash(missed.line.strip()), []).append(missed)

    def _stands(self, missed: _Missed) -> bool:
        """Whether a line still stands where it was shown."""
        arguments = {"path": missed.file, "offset": missed.number, "limit": 1}
        try:
            reply = self._workspace.call("read_file", arguments)
        except ReadroomError:
            return False
        runs = _shown("read_file", reply)
        return not reply.is_error and any(missed.line in run.lines for run in runs)


def _by_place(runs: Iterable[Run]) -> dict[tuple[str, int], str]:
    return {(run.file, number): line for run in runs for number, line in enumerate(run.lines, run.first)}


_LEAST_LINE = 8
"""A shorter line (`}`, `else:`) is written by chance."""


def state_of(code: str) -> Literal["gone", "denied", "failed"]:
    """What the code of a refusal says about a file."""
    if code in ("not_found", "not_a_file"):
        return "gone"
    return "denied" if code in ("denied", "outside_root") else "failed"


def _within(number: int, arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["offset"] <= number < arguments["offset"] + arguments["limit"])


def _next(reply: Reply, wanted: set[tuple[str, int]]) -> Mapping[str, Any] | None:
    """The call a reply names next, for no more lines than are wanted; None when nothing is."""
    following = as_object(reply.facts.get("next"))
    if not wanted or not following:
        return None
    arguments = as_object(following.get("arguments"))
    if "limit" in arguments and "offset" in arguments:
        last = max(number for _, number in wanted)
        arguments = {**arguments, "limit": max(1, last - as_count(arguments["offset"]) + 1)}
    return {"tool": following.get("tool"), "arguments": arguments}


def _shown(tool: str, reply: Reply) -> tuple[Run, ...]:
    # The header of a reply names the file, so its own arguments are not needed to read it.
    path = reply.text.split(" | ", 1)[0]
    called = Called("", "", tool, {"path": path}, server="readroom")
    return evidence(called, Returned("", "", reply.text, False), Known()).runs


_Request: TypeAlias = tuple[str, dict[str, Any]]


def requests(result: Result) -> list[_Request]:
    """The calls of our native contract that ask for what a recorded call showed; none where none fits."""
    seen, arguments = result.seen, result.called.arguments
    if seen.kind == "read" and seen.file and not seen.error:
        return _reads(seen.file, seen.runs)
    if seen.kind == "search":
        pattern = arguments.get("pattern", arguments.get("query", arguments.get("regex")))
        if not isinstance(pattern, str) or not pattern:
            return []
        glob = arguments.get("glob", arguments.get("include"))
        where = {"path": seen.file} if seen.file else {}
        chosen = {"glob": glob} if isinstance(glob, str) else {}
        return [("grep_files", {"pattern": pattern, **where, **chosen})]
    if seen.kind == "list":
        return [("list_directory", {"path": seen.file or "."})]
    return _of_command(result) if seen.kind == "command" else []


def _reads(file: str, runs: tuple[Run, ...]) -> list[_Request]:
    """One read for each stretch of lines that was shown: what was cut out of the middle is not asked for."""
    if not runs:
        return [("read_file", {"path": file})]
    return [
        ("read_file", {"path": run.file, "offset": run.first, "limit": len(run.lines)})
        for run in runs[:REPLAY_REPLIES]
    ]


def _of_command(result: Result) -> list[_Request]:
    pieces = commands.pieces(tools.command_of(result.called.arguments))
    # A search may be in the syntax of another program, and what printed no lines of files is not a read.
    if not result.seen.runs or any(piece.search for piece in pieces):
        return []
    return _reads(result.seen.file, result.seen.runs)


@contextmanager
def folder_at(root: Path, commit: str | None) -> Iterator[Path]:
    """The folder as it is, or what its git repository held at `commit`, in a folder of its own.

    Raises:
        StoreFailed: git does not know the commit.
    """
    if commit is None:
        yield root
        return
    if commit.startswith("-"):
        raise StoreFailed(str(root), f"{commit!r} is not the name of a commit")
    command = ["git", "-C", str(root), "archive", "--format=tar", commit]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise StoreFailed(str(root), f"git does not know {commit!r} there")
    with tempfile.TemporaryDirectory(prefix="readroom-replay-") as made:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(made, filter="data")
        yield Path(made)
