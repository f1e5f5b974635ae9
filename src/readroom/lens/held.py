"""Memory of a session while its record is read: calls without results, names, shown lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import msgspec
from msgspec.structs import replace

from readroom.lens.limits import ARGUMENT_CHARS, BOUNDS, Bounds
from readroom.lens.normal_form import Lines, Session, SkippedPart
from readroom.lens.records.events import Arguments, Called, Skipped, short_name
from readroom.lens.records.values import text_bytes

BRIEF_NAME_CHARS = 40
"""Those few characters, with the digest."""

ARGUMENT_START_CHARS = 100
"""Those few words."""


_ENTRY_BYTES = 150
"""The memory of a name in addition to its characters."""


@final
class KeptNames:
    """The names of one session, each kept once; shortened if there are very many."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._most = bounds.names_bytes
        self._names: dict[str, str] = {}
        self.bytes = 0
        """The memory of all of them."""

    def of(self, name: str) -> str:
        """A name that will come again."""
        kept = self._names.get(name)
        if kept is None:
            kept = self.once(name)
            if kept is name:
                self._names[name] = name
        return kept

    def once(self, name: str) -> str:
        """A name that will not, such as an id or a time."""
        if not name:
            return ""
        size = text_bytes(name) + _ENTRY_BYTES
        if self.bytes + size > self._most:
            return short_name(name, BRIEF_NAME_CHARS)
        self.bytes += size
        return name


@final
class KeptArguments:
    """The arguments of one session; only the beginning of each if there are very many."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._most = bounds.arguments_chars
        self.chars = 0
        """The memory of all of them."""

    def of(self, arguments: Arguments) -> str:
        """The part of the next call's arguments to keep."""
        text = shortened(arguments)
        if self.chars + text_bytes(text) > self._most and len(text) > ARGUMENT_START_CHARS:
            text = text[:ARGUMENT_START_CHARS] + "…"
        self.chars += text_bytes(text)
        return text


_VALUE_BYTES = 60


def argument_bytes(value: object) -> int:
    """The memory of decoded arguments."""
    if isinstance(value, str):
        return text_bytes(value) + _VALUE_BYTES
    if isinstance(value, dict):
        return sum(argument_bytes(name) + argument_bytes(inner) for name, inner in value.items())
    if isinstance(value, list):
        return _VALUE_BYTES + sum(map(argument_bytes, value))
    return _VALUE_BYTES


def texts(value: object) -> Iterator[str]:
    """Every string in arguments, but for lists in lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for item in value[:1000]:
            yield from texts(item) if not isinstance(item, list) else ()


def shortened(arguments: dict[str, object]) -> str:
    """The arguments of a call as JSON; long ones, as of a written file, are cut."""
    text = msgspec.json.encode(arguments).decode()
    return text if len(text) <= ARGUMENT_CHARS else text[:ARGUMENT_CHARS] + "…"


class Pending(msgspec.Struct, frozen=True):
    """A call without a result, its turn, and the whole output if the record has that already."""

    called: Called
    turn: int
    whole: str = ""
    chars: int = 0
    """Its memory."""


def pending(called: Called, turn: int) -> Pending:
    """A call that was just made."""
    return Pending(called, turn, chars=argument_bytes(called.arguments))


@final
class AwaitedCalls:
    """The pending calls of one session by id, the oldest first."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._bounds = bounds
        self._calls: dict[str, Pending] = {}
        self.chars = 0
        """The memory of all of them."""

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, pending: Pending) -> list[Pending]:
        """Wait for one more call; returns the oldest ones, given up for it."""
        self.take(pending.called.id)
        given_up = []
        most = self._bounds.pending_chars - pending.chars
        while self._calls and (len(self._calls) >= self._bounds.pending_calls or self.chars > most):
            given_up += self._taken(next(iter(self._calls)))
        self._calls[pending.called.id] = pending
        self.chars += pending.chars
        return given_up

    def put_whole(self, id: str, text: str) -> list[Pending]:
        """Keep the whole output of a call; returns the calls given up for it."""
        return [
            given_up
            for pending in self._taken(id)
            for given_up in self.add(
                replace(
                    pending, whole=text, chars=pending.chars - text_bytes(pending.whole) + text_bytes(text)
                )
            )
        ]

    def take(self, id: str) -> Pending | None:
        """Stop waiting for the call with this id, and return it."""
        return next(iter(self._taken(id)), None)

    def take_all(self) -> list[Pending]:
        """Stop waiting, and return all calls."""
        return [pending for id in list(self._calls) for pending in self._taken(id)]

    def _taken(self, id: str) -> list[Pending]:
        pending = self._calls.pop(id, None)
        if pending is None:
            return []
        self.chars -= pending.chars
        return [pending]


