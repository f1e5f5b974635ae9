"""Reads toy documents: pages parted by form feeds, each with a title in its first line."""

from __future__ import annotations

from typing import BinaryIO, final

from readroom.documents.formats import Area, Heading, Part, Unit, Unreadable
from tests.documents.toy import MAGIC, turned


@final
class _Toy:
    unit = Unit.PAGE

    def __init__(self, pages: list[list[str]]) -> None:
        self._pages = pages
        self.titles = [page[0] for page in pages]
        self.contents = [Heading(1, title, number) for number, title in enumerate(self.titles, 1)]

    def part(self, number: int, area: Area | None = None) -> Part:
        return Part(number, self.titles[number - 1], self._pages[number - 1][1:])


def open_document(file: BinaryIO) -> _Toy:
    """The document. Raises Unreadable."""
    text = turned(file.read().removeprefix(MAGIC)).decode("utf-8", "replace")
    if not text:
        raise Unreadable("it has no pages", "Ask for another copy.")
    return _Toy([page.split("\n") for page in text.split("\f")])
