"""Changes of files that have secrets, and what they may do: anything but touch them.

A change is planned on the view of the file.  Before it is made, the secrets come back to the places that the
view had for them.  A change in which one of them is missing, is there twice or would no longer be masked is
refused, and so is one after which another value in its place would be shown, and one that brings a label
back.  So whether a change is made does not depend on what a secret is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import MaskedPlace, MaskReturned, TooLarge
from readroom.core.secrets import unmasked
from readroom.core.secrets.texts import LABEL
from readroom.core.secrets.view import SIGN, masked, places_in
from readroom.core.stores.base import Change, PutFile, Source
from readroom.core.text.edits.diff import common_end, common_start

CHANGED_BYTES = 64 * 1024 * 1024
"""The largest file with secrets that is changed: it is held whole, twice."""


def real(path: str, over: Source | None, made: bytes) -> bytes:
    """The bytes to be written for those that were planned on the view of a file.

    Raises:
        MaskedPlace: The change touches a secret, or would let one be seen.
        TooLarge: The file has secrets and is too large.
    """
    if over is None:
        return made
    plain = unmasked(over)
    if plain is over:
        return made
    if over.size > CHANGED_BYTES:
        raise TooLarge(
            "A file with masked places", over.size, CHANGED_BYTES, "bytes", "Ask the user to change it."
        )
    before = plain.read_at(0, plain.size)
    places = places_in(before)
    if not places:
        return made
    view = over.read_at(0, over.size)
    old = list(SIGN.finditer(view))
    new = list(SIGN.finditer(made))
    if [match.group() for match in old] != [match.group() for match in new]:
        first = places[0]
        raise MaskedPlace(path, before.count(b"\n", 0, first.start) + 1, len(places))
    written = bytearray(made)
    for was, match in zip(old, new, strict=True):
        written[match.start() : match.end()] = before[was.start() : was.end()]
    whole = bytes(written)
    still = masked(whole)
    for was, match in zip(old, new, strict=True):
        if was.group() == before[was.start() : was.end()]:
            continue  # the file's own text
        shown = not SIGN.fullmatch(still[match.start() : match.end()])
        if shown or not _as_it_was(view, was.span(), made, match.span()):
            raise MaskedPlace(path, made.count(b"\n", 0, match.start()) + 1, len(places), uncovered=True)
    uncovered = _where_another_is_shown(view, made)
    if uncovered is not None:
        raise MaskedPlace(path, made.count(b"\n", 0, uncovered) + 1, len(places), uncovered=True)
    return whole


_NEAR_BYTES = 64
"""How much of a line before a secret may not be changed."""


def _as_it_was(view: bytes, was: tuple[int, int], made: bytes, now: tuple[int, int]) -> bool:
    """Whether what tells a secret stands where it stood: the text before it in its line, and one byte after.

    Other text there could make a secret one by what it is, and whether the change is made would tell that.
    """
    before = view[max(0, was[0] - _NEAR_BYTES) : was[0]].rpartition(b"\n")[2]
    room = made[max(0, now[0] - _NEAR_BYTES - 1) : now[0]].rpartition(b"\n")[2]
    added = room[: len(room) - len(before)]
    whole_line = len(before) < _NEAR_BYTES
    is_near = room.endswith(before) and not (whole_line and added[-1:].isalnum())
    return is_near and view[was[1] : was[1] + 1] == made[now[1] : now[1] + 1]


_OTHERS = (
    b"aqwzxkfrlmphvd",
    b"aqwzxkf7rlmphv",
    b"7qwzxkfrlmphvd",
    b"aQwz7kFrLmphVd",
    b"AQWZ7KFRLMPHVD",
    b"aq.z7kfr!m@hvd",
    b"aqwz:kfr7mphvd",
    b"aq/z7k+rlmphvd",
    b"4827159630482715",
)
"""Values unlike each other in their letters, digits and signs, which are tried in the place of a secret."""

_ROOM_BYTES = 16 * 1024
"""How much of a file around a change is judged with them."""


def _where_another_is_shown(view: bytes, made: bytes) -> int | None:
    """The place in a changed view at which a value would be shown that is masked before the change, or None.

    Some forms mask only values with a digit or a capital.  Were the secret alone asked, a change from such a
    form to another would be made or refused by what it is.
    """
    first = common_start(view, made)
    last = common_end(view, made, first)
    low = max(0, first - _ROOM_BYTES)
    was, now = view[low : len(view) - last + _ROOM_BYTES], made[low : len(made) - last + _ROOM_BYTES]
    pairs = list(zip(SIGN.finditer(was), SIGN.finditer(now), strict=True))
    for other in _OTHERS if pairs and was != now else ():
        before, after = masked(_filled(was, other)), masked(_filled(now, other))
        for one, two in pairs:
            if SIGN.fullmatch(before[slice(*one.span())]) and not SIGN.fullmatch(after[slice(*two.span())]):
                return low + two.start()
    return None


def _filled(view: bytes, value: bytes) -> bytes:
    """A view with a value, repeated, in the place of each sign; NULs of wide encodings stay."""

    def fill(sign: re.Match[bytes]) -> bytes:
        every = itertools.cycle(value)
        return bytes(next(every) if byte else 0 for byte in sign.group())

    return SIGN.sub(fill, view)


def pieces(path: str, over: Source | None, made: Iterable[bytes]) -> Iterator[bytes]:
    """The same for bytes that come in pieces; those of a file without a view pass as they come."""
    if over is None or unmasked(over) is over or not _has_secrets(over):
        yield from made
        return
    yield real(path, over, b"".join(made))


def as_made(change: Change) -> Change:
    """A change with the secrets of the file that was seen through a view. Raises as `real`."""
    if not isinstance(change, PutFile) or change.over is None or unmasked(change.over) is change.over:
        return change
    made = pieces(change.place.real, change.over, change.pieces)
    return replace(change, pieces=made, over=unmasked(change.over))


def _has_secrets(over: Source) -> bool:
    if over.size > CHANGED_BYTES:
        return any(SIGN.search(over.read_at(at, _BLOCK)) for at in range(0, over.size, _BLOCK))
    before = unmasked(over).read_at(0, over.size)
    return bool(places_in(before))


_BLOCK = 1024 * 1024


def require_none(path: str, over: Source) -> None:
    """Raise MaskedPlace if a file that is to be replaced whole has secrets."""
    if unmasked(over) is not over and _has_secrets(over):
        raise MaskedPlace(path, None, None)


def require_distinct(path: str, over: Source) -> None:
    """Raise MaskedPlace if two secrets of a file have one sign, which a move could exchange."""
    view, seen = over.read_at(0, over.size), set[bytes]()
    for match in SIGN.finditer(view):
        if match.group() in seen:
            raise MaskedPlace(path, view.count(b"\n", 0, match.start()) + 1, None)
        seen.add(match.group())


def require_no_label(request: Struct, own: bytes) -> None:
    """Raise MaskReturned if a text of a change has a label that is no text of its file's own view."""
    for text in texts_of(request):
        for match in LABEL.finditer(text):
            if match.group().encode("utf-8") not in own:
                raise MaskReturned(match.group())


def texts_of(value: object) -> Iterator[str]:
    """The texts of a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from texts_of(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from texts_of(one)


def paths_of(value: object) -> Iterator[str]:
    """The names of files in a request."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name == "path" and isinstance(inner, str):
                yield inner
            else:
                yield from paths_of(inner)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from paths_of(one)
