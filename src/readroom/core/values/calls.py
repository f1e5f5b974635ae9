"""Calls of tools as values, and what comes after a reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar, final

from msgspec import Struct

Fact: TypeAlias = "str | int | float | bool | Sequence[Fact] | Mapping[str, Fact] | None"
"""A JSON value; facts are what a program may rely on."""

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)


class Call(Struct, frozen=True):
    """A tool call, ready to send."""

    tool: str
    arguments: dict[str, Fact]

    def to_fact(self) -> dict[str, Fact]:
        """The call as facts carry it."""
        return {"tool": self.tool, "arguments": self.arguments}


def of_fact(fact: Fact) -> Call | None:
    """The call that a fact carries; None if it carries none."""
    if not isinstance(fact, Mapping):
        return None
    tool, arguments = fact.get("tool"), fact.get("arguments")
    return Call(tool, dict(arguments)) if isinstance(tool, str) and isinstance(arguments, Mapping) else None


class Following(Protocol[P_co]):
    """Makes another call as an earlier one was made."""

    def now(self, call: Call) -> P_co:
        """The reply to it. Raises ReadroomError where the method of the earlier call does."""

    async def awaited(self, call: Call) -> P_co:
        """The same in a thread, which ends with the task that waits for it."""


@final
class Pages(Generic[P]):
    """A reply and those that continue it, for `for` and for `async for`."""

    __slots__ = ("_after", "_first")

    def __init__(self, first: P, after: Callable[[P], tuple[Following[P], Call] | None]) -> None:
        """`after` says how the next page is made; None after the last."""
        self._first = first
        self._after = after

    def __iter__(self) -> Iterator[P]:
        page = self._first
        yield page
        while step := self._after(page):
            follow, call = step
            page = follow.now(call)
            yield page

    async def __aiter__(self) -> AsyncIterator[P]:
        page = self._first
        yield page
        while step := self._after(page):
            follow, call = step
            page = await follow.awaited(call)
            yield page
