"""What a record tells, event by event, in the order in which it happened: the one language of all readers.

A reader turns one client's form into these and knows nothing of what is made of them. Every event names
its session, because a database holds many and two processes may write into one file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

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
