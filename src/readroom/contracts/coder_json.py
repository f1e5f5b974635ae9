"""Quoted names and omitted fields as programs written in Go send them: what callers compare with."""

from __future__ import annotations

from readroom.model import Fact

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


def present(**values: Fact) -> dict[str, Fact]:
    """The values without those that are nothing: empty, zero or false."""
    return {name: value for name, value in values.items() if value}
