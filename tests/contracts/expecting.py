"""What the keys of `expect` mean: each looks at an answer and raises when it is another one."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from tests.contracts.cases import Answer, Meaning


def at(value: Any, path: str) -> Any:
    """The value at a dotted path of names and indices."""
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def within(found: Any, expected: Any) -> bool:
    """Whether objects have at least these fields, and everything else is the same."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(name in found and within(found[name], value) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(within, found, expected))
    return type(found) is type(expected) and bool(found == expected)


def _json(found: Answer, expected: Mapping[str, Any]) -> None:
    for path, value in expected.items():
        assert within(at(found.json, path), value), f"{path}: {at(found.json, path)!r}, not {value!r}"


def _json_exact(found: Answer, expected: Any) -> None:
    assert found.json == expected


def _text(found: Answer, expected: str) -> None:
    assert found.text == expected


def _text_contains(found: Answer, expected: list[str]) -> None:
    assert [one for one in expected if one not in found.words] == []


def _text_not_contains(found: Answer, expected: list[str]) -> None:
    assert [one for one in expected if one in found.words] == []


def _text_matches(found: Answer, expected: str) -> None:
    assert re.search(expected, found.text), found.text


def _error(found: Answer, expected: str) -> None:
    assert found.is_error
    assert found.text == expected


def _error_contains(found: Answer, expected: list[str]) -> None:
    assert found.is_error
    assert [one for one in expected if one not in found.text] == []


def _texts(found: Answer, expected: Any) -> list[tuple[str, Any]]:
    """Pairs of a text of the answer and what is expected of it: of fields, or of the whole."""
    if isinstance(expected, dict):
        return [(at(found.json, path), value) for path, value in expected.items()]
    return [(found.words, expected)]


def _starts_with(found: Answer, expected: Any) -> None:
    for text, value in _texts(found, expected):
        assert text.startswith(value), text[:200]


def _ends_with(found: Answer, expected: Any) -> None:
    for text, value in _texts(found, expected):
        assert text.endswith(value), text[-200:]


def _contains(found: Answer, expected: Any) -> None:
    for text, values in _texts(found, expected):
        assert [one for one in values if one not in text] == []


def _absent(found: Answer, expected: list[str]) -> None:
    assert [name for name in expected if name in found.json] == []


def _present(found: Answer, expected: list[str]) -> None:
    assert [name for name in expected if name not in found.json] == []


def _len_bytes(found: Answer, expected: Any) -> None:
    for text, size in _texts(found, expected):
        assert len(text.encode()) == size


def _max_len_bytes(found: Answer, expected: Any) -> None:
    for text, size in _texts(found, expected):
        assert len(text.encode()) <= size


def _line_count(found: Answer, expected: int) -> None:
    assert len(found.words.split("\n")) == expected


def _is_error(found: Answer, expected: bool) -> None:
    assert found.is_error is expected


def _truncated(found: Answer, expected: bool) -> None:
    assert found.json["truncated"] is expected


def _images(found: Answer, expected: list[dict[str, str]]) -> None:
    sent = [
        {"media_type": one.media_type, "base64": base64.b64encode(one.data).decode()} for one in found.images
    ]
    assert sent == expected


def _status(found: Answer, expected: int) -> None:
    assert found.status == expected, found.words


def _headers(found: Answer, expected: Mapping[str, str]) -> None:
    sent = {name.lower(): value for name, value in found.headers.items()}
    assert {name: sent.get(name.lower()) for name in expected} == expected


def _body(found: Answer, expected: str) -> None:
    assert found.body == expected.encode()


def _body_contains(found: Answer, expected: list[str]) -> None:
    body = found.body.decode("utf-8", "replace")
    assert [one for one in expected if one not in body] == []


def _paths(found: Answer, expected: list[str]) -> None:
    assert [match["path"] for match in found.json["matches"]] == expected


def _names_in_order(found: Answer, expected: list[str]) -> None:
    assert [entry["name"] for entry in found.json["contents"]] == expected


def _value(found: Answer, expected: Any) -> None:
    assert found.value == expected


def _none(found: Answer, expected: bool) -> None:
    assert (found.value is None) is expected


MEANINGS: Mapping[str, Meaning] = {
    "absent": _absent,
    "allowed": _value,
    "body": _body,
    "body_contains": _body_contains,
    "budget_bytes": _value,
    "contains": _contains,
    "ends_with": _ends_with,
    "error": _error,
    "error_contains": _error_contains,
    "headers": _headers,
    "images": _images,
    "is_error": _is_error,
    "items": _value,
    "json": _json,
    "json_exact": _json_exact,
    "len_bytes": _len_bytes,
    "line_count": _line_count,
    "max_len_bytes": _max_len_bytes,
    "names_in_order": _names_in_order,
    "none": _none,
    "paths": _paths,
    "present": _present,
    "regions": _value,
    "starts_with": _starts_with,
    "status": _status,
    "text": _text,
    "text_contains": _text_contains,
    "text_matches": _text_matches,
    "text_not_contains": _text_not_contains,
    "truncated": _truncated,
}
