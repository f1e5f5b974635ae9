"""What readers remember of a record while they go through it: names in bounds, and how many of them.

A client repeats messages and calls in its record, so a reader has to know what it has met. That a record
may be of any size and made to hurt, ids are remembered as hashes, and the oldest are forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, final

import msgspec

from readroom.lens.bounds import Bounds
from readroom.lens.records.events import (
    Answered,
    Called,
    Compacted,
    Event,
    Opened,
    Recorded,
    Returned,
    Rewound,
    Said,
    Skipped,
    Whole,
)
from readroom.limits.lens import NAME_CHARS

T = TypeVar("T")

_DIGEST_CHARS = 16


def short_name(text: str, most: int = NAME_CHARS) -> str:
    """An id, a path or another name as it is kept: a longer one by its ends and a digest of it."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    room = most - _DIGEST_CHARS - 2
    return f"{text[: room - room // 2]}…{digest}…{text[len(text) - room // 2 :]}"


_NAMES: dict[type[Event], tuple[str, ...]] = {
    Opened: ("session", "client", "version", "folder", "parent", "model", "time"),
    Answered: ("session", "key", "time", "model"),
    Said: ("session",),
    Called: ("session", "id", "tool", "time", "server"),
    Returned: ("session", "id", "time", "kept_at"),
    Whole: ("session", "id"),
    Recorded: ("session", "id", "time"),
    Compacted: ("session", "time"),
    Rewound: ("session", "key"),
    Skipped: ("session",),
}
"""The fields of each event that are names."""


def with_short_names(events: Iterable[Event]) -> Iterator[Event]:
    """The same events; a name that is longer than one should be is shortened."""
    for event in events:
        long = {
            name: short_name(getattr(event, name))
            for name in _NAMES[type(event)]
            if len(getattr(event, name)) > NAME_CHARS
        }
        yield msgspec.structs.replace(event, **long) if long else event


def forgotten(bounds: Bounds) -> str:
    """What is said of a record with more ids than are remembered."""
    return f"ids beyond {bounds.ids:,} of one record: the oldest are no longer known when they come again"


@final
class Remembered(Generic[T]):
    """What is known by names that a record uses, the latest `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[int, T] = {}
        self.forgot = False
        """Whether a name was forgotten and that has not been said yet."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: str) -> bool:
        return hash(name) in self._values

    def get(self, name: str) -> T | None:
        """What is known by it."""
        return self._values.get(hash(name))

    def put(self, name: str, value: T) -> None:
        """Remember it, and forget the oldest name where there are too many."""
        key = hash(name)
        if key not in self._values and len(self._values) >= self._most:
            self.forgot = True
            del self._values[next(iter(self._values))]
        self._values[key] = value

    def pop(self, name: str) -> None:
        """Forget it."""
        self._values.pop(hash(name), None)

    def keep_first(self, count: int) -> None:
        """Forget what was remembered after the first so many."""
        for key in list(self._values)[count:]:
            del self._values[key]

    def all_in(self, names: Iterable[str]) -> bool:
        """Whether every name that is remembered is among these."""
        given = {hash(name) for name in names}
        return self._values.keys() <= given
