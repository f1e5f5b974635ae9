"""What a reply says of its own cost: facts always, a line for the reader when a budget runs low."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from readroom.contracts.base import Contract
from readroom.errors import ReadroomError
from readroom.model import Fact, Reply
from readroom.session.budgets import Level, Use

_DEGRADED = {
    Level.OUTLINE: "Little is left: replies show outlines and counts instead of content.",
    Level.COUNTS: "Very little is left: replies show counts instead of content.",
}


def noted(
    reply: Reply, record: Contract, tokens: int, counter: str, uses: Sequence[Use], level: Level
) -> Reply:
    """The reply with its tokens and what is left of each budget; with a line when a budget runs low."""
    facts: dict[str, Fact] = {
        "tokens": tokens,
        "counter": counter,
        "budget": [
            {"scope": use.scope, "limit": use.limit, "used": use.used, "left": use.left} for use in uses
        ],
    }
    warned = max(uses, key=lambda use: use.warned, default=None)
    words = []
    if warned is not None and warned.warned:
        words.append(
            f"Budget: {warned.warned} % of the {warned.limit:,} tokens of this {warned.scope} are used, "
            f"{warned.left:,} left."
        )
    if level in _DEGRADED and not reply.is_error:
        words.append(_DEGRADED[level])
    reply = replace(reply, build_facts=_added(reply.build_facts, facts))
    return record.remark(reply, " ".join(words)) if words else reply


def unrecorded(reply: Reply, record: Contract, failure: ReadroomError) -> Reply:
    """The reply with a warning that the ledger misses its call."""
    warning: dict[str, Fact] = {"code": "not_recorded", "detail": failure.message}

    def build() -> dict[str, Fact]:
        facts = reply.build_facts()
        known = facts.get("warnings")
        return {**facts, "warnings": [*(known if isinstance(known, list) else []), warning]}

    return record.remark(
        replace(reply, build_facts=build),
        "Warning: this call is missing in the ledger, which cannot be written.",
    )


def _added(build: Callable[[], dict[str, Fact]], more: dict[str, Fact]) -> Callable[[], dict[str, Fact]]:
    return lambda: {**build(), **more}
