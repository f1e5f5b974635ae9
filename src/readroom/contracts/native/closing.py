"""The last line of a native reply: what is missing, in words, and the one call that goes on.

A model that is given two calls has to choose, and small ones send the first; so whatever
else could be read is said by its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from readroom.contracts.native.calls import shown, to_call
from readroom.text.select import byte_size
from readroom.values import ReadRequest, Request

MORE = "More in the facts of this reply."
"""What a closing line says where not all of it fits."""


class Aside(Struct, frozen=True):
    """Something that is left out, and the request that shows it; None where none does."""

    text: str
    request: Request | None


def in_documents(places: Iterable[tuple[str, int | None, int]]) -> list[Aside]:
    """How the first line of a document is read among places that a search has shown: path, part and line."""
    for path, part, line in places:
        if part is not None:
            there = ReadRequest(path, pages=str(part), offset=line)
            return [Aside(f"p{part}:{line} is part {part}, line {line}", there)]
    return []


def ending(parts: Sequence[str | Aside], following: Request | None, path: str | None = None) -> list[str]:
    """The sentences of a closing line, which end with one call.

    Args:
        parts: What is to be said.
        following: The request that goes on; without one, the first of `parts` with a request gives the call.
        path: What the reply is about, which arguments in words need not name.
    """
    last = "" if following is None else f"Next: {shown(following)}"
    sentences = []
    for part in parts:
        if isinstance(part, str):
            sentences.append(part)
        elif part.request is None:
            sentences.append(f"{part.text}: not reachable.")
        elif not last:
            last = f"{part.text}: {shown(part.request)}"
        else:
            sentences.append(f"{part.text}: {in_words(part.request, path)}.")
    return [*sentences, last] if last else sentences


def in_words(request: Request, path: str | None = None) -> str:
    """What a call is given, for a sentence; its tool and path go without saying where they are known."""
    import json  # a reply that leaves nothing out needs none

    call = to_call(request)
    named = path is not None and request.path == path
    arguments = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in call.arguments.items()
        if not (named and name == "path")
    ]
    return " ".join(arguments if named else [call.tool, *arguments])


def closing(parts: Sequence[str], room: int) -> str:
    """One bracketed line of sentences; what does not fit is said to be in the facts.

    The last sentence, which names the next call, is the last to be left out.
    """
    whole = f"[{' '.join(parts)}]"
    if byte_size(whole) <= room:
        return whole
    left = room - len(f"[{MORE}]")
    kept: set[int] = set()
    for at in (len(parts) - 1, *range(len(parts) - 1)):
        cost = byte_size(parts[at]) + 1
        if cost <= left:
            kept.add(at)
            left -= cost
    before = [part for at, part in enumerate(parts[:-1]) if at in kept]
    after = [parts[-1]] if len(parts) - 1 in kept else []
    return f"[{' '.join([*before, MORE, *after])}]"
