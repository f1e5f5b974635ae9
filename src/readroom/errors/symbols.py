"""What can be wrong with outlines and with names of definitions."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.errors.base import AbsentError, FailedError, UsageError, _brief
from readroom.model import Fact, ReadRequest, Request
from readroom.outlines import Row
from readroom.quoting import as_value, joined, quote

_LISTED = 20
"""Candidates that a refusal names; more are counted."""


def _fact(row: Row) -> dict[str, Fact]:
    item = row.item
    return {
        "name": row.name,
        "kind": item.kind,
        "signature": item.signature,
        "start": item.start,
        "end": item.end,
    }


class Ambiguous(UsageError):
    """A name that several definitions of a file have."""

    code = "ambiguous"

    def __init__(self, request: ReadRequest, rows: Sequence[Row], next_request: Request) -> None:
        """`rows` are the candidates; `next_request` reads the first."""
        more = f"\n… and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
        listed = "\n".join(f"{row.item.start}-{row.item.end} {row.item.signature}" for row in rows[:_LISTED])
        super().__init__(
            f"{len(rows)} definitions in {quote(request.path)} are named {_brief(request.symbol or '')!r}",
            "Send `offset` with the first line of the one you mean, or its qualified name.",
            facts={
                "path": as_value(request.path),
                "symbol": _brief(request.symbol or ""),
                "count": len(rows),
                "candidates": [_fact(row) for row in rows[:_LISTED]],
            },
            next_request=next_request,
            detail=listed + more,
        )


class UnknownSymbol(AbsentError):
    """No definition of a file has that name."""

    code = "unknown_symbol"

    def __init__(
        self,
        request: ReadRequest,
        near: Sequence[Row],
        next_request: Request,
        *,
        partial: str | None = None,
        lines: Sequence[int] = (),
    ) -> None:
        """`near` are definitions with similar names; `next_request` reads one, the outline, or a line.

        `partial` says why the file may define it all the same, and `lines` where the name stands in it.
        """
        guess = f"Did you mean {joined((row.name for row in near), ' or ')}? " if near else ""
        name = _brief(request.symbol or "")
        problem = f"{quote(request.path)} defines no {name!r}"
        advice = f'{guess}view="outline" lists what it defines.'
        if lines:
            problem = f"{quote(request.path)} has no definition of {name!r} that was found, but {partial}"
            numbers = ", ".join(map(str, lines))
            advice = f"The name stands in line{'' if len(lines) == 1 else 's'} {numbers}. {guess}".rstrip()
        super().__init__(
            problem,
            advice,
            facts={
                "path": as_value(request.path),
                "symbol": name,
                "near": [_fact(row) for row in near],
                "lines": list(lines),
            },
            next_request=next_request,
        )


class NoOutline(FailedError):
    """A file whose definitions are not known."""

    code = "no_outline"

    def __init__(self, path: str, problem: str, next_request: Request) -> None:
        super().__init__(
            f"{quote(path)} has no outline: {problem}",
            "Read it, or find definitions in it with grep_files.",
            facts={"path": as_value(path), "problem": problem},
            next_request=next_request,
        )
