"""Events, rows, and the hash that chains each row to the one before.

    hash = sha256(JSON array [format, number, previous, every field in the order of FIELDS])

The format is 1 if the last two fields, `level` and `traceparent`, are null; they are then not in the array,
as in rows made before they existed. It is 2 if only the last is null, which is then not in the array, and
otherwise 3. The JSON is compact and ASCII, so that the same row has the same bytes everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from types import NoneType
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, fields

from readroom.core.quoting import as_key
from readroom.core.session.conversation import ShownLines

_WITHOUT_LEVEL: Final = 1
_WITH_LEVEL: Final = 2
_WITH_TRACE: Final = 3
"""The format of the hashed bytes: a row's content decides its format, so that none passes for the other."""

START: Final = "0" * 64
"""The hash before the first row."""


class Event(Struct, frozen=True):
    """One call and its outcome.

    Attributes:
        id: Random and unique: an event that is sent twice is recorded once.
        time_us: When it ended, in microseconds since 1970, UTC.
        workspace: The root, or the name of the store.
        agent, session, token, face: The caller, see `Caller`.
        epoch: Compactions of the conversation so far.
        contract, tool: As called.
        path: The file or folder of the call, normalized if possible.
        arguments: A JSON object, never with content.
        decision: allowed, refused, or none if the call failed before.
        rule: The rule that refused.
        outcome: ok, begun, or the error code.
        kind: Kind of the file that was read.
        shown: A JSON array of [path, hash or null, first line, last line].
        tokens: Tokens of the reply.
        counter: The counter of tokens.
        duration_us: From the call to the reply.
        level: The form of a reply that a low budget reduced (outline, counts); None for a full one.
        traceparent: The trace of which the call was a part, as its client sent it; None without one.
    """

    id: str
    time_us: int
    workspace: str
    agent: str
    session: str
    token: str
    face: str
    epoch: int
    contract: str
    tool: str
    path: str | None
    arguments: str
    decision: str
    rule: str | None
    outcome: str
    kind: str | None
    shown: str
    tokens: int
    counter: str
    duration_us: int
    level: str | None = None
    traceparent: str | None = None

    @property
    def spans(self) -> Sequence[ShownLines]:
        """The lines that were shown; none of a damaged row, which the chain reveals."""
        try:
            return [ShownLines(*fields) for fields in _SPANS.decode(self.shown)]
        except msgspec.MsgspecError:
            return []


FIELDS: Final = tuple(field.name for field in fields(Event))
COLUMNS: Final = ("number", *FIELDS, "previous", "hash")
"""The columns of the table, in order."""


_SPANS: Final = msgspec.json.Decoder(list[tuple[str, str | None, int, int]])
_TYPES: Final = (
    int,
    *(int if one.type is int else str if one.type is str else (str, NoneType) for one in fields(Event)),
    *(str, str),
)
"""The types of the columns."""


class Row(Struct, frozen=True):
    """An event at its place in the chain."""

    number: int
    event: Event
    previous: str
    hash: str

    @property
    def is_whole(self) -> bool:
        """Whether the hash matches the fields of the row."""
        return self.hash == digest(self.number, self.previous, self.event)

    def values(self) -> tuple[Any, ...]:
        """The values of the table's columns."""
        return (self.number, *astuple(self.event), self.previous, self.hash)


def shown_path(path: str) -> str:
    """A path as the spans of a row name it, and with them the sums, which have it in a key."""
    return as_key(path, _PATH_BYTES)


_PATH_BYTES: Final = 1024


def encoded(value: object) -> str:
    """A value as stored in a column: JSON, compact and ASCII."""
    return _as_json(value).decode("ascii")


def encoded_spans(spans: Sequence[ShownLines]) -> str:
    """Spans as stored in the column `shown`."""
    return encoded([astuple(span) for span in spans])


def decoded(text: str) -> Any:
    """The value of a column with JSON; the text itself if it is not valid JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def row(number: int, previous: str, event: Event) -> Row:
    """The row of an event after another."""
    return Row(number, event, previous, digest(number, previous, event))


def from_values(values: Sequence[Any]) -> Row:
    """A row from the values of the table's columns; values that readroom did not write break its hash."""
    if not all(map(isinstance, values, _TYPES)):
        values = [
            value if isinstance(value, kind) else -1 if kind is int else repr(value)
            for value, kind in zip(values, _TYPES, strict=True)
        ]
    return Row(values[0], Event(*values[1:-2]), values[-2], values[-1])


def digest(number: int, previous: str, event: Event) -> str:
    """The hash of a row, 64 hex digits."""
    values = astuple(event)
    if event.traceparent is not None:
        chained = [_WITH_TRACE, number, previous, *values]
    elif event.level is not None:
        chained = [_WITH_LEVEL, number, previous, *values[:-1]]
    else:
        chained = [_WITHOUT_LEVEL, number, previous, *values[:-2]]
    return hashlib.sha256(_as_json(chained)).hexdigest()


def _as_json(value: object) -> bytes:
    """Compact ASCII JSON like that of `json.dumps`; nine times as fast if nothing needs escaping."""
    try:
        data = _ENCODER.encode(value)
    except UnicodeEncodeError:  # a lone surrogate
        return _COMPACT.encode(value).encode("ascii")
    return data if data.isascii() and b"\x7f" not in data else _COMPACT.encode(value).encode("ascii")


# Made once: `json.dumps` makes one per call.
_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))
_ENCODER: Final = msgspec.json.Encoder()
