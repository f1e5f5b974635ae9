"""Times as people write them: how long ago, a day, or a day with a time. All are UTC, as lists show them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from readroom.core.errors import BadValue

_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_BACK = {"today": 0, "yesterday": 1}
_MOST_CHARS = 40

ADVICE = "Use 30m, 2h, 7d or 2w (ago), today, yesterday, 2026-01-31, or 2026-01-31T12:00 (UTC)."


def moment(name: str, text: str, *, now_us: int | None = None) -> int:
    """Microseconds since 1970 of a time in words; `name` is the argument that has it. Raises BadValue."""
    now = datetime.fromtimestamp((time.time_ns() // 1000 if now_us is None else now_us) / 1_000_000, UTC)
    written = text.strip().lower() if len(text) <= _MOST_CHARS else ""
    ago = _AGO.fullmatch(written.removesuffix(" ago"))
    try:
        if ago is not None:
            return _us(now - timedelta(seconds=float(ago[1]) * _SECONDS[ago[2]]))
        if written in _DAYS_BACK:
            midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
            return _us(midnight - timedelta(days=_DAYS_BACK[written]))
        stated = datetime.fromisoformat(text.strip() if written else "")
        return _us(stated if stated.tzinfo else stated.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise BadValue(name, text[:_MOST_CHARS], "is not a valid time", ADVICE) from None


def _us(stated: datetime) -> int:
    return round(stated.timestamp() * 1_000_000)


def as_second(time_us: int) -> str:
    """A time for people: the day and the second, UTC."""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def as_iso(time_us: int) -> str:
    """A time for programs: ISO 8601 with microseconds, UTC."""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
