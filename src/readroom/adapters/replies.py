"""What adapters have in common: a reply as their frameworks ask for it. Knows no framework."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache

from readroom.errors import ConflictError, ReadroomError, UsageError
from readroom.values import Image, Reply


def is_mendable(reply: Reply) -> bool:
    """Whether the model can mend the call: its arguments were wrong, or the file has changed since."""
    error = reply.facts.get("error")
    return isinstance(error, dict) and error.get("code") in _mendable()


def data_url(image: Image) -> str:
    """The image as an address that holds it."""
    return f"data:{image.media_type};base64,{b64encode(image.data).decode('ascii')}"


@cache
def _mendable() -> frozenset[str]:
    return frozenset(class_.code for base in (UsageError, ConflictError) for class_ in _classes(base))


def _classes(base: type[ReadroomError]) -> Iterator[type[ReadroomError]]:
    yield base
    for subclass in base.__subclasses__():
        yield from _classes(subclass)
