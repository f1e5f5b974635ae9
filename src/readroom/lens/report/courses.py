"""The context of the dearest sessions over their requests, and the calls that filled it, down to the lines.

Knows: the rows of a session. Kept are points and the dearest calls, so that a session of any length is small.
Does not know: markup.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import msgspec

from readroom.core.context import Band, Course, Piece, band_of, course
from readroom.core.quoting import plain
from readroom.core.rows import FINDINGS, FindingKind
from readroom.lens.evidence.tools import command_of
from readroom.lens.normal_form import Call, Lines, Turn
from readroom.lens.records import values
from readroom.lens.sessions import Audited

COURSES_DRAWN = 20
"""Sessions whose context is drawn, the dearest: a page of them has two megabytes at most."""

CALLS_LISTED = 150
"""Calls of a drawn session that are listed, the dearest."""

_STRETCHES = 3
_COMMAND_CHARS = 100

_MARKS: Mapping[FindingKind, Band] = {"repeated": "repeats", "unused": "unused", "oversized": "unused"}


class CallLine(msgspec.Struct, frozen=True):
    """A call in a list: the index of the point that shows it, and what it was about.

    `places` are files with the lines that were shown; `command` is the line that ran, if it may be shown.
    """

    point: int
    call: int
    turn: int
    tool: str
    places: list[str]
    command: str
    tokens: int
    carried_tokens: int
    error: bool


class Drawn(msgspec.Struct, frozen=True):
    """A session with its course and its dearest calls, in order."""

    session: str
    course: Course
    calls: list[CallLine]
    calls_left_out: int = 0


class Courses:
    """The courses of the dearest sessions."""

    def __init__(self) -> None:
        self.harmless: Callable[[str], bool] = lambda text: False
        """Whether a command line may be shown; without a search for secrets none is."""
        self._kept: list[tuple[int, int, Drawn]] = []
        self._order = 0

    def add(self, part: Audited) -> None:
        """Add a session, if it is among the dearest."""
        weight = part.session.carried_tokens
        full = len(self._kept) >= COURSES_DRAWN
        if not part.turns or not part.calls or (full and weight <= self._kept[0][0]):
            return
        self._order -= 1
        push = heapq.heappushpop if full else heapq.heappush
        push(self._kept, (weight, self._order, self._drawn(part)))

    def of(self) -> Mapping[str, Drawn]:
        """The drawn sessions, by their ids, the dearest first."""
        ordered = sorted(self._kept, key=lambda item: (-item[0], -item[1]))
        return {drawn.session: drawn for _, _, drawn in ordered}

    def _drawn(self, part: Audited) -> Drawn:
        made, places = course_of(part)
        dearest = heapq.nsmallest(
            CALLS_LISTED, part.calls, key=lambda call: (-call.carried_tokens, call.call)
        )
        shown: dict[int, list[Lines]] = {call.call: [] for call in dearest}
        for lines in part.lines:
            if lines.call in shown:
                shown[lines.call].append(lines)
        calls = [
            CallLine(
                max(0, made.at(min(places.get(call.turn, 0) + 1, len(part.turns)))), call.call, call.turn,
                call.tool, list(_places(call, shown[call.call])), _command(call, self.harmless), call.tokens,
                call.carried_tokens, call.error,
            )
            for call in sorted(dearest, key=lambda call: call.call)
        ]  # fmt: skip
        return Drawn(part.session.session, made, calls, part.session.calls - len(calls))


def _command(call: Call, harmless: Callable[[str], bool]) -> str:
    """The beginning of the command line of a call, if it may be shown."""
    if call.kind != "command":
        return ""
    try:
        text = command_of(values.as_object(msgspec.json.decode(call.arguments)))
    except (msgspec.DecodeError, RecursionError):
        return ""
    return text[:_COMMAND_CHARS] if harmless(text) else ""


_WORDS_CHARS = 1_500
"""The most for one session: a page lists hundreds."""

_COMMANDS_FOUND = 20


def found_by(part: Audited, harmless: Callable[[str], bool]) -> str:
    """The files, findings, tools and commands of a session, each once, one a line, in bounded length."""
    calls = sorted(part.calls, key=lambda call: (-call.tokens, call.call))
    ran = list(islice((call for call in calls if call.kind == "command"), _COMMANDS_FOUND))
    names = dict.fromkeys(
        [
            *(FINDINGS[finding.kind] for finding in part.findings),
            *(call.tool for call in part.calls),
            *(_command(call, harmless) for call in ran),
            *(file for call in calls for file in call.files),
        ]
    )
    found, size = [], 0
    for name in filter(None, names):
        line = plain(name, 200)
        size += len(line) + 1
        if size > _WORDS_CHARS:
            break
        found.append(line)
    return "\n".join(found)


def _places(call: Call, shown: list[Lines]) -> Iterator[str]:
    """The files of a call with the lines that it showed, in as few stretches as they have."""
    by_file: dict[str, list[list[int]]] = {}
    for lines in shown:
        stretches = by_file.setdefault(lines.file, [])
        if stretches and stretches[-1][1] + 1 >= lines.first >= stretches[-1][0]:
            stretches[-1][1] = max(stretches[-1][1], lines.last)
        else:
            stretches.append([lines.first, lines.last])
    for file, stretches in list(by_file.items())[:_STRETCHES]:
        parts = [f"{first}" if first == last else f"{first}-{last}" for first, last in stretches]
        more = f" and {len(parts) - _STRETCHES} more" if len(parts) > _STRETCHES else ""
        yield f"{file}:{', '.join(parts[:_STRETCHES])}{more}"
    if len(by_file) > _STRETCHES:
        yield f"and {len(by_file) - _STRETCHES:,} more files"
    if not by_file and call.file:
        yield call.file


def course_of(part: Audited) -> tuple[Course, Mapping[int, int]]:
    """The context over the requests of a session, and the place of each answer among them.

    Instructions and the conversation are known where the client recorded the input of its requests: they
    are the rest of it, and instructions what the first request had.
    """
    places = {turn.turn: at for at, turn in enumerate(part.turns, 1)}
    ends = {turn.epoch: at for at, turn in enumerate(part.turns, 1)}
    pieces = list(_results(part, places, ends))
    pieces += _rest(part.turns, pieces)
    compacted = [
        at
        for at, (before, turn) in enumerate(zip(part.turns, part.turns[1:], strict=False), 2)
        for _ in range(turn.epoch - before.epoch)
    ]
    return course(len(part.turns), pieces, compacted), places


def _results(part: Audited, places: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[Piece]:
    marked: defaultdict[int, dict[Band, int]] = defaultdict(dict)
    for finding in part.findings:
        if finding.kind in _MARKS:
            band = _MARKS[finding.kind]
            marked[finding.call][band] = marked[finding.call].get(band, 0) + finding.tokens
    for call in part.calls:
        place = places.get(call.turn, 0)
        last = place + call.sent_in_requests
        # The request for a summary carried it too, and is no answer of the session.
        end = ends.get(call.epoch, last)
        last = end if last == end + 1 else last
        if call.whole_in_requests is not None:
            replaced = min(last, place + call.whole_in_requests)
            yield Piece(band_of(call.kind), call.replacing_tokens, replaced + 1, last)
            last = replaced
        left = call.tokens
        for band, tokens in marked.get(call.call, {}).items():
            taken = min(left, tokens)
            left -= taken
            yield Piece(band, taken, place + 1, last)
        yield Piece(band_of(call.kind), left, place + 1, last)


def _rest(turns: list[Turn], results: list[Piece]) -> Iterator[Piece]:
    """The rest of the input of requests without results, where it is recorded."""
    carried = [0] * (len(turns) + 2)
    for piece in results:
        if piece.first <= piece.last and piece.first <= len(turns):
            carried[piece.first] += piece.tokens
            carried[min(piece.last, len(turns)) + 1] -= piece.tokens
    first, now = 0, 0
    for place, turn in enumerate(turns, 1):
        now += carried[place]
        rest = max(0, _input(turn) - now)
        if place == 1 and turn.turn == 1:
            first = rest
        instructions = min(rest, first)
        yield Piece("instructions", instructions, place, place)
        yield Piece("conversation", rest - instructions, place, place)


def _input(turn: Turn) -> int:
    return turn.input_tokens + turn.cache_read_tokens + turn.cache_write_tokens
