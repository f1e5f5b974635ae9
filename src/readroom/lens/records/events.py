"""What a record tells, event by event, in the order in which it happened: the one language of all readers.

A reader turns one client's form into these and knows nothing of what is made of them. Every event names
its session, because a database holds many and two processes may write into one file.

A client repeats messages and calls in its record, so a reader has to know what it has met (`Remembered`).
A record may be of any size and made to hurt: names are kept in bounds, ids as hashes, and the oldest are
forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar, final

import msgspec

from readroom.limits.lens import NAME_CHARS, Bounds

Arguments: TypeAlias = dict[str, Any]
"""A call's arguments as decoded: what the model wrote, of any type."""


class Opened(msgspec.Struct, frozen=True):
    """A session begins, or says more about itself; empty fields leave what is known."""

    session: str
    client: str = ""
    version: str = ""
    folder: str = ""
    parent: str = ""
    model: str = ""
    time: str = ""


class Answered(msgspec.Struct, frozen=True):
    """The model answers: one request. The same `key` again adds to the same answer."""

    session: str
    key: str
    time: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0


class Said(msgspec.Struct, frozen=True):
    """Text of the model itself."""

    session: str
    text: str


class Called(msgspec.Struct, frozen=True):
    """The model calls a tool."""

    session: str
    id: str
    tool: str
    arguments: Arguments
    time: str = ""
    server: str = ""


class Returned(msgspec.Struct, frozen=True):
    """A result as the model received it.

    `error` is what the record says of it, None where it says nothing. `rewritten` says that a later
    request carried this text in place of the first one. `exit_code` is given where
    the record keeps it beside the text.
    """

    session: str
    id: str
    text: str
    error: bool | None = None
    images: int = 0
    time: str = ""
    kept_at: str = ""
    rewritten: bool = False
    exit_code: int | None = None


class Whole(msgspec.Struct, frozen=True):
    """What a tool printed in whole, where the client keeps it for the screen: the model was not sent this."""

    session: str
    id: str
    text: str


class Recorded(msgspec.Struct, frozen=True):
    """A result of which the record holds no text but what was shown: (path, first line, last line, hash
    of the file).
    """

    session: str
    id: str
    shown: tuple[tuple[str, int, int, str], ...]
    tokens: int
    error: bool
    time: str = ""


class Compacted(msgspec.Struct, frozen=True):
    """What was said before this is no longer sent.

    `counted` says that the request for the summary stands in the record as an answer like any other.
    """

    session: str
    time: str = ""
    counted: bool = False


class Rewound(msgspec.Struct, frozen=True):
    """A person went back and said something else: what came after the answer `key` is no longer sent, and
    nothing at all is where that is empty.
    """

    session: str
    key: str


class Skipped(msgspec.Struct, frozen=True):
    """Something of the record was not read: where, and why."""

    where: str
    why: str
    session: str = ""


Event: TypeAlias = (
    Opened | Answered | Said | Called | Returned | Whole | Recorded | Compacted | Rewound | Skipped
)


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
