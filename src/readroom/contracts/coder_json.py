"""JSON and quoted names as programs written in Go send them: what callers of the contract compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from readroom.model import Fact, Reply
from readroom.text.encodings import visible

NOTES = "notes"
"""The field of sentences about a reply: what is left out of it, and what is left of a budget."""

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    '"': '\\"', "\\": "\\\\",
}  # fmt: skip


def go_quoted(text: str) -> str:
    """The text in double quotes, with what cannot be printed as escapes."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    found = _ESCAPES.get(char)
    if found is not None or char.isprintable():
        return found or char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte that is no character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def encoded(value: Mapping[str, Fact]) -> str:
    """A JSON object in one line; halves of surrogate pairs, which JSON cannot carry, become U+FFFD."""
    return msgspec.json.encode(_visible(value)).decode()


def _visible(value: Fact) -> Fact:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {str(_visible(key)): _visible(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible(inner) for inner in value]
    return value


def present(**values: Fact) -> dict[str, Fact]:
    """The values without those that are nothing: empty, zero or false."""
    return {name: value for name, value in values.items() if value}


def noted(reply: Reply, words: str) -> Reply:
    """The reply with one more of its `notes`; below the text where it is no object."""
    try:
        found = msgspec.json.decode(reply.text)
    except msgspec.DecodeError:
        found = None
    if not isinstance(found, dict):
        return replace(reply, text=f"{reply.text}\n[{words}]")
    return replace(reply, text=encoded({**found, NOTES: [*found.get(NOTES, ()), words]}))
