"""The calls of a session made again with our tools, in a folder as it is now: what would have come, and
at what price.

Each read, search and listing that a session made is made through a workspace, under its policy, in the
order in which it came: natively, and under the contract whose tools are most like those of the client. A
reply that is cut is followed by its `next` until it has shown what the model was shown then. What counts
is the evidence: a line that the model was shown and used later (wrote, quoted, edited) and that stands in
the file unchanged must be shown again. Lines that differ now are told as changed, files that policy
denies as denied.

Knows: contracts by their records, and how their replies show lines.
Does not know: forms of records.
May be touched: `fitting` for a new client, `replies` for a new contract, each with a session in the tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from readroom import config
from readroom.deadline import Deadline
from readroom.errors import ReadroomError
from readroom.lens.evidence import Run, tools
from readroom.lens.normal_form import Replayed, ReplayState
from readroom.lens.records.values import as_object, as_text
from readroom.lens.replay.fitting import NATIVE, call_in, fitting, narrowed
from readroom.lens.replay.replies import lines_of
from readroom.lens.replay.requests import NativeCall, requests
from readroom.lens.sessions import Counter, Result
from readroom.limits.lens import (
    ARGUMENT_CHARS,
    CALLS_KEPT,
    HELD_LINES_OF_CALL,
    LINES_REMEMBERED,
    REPLAY_PATIENCE,
    REPLAY_REPLIES,
)
from readroom.values import Call, Reply
from readroom.workspace import Workspace


def workspace_at(root: str) -> Workspace:
    """A workspace in which sessions are made again: every contract reads the folder itself."""
    store = config.open_store(root)
    settings = config.load(store)
    inspect = msgspec.structs.replace(settings.setup.inspect, mode="sandbox")
    setup = msgspec.structs.replace(settings.setup, inspect=inspect)
    return Workspace(store, settings=msgspec.structs.replace(settings, setup=setup))


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

    def __init__(
        self, workspace: Workspace, counter: Counter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make calls in a workspace; limits of their time are counted by a clock that goes slower."""
        self._workspace = workspace
        self._counter = counter
        # What a reply leaves out for lack of time (the outline of a cut file) would be there in one run and
        # not in the next, by how busy the machine is.
        self._clock = lambda: clock() / REPLAY_PATIENCE
        self._rows: list[Replayed] = []
        self._waiting: dict[int, list[_Missed]] = {}
        self._remembered = 0
        self._fitting: str | None = None

    @property
    def left_out(self) -> int:
        """It lists none."""
        return 0

    @property
    def held(self) -> int:
        """Its rows, and the lines that are waited for."""
        return len(self._rows) * HELD_LINES_OF_CALL + self._remembered

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
        """Make the call again, in each contract, and compare what it shows."""
        if result.number > CALLS_KEPT:
            return
        calls = requests(result)
        self._again(result, NATIVE, calls)
        self._fitting = self._fitting or fitting(result.client, result.called)
        if self._fitting is not None:
            self._again(result, self._fitting, calls)

    def _again(self, result: Result, contract: str, calls: list[NativeCall]) -> None:
        then = _by_place(result.seen.runs)
        made: list[Call] = []
        replies: list[Reply] = []
        state: ReplayState = "not replayed"
        for tool, arguments in calls:
            wanted = {place for place in then if "limit" not in arguments or _within(place[1], arguments)}
            try:
                call = call_in(self._workspace, contract, tool, arguments)
            except ReadroomError:
                state = "failed"
                break
            if call is None:
                break
            made.append(call)
            state = self._followed(contract, call, wanted, replies)
            if state != "same":
                break
        tokens = sum(self._counter.count(reply.text) for reply in replies)
        runs = [run for reply in replies for run in lines_of(reply, contract, made[0].tool)]
        self._add(result, contract, _written(made), state, tokens, runs, then)

    def _followed(
        self, contract: str, call: Call | None, wanted: set[tuple[str, int]], replies: list[Reply]
    ) -> ReplayState:
        """Make a call, and those that its reply names next, until what was shown then is shown."""
        while call is not None and len(replies) < REPLAY_REPLIES:
            tool = call.tool
            try:
                reply = self._call(tool, call.arguments, contract)
            except ReadroomError as error:
                return state_of(error.code)
            following = as_object(reply.facts.get("next"))
            if reply.is_error:
                error_facts = as_object(reply.facts.get("error"))
                code, following = as_text(error_facts.get("code")), as_object(error_facts.get("next"))
                # The answer to a call that asks for too much says how much fits: that costs, and goes on.
                if code != "too_much" or not following:
                    return state_of(code)
            replies.append(reply)
            for run in lines_of(reply, contract, tool):
                wanted -= {(run.file, number) for number in range(run.first, run.last + 1)}
            call = self._next(contract, following, wanted, refused=reply.is_error)
        return "same"

    def _call(self, tool: str, arguments: Mapping[str, Any], contract: str) -> Reply:
        deadline = Deadline(clock=self._clock)
        return self._workspace.call(tool, arguments, contract_name=contract, deadline=deadline)

    def _next(
        self, contract: str, following: Mapping[str, Any], wanted: set[tuple[str, int]], *, refused: bool
    ) -> Call | None:
        """The call a reply names next, for no more lines than are wanted; None when nothing is."""
        if not following or not (wanted or refused):
            return None
        call = Call(as_text(following.get("tool")), as_object(following.get("arguments")))
        if refused:
            return call
        return narrowed(self._workspace, contract, call, max(number for _, number in wanted))

    def _add(
        self,
        result: Result,
        contract: str,
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
                result.tokens, tokens, len(then), len(now), kept, changed, 0, contract,
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
            reply = self._call("read_file", arguments, NATIVE)
        except ReadroomError:
            return False
        runs = lines_of(reply, NATIVE, "read_file")
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


def _written(calls: list[Call]) -> str:
    made = "; ".join(f"{call.tool} {msgspec.json.encode(call.arguments).decode()}" for call in calls[:3])
    return made[:ARGUMENT_CHARS]
