"""The sessions of an audit that are wanted: of a time, and of a project.

Knows: times as people write them, and how a session is cut to those of its answers that are within a time.
Does not know: records. A session without any time is in every period, because nothing says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

import msgspec

from readroom.core.errors import BadValue
from readroom.lens.normal_form import SkippedPart
from readroom.lens.sessions import Audited, only

USUAL_DAYS = 7
"""Days that an audit of this machine covers where no time is given."""

_AGO = re.compile(r"(\d{1,5}) ?([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def moment(option: str, text: str, now: datetime, *, end: bool = False) -> datetime:
    """A point in time, written as `7d`, `12h`, `2w`, `2026-01-31`, or with a time of day.

    A day without a time is one of this machine's clock: its beginning, or with `end` its end.
    Raises BadValue.
    """
    text = text.strip()
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        if _DAY.fullmatch(text):
            day = datetime.fromisoformat(text) + timedelta(days=int(end))
            return day.astimezone()
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        advice = "Write 7d, 12h, 2w, 2026-01-31 or 2026-01-31T09:30."
        raise BadValue(option, text, "is not a time", advice) from None


def parsed(time: str) -> datetime | None:
    """The time in a record; without a zone it is UTC. None if there is none."""
    try:
        found = datetime.fromisoformat(time)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


class Wanted(msgspec.Struct, frozen=True):
    """The choice of sessions: from `since`, before `until`, of a `project`; None for all."""

    since: datetime | None = None
    until: datetime | None = None
    project: str | None = None

    def may_hold(self, record: Path) -> bool:
        """Whether a record can have an answer in that time: it was written since."""
        if self.since is None:
            return True
        try:
            times = [record.stat().st_mtime]
            # A database that is open keeps what is new in a file next to it.
            log = record.with_name(record.name + "-wal")
            times += [log.stat().st_mtime] if log.exists() else []
        except OSError:
            return True
        return max(times) >= self.since.timestamp()

    def of(self, parts: Iterable[Audited | SkippedPart]) -> Iterator[Audited | SkippedPart]:
        """The wanted sessions, each without the answers of other times."""
        for part in parts:
            if isinstance(part, SkippedPart):
                yield part
            elif self._is_of_project(part.session.folder) and (cut := self._within(part)) is not None:
                yield cut

    def _within(self, part: Audited) -> Audited | None:
        if self.since is None and self.until is None:
            return part
        latest = parsed(part.session.started)
        turns = set()
        for turn in part.turns:
            latest = parsed(turn.time) or latest
            if latest is None or self._holds(latest):
                turns.add(turn.turn)
        if len(turns) == len(part.turns):
            return part
        return only(part, turns) if turns else None

    def _holds(self, time: datetime) -> bool:
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)

    def _is_of_project(self, folder: str) -> bool:
        if self.project is None:
            return True
        whole = PurePath(folder)
        wanted = PurePath(self.project).name if "/" not in self.project else ""
        if wanted and wanted not in (".", ".."):
            return wanted in whole.parts
        place = Path(self.project).expanduser().resolve()
        return bool(folder) and (whole == place or place in whole.parents)
