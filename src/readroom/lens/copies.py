"""Count a conversation once if several records contain it.

A conversation that was resumed or forked begins with a copy of another, under an id of its own, and a record
may be in the same folder as its own export. An answer is a copy if an earlier session of the same client has
it: with the same name or time, tokens, calls and results. A number in a session is not a name, so that such
answers are copies by their time, or if one session says that it was forked from the other.

A session that is a copy as a whole keeps its row, without answers. That an array of messages, a trace or our
own ledger repeats a client's record is known by its calls.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec
from msgspec.structs import replace

from readroom.lens.audit import ROWS, grouped
from readroom.lens.normal_form import Call, Session, SkippedPart, Turn
from readroom.lens.records import otel, readroom_ledger
from readroom.lens.sessions import Audited, only
from readroom.lens.wanted import parsed

ANSWERS_REMEMBERED = 2_000_000
"""Answers by which copies of conversations are known; those of later sessions are not remembered."""


def without_copies(parts: Iterable[Audited | SkippedPart]) -> Iterator[Audited | SkippedPart]:
    """The parts, each session without answers that an earlier one has; what may repeat another comes last."""
    known: set[int] = set()
    calls = _Calls()
    waiting: list[tuple[bool, bytes]] = []
    rows = 0
    for part in parts:
        if isinstance(part, SkippedPart):
            yield part
            continue
        size = len(part.turns) + len(part.calls) + len(part.lines) + len(part.findings)
        if not _may_repeat(part.session) or rows + size > _HELD_ROWS:
            part = _without(part, known)
            calls.add(part)
            yield part
        else:
            rows += size
            waiting.append((_is_ledger(part.session), _packed(part)))
    for _, packed in sorted(waiting, key=lambda one: one[0]):
        part = _without(_unpacked(packed), known)
        if calls.hold(part):
            part = _cleared(part, {turn.turn for turn in part.turns})
        calls.add(part)
        yield part


def _packed(part: Audited) -> bytes:
    """A session that waits, in a twentieth of its memory."""
    return zlib.compress(b"\n".join(map(msgspec.json.encode, part.rows())), 1)


def _unpacked(data: bytes) -> Audited:
    (part,) = grouped(map(ROWS.decode, zlib.decompress(data).split(b"\n")))
    assert isinstance(part, Audited)
    return part


def _may_repeat(session: Session) -> bool:
    """Whether a session may be of another source than the client's own record: a trace, or without usage."""
    used = session.input_tokens or session.output_tokens or session.cache_read_tokens
    return session.client == otel.NAME or not used


def _is_ledger(session: Session) -> bool:
    return session.client.startswith(readroom_ledger.NAME)


def _without(part: Audited, known: set[int]) -> Audited:
    session = part.session
    calls = {turn: list(group) for turn, group in groupby(part.calls, key=lambda call: call.turn)}
    whole = _sequence(part.calls)
    copied: set[int] = set()
    added: set[int] = set()
    for turn in part.turns:
        identities = _identities(session, turn, calls.get(turn.turn, []), whole)
        if not known.isdisjoint(identities):
            copied.add(turn.turn)
        added.update(identities)
    if len(known) < ANSWERS_REMEMBERED:
        known |= added
    return _cleared(part, copied) if copied else part


def _identities(session: Session, turn: Turn, calls: list[Call], whole: int) -> list[int]:
    """Hashes by which an answer is known again: by its name or time, as of its session, as of its parent.

    Runs of one task by several models have the same name, and may begin with the same calls: where the
    record names and dates no answer, it is a copy only in a copy of the whole conversation. A copy may
    name another model, as one that was made anonymous does.
    """
    used = (turn.input_tokens, turn.output_tokens, turn.cache_read_tokens, turn.cache_write_tokens)
    made = tuple((call.id, call.tool, call.arguments, call.characters) for call in calls)
    if not any(used) and not any(call.id for call in calls):
        return []
    name = turn.id or turn.time
    if not name and not any(_is_name(call.id) for call in calls):
        of = (session.input_tokens, session.output_tokens, session.cost)
        return [hash((session.client, whole, of, turn.turn, used, made))]
    what = (session.client, used, made)
    by = [("named", name), ("of", session.session), ("of", session.parent)]
    return [hash((what, *one)) for one in by if one[1]]


def _is_name(id: str) -> bool:
    """Whether an id is a name, and not a number in its session, as "step 3" is."""
    return bool(id) and " " not in id


def _cleared(part: Audited, copied: set[int]) -> Audited:
    kept = only(part, {turn.turn for turn in part.turns} - copied)
    added = len(part.turns) - len(kept.turns)
    kept.session = replace(kept.session, copied_turns=part.session.copied_turns + added)
    return kept


# -----------------------------------------------------------------------------
# The same conversation from another source: an array of its messages, a trace, or our own ledger of the calls
# that a client made of our server. Such a source is looked at after all others; only spans tell usage.
# -----------------------------------------------------------------------------

_LEAST_CALLS = 3
"""A conversation of fewer calls is not known again by its calls."""

_APART_S = 5
"""How far the times of one call may be apart in two records."""

_HELD_ROWS = 500_000
"""Rows of sessions without usage that wait for the others."""


class _Calls:
    """The calls of sessions: by id, in their sequence, and of our server by time."""

    def __init__(self) -> None:
        self._by_id: set[int] = set()
        self._sequences: set[int] = set()
        self._ours: dict[int, list[tuple[str, float]]] = {}
        self._count = 0

    def add(self, part: Audited) -> None:
        """Know the calls of a session."""
        self._count += len(part.calls)
        if self._count > ANSWERS_REMEMBERED:
            return
        self._by_id |= {_id_of(call) for call in part.calls if call.id}
        self._sequences.add(_sequence(part.calls))
        for call in part.calls:
            if call.server and not _is_ledger(part.session):
                made = (part.session.client, _seconds(part, call))
                self._ours.setdefault(_asked_of_us(call), []).append(made)

    def hold(self, part: Audited) -> bool:
        """Whether all calls of a session are known."""
        calls = part.calls
        if _is_ledger(part.session):
            return bool(calls) and all(self._is_ours(part, call) for call in calls)
        if len(calls) < _LEAST_CALLS:
            return False
        return _sequence(calls) in self._sequences or all(_id_of(call) in self._by_id for call in calls)

    def _is_ours(self, part: Audited, call: Call) -> bool:
        time = _seconds(part, call)
        made = self._ours.get(_asked_of_us(call), ())
        return any(
            abs(time - other) <= _APART_S and _agree(part.session.client, client) for client, other in made
        )


def _asked_of_us(call: Call) -> int:
    # A ledger keeps of changed text only how long it is.
    return hash((call.tool, call.file, "" if call.kind in ("edit", "write") else call.arguments))


def _agree(ledger: str, client: str) -> bool:
    """Whether the agent of a ledger may be a client, by its first word: `codex-mcp-client` is Codex."""
    _, _, agent = ledger.partition(" for ")
    return not agent or client.partition(" ")[0].lower() in agent.lower()


_OWN_ID_CHARS = 20
"""An id of so many characters was made at random; a shorter one may be a counter."""


def _id_of(call: Call) -> int:
    size = 0 if len(call.id) >= _OWN_ID_CHARS else call.characters
    return hash((call.id, call.tool, call.arguments, size))


def _sequence(calls: list[Call]) -> int:
    return hash(tuple((call.tool, call.arguments, call.characters) for call in calls))


def _seconds(part: Audited, call: Call) -> float:
    time = parsed(call.time or part.session.started)
    return time.timestamp() if time else 0.0
