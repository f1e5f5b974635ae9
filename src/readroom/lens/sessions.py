"""Events of a record become sessions in the normal form, in one pass and bounded memory.

Results are examined as they come and then dropped: what is kept of a session is its rows, and hashes of lines
to know what was shown before. Detectors of findings are called at each step and have bounds of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from readroom.core.rows import Finding
from readroom.core.tool_kinds import bare_name
from readroom.lens.evidence import Evidence, Known, evidence
from readroom.lens.held import (
    AwaitedCalls,
    KeptArguments,
    KeptNames,
    Pending,
    Shown,
    count_left_out,
    count_skipped,
    pending,
    shortened,
    texts,
)
from readroom.lens.limits import BOUNDS, HELD_LINES_OF_CALL, RESULT_CHARS, Bounds
from readroom.lens.normal_form import CUT_AWAY, Call, Lines, Replayed, Row, Session, SkippedPart, Turn
from readroom.lens.records.events import (
    Answered,
    Called,
    Compacted,
    Event,
    Opened,
    Recorded,
    Returned,
    Rewound,
    Skipped,
    Whole,
    Wrote,
)

SPANS_KEPT = 2_000
"""Line ranges kept for one call: a search that shows more files is kept as a number."""

HELD_CHARS_OF_LINE = 100
"""Characters that count as one line in that sum: four bytes each at most."""


class Counter(Protocol):
    """Counts tokens."""

    @property
    def exact(self) -> bool:
        """Whether counts are exact for a real vocabulary, or estimates."""

    def count(self, text: str) -> int:
        """The tokens of a text."""


class Result(msgspec.Struct):
    """A result for detectors: its call, its text, and the lines that it showed."""

    number: int
    turn: int
    epoch: int
    called: Called
    returned: Returned
    seen: Evidence
    tokens: int
    whole: str
    again: list[Lines]
    client: str = ""


class Detector(Protocol):
    """Looks for findings of one kind in one session."""

    @property
    def held(self) -> int:
        """The memory that it takes, in remembered lines."""

    @property
    def left_out(self) -> int:
        """How many findings were too many to list."""

    def model(self, text: str) -> None:
        """The model said `text`, or wrote it into arguments."""

    def result(self, result: Result) -> None:
        """A result came back."""

    def findings(self) -> Iterator[Finding]:
        """The findings, without the cost of carrying them, which is known only at the end."""


class Audited(msgspec.Struct):
    """One session with all its rows."""

    session: Session
    turns: list[Turn]
    calls: list[Call]
    lines: list[Lines]
    findings: list[Finding]
    replayed: list[Replayed] = msgspec.field(default_factory=list)

    def rows(self) -> Iterator[Row]:
        """All rows, the session first."""
        yield self.session
        yield from self.turns
        yield from self.calls
        yield from self.lines
        yield from self.findings
        yield from self.replayed


DetectorMaker: TypeAlias = Callable[[str], Sequence[Detector]]
"""Makes the detectors of the session of a name."""

_USED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost")


def summed(session: Session, turns: Sequence[Turn], calls: Sequence[Call]) -> Session:
    """The session with sums over its turns and calls."""
    used = {name: sum(getattr(turn, name) for turn in turns) for name in _USED}
    return replace(
        session, turns=len(turns), calls=len(calls) + session.calls_left_out,
        errors=sum(call.error for call in calls), result_characters=sum(call.characters for call in calls),
        result_tokens=sum(call.tokens for call in calls),
        carried_tokens=sum(call.carried_tokens for call in calls), **used,
    )  # fmt: skip


def only(part: Audited, numbers: Collection[int]) -> Audited:
    """The session with some of its answers, and what belongs to these."""
    turns = [turn for turn in part.turns if turn.turn in numbers]
    calls = [call for call in part.calls if call.turn in numbers]
    kept = {call.call for call in calls}
    to_the_end = bool(turns) and turns[-1] is part.turns[-1]
    compactions = part.session.compactions if to_the_end else turns[-1].epoch if turns else 0
    session = replace(part.session, compactions=max(0, compactions - (turns[0].epoch if turns else 0)))
    return Audited(
        summed(session, turns, calls), turns, calls, [one for one in part.lines if one.call in kept],
        [one for one in part.findings if one.call in kept],
        [row for row in part.replayed if row.call in kept],
    )  # fmt: skip


def sessions(
    events: Iterable[Event], record: str, counter: Counter, detectors: DetectorMaker, bounds: Bounds = BOUNDS
) -> Iterator[Audited | SkippedPart]:
    """The sessions of one record, each when it ends, and reports of its skipped parts."""
    open_sessions: dict[str, _Assembler] = {}
    skipped: dict[str, SkippedPart] = {}
    held = 0
    for event in events:
        if isinstance(event, Skipped):
            count_skipped(skipped, record, event)
            continue
        assembler = open_sessions.get(event.session)
        if assembler is None:
            made = detectors(event.session)
            assembler = _Assembler(event.session, record, counter, made, bounds)
            open_sessions[event.session] = assembler
        held -= assembler.held
        assembler.take(event)
        held += assembler.held
        while len(open_sessions) > bounds.sessions or (held > bounds.held_lines and len(open_sessions) > 1):
            oldest = next(name for name in open_sessions if name != event.session)
            held -= open_sessions[oldest].held
            yield from _ended(open_sessions.pop(oldest), skipped, bounds)
        if isinstance(event, Returned) and len(event.text) > RESULT_CHARS:
            why = f"lines beyond the first {RESULT_CHARS:,} characters of a result were not examined"
            count_skipped(skipped, record, Skipped(f"call {event.id[:40]}", why))
    for assembler in open_sessions.values():
        yield from _ended(assembler, skipped, bounds)
    yield from skipped.values()


def _ended(assembler: _Assembler, skipped: dict[str, SkippedPart], bounds: Bounds) -> Iterator[Audited]:
    if assembler.has_content():
        audited = assembler.finished()
        count_left_out(skipped, audited.session, bounds)
        yield audited


class _Assembler:
    """One session while its events come."""

    def __init__(
        self, session: str, record: str, counter: Counter, detectors: Sequence[Detector], bounds: Bounds
    ) -> None:
        self._bounds = bounds
        self._session = Session(session, record, "", tokens_exact=counter.exact)
        self._counter = counter
        self._detectors = detectors
        self._known = Known(bounds=bounds)
        self._turns: list[Turn] = []
        self._turn_of: dict[int, int] = {}
        self._epoch = 0
        self._compactions = 0
        self._ends: list[int] = []  # the last turn of each epoch that ended in a compaction
        self._awaited = AwaitedCalls(bounds)
        self._numbers: dict[int, int] = {}
        self._kept: dict[int, int] = {}  # calls that outlived a compaction, and their last epoch
        self._calls: list[Call] = []
        self._lines: list[Lines] = []
        self._shown = Shown(session, bounds)
        self._left_out = 0
        self._lines_left_out = 0
        self._arguments = KeptArguments(bounds)
        self._names = KeptNames(bounds)

    @property
    def held(self) -> int:
        """The memory that it takes, in remembered lines."""
        calls = len(self._calls) + len(self._turns) + len(self._awaited)
        lines = self._shown.held + len(self._lines)
        chars = self._arguments.chars + self._awaited.chars + self._names.bytes
        by_detectors = sum(detector.held for detector in self._detectors)
        return calls * HELD_LINES_OF_CALL + lines + chars // HELD_CHARS_OF_LINE + by_detectors

    def has_content(self) -> bool:
        """Whether anything was said or called."""
        return bool(self._turns or self._calls or self._awaited)

    def take(self, event: Event) -> None:
        """Take the next event."""
        if type(event) in _TAKES:
            _TAKES[type(event)](self, event)

    def _whole(self, event: Whole) -> None:
        self._give_up(self._awaited.put_whole(event.id, event.text))

    def _say(self, event: Wrote) -> None:
        self._model(event.text)

    def _open(self, event: Opened) -> None:
        known = self._session
        self._session = replace(
            known,
            client=event.client or known.client,
            version=event.version or known.version,
            folder=known.folder or event.folder,
            parent=event.parent or known.parent,
            model=event.model or known.model,
            started=known.started or event.time,
            title=known.title or event.title,
        )
        self._known.root = self._session.folder

    def _answer(self, event: Answered) -> None:
        usage = {name: getattr(event, name) for name in _USED if getattr(event, name)}
        index = self._turn_of.get(hash(event.key))
        if index is not None:
            known = self._turns[index]
            time, model = known.time or self._names.once(event.time), event.model or known.model
            self._turns[index] = replace(known, time=time, model=model, **usage)
            self._ended(event.time)
            return
        if len(self._turns) >= self._bounds.calls:
            return
        self._turn_of[hash(event.key)] = len(self._turns)
        number = len(self._turns) + 1
        time, model = self._names.once(event.time), self._names.of(event.model)
        name = "" if " " in event.key else self._names.once(event.key)  # "answer 3" is not a name
        self._turns.append(Turn(self._session.session, number, self._epoch, time, model, 0, **usage, id=name))
        self._ended(event.time)
        if event.model and not self._session.model:
            self._session = replace(self._session, model=event.model)

    def _ended(self, time: str) -> None:
        if time > self._session.ended:
            self._session = replace(self._session, ended=time, started=self._session.started or time)

    def _model(self, text: str) -> None:
        if text:
            text = text[:RESULT_CHARS]
            for detector in self._detectors:
                detector.model(text)

    def _call(self, event: Called) -> None:
        if not self._turns:
            self._answer(Answered(event.session, "first"))
        self._give_up(self._awaited.add(pending(event, len(self._turns))))
        turn = self._turns[-1]
        self._turns[-1] = replace(turn, calls=turn.calls + 1)
        for text in texts(event.arguments):
            self._model(text)

    def _return(self, event: Returned) -> None:
        if event.rewritten:
            self._rewrite(event)
            return
        pending = self._awaited.take(event.id)
        if pending is None or self._is_copy(pending, event):
            return
        characters, tokens = len(event.text), self._counter.count(event.text)
        if characters > RESULT_CHARS:
            event = replace(event, text=event.text[:RESULT_CHARS])
        seen = evidence(pending.called, event, self._known)
        number = len(self._calls) + 1
        again = [
            lines
            for run in seen.runs
            for lines in self._shown.spans(number, pending.turn, run.file, run.first, [*map(hash, run.lines)])
        ]
        result = self._result(pending, event, seen, tokens, again)
        self._take(result, sum(len(run.lines) for run in seen.runs), characters)

    def _result(
        self, pending: Pending, event: Returned, seen: Evidence, tokens: int, again: list[Lines]
    ) -> Result:
        return Result(
            len(self._calls) + 1, pending.turn, self._epoch, pending.called, event, seen, tokens,
            pending.whole, again, self._session.client,
        )  # fmt: skip

    def _is_copy(self, pending: Pending, event: Returned) -> bool:
        """Whether a record repeats a call: opencode copies the last ones after a compaction, with their ids.

        The answer before a copy did not make the call, and the result is sent on.
        """
        called, number = pending.called, self._numbers.get(hash(pending.called.id), 0)
        before = self._calls[number - 1] if number else None
        if before is None or before.characters != len(event.text) or before.tool != bare_name(called.tool)[0]:
            return False
        turn = self._turns[pending.turn - 1]
        same = before.arguments == shortened(called.arguments)
        self._turns[pending.turn - 1] = replace(turn, calls=turn.calls - same)
        self._kept |= {number: self._epoch} if same else {}
        return same

    def _record(self, event: Recorded) -> None:
        """A result of our ledger: it has the shown ranges, but no text."""
        pending = self._awaited.take(event.id)
        if pending is None:
            return
        number = len(self._calls) + 1
        returned = Returned(event.session, event.id, "", event.error, time=event.time)
        seen = evidence(pending.called, returned, self._known)
        seen = replace(seen, runs=(), error=event.error, cut_by=None)
        # A picture is shown without lines.
        spans = [span for span in event.shown if 0 < span[1] <= span[2]][:SPANS_KEPT]
        again: list[Lines] = []
        for path, first, last, version in spans:
            lines = range(first, min(last, first + self._bounds.lines) + 1)
            hashes = [hash((version, line)) for line in lines]
            again += self._shown.spans(number, pending.turn, path, first, hashes)
        result = self._result(pending, returned, seen, event.tokens, again)
        self._take(result, sum(last - first + 1 for _, first, last, _ in spans), 0)

    def _take(self, result: Result, lines: int, characters: int) -> None:
        self._keep(result, lines, characters)
        for detector in self._detectors:
            detector.result(result)

    def _keep(self, result: Result, lines: int, characters: int) -> None:
        if len(self._calls) >= self._bounds.calls:
            self._left_out += 1
            return
        returned, seen = result.returned, result.seen
        self._numbers[hash(result.called.id)] = result.number
        again = sum(span.last - span.first + 1 for span in result.again if span.again == "in view")
        row = self._row(result.called, result.turn, seen, returned.time)
        self._calls.append(
            replace(
                row, answered=True, characters=characters, tokens=result.tokens, images=returned.images,
                lines=lines, lines_again=again, error=seen.error, exit_code=seen.exit_code,
                cut_by=seen.cut_by, kept_at=self._names.of(seen.kept_at),
                more_files=self._names.of("\n".join(seen.more_files)),
            )
        )  # fmt: skip
        self._ended(returned.time)
        wide = (
            Lines(self._session.session, result.number, self._names.of(file), line, line, characters)
            for file, line, characters in seen.wide
        )
        room = self._bounds.spans - len(self._lines)
        self._lines += map(self._named, result.again[: min(room, SPANS_KEPT)])
        self._lines += islice(wide, max(0, min(room - len(result.again), SPANS_KEPT)))
        self._lines_left_out += max(0, len(result.again) + len(seen.wide) - room)

    def _named(self, lines: Lines) -> Lines:
        file = self._names.of(lines.file)
        return lines if file is lines.file else replace(lines, file=file)

    def _rewrite(self, event: Returned) -> None:
        number = self._numbers.get(hash(event.id))
        if number is not None:
            self._calls[number - 1] = replace(self._calls[number - 1], rewritten_characters=len(event.text))
            turn = self._calls[number - 1].turn
            # What an answer got is remembered as a whole.
            if all(call.rewritten_characters is not None for call in self._beside(number, turn)):
                self._shown.replace(turn, len(self._turns))

    def _beside(self, number: int, turn: int) -> Iterator[Call]:
        """The calls before and after one that belong to the same turn, and itself."""
        for step, start in ((-1, number - 1), (1, number)):
            at = start
            while 0 <= at < len(self._calls) and self._calls[at].turn == turn:
                yield self._calls[at]
                at += step

    def _compact(self, event: Compacted) -> None:
        # The request for the summary carried everything once more: it is a turn, or counts as one.
        self._compactions += 1
        self._shown.compact(len(self._turns))
        if len(self._ends) < self._bounds.calls:
            self._epoch += 1
            self._ends.append(len(self._turns) + (0 if event.counted else 1))
        for number in filter(None, (self._numbers.get(hash(id)) for id in event.kept)):
            self._kept[number] = self._epoch

    def _rewind(self, event: Rewound) -> None:
        index = self._turn_of.get(hash(event.key), -1) if event.key else -1
        if (not event.key or index >= 0) and index + 1 < len(self._turns):
            self._shown.drop(index + 2, len(self._turns))

    def _give_up(self, calls: Iterable[Pending]) -> None:
        for call in calls:
            self._unanswered(call)

    def _unanswered(self, pending: Pending) -> None:
        if len(self._calls) >= self._bounds.calls:
            self._left_out += 1
            return
        called = pending.called
        seen = evidence(called, Returned(called.session, called.id, "", False), Known(self._known.root))
        self._calls.append(self._row(called, pending.turn, seen))

    def _row(self, called: Called, turn: int, seen: Evidence, time: str = "") -> Call:
        """The row of a call, without its result."""
        tool, server = bare_name(called.tool)
        return Call(
            self._session.session, len(self._calls) + 1, self._names.once(called.id), turn, self._epoch,
            self._names.of(tool), self._names.of(called.server or server), seen.kind,
            self._names.of(seen.file), self._arguments.of(called.arguments),
            self._names.once(called.time or time),
        )  # fmt: skip

    def finished(self) -> Audited:
        """The session with all its rows."""
        self._give_up(self._awaited.take_all())
        self._calls = [self._carried(call) if call.answered else call for call in self._calls]
        findings = [
            replace(
                finding,
                session=self._session.session,
                carried_tokens=0
                if finding.kind in CUT_AWAY
                else finding.tokens * self._whole_requests(finding.turn, self._epoch_of(finding)),
            )
            for detector in self._detectors
            for finding in detector.findings()
        ]
        session = replace(
            self._session, client=self._session.client or "unknown", compactions=self._compactions,
            calls_left_out=self._left_out, lines_left_out=self._lines_left_out,
            findings_left_out=sum(detector.left_out for detector in self._detectors),
        )  # fmt: skip
        return Audited(
            summed(session, self._turns, self._calls), self._turns, self._calls, self._lines, findings
        )

    def _carried(self, call: Call) -> Call:
        """The call with how many requests carried its result."""
        epoch, end = self._last_epoch(call), self._shown.end(call.turn, len(self._turns))
        sent = self._requests(call.turn, epoch, end)
        replaced = call.rewritten_characters is not None
        whole = min(sent, self._whole_requests(call.turn, epoch)) if replaced else None
        return replace(call, sent_in_requests=sent, whole_in_requests=whole)

    def _whole_requests(self, turn: int, epoch: int) -> int:
        """How many requests carried a result of `turn` itself, and nothing in its place."""
        return self._requests(turn, epoch, self._shown.whole_end(turn, len(self._turns)))

    def _requests(self, turn: int, epoch: int, end: int) -> int:
        """How many requests carried a result of `turn` up to the turn `end`: those after it in its epoch."""
        return max(1, min(end, self._ends[epoch]) - turn) if epoch < len(self._ends) else max(0, end - turn)

    def _epoch_of(self, finding: Finding) -> int:
        if 0 < finding.call <= len(self._calls):
            return self._last_epoch(self._calls[finding.call - 1])
        return self._epoch

    def _last_epoch(self, call: Call) -> int:
        return self._kept.get(call.call, call.epoch)


_TAKES: dict[type[Event], Callable[[_Assembler, Any], None]] = {
    Opened: _Assembler._open, Answered: _Assembler._answer, Wrote: _Assembler._say, Called: _Assembler._call,
    Whole: _Assembler._whole, Returned: _Assembler._return, Recorded: _Assembler._record,
    Compacted: _Assembler._compact, Rewound: _Assembler._rewind,
}  # fmt: skip
