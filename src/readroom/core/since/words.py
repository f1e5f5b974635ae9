"""News in words, one short sentence for each file, and as facts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from readroom.core.contracts.native.facts import timestamp
from readroom.core.quoting import as_value, quote
from readroom.core.since.values import News, Place, What
from readroom.core.values import Fact, ReadRequest, Request
from readroom.core.values.history import Author

Spell = Callable[[Request], str]
"""A request as a call that the reader can send; empty if there is none."""

_PLACES = 3
"""Runs of lines that a sentence names."""

_SESSION_CHARS = 8
"""How much of the name of another conversation is shown: those of clients have 32 characters."""

_OPENINGS = {
    What.CHANGED: "Changed since you saw it",
    What.GREW: "Only grew since you saw it",
    What.GONE: "Gone since you saw it",
    What.RENAMED: "Renamed since you saw it",
    What.BACK: "Back as you saw it",
    What.DENIED: "Changed since you saw it, and policy denies it now",
    What.REPLACED: "No longer a file that can be read here",
}


def sentence(news: News, spell: Spell, *, author: str, briefly: bool) -> str:
    """The sentence about one file; `briefly` if the reply shows its new state itself."""
    parts = [f"{_OPENINGS[news.what]}: {quote(news.seen.name)}"]
    if news.to is not None:
        parts.append(f"now {quote(news.to)}")
    when = " ".join(filter(None, (ago(news.at_ns), author)))
    if when and news.what is not What.DENIED:
        parts.append(when)
    if briefly:
        return ", ".join(parts)
    text = ", ".join([*parts, *_details(news)])
    following = _following(news)
    call = "" if following is None else spell(following)
    return f"{text}: {call}" if call else text


def _details(news: News) -> list[str]:
    if news.what is What.GREW:
        if news.grown is None:
            return [f"by {news.grown_bytes:,} bytes"]
        first, last = news.grown
        return [f"now to line {last:,}, new from {first:,}"]
    if news.what is not What.CHANGED:
        return []
    if news.places:
        return _placed(news.places)
    runs = [_run((run.first, run.last)) for run in news.seen.lines[-_PLACES:]]
    return [f"you saw lines {', '.join(runs)}"] if runs else []


def _placed(places: Sequence[Place]) -> list[str]:
    if all(place.now == place.seen and not place.differ for place in places):
        return ["the lines that you saw are the same"]
    said = [_moved(place) for place in places[:_PLACES]]
    left = len(places) - len(said)
    return [*said, *([f"and {left} more runs of lines"] if left else [])]


def _moved(place: Place) -> str:
    one = place.seen[0] == place.seen[1]
    seen, are = f"line{'' if one else 's'} {_run(place.seen)}", "is" if one else "are"
    if place.now is None:
        return f"{seen} {are} gone"
    stays = place.now == place.seen
    if not place.differ:
        return f"{seen} {are} the same" if stays else f"{seen} {are} now {_run(place.now)}"
    runs = [_run(run) for run in place.differ if run[0] <= run[1]]
    if runs == [_run(place.now)]:
        return f"{seen} {are} now other text{'' if stays else f', in {runs[0]}'}"
    words = f"new text in {', '.join(runs[:_PLACES])}{' and more' if runs[_PLACES:] else ''}"
    if not runs:
        words = f"some taken out at {place.differ[0][0]}"
    if stays:
        return f"{seen} {'has' if one else 'have'} {words}"
    return f"{seen} {are} now {_run(place.now)}, {'with ' if runs else ''}{words}"


def _run(lines: tuple[int, int]) -> str:
    first, last = lines
    return f"{first}" if first == last else f"{first}-{last}"


def _following(news: News) -> ReadRequest | None:
    """The read of what is new among the lines that were shown."""
    if news.what is What.GREW and news.grown is not None:
        first, last = news.grown
        return ReadRequest(news.seen.name, offset=first, limit=last - first + 1)
    differ = [run for place in news.places for run in place.differ]
    if not differ:
        return None
    first = max(1, min(run[0] for run in differ))
    last = max(run[1] for run in differ)
    return ReadRequest(news.seen.name, offset=first, limit=max(1, last - first + 1))


def more(count: int) -> str:
    """The sentence about further files."""
    return f"{count} more file{' that you saw has' if count == 1 else 's that you saw have'} changed"


def ago(at_ns: int | None, now_ns: int | None = None) -> str:
    """How long ago; empty for a time that is not known or in the future."""
    if at_ns is None:
        return ""
    seconds = ((now_ns or time.time_ns()) - at_ns) / 1e9
    if seconds < -1:
        return ""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def moment(at_ns: int, author: str) -> str:
    """A time, relative and exact, and who it was."""
    exact, relative = timestamp(at_ns), ago(at_ns)
    if exact is None:
        return f"changed {author}" if author else ""
    when = f"{relative} ({exact})" if relative else f"at {exact}"
    return f"changed {when} {author}" if author else f"changed {when}"


def of_seen(places: Sequence[Place]) -> str:
    """A sentence about where lines are that were shown; empty if that is not known."""
    if not places:
        return ""
    said = ", ".join(_placed(places))
    return f"{said[0].upper()}{said[1:]}."


_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0))


def by(author: Author | None, *, named: bool) -> str:
    """Who did it, as far as this reader may know."""
    if author is None or not (author.agent or author.session):
        return ""
    if not named:
        return "by another caller"
    session = author.session.removeprefix(f"{author.token}:") if author.token else author.session
    if len(session) > 2 * _SESSION_CHARS:
        session = f"{session[:_SESSION_CHARS]}…"
    who = [quote(author.agent)] if author.agent else []
    who += [f"session {quote(session)}"] if session else []
    return f"by {' in '.join(who)}"


def fact(news: News, *, named: bool) -> dict[str, Fact]:
    """The news of one file as a fact."""
    author = news.author if named else None
    return {
        "path": as_value(news.seen.name),
        "what": news.what.value,
        "at": timestamp(news.at_ns),
        "by": None if author is None else {"agent": author.agent, "session": author.session},
        "lines": [
            {
                "seen": list(place.seen),
                "now": None if place.now is None else list(place.now),
                "new": [list(run) for run in place.differ],
            }
            for place in news.places
        ],
        "grown": None if news.grown is None else list(news.grown),
        "to": None if news.to is None else as_value(news.to),
    }
