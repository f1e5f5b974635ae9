"""Count a conversation once if several records contain it.

A conversation that was resumed or forked begins with a copy of another, under an id of its own, and a record
may be in the same folder as its own export. An answer is a copy if an earlier session of the same client has
it: with the same name or time, tokens, calls and results. A number in a session is not a name, so that such
answers are copies by their time, or if one session says that it was forked from the other.

A session that is a copy as a whole keeps its row, without answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace

from readroom.lens.normal_form import Call, Session, SkippedPart, Turn
from readroom.lens.sessions import Audited, summed

ANSWERS_REMEMBERED = 2_000_000
"""Answers by which copies of conversations are known; those of later sessions are not remembered."""


def without_copies(parts: Iterable[Audited | SkippedPart]) -> Iterator[Audited | SkippedPart]:
    """The parts in their order, each session without answers that an earlier one has."""
    known: set[int] = set()
    for part in parts:
        if isinstance(part, SkippedPart):
            yield part
        else:
            yield _without(part, known)


def _without(part: Audited, known: set[int]) -> Audited:
    session = part.session
    calls = {turn: list(group) for turn, group in groupby(part.calls, key=lambda call: call.turn)}
    copied: set[int] = set()
    added: set[int] = set()
    for turn in part.turns:
        identities = _identities(session, turn, calls.get(turn.turn, []))
        if not known.isdisjoint(identities):
            copied.add(turn.turn)
        added.update(identities)
    if len(known) < ANSWERS_REMEMBERED:
        known |= added
    return _cleared(part, copied) if copied else part


def _identities(session: Session, turn: Turn, calls: list[Call]) -> list[int]:
    """Hashes by which an answer is known again: by its name or time, as of its session, as of its parent."""
    used = (turn.input_tokens, turn.output_tokens, turn.cache_read_tokens, turn.cache_write_tokens)
    made = tuple((call.id, call.tool, call.arguments, call.characters) for call in calls)
    if not any(used) and not any(call.id for call in calls):
        return []
    what = (session.client, turn.model, used, made)
    name = turn.id or turn.time
    by = [("named", name), ("of", session.session), ("of", session.parent)]
    return [hash((what, *one)) for one in by if one[1]]


def _cleared(part: Audited, copied: set[int]) -> Audited:
    turns = [turn for turn in part.turns if turn.turn not in copied]
    calls = [call for call in part.calls if call.turn not in copied]
    kept = {call.call for call in calls}
    compactions = part.session.compactions
    session = replace(
        part.session,
        copied_turns=part.session.copied_turns + len(part.turns) - len(turns),
        compactions=max(0, compactions - (turns[0].epoch if turns else compactions)),
    )
    return Audited(
        summed(session, turns, calls), turns, calls, [lines for lines in part.lines if lines.call in kept],
        [one for one in part.findings if one.call in kept],
        [row for row in part.replayed if row.call in kept],
    )  # fmt: skip
