"""Values of a foreign record with the type they should have: a wrong type gives an empty value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

RECORD_VALUES = 300_000
"""More values than this in one line are not decoded: a megabyte of `[],[],...` takes 30 MB as objects."""


Object: TypeAlias = dict[str, Any]
"""A decoded JSON object of a record: nothing about its values is known yet."""


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Editors on Windows write it before the first line."""


class NotReadable(Exception):
    """A piece of a record cannot be decoded; the message has the reason in a few words."""


def decode(data: bytes) -> Any:
    """One JSON value; tolerant of lone surrogates, control characters and bytes that are not UTF-8.

    Raises:
        NotReadable: It is not JSON, nested too deeply, or holds more values than memory should.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    _require_few_values(data)
    try:
        return msgspec.json.decode(data)
    except RecursionError as error:
        raise NotReadable("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_leniently(data)


def _decode_leniently(data: bytes) -> Any:
    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False)
    except RecursionError as error:
        raise NotReadable("nested too deeply") from error
    except ValueError as error:
        raise NotReadable("not JSON") from error
    return _without_surrogates(value)


def _without_surrogates(value: Any) -> Any:
    # json.loads leaves lone surrogates in strings; nothing downstream can encode them.
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _require_few_values(data: bytes) -> None:
    # Commas and brackets inside strings also count here: the exact count is made only if there are many.
    if len(data) <= RECORD_VALUES or _marks(data) <= RECORD_VALUES:
        return
    # A quote after a backslash does not end a string, but one after two backslashes does.
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = bare.split(b'"', 2 * RECORD_VALUES)[::2]
    if sum(map(_marks, outside)) > RECORD_VALUES:
        raise NotReadable(f"more than {RECORD_VALUES:,} values")


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def as_object(value: Any) -> Object:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> Iterator[Object]:
    """The objects in a list, without other items."""
    return (item for item in as_list(value) if isinstance(item, dict))


def as_text(value: Any) -> str:
    """`value` if it is a string or a number, as text, else an empty string."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def text_bytes(text: str) -> int:
    """Maximum memory of a string: four bytes for each character unless all are ASCII."""
    return len(text) if text.isascii() else 4 * len(text)


def as_count(value: Any) -> int:
    """A count, such as of tokens: a number from 0 on, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)


def counts_of(value: Object, *names: str) -> list[int]:
    """Several counts in an object."""
    return [as_count(value.get(name)) for name in names]


def texts_of(value: Object, *names: str) -> list[str]:
    """Several texts in an object."""
    return [as_text(value.get(name)) for name in names]


def as_cost(value: Any) -> float:
    """A cost: a finite number from 0 on, 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return 0.0
    return float(value)


def as_arguments(value: Any) -> Object:
    """A call's arguments, from an object or JSON; a string that is not JSON is kept under `text`."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value.strip():
        return {}
    try:
        decoded = decode(value.encode("utf-8", "replace"))
    except NotReadable:
        return {"text": value}
    return decoded if isinstance(decoded, dict) else {"text": value}


_TIME_DIGITS = 20


def time_of(value: Any) -> str:
    """A time as ISO text: as it is, or from seconds, milli-, micro- or nanoseconds since 1970."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) <= _TIME_DIGITS):
            return value
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**_TIME_DIGITS:
        return ""
    seconds = float(value)
    while seconds > 1e11:  # later than the year 5138: a smaller unit
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def body_text(body: Object, *names: str) -> tuple[str, int]:
    """The text of a result that is an object, and how many images are in it.

    It is under the first of `names` that has one; else the model is sent the whole object as JSON.
    """
    for name in names:
        value = body.get(name)
        if isinstance(value, str | list):
            text, images = parts_text(value)
            if text or images or not value:
                return text, images
    return (msgspec.json.encode(body).decode(), 0) if body else ("", 0)


def response_text(response: Object) -> tuple[str, int, bool]:
    """The text of a `functionResponse` of Google's API, how many images are in it, and whether it failed."""
    body = as_object(response.get("response"))
    failed = "error" in body and "output" not in body
    text, images = parts_text(body["error"]) if failed else body_text(body, "output", "content")
    return text, images + parts_text(response.get("parts"))[1], failed


def parts_text(value: Any, between: str = "") -> tuple[str, int]:
    """The text of a result that is a string or a list of parts, and how many parts are images."""
    if isinstance(value, str):
        return value, 0
    if isinstance(value, dict):
        value = [value]
    texts, images = [], 0
    for part in as_list(value):
        piece = {"text": part} if isinstance(part, str) else as_object(part)
        kind = as_text(piece.get("type"))
        if "image" in kind or "inlineData" in piece or "blob" in piece:
            images += 1
        elif isinstance(piece.get("text"), str):
            texts.append(piece["text"])
        elif isinstance(piece.get("content"), str | list):
            text, more = parts_text(piece["content"])
            texts.append(text)
            images += more
    return between.join(texts), images
