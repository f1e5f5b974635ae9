"""Reads that show all that was asked for or nothing, and texts that must be no binary files, for contracts
that have it so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from readroom.errors import Binary, TooMuch
from readroom.manner import Whole
from readroom.model import ReadRequest
from readroom.stores.base import Source
from readroom.text.select import Frame, Page, byte_size

NUL = "It has NUL bytes."
"""Why a file is binary that else would be text."""


def require_whole(page: Page, request: ReadRequest, whole: Whole, frame: Frame) -> None:
    """Return when a page is all that was asked for, within the bounds. Raises TooMuch.

    The bytes are looked at before the lines, line by line: the one that is passed first is told.
    """
    room, used = min(whole.bytes, frame.room), -1  # no line feed stands before the first
    for count, (number, line) in enumerate(enumerate(page.lines, page.start)):
        cut = page.cuts.get(number)
        used += byte_size(line) + frame.numbered(number) + (whole.mark_bytes if cut else 0)
        if used > room or (cut is not None and _cut_for_the_reply(line, cut.last, frame)):
            raise _too_much(room, "bytes", count, request)
        if count == whole.lines:
            raise _too_much(whole.lines, "lines", count, request)
    if page.reason == "reply_cap":
        raise _too_much(room, "bytes", len(page.lines), request)


def _cut_for_the_reply(line: str, chars: int, frame: Frame) -> bool:
    """Whether a line was cut for want of room, and not at its own longest length."""
    if chars >= frame.line_chars:
        return False
    return frame.line_bytes is None or byte_size(line) + _MAX_CHAR_BYTES <= frame.line_bytes


_MAX_CHAR_BYTES = 4
"""A line that is cut between characters may lack so many bytes, less one, of its longest length."""


def _too_much(limit: int, unit: str, fitting: int, request: ReadRequest) -> TooMuch:
    following = replace(request, limit=fitting) if fitting else None
    return TooMuch(limit, unit, fitting=fitting, next_request=following)


def require_text(source: Source, request: ReadRequest, lines: Sequence[str]) -> None:
    """Return when lines have no NUL, or the manner of the request takes them. Raises Binary."""
    if not request.manner.nul and any("\0" in line for line in lines):
        raise Binary(request.path, "application/octet-stream", source.stat.size, NUL)
