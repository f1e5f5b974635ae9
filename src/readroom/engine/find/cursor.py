"""Where a ranked search goes on: behind a score, in a part of the tree, bound to its arguments."""

from __future__ import annotations

from hashlib import blake2s

from msgspec import Struct
from msgspec.structs import replace

from readroom.errors import BadCursor, BadPath, OutsideRoot
from readroom.limits.find import CURSOR_DIGITS, FIND_AHEAD, SCORE_SCALE
from readroom.paths import parse
from readroom.quoting import as_value
from readroom.values import FindRequest


class Place(Struct, frozen=True, order=True):
    """The place of a passage or file in the order of a round: smaller comes first."""

    score: int
    path: str
    line: int = 0


class FindCursor(Struct, frozen=True):
    """Where to go on.

    Attributes:
        since: The first path, relative to the searched folder, that is looked at; "" for all.
        round: How many times the best files were taken apart before.
        after: Up to here everything of this round was shown; None at its beginning.
        ahead: Which of those behind it were shown, too, to fill a page: a bit each, from the next one on.
    """

    since: str = ""
    round: int = 0
    after: Place | None = None
    ahead: int = 0

    def shows(self, position: int) -> bool:
        """Whether what stands at a position behind `after` was shown before."""
        return bool(self.ahead >> position & 1)


BEGINNING = FindCursor()


def place_of(score: float, path: str, line: int = 0) -> Place:
    """The place of what has a score: best first, then by path and line."""
    return Place(-round(score * SCORE_SCALE), path, line)


def read_cursor(request: FindRequest) -> FindCursor:
    """Where `request` goes on. Raises BadCursor when it was not given for these arguments."""
    if request.cursor is None:
        return BEGINNING
    again = replace(request, cursor=None)
    made_for, _, rest = request.cursor.partition(".")
    if made_for != _fingerprint(request):
        raise BadCursor("was not given for these arguments", next_request=again)
    numbers, _, paths = rest.partition(".")
    try:
        number, length, score, line, ahead = map(int, numbers.split("_"))
        since, path = paths[:length], paths[length:]
        is_cut = len(since) < length or (not path and (score or line or (ahead and not number)))
        if min(number, length, line, ahead) < 0 or ahead >> FIND_AHEAD or is_cut:
            raise ValueError
        after = Place(-score, parse(path), line) if path else None
        return FindCursor(parse(since) if since else "", number, after, ahead)
    except (ValueError, BadPath, OutsideRoot):
        raise BadCursor("is not one that a search gave", next_request=again) from None


def write_cursor(request: FindRequest, cursor: FindCursor) -> str:
    """The cursor that continues `request` there."""
    since = as_value(cursor.since) if cursor.since else ""
    after = cursor.after or Place(0, "")
    path = as_value(after.path) if after.path else ""
    numbers = (cursor.round, len(since), -after.score, after.line, cursor.ahead)
    return f"{_fingerprint(request)}.{'_'.join(map(str, numbers))}.{since}{path}"


def _fingerprint(request: FindRequest) -> str:
    arguments = (
        *(request.query, request.path, request.glob, request.type, request.output),
        [*sorted(request.include), *(["documents"] if request.documents else [])],
    )
    return blake2s(repr(arguments).encode("utf-8", "surrogatepass")).hexdigest()[:CURSOR_DIGITS]
