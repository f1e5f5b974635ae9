"""Values in manifests of Kubernetes that say of themselves that they hold secrets.

`kind: Secret` makes every value of its `data` and `stringData` one, whatever it looks like.  YAML is
read line by line, by its columns; JSON, also as a text within YAML, by its quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2
import stringzilla

from readroom.core.secrets.judge import SecretPlace
from readroom.core.secrets.private_keys import KEY_BYTES
from readroom.core.secrets.shapes import KEYWORD, LETTERS

_LETTER = LETTERS[KEYWORD]

_KIND = re2.compile(r"kind[\\\"' ]*:[\\\"' ]*Secret(?:[\\\"' ,}]|\r?\n|$)")
_KIND_LINE = re.compile(
    rb"(?m)^([ ]*(?:- +)*)[\"']?kind[\"']?[ ]*:[ ]*[\"']?Secret[\"']?[ ]*(?:#[^\n]*)?\r?$"
)

_IN_JSON = re.compile(rb"\\{0,3}\"(?:data|stringData)\\{0,3}\"\s{0,8}:\s{0,8}\{([^{}]*)\}")
_PAIR = re.compile(
    rb"\\{0,3}\"(?:[^\"\\]|\\[^\"]){1,256}?\\{0,3}\"\s{0,8}:\s{0,8}(\\{0,3})\"((?:(?!\1\")[^\n])*)\1\"",
    re.DOTALL,
)

_LINE = re.compile(rb"([ ]*(?:- +)*)([^\n]*?)\r?(?:\n|\Z)")
_MAP = re.compile(rb"[\"']?(?:data|stringData)[\"']?[ ]*:[ ]*(\{[^\n]*\})?[ ]*(?:#.*)?\Z")
_ENTRY = re.compile(rb"(?:\"[^\"]*\"|'[^']*'|[^\s:#'\"][^:#]*):(?:[ ]+(.*))?\Z")
_FLOW = re.compile(rb":[ ]*(?:\"([^\"]*)\"|'([^']*)'|([^\s,{}\"']+))")
_BLOCK = re.compile(rb"[|>][0-9+-]*[ ]*(?:#.*)?\Z")
_QUOTED = re.compile(rb"\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|'')*)'")
_TEMPLATE = re.compile(rb"\{\{|\$[({A-Z]|<|\Z")


def values(data: bytes) -> list[SecretPlace]:
    """The values of the manifests whose kind is in some bytes, no further from it than a key is long."""
    if stringzilla.find(data, b"Secret") < 0:
        return []
    found: list[SecretPlace] = []
    at = 0
    while (hit := _KIND.search(data, at)) is not None:
        at = hit.end()
        low, high = max(0, hit.start() - KEY_BYTES), min(len(data), hit.end() + KEY_BYTES)
        found += _json(data, low, high)
        line = data.rfind(b"\n", 0, hit.start()) + 1
        kind = _KIND_LINE.match(data, line)
        if kind is not None:
            found += _yaml(data, line, len(kind[1]), low, high)
    return found


def _json(data: bytes, low: int, high: int) -> Iterator[SecretPlace]:
    for fields in _IN_JSON.finditer(data, low, high):
        for pair in _PAIR.finditer(data, *fields.span(1)):
            if not _TEMPLATE.match(pair[2]):
                yield SecretPlace(*pair.span(2), _LETTER)


def _yaml(data: bytes, kind: int, column: int, low: int, high: int) -> Iterator[SecretPlace]:
    """The values of a manifest, given by the line and the column of its kind."""
    inside: int | None = None  # the column of the map, once its first line is seen
    block: int | None = None  # the column of an entry whose text is in the lines below
    is_data = False
    for start, dashes, text in _lines(data, _first(data, kind, column, low), high):
        own = len(dashes)
        if start > kind and text and (own < column or (own == column and dashes.strip()) or _is_border(text)):
            return
        if block is not None and (own > block or not text):
            if text:
                yield SecretPlace(start + own, start + own + len(text), _LETTER)
            continue
        block = None
        if own == column:
            made = _MAP.match(text)
            is_data, inside = made is not None, None
            if made is not None and made[1]:
                for one in _FLOW.finditer(made[1]):
                    group = one.lastindex or 0
                    at = start + own + made.start(1)
                    yield SecretPlace(at + one.start(group), at + one.end(group), _LETTER)
            continue
        entry = _ENTRY.match(text) if is_data and text and not text.startswith(b"#") else None
        if entry is None or (inside is not None and own != inside):
            continue
        inside = own
        value = entry[1] or b""
        if _BLOCK.match(value):
            block = own
        elif value and not _TEMPLATE.match(value):
            quoted = _QUOTED.match(value)
            span = quoted.span(quoted.lastindex or 0) if quoted else (0, len(value.split(b" #")[0].rstrip()))
            yield SecretPlace(
                start + own + entry.start(1) + span[0], start + own + entry.start(1) + span[1], _LETTER
            )


def _is_border(text: bytes) -> bool:
    return text.startswith((b"---", b"..."))


def _lines(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes, bytes]]:
    """The starts of lines, the text before their texts, and those texts without blanks at their ends."""
    while start < end:
        line = _LINE.match(data, start)
        if line is None or line.end() == start:
            return
        yield start, line[1], line[2].rstrip()
        start = line.end()


def _first(data: bytes, kind: int, column: int, low: int) -> int:
    """The start of the first line of a manifest, by the line of its kind."""
    start = kind
    while start > low:
        before = data.rfind(b"\n", 0, start - 1) + 1
        line = _LINE.match(data, start)
        if line is not None and len(line[1]) == column and line[1].strip():
            return start  # the first key of an entry of a list
        above = _LINE.match(data, before)
        if above is None or before < low:
            return start
        text = above[2].strip()
        if text and (len(above[1]) < column or _is_border(text)):
            return start
        start = before
    return start