@final
class Shown:
    """The lines that results of a session showed, as hashes, and the turns that are no longer sent."""

    def __init__(self, session: str, bounds: Bounds = BOUNDS) -> None:
        self._session = session
        self._bounds = bounds
        self._files: dict[int, dict[int, tuple[int, int]]] = {}
        self._lines = 0
        self._compacted = 0  # the last turn before a compaction
        self._dropped: list[tuple[int, int]] = []  # turns undone by going back
        # Turns whose results a client replaced, and the last that sent them.
        self._replaced: dict[int, int] = {}

    @property
    def held(self) -> int:
        """The memory that it takes, in remembered lines."""
        return self._lines + len(self._files)

    def compact(self, turns: int) -> None:
        """The first `turns` are no longer sent: a summary replaced them."""
        self._compacted = turns

    def drop(self, first: int, last: int) -> None:
        """These turns are no longer sent: the user went back."""
        self._dropped.append((first, last))
        if len(self._dropped) > self._bounds.rewinds:
            del self._dropped[0]

    def replace(self, turn: int, last: int) -> None:
        """The requests after the turn `last` carry other texts in place of the results of `turn`."""
        self._replaced.setdefault(turn, last)

    def end(self, turn: int, turns: int) -> int:
        """The last of `turns` turns whose request carried the results of `turn`, or what took their place."""
        return min((last for first, last in self._dropped if first <= turn <= last), default=turns)

    def whole_end(self, turn: int, turns: int) -> int:
        """The last of them that carried the results themselves."""
        return min(self.end(turn, turns), self._replaced.get(turn, turns))

    def spans(self, number: int, turn: int, file: str, first: int, hashes: list[int]) -> list[Lines]:
        """The lines that call `number` shows, in stretches: new, in view, or seen before a compaction."""
        place = self._files.get(hash(file))
        if place is None:
            place = {}
            if len(self._files) < self._bounds.files and self._lines < self._bounds.lines:
                self._files[hash(file)] = place
        spans: list[Lines] = []
        for line, value in enumerate(hashes, first):
            before = place.get(line)
            again = None
            if before is not None and before[0] == value and not self._is_dropped(before[1]):
                again = "in view" if before[1] > self._compacted else "compacted"
            if before is not None or self._lines < self._bounds.lines:
                self._lines += before is None
                place[line] = (value, turn)
            if spans and spans[-1].last == line - 1 and spans[-1].again == again:
                spans[-1] = replace(spans[-1], last=line)
            else:
                spans.append(Lines(self._session, number, file, line, line, None, again))
        return spans

    def _is_dropped(self, turn: int) -> bool:
        return turn in self._replaced or any(first <= turn <= last for first, last in self._dropped)


_SKIPS_KEPT = 200


def count_skipped(skipped: dict[str, SkippedPart], record: str, event: Skipped, count: int = 1) -> None:
    """Count parts that were not read, one row for each reason: a record may have a million broken lines."""
    full = event.why not in skipped and len(skipped) >= _SKIPS_KEPT
    key = next(reversed(skipped)) if full else event.why
    before = skipped.get(key, SkippedPart(record, event.where[:200], event.why[:200], 0))
    skipped[key] = replace(before, count=before.count + count)


def count_left_out(skipped: dict[str, SkippedPart], session: Session, bounds: Bounds) -> None:
    """Count dropped rows of a finished session like unread ones."""
    for count, what, most in (
        (session.calls_left_out, "calls", bounds.calls),
        (session.lines_left_out, "line ranges", bounds.spans),
        (session.findings_left_out, "findings of one kind", bounds.findings),
    ):
        if count:
            why = f"{what} of one session beyond {most:,} are counted and not kept"
            count_skipped(skipped, session.record, Skipped(f"session {session.session}", why), count)
