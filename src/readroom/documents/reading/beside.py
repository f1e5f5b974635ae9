"""The calls for content that a read of a document does not show, and refusals about pictures."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from readroom.core.errors import BadValue
from readroom.core.formats.kinds import Recognised
from readroom.core.paths import BORDER
from readroom.core.values import ListRequest, Omission, ReadRequest, Request
from readroom.core.values.files import PartView
from readroom.documents.formats import page_ranges
from readroom.documents.formats.page_ranges import Pick


def omissions(
    request: ReadRequest, recognised: Recognised, parts: Sequence[PartView], *, sees: bool
) -> list[Omission]:
    """The calls for what notes of these parts count, and for their figures if the client `sees` images."""
    found = []
    counted = [part for part in parts if part.counted]
    if counted:
        call = _of(request, counted, "not_shown")
        count = sum(part.counted for part in counted)
        found.append(Omission("counted", 1, count, "view", part=counted[0].number, request=call))
    bare = [part for part in parts if part.is_bare]
    if bare and (as_stored := stored(request, recognised)) is not None:
        found.append(Omission("stored", 1, len(bare), "view", part=bare[0].number, request=as_stored))
    written = [part for part in parts if part.formulas]
    if written:
        call = replace(request, view="formulas", column=1, known_hash=None)
        count = sum(part.formulas for part in written)
        found.append(Omission("formulas", 1, count, "view", part=written[0].number, request=call))
    drawn = [part for part in parts if part.figures]
    if drawn and sees:
        count = sum(part.figures for part in drawn)
        call = _of(request, drawn, "image")
        found.append(Omission("figures", 1, count, "view", part=drawn[0].number, request=call))
    return found


def _of(request: ReadRequest, parts: Sequence[PartView], view: str) -> ReadRequest:
    pages = page_ranges.written([Pick(part.number, part.number) for part in parts], ())
    return ReadRequest(request.path, pages=pages, view="image" if view == "image" else "not_shown")


def stored(request: ReadRequest, recognised: Recognised) -> Request | None:
    """The call for a document as it is stored: its members, or its text; None for other forms."""
    if recognised.is_text:  # with an encoding it is read as text, where it is not anyway
        return ReadRequest(request.path, encoding=None if recognised.only_asked else "utf-8")
    return ListRequest(f"{request.path}{BORDER}") if recognised.row.zipped else None


def unseen(request: ReadRequest) -> BadValue:
    """The refusal of pictures to a client that would send their bytes as text, or none of them."""
    pages = None if request.pages is None else request.pages.partition("!")[0] or None
    return BadValue(
        "view",
        "image",
        "would show nothing: this client does not pass on images",
        "Read the text.",
        next_request=replace(request, view="text", pages=pages),
    )


def region_of_text(
    request: ReadRequest, recognised: Recognised, picks: Sequence[Pick], titles: Sequence[str]
) -> BadValue:
    """The refusal of a region of what is read as text, with the call for its picture, if there is one."""
    can = recognised.row.has_pictures
    plain = [Pick(pick.first, pick.last) for pick in picks]
    pages = page_ranges.written(picks if can else plain, titles)
    return BadValue(
        "pages",
        (request.pages or "")[:80],
        "names a region, and only pictures have one",
        'Send view="image".' if can else "Leave it out.",
        next_request=replace(request, pages=pages, view="image" if can else "text", offset=None, column=1),
    )
