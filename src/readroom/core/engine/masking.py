"""Requests where secrets are masked: labels in results and failures, and none in changes.

The guard opens views, so no verb sees a secret.  This is the one way out of the engine: signs become labels,
which are counted, and texts that come from elsewhere than files, such as messages of commits, are judged.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from readroom.core.engine.suggest import with_warnings
from readroom.core.errors import BadEncoding, ReadroomError
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.policy.guard import Guard
from readroom.core.secrets import changes, texts
from readroom.core.values import (
    Cap,
    FindResult,
    GrepResult,
    ListResult,
    ReadRequest,
    ReadResult,
    Request,
    Result,
)
from readroom.core.values.files import BytesResult, Warn
from readroom.core.values.history import DiffResult, EntryState, HistoryResult, UndoResult
from readroom.core.values.many import ReadManyResult
from readroom.core.values.packing import PackResult
from readroom.core.values.verbs import changes as changes_something

_OF_VIEWS = (BytesResult, FindResult, GrepResult, ListResult, PackResult, ReadManyResult, ReadResult)
"""Results whose texts come from views alone."""

_OWN_BYTES = 1024 * 1024
"""The part of a file in which a text like a label is looked for."""


def performed(perform: Callable[..., Result], request: Request, cap: Cap, *rest: Any) -> Result:
    """The result of a request as it may leave. Raises what the request raises, as it may leave.

    Labels may be longer than what they stand for: a reply that would be too large with them is made again.
    """
    require_known_letters(request)
    sizes: list[int] = []
    result = _once(partial(perform, request, cap, *rest), sizes)
    before, after = sum(sizes[::2]), sum(sizes[1::2])
    if after > before and after > cap.size // 2 and not changes_something(request):
        smaller = replace(cap, size=max(MIN_REPLY_BYTES, cap.size - (after - before)))
        result = _once(partial(perform, request, smaller, *rest), [])
    return result


def _once(perform: Callable[[], Result], sizes: list[int]) -> Result:
    """The result as it may leave; adds to `sizes` those of its texts, before and after."""
    try:
        result = perform()
    except ReadroomError as error:
        raise leaving(error) from None
    count: Counter[str] = Counter()
    if not isinstance(result, _OF_VIEWS):
        result = texts.without_secrets(result)
    if isinstance(result, (HistoryResult, DiffResult, UndoResult)):
        result = without_hashes(result)
    result = texts.labelled(_without_warnings(result), count, sizes)
    return with_warnings(result, [texts.about(count)]) if count else result


def leaving(error: ReadroomError) -> ReadroomError:
    """A failure as it may leave."""
    own = vars(error)
    for name, value in own.items():
        if name != "next":
            own[name] = texts.labelled(texts.without_secrets(value))
    error.args = tuple(texts.labelled(texts.without_secrets(value)) for value in error.args)
    return error


def _without_warnings(result: Any) -> Any:
    """Without warnings about the character that signs are made of."""
    warnings = getattr(result, "warnings", ())
    kept = [one for one in warnings if not (one.code == "control_character" and "U+007F" in one.detail)]
    return result if len(kept) == len(warnings) else replace(result, warnings=tuple(kept))


_LETTERS = string.ascii_letters + string.digits + " \"'-:=_"


def require_known_letters(request: Request) -> None:
    """Raise BadEncoding if a file is to be read by letters in which no secrets are looked for."""
    name = getattr(request, "encoding", None)
    if not isinstance(request, ReadRequest) or name is None:
        return
    try:
        written = _LETTERS.encode(name)
    except (LookupError, UnicodeError):
        return  # it is refused where it is used
    if _LETTERS.encode("ascii") not in written.replace(b"\0", b""):
        raise BadEncoding(
            request.path,
            name,
            "secrets are masked, and are not looked for in its letters",
            "Leave out `encoding` to have it detected, or ask the user.",
            next_request=replace(request, encoding=None),
        )


def without_hashes(value: Any) -> Any:
    """A result about the past without the hashes of stored bytes, by which a guess could be tried."""

    def go(inner: Any) -> Any:
        if isinstance(inner, EntryState):
            return replace(inner, content_hash=None) if inner.content_hash is not None else inner
        if isinstance(inner, (list, tuple)):
            return [go(one) for one in inner]
        if hasattr(inner, "__struct_fields__") and not isinstance(inner, Warn):
            return replace(inner, **{name: go(getattr(inner, name)) for name in inner.__struct_fields__})
        return inner

    return go(value)


def require_no_label(guard: Guard, request: Request) -> None:
    """Raise MaskReturned if a change brings back a label that its files do not have as their own text."""
    own = b""
    if not any(texts.LABEL.search(text) for text in changes.texts_of(request)):
        return
    for path in changes.paths_of(request):
        try:
            with guard.open(guard.parse(path)) as source:
                own += source.read_at(0, _OWN_BYTES)
        except ReadroomError:
            continue
    changes.require_no_label(request, own)
