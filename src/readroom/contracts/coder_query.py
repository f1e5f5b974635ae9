"""Queries of addresses as coder's agent parses them: every problem is told at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from readroom.contracts.coder_json import go_quoted
from readroom.limits_coder import MAX_INTEGER, MAX_QUERY_PARAMETERS
from readroom.quoting import quote

_INTEGER = re.compile(r"[+-]?[0-9]+")
_EXACT = 2**53 - 1
"""Largest number that is passed on: no file has so much."""


def parsed(
    query: bytes,
    numbers: Sequence[str],
    *,
    required: Sequence[str] = ("path",),
    texts: Sequence[str] = ("path",),
) -> tuple[dict[str, str | int], dict[str, str]]:
    """The values of a query, and what is wrong with it by parameter.

    Args:
        query: As it stands in the address, with its escapes; bytes that are no UTF-8 stay what they are.
        numbers: Parameters that are whole numbers, not negative.
        required: Those that may not be missing or empty.
        texts: Parameters that are texts.
    """
    given = _given(query)
    problems: dict[str, str] = {}
    values: dict[str, str | int] = {}
    for name in texts:
        if given.get(name):
            values[name] = _sendable(given[name])
        elif name in required:
            problems[name] = "is required and cannot be empty"
    for name in numbers:
        # An empty one counts as not given.
        if given.get(name):
            problem = _problem(given[name])
            if problem is None:
                values[name] = min(int(given[name]), _EXACT)
            else:
                problems[name] = f"must be a valid 64-bit positive integer: {problem}"
    for name in given:
        if name not in (*texts, *numbers):
            problems[name] = "is not a valid query param"
    return values, problems


def _given(query: bytes) -> Mapping[str, str]:
    """The first value of each parameter."""
    pairs = parse_qsl(
        query.decode("latin-1"), keep_blank_values=True, encoding="utf-8", errors="surrogateescape"
    )
    found: dict[str, str] = {}
    for name, value in pairs[:MAX_QUERY_PARAMETERS]:
        found.setdefault(name, value)
    return found


def _sendable(path: str) -> str:
    """A path as replies show it, when it has bytes that are no characters; as it is otherwise."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return quote(path)
    return path


def _problem(text: str) -> str | None:
    if not _INTEGER.fullmatch(text):
        return f"parsing {go_quoted(text)}: invalid syntax"
    if len(text) > len(str(MAX_INTEGER)) + 1 or abs(int(text)) > MAX_INTEGER:
        return f"parsing {go_quoted(text)}: value out of range"
    return "value is negative" if int(text) < 0 else None
