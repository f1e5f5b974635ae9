"""A session's calls repeated with our tools: the lines that they would have shown, and their price.

Each read, search and listing of a session is made in a workspace, under its policy and in order: natively,
and under the contract whose tools are most like the client's. When a reply is cut, its `next` is followed
until everything is shown that the model saw then. What counts is evidence: a line that the model saw and used
later (wrote, quoted, edited), and that is unchanged in the file, must be shown again. Lines that differ now
are counted as changed, files that policy denies as denied.

Which lines a reply shows is read from its text, as a model would. Facts are used only for contracts that do
not number lines, and to know which lines were cut.

Knows: contracts, and how their replies show lines.
Does not know: formats of records.
May be touched: `FITTING` for a new client, `lines_of` for a new contract, each with a session in the tests.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from readroom.core import config
from readroom.core.contracts import NAMES
from readroom.core.contracts.base import Contract
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.rows import state_of
from readroom.core.tool_kinds import bare_name
from readroom.core.values import Call, ReadRequest, Reply, Request
from readroom.core.workspace import Workspace
from readroom.lens.evidence import Known, Run, evidence
from readroom.lens.findings.use import LEAST_LINE_CHARS
from readroom.lens.limits import ARGUMENT_CHARS, CALLS_KEPT, HELD_LINES_OF_CALL, LINES_REMEMBERED
from readroom.lens.normal_form import Replayed, ReplayState
from readroom.lens.records.events import Called, Returned
from readroom.lens.records.values import as_count, as_list, as_object, as_text, decode
from readroom.lens.sessions import Counter, Result

REPLAY_REPLIES = 50
"""Replies that a replay follows for one call, each by the `next` of the one before."""

REPLAY_PATIENCE = 60
"""So many times as long as others have calls that are made again: how busy a machine is must not decide what
they show. A search of ten seconds may take ten minutes, which only a folder of that size needs.
"""


NativeCall: TypeAlias = tuple[str, dict[str, Any]]
"""A tool of the native contract and its arguments."""


def requests(result: Result) -> list[NativeCall]:
    """The native calls for the lines that a recorded call showed; none if none fits."""
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


def _reads(file: str, runs: tuple[Run, ...]) -> list[NativeCall]:
    """A read for each stretch of lines that was shown, without the parts cut out between them."""
    if not runs:
        return [("read_file", {"path": file})]
    return [
        ("read_file", {"path": run.file, "offset": run.first, "limit": len(run.lines)})
        for run in runs[:REPLAY_REPLIES]
    ]


def _of_command(result: Result) -> list[NativeCall]:
    # A search may be in another syntax than ours, and output without lines of files was not a read.
    if not result.seen.runs or any(piece.search for piece in result.seen.printed.pieces):
        return []
    return _reads(result.seen.file, result.seen.runs)


_NUMBERED = {
    "everruns": re.compile(r"(\d+)\|(.*)"),
    "kilo": re.compile(r" *(\d+) \|(?: (.*))?"),
    "coder": re.compile(r"(\d+)\t(.*)"),
    "inspect_agents": re.compile(r" *(\d+)\t(.*)"),
    "opencode": re.compile(r"(\d+): (.*)"),
}
"""Contracts that number lines, and how; other contracts do not."""


def lines_of(reply: Reply, contract_name: str, tool: str) -> tuple[Run, ...]:
    """The lines of files that a reply of a contract shows whole."""
    if contract_name == NATIVE:
        return _native(reply, tool)
    answer = as_object(decode(reply.text.encode()) if reply.text.startswith("{") else None)
    if "matches" in answer:
        return tuple(_matches(answer))
    shown = as_object(reply.facts.get("lines_shown"))
    if not shown:
        return ()
    header = as_count(reply.facts.get("header_line"))
    first, last = as_count(shown.get("start")), as_count(shown.get("end"))
    rows = as_text(answer.get("content") if answer else reply.text).split("\n")
    pattern = _NUMBERED.get(contract_name)
    if pattern is None:
        numbers = [header] if header and header < first else []
        pairs: Iterable[tuple[int, str]] = zip([*numbers, *range(first, last + 1)], rows, strict=False)
    else:
        pairs = (pair for pair in _pairs(pattern, rows) if first <= pair[0] <= last or pair[0] == header)
    cut = {as_count(as_object(part).get("line")) for part in as_list(reply.facts.get("omitted"))}
    file = as_text(reply.facts.get("path"))
    return tuple(Run(file, number, (line,)) for number, line in pairs if number not in cut)


def _native(reply: Reply, tool: str) -> tuple[Run, ...]:
    # The header of a reply names the file, so its own arguments are not needed to read it.
    path = reply.text.split(" | ", 1)[0]
    called = Called("", "", tool, {"path": path}, server="readroom")
    return evidence(called, Returned("", "", reply.text, False), Known()).runs


def _pairs(pattern: re.Pattern[str], rows: list[str]) -> Iterator[tuple[int, str]]:
    before = 0
    for row in rows:
        match = pattern.fullmatch(row)
        if match and int(match[1]) > before:
            before = int(match[1])
            yield before, match[2] or ""


def _matches(answer: Mapping[str, Any]) -> Iterator[Run]:
    for match in map(as_object, as_list(answer.get("matches"))):
        path = as_text(match.get("path")).removeprefix("/workspace/")
        yield Run(path, as_count(match.get("line_number")), (as_text(match.get("line")),))


NATIVE = "native"


class Fit(Struct, frozen=True):
    """The contract for a client, and why it fits."""

    contract: str
    why: str


FITTING: Mapping[str, Fit] = {
    "Claude Code": Fit("inspect_agents", "`file_path`, `offset` and `limit`; lines numbered before a tab"),
    "Gemini CLI": Fit("inspect_agents", "`read_file` with `file_path`, `offset` from 0 and `limit`"),
    "Qwen Code": Fit("inspect_agents", "`read_file` with `file_path`, `offset` from 0 and `limit`"),
    "Inspect AI": Fit("inspect_agents", "made for it"),
    "opencode": Fit("opencode", "made for it"),
    "Kilo CLI": Fit("opencode", "made from opencode, with its tools"),
    "Codex": Fit("rnd", "text exactly as in the file, without numbers, as `cat` and `sed -n` print it"),
    "SWE-agent": Fit("everruns", "a window of a file with numbered lines"),
}
"""The contract for each client that has fixed tools."""


def fitting(client: str, called: Called) -> str | None:
    """The contract that fits a client; for a framework, one that accepts the call as it is."""
    fit = FITTING.get(client)
    if fit is not None:
        return fit.contract
    name, server = bare_name(called.tool)
    if "readroom" in (called.server, server):
        return None
    return next((other for other in NAMES if other != NATIVE and _takes(other, name, called)), None)


def _takes(contract_name: str, tool: str, called: Called) -> bool:
    from readroom.core.contracts import contract

    try:
        contract(contract_name).bind(tool, called.arguments)
    except ReadroomError:
        return False
    return True


def call_in(workspace: Workspace, contract_name: str, tool: str, arguments: dict[str, Any]) -> Call | None:
    """The call of a contract that is the same as a native call; None if it has none. Raises ReadroomError."""
    if contract_name == NATIVE:
        return Call(tool, arguments)
    request = workspace.contract(NATIVE).bind(tool, arguments).request
    record = workspace.contract(contract_name)
    call = record.to_call(request)
    return call if call is not None and _means(record, call, request) else None


def _means(record: Contract, call: Call, request: Request) -> bool:
    # A contract without searches would list files instead, which is another question.
    meant = record.bind(call.tool, call.arguments).request
    return type(meant) is type(request) and getattr(meant, "path", "") == getattr(request, "path", "")


def narrowed(workspace: Workspace, contract_name: str, call: Call, last: int) -> Call:
    """A call that continues a read, limited to the lines up to `last`."""
    record = workspace.contract(contract_name)
    request = record.bind(call.tool, call.arguments).request
    if not isinstance(request, ReadRequest) or (request.offset or 0) < 1 or request.column > 1:
        return call
    if request.pages is not None or request.symbol is not None or (request.limit or 1) < 1:
        return call
    count = max(1, last - (request.offset or 1) + 1)
    return record.to_call(replace(request, limit=count)) or call


def workspace_at(root: str) -> Workspace:
    """A workspace for replays, in which every contract reads the folder itself."""
    store = config.open_store(root)
    settings = config.load(store)
    variables = (*settings.variables, ("INSPECT_AGENTS_FS_MODE", "sandbox"))
    return Workspace(store, settings=replace(settings, variables=variables))


class _Missed(msgspec.Struct, frozen=True):
    """A line shown then and not now: it is missing if the model used it and it is unchanged."""

    replayed: int
    file: str
    number: int
    line: str


class Replay:
    """Repeats the calls of one session, as a detector: it gets each result once, when it passes."""

    def __init__(
        self, workspace: Workspace, counter: Counter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make calls in a workspace, with more patience than for an agent."""
        self._workspace = workspace
        self._counter = counter
        # Omissions of replies for lack of time (the outline of a cut file) would differ from run to run.
        self._clock = lambda: clock() / REPLAY_PATIENCE
        self._rows: list[Replayed] = []
        self._waiting: dict[int, list[_Missed]] = {}
        self._remembered = 0
        self._fitting: str | None = None

    @property
    def left_out(self) -> int:
        """It has no findings."""
        return 0

    @property
    def held(self) -> int:
        """The memory of its rows and awaited lines, in remembered lines."""
        return len(self._rows) * HELD_LINES_OF_CALL + self._remembered

    def model(self, text: str) -> None:
        """A line that the model writes is used: if our replies did not show it, it is missing."""
        if not self._waiting:
            return
        for line in text.split("\n"):
            for missed in self._waiting.pop(hash(line.strip()), ()):
                if self._stands(missed):
                    row = self._rows[missed.replayed]
                    self._rows[missed.replayed] = replace(row, missing=row.missing + 1)

    def findings(self) -> Iterator[Any]:
        """None: a replay has rows instead."""
        return iter(())

    def rows(self) -> list[Replayed]:
        """One row for each call, in order."""
        return self._rows

    def result(self, result: Result) -> None:
        """Repeat the call in each contract, and compare the shown lines."""
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
        """Make a call and follow `next` until everything wanted is shown."""
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
                # A refusal as too large reports how much fits: it costs tokens, and the replay continues.
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
        """The call a reply names next, limited to the wanted lines; None if none are wanted."""
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
                called.session, result.number, bare_name(called.tool)[0], result.seen.file, made, state,
                result.tokens, tokens, len(then), len(now), kept, changed, 0, contract,
            )
        )  # fmt: skip
        if state in ("same", "changed"):
            texts = set(now.values())
            for place, line in then.items():
                if place not in now and line not in texts and len(line.strip()) >= LEAST_LINE_CHARS:
                    self._wait(_Missed(index, *place, line))

    def _wait(self, missed: _Missed) -> None:
        if self._remembered < LINES_REMEMBERED:
            self._remembered += 1
            self._waiting.setdefault(hash(missed.line.strip()), []).append(missed)

    def _stands(self, missed: _Missed) -> bool:
        """Whether a line is unchanged."""
        arguments = {"path": missed.file, "offset": missed.number, "limit": 1}
        try:
            reply = self._call("read_file", arguments, NATIVE)
        except ReadroomError:
            return False
        runs = lines_of(reply, NATIVE, "read_file")
        return not reply.is_error and any(missed.line in run.lines for run in runs)


def _by_place(runs: Iterable[Run]) -> dict[tuple[str, int], str]:
    return {(run.file, number): line for run in runs for number, line in enumerate(run.lines, run.first)}


def _within(number: int, arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["offset"] <= number < arguments["offset"] + arguments["limit"])


def _written(calls: list[Call]) -> str:
    made = "; ".join(f"{call.tool} {msgspec.json.encode(call.arguments).decode()}" for call in calls[:3])
    return made[:ARGUMENT_CHARS]
