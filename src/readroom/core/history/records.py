"""How a change and its names are written down, and read again without trust.

Each row has a proof over everything that it says, so that bytes that were damaged are noticed before an undo
believes them.  Names are bytes there, since they need not be text.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from readroom.core.errors import ReadroomError
from readroom.core.paths import require_normal
from readroom.core.values.history import NOTHING, Action, Author, ChangedName, EntryState, KeptChange, Kind

_PROOF_BYTES = 8
_AUTHOR_CHARS = 200
"""The maximum of each text that a client chose."""


class Damaged(Exception):
    """A row that does not say what was written."""


class Draft(Struct):
    """A name of a change that is to be kept.

    Attributes:
        path: Its real name.
        before: What is there.
        after: What will be there.
        to: The new name of something moved.
        before_data: The bytes of a file before, if they are kept.
        after_data: The bytes afterwards, if they are kept.
        added: Lines that only the state after has.
        removed: Lines that only the state before has.
    """

    path: str
    before: EntryState
    after: EntryState
    to: str | None = None
    before_data: bytes | None = None
    after_data: bytes | None = None
    added: int | None = None
    removed: int | None = None


class _State(Struct, array_like=True):
    kind: Kind
    size: int
    mode: int
    mtime_ns: int
    content_hash: str | None
    target: bytes | None
    kept: bool
    mark: str


class _Name(Struct, array_like=True):
    before: _State | None
    after: _State | None
    added: int | None
    removed: int | None


class NameRow(Struct, frozen=True):
    """A name of a change as it is kept.

    Attributes:
        number: Its position in the change.
        name: The record.
        before: The number of the bytes before; None if they are not kept.
        after: The number of the bytes afterwards.
    """

    number: int
    name: ChangedName
    before: int | None
    after: int | None


def encoded(path: str) -> bytes:
    """A name as bytes; whatever it has, `decoded` gives it back."""
    return path.encode("utf-8", "surrogatepass")


def decoded(name: bytes) -> str:
    """The name. Raises Damaged."""
    try:
        return name.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError):
        raise Damaged("a name") from None


def brief(author: Author) -> Author:
    """The author with texts that can be stored."""
    if all(len(text) <= _AUTHOR_CHARS and text.isascii() for text in astuple(author)):
        return author
    texts = (str(getattr(author, field))[:_AUTHOR_CHARS] for field in Author.__struct_fields__)
    return Author(*(text.encode("utf-8", "replace").decode() for text in texts))


def name_record(draft: Draft) -> bytes:
    """The states and counts of a name."""
    return msgspec.msgpack.encode(
        _Name(_state(draft.before), _state(draft.after), draft.added, draft.removed)
    )


def _state(state: EntryState) -> _State | None:
    if state.kind == "absent":
        return None
    target = None if state.target is None else encoded(state.target)
    return _State(
        state.kind,
        state.size,
        state.mode,
        state.mtime_ns,
        state.content_hash,
        target,
        state.kept,
        state.mark,
    )


def _read_state(state: _State | None) -> EntryState:
    if state is None:
        return NOTHING
    target = None if state.target is None else decoded(state.target)
    return EntryState(
        state.kind,
        state.size,
        state.mode,
        state.mtime_ns,
        state.content_hash,
        target,
        state.kept,
        state.mark,
    )


def proof(*values: object) -> bytes:
    """A check of what a row says."""
    return blake2b(msgspec.msgpack.encode(values), digest_size=_PROOF_BYTES).digest()


NAME_COLUMNS = "change, number, workspace, path, other, record, proof, before, after, undone"


def read_name(row: Sequence[Any]) -> NameRow:
    """A row of names. Raises Damaged."""
    change, number, workspace, path, other, record, known, before, after, undone = row
    if proof(change, number, workspace, path, other, record) != known:
        raise Damaged("a record")
    try:
        stored = msgspec.msgpack.decode(record, type=_Name)
        real = require_normal(decoded(path))
        to = None if other is None else require_normal(decoded(other))
    except (msgspec.DecodeError, ReadroomError):
        raise Damaged("a record") from None
    old, new = _read_state(stored.before), _read_state(stored.after)
    name = ChangedName(real, _action(old, new, to), old, new, to, stored.added, stored.removed, undone)
    return NameRow(number, name, before, after)


def _action(before: EntryState, after: EntryState, to: str | None) -> Action:
    if to is not None:
        return "moved"
    if before.kind == "absent":
        return "created"
    return "deleted" if after.kind == "absent" else "changed"


CHANGE_COLUMNS = "id, workspace, at_ns, run, agent, token, session, record, proof, undoes, interrupted"


def change_proof(workspace: int, at_ns: int, author: Author, record: bytes) -> bytes:
    """The check of a row of changes."""
    return proof(workspace, at_ns, author.agent, author.token, author.session, record)


def read_change(row: Sequence[Any]) -> tuple[KeptChange, int]:
    """A row of changes, and its workspace. Raises Damaged."""
    change, workspace, at_ns, _, agent, token, session, record, known, undoes, interrupted = row
    if proof(workspace, at_ns, agent, token, session, record) != known:
        raise Damaged("a record")
    try:
        author = msgspec.msgpack.decode(record, type=Author)
    except msgspec.DecodeError:
        raise Damaged("a record") from None
    return KeptChange(change, at_ns, author, undoes=undoes, interrupted=bool(interrupted)), workspace
