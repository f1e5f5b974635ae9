"""The events of a record, in chronological order: the output of all readers.

A reader turns one client's format into events and does not know their use. Every event names its
session, because a database holds many and two processes may write to one file.

Clients repeat messages and calls in their records, so a reader has to know what it has met (`Remembered`).
A record may be of any size and hostile: long names are shortened, ids are kept as hashes, and the oldest are
forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar, final

import msgspec
from msgspec.structs import replace

from readroom.lens.limits import Bounds

NAME_CHARS = 300
"""An id, or the name of a tool or of a model: a longer one is kept by its ends and a digest."""


Arguments: TypeAlias = dict[str, Any]
"""A call's arguments as decoded: the model may have written any type."""


class Opened(msgspec.Struct, frozen=True):
    """A session begins, or more about it is known; empty fields change nothing.

    `title` is its first prompt, shortened.
    """

    session: str
    client: str = ""
    version: str = ""
    folder: str = ""
    parent: str = ""
    model: str = ""
    time: str = ""
    title: str = ""


class Answered(msgspec.Struct, frozen=True):
    """The model answers a request. The same `key` again adds to the same answer."""

    session: str
    key: str
    time: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float = 0.0


class Wrote(msgspec.Struct, frozen=True):
    """The model writes text."""

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

    `error` is None if the record does not have it. `rewritten`: a later request carried this text instead of
    the first. `exit_code` is set if the record has it apart from the text.
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
    """The whole output of a tool, kept by the client for its screen: the model was not sent this."""

    session: str
    id: str
    text: str


class Recorded(msgspec.Struct, frozen=True):
    """A result without text: only its shown ranges, as (path, first line, last line, hash of the file)."""

    session: str
    id: str
    shown: tuple[tuple[str, int, int, str], ...]
    tokens: int
    error: bool
    time: str = ""


class Compacted(msgspec.Struct, frozen=True):
    """Nothing before this is sent any more.

    `counted`: the record has the request for the summary as an answer like any other. `kept` are calls whose
    results are sent on.
    """

    session: str
    time: str = ""
    counted: bool = False
    kept: tuple[str, ...] = ()


class Rewound(msgspec.Struct, frozen=True):
    """The user went back: everything after the answer `key`, or all if that is empty, is no longer sent."""

    session: str
    key: str


class Skipped(msgspec.Struct, frozen=True):
    """A part of the record was not read: where, and why."""

    where: str
    why: str
    session: str = ""


Event: TypeAlias = (
    Opened | Answered | Wrote | Called | Returned | Whole | Recorded | Compacted | Rewound | Skipped
)


T = TypeVar("T")

_DIGEST_CHARS = 16


def short_name(text: str, most: int = NAME_CHARS) -> str:
    """An id, a path or another name; a long one is cut in the middle, where its digest stands."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    room = most - _DIGEST_CHARS - 2
    return f"{text[: room - room // 2]}…{digest}…{text[len(text) - room // 2 :]}"


TITLE_CHARS = 100
"""As much of a first prompt as names a session."""

_NOT_ASKED = (
    "<", "# AGENTS.md", "Caveat: ", "[Request interrupted", "This session is being continued", "This is the ",
    "[ASSUMED", "Another language model started", "The following is the Codex agent history",
)  # fmt: skip
"""Beginnings of texts that clients write in the name of the user."""


def asked(session: str, text: str) -> Iterator[Opened]:
    """The name of a session, if the user wrote this text; the first one stays."""
    words = " ".join(text[: 20 * TITLE_CHARS].split()).strip('"')
    if words and not words.startswith(_NOT_ASKED):
        yield Opened(session, title=words[:TITLE_CHARS])


_NAMES: dict[type[Event], tuple[str, ...]] = {
    Opened: ("session", "client", "version", "folder", "parent", "model", "time"),
    Answered: ("session", "key", "time", "model"), Wrote: ("session",),
    Called: ("session", "id", "tool", "time", "server"), Returned: ("session", "id", "time", "kept_at"),
    Whole: ("session", "id"), Recorded: ("session", "id", "time"), Compacted: ("session", "time"),
    Rewound: ("session", "key"), Skipped: ("session",),
}  # fmt: skip
"""The fields of each event that are names."""


def with_short_names(events: Iterable[Event]) -> Iterator[Event]:
    """The same events, with long names shortened."""
    for event in events:
        long = {
            name: short_name(getattr(event, name))
            for name in _NAMES[type(event)]
            if len(getattr(event, name)) > NAME_CHARS
        }
        yield replace(event, **long) if long else event


def forgotten(bounds: Bounds) -> str:
    """The note on a record with more ids than are remembered."""
    return f"ids beyond {bounds.ids:,} of one record: the oldest are not recognised when they come again"


@final
class Remembered(Generic[T]):
    """Values by the names in a record; the latest `most` are kept, as hashes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[int, T] = {}
        self.forgot = False
        """Whether a name was forgotten."""

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: str) -> bool:
        return hash(name) in self._values

    def get(self, name: str) -> T | None:
        """The value of a name."""
        return self._values.get(hash(name))

    def put(self, name: str, value: T) -> None:
        """Remember a value, and forget the oldest name if there are too many."""
        key = hash(name)
        if key not in self._values and len(self._values) >= self._most:
            self.forgot = True
            del self._values[next(iter(self._values))]
        self._values[key] = value

    def pop(self, name: str) -> None:
        """Forget a name."""
        self._values.pop(hash(name), None)

    def keep_first(self, count: int) -> None:
        """Forget all but the first `count` names."""
        for key in list(self._values)[count:]:
            del self._values[key]

    def all_in(self, names: Iterable[str]) -> bool:
        """Whether every remembered name is among these."""
        return self._values.keys() <= {hash(name) for name in names}
