"""Comments and attributes above a definition that belong to it."""

from __future__ import annotations

from typing import final


@final
class Lead:
    """Rows of comments and attributes above a definition."""

    __slots__ = ("_attached", "_first", "_last")

    def __init__(self, first: int, last: int, attached: bool) -> None:
        self._first = first
        self._last = last
        self._attached = attached

    @staticmethod
    def after(lead: Lead | None, rows: tuple[int, int], row_before: int, *, attached: bool) -> Lead | None:
        """Add a comment or attribute; a comment after code on the same line is about that code."""
        first, last = rows
        if not attached and first == row_before:
            return lead
        if lead is not None and (lead._attached or first <= lead._last + 1):
            return Lead(lead._first, last, attached or lead._attached)
        return Lead(first, last, attached)

    def above(self, row: int) -> int:
        """The first row of a definition that begins in `row`."""
        return self._first if self._attached or self._last + 1 >= row else row
