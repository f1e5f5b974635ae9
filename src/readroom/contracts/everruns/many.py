"""The Everruns tool `read_many_files`: several files in one call, in order, each with its result or failure.

A file is said as read_file says it, under the same limits.  An image is named but not shown.  When the reply
is full, the files that are left are named by their place, and read one by one.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from readroom.contracts.everruns import arguments as given
from readroom.contracts.everruns import reads
from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.requests import (
    BATCH_LEAST,
    BATCH_MOST,
    BATCH_PATH_BYTES,
    READ,
    READ_MANY,
    calls,
    options_of,
)
from readroom.contracts.everruns.words import Fields, render_error
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.errors import BadPath, BadValue, ReadroomError, WrongType
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, ReadResult, Reply
from readroom.core.values.many import LEFT_OUT_BYTES, ReadManyRequest, ReadManyResult

_NOT_READ = "Not read because the batch output limit was reached; read this file individually"
_NOT_RETURNED = "Not returned because the batch output limit was reached; read this file individually"
_IMAGE: Fields = {
    "image_omitted": True,
    "hint": f"Read this image individually with `{READ}` to view it",
}


def to_request(names: Names, arguments: given.ReadMany) -> ReadManyRequest:
    """The reads of all files. Raises BadValue, WrongType."""
    offset = None if arguments.offset is None else arguments.offset + 1
    paths = [_path(names, path) for path in _paths(arguments)]
    return ReadManyRequest(tuple(paths), offset, arguments.limit, tuple(map(options_of, paths)))


def _paths(arguments: given.ReadMany) -> Sequence[str]:
    paths: list[Any] = arguments.paths
    if not BATCH_LEAST <= len(paths) <= BATCH_MOST:
        words = f"Send {BATCH_LEAST} to {BATCH_MOST} paths."
        raise BadValue("paths", len(paths), "is not a number of files that it reads", words)
    for number, path in enumerate(paths):
        if not isinstance(path, str):
            raise WrongType(READ_MANY, f"paths[{number}]", "text", type(path).__name__)
        if not path.strip() or byte_size(path) > BATCH_PATH_BYTES:
            words = f"Send a path of at most {BATCH_PATH_BYTES} bytes."
            raise BadValue(f"paths[{number}]", path[:80], "is not a path", words)
    return paths


def _path(names: Names, spelled: str) -> str:
    """The path, or as it is spelled if it cannot be one: the read then says why."""
    with contextlib.suppress(BadPath):
        return names.work_path(spelled)
    return spelled


def render(names: Names, asked: given.ReadMany, result: ReadManyResult, cap: Cap) -> Reply:
    """The reply: as many files as have room, and the places of the others in the list."""
    count = len(asked.paths)
    alone = replace(cap, size=cap.size - (count - 1) * LEFT_OUT_BYTES)
    said: list[Fact] = []
    shown: list[ReadResult | Exception] = []
    facts: list[Fact] = []
    for number, path in enumerate(asked.paths):
        if number < len(result.items):
            item, fields, about = _item(names, path, result.items[number], asked.limit, alone)
            rest = [_left_out(later, _NOT_READ) for later in range(number + 1, count)]
            if json_replies.size(_envelope([*said, fields, *rest], count)) <= cap.size:
                said.append(fields)
                shown.append(item)
                facts.append(about)
                continue
        said.append(_left_out(number, _NOT_RETURNED if number < len(result.items) else _NOT_READ))
        said += [_left_out(later, _NOT_READ) for later in range(number + 1, count)]
        break
    whole = partial(_facts, facts, truncated=len(shown) < count)
    return replace(json_replies.reply(_envelope(said, count), whole), shown=ReadManyResult(shown))


def _item(
    names: Names, path: str, item: ReadResult | Exception, limit: int | None, cap: Cap
) -> tuple[ReadResult | Exception, Fields, Fact]:
    """The shown part of a file, its fields, and its facts."""
    names = names.of_call(_path(names, path))
    if not isinstance(item, ReadResult):
        assert isinstance(item, ReadroomError)
        failure = render_error(names, item, cap, tool=READ)
        facts = native_facts.of_error(item, calls(names), failure.text)
        return item, {"path": names.shown(_path(names, path)), "error": failure.text}, facts
    reply = reads.render(names, item, cap, limit)
    fields: Fields = json.loads(reply.text)
    shown = reply.shown if isinstance(reply.shown, ReadResult) else item
    return shown, {**fields, **_IMAGE} if reply.images else fields, reply.build_facts()


def _left_out(number: int, words: str) -> Fields:
    return {"index": number, "error": words}


def _envelope(results: list[Fact], count: int) -> Fields:
    return {"results": results, "count": count}


def _facts(results: list[Fact], *, truncated: bool) -> Fields:
    cut = truncated or any(isinstance(one, dict) and one.get("truncated") for one in results)
    return {"results": results, **native_facts.common((), None, ()), "truncated": cut}
