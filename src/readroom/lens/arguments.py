"""The arguments of calls: their texts, which the model wrote, and what is kept of them in the normal form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import msgspec

from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.records.events import Arguments
from readroom.lens.records.values import text_bytes
from readroom.limits.lens import ARGUMENT_CHARS, ARGUMENT_START_CHARS


@final
class KeptArguments:
    """The arguments of one session: few words of each where there are very many."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._most = bounds.arguments_chars
        self.chars = 0
        """Bytes that are kept of all of them."""

    def of(self, arguments: Arguments) -> str:
        """What is kept of those of the next call."""
        text = shortened(arguments)
        if self.chars + text_bytes(text) > self._most and len(text) > ARGUMENT_START_CHARS:
            text = text[:ARGUMENT_START_CHARS] + "…"
        self.chars += text_bytes(text)
        return text


_VALUE_BYTES = 60


def argument_bytes(value: object) -> int:
    """What decoded arguments take in memory."""
    if isinstance(value, str):
        return text_bytes(value) + _VALUE_BYTES
    if isinstance(value, dict):
        return sum(argument_bytes(name) + argument_bytes(inner) for name, inner in value.items())
    if isinstance(value, list):
        return _VALUE_BYTES + sum(map(argument_bytes, value))
    return _VALUE_BYTES


def texts(arguments: dict[str, object]) -> Iterator[str]:
    """Every text in them."""
    for value in arguments.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from texts(value)
        elif isinstance(value, list):
            for item in value[:1000]:
                if isinstance(item, str):
                    yield item
                elif isinstance(item, dict):
                    yield from texts(item)


def shortened(arguments: dict[str, object]) -> str:
    """The arguments of a call as they are kept: those of a written file are cut."""
    text = msgspec.json.encode(arguments).decode()
    return text if len(text) <= ARGUMENT_CHARS else text[:ARGUMENT_CHARS] + "…"
