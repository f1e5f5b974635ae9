"""The failures of budgets and of the ledger; their place in the tree is drawn in the package."""

from __future__ import annotations

from readroom.errors.base import FailedError, ReadroomError, RefusedError


class BudgetSpent(RefusedError):
    """The tokens that an operator allows are used up, or too few are left for this call."""

    code = "budget_spent"

    def __init__(self, scope: str, limit: int, used: int, *, changes_left: bool) -> None:
        """`scope` is call, session, token or workspace; `changes_left` when edits are still possible."""
        works = "edit_file and write_file still work, with short replies" if changes_left else "no tool works"
        super().__init__(
            f"The budget of this {scope} is spent: {used:,} of {limit:,} tokens",
            f"For now {works}; work with what you have seen, or ask the user for a larger budget.",
            facts={"scope": scope, "limit": limit, "used": used, "changes_left": changes_left},
        )


class LedgerFailed(FailedError, OSError):
    """The ledger cannot be used."""

    code = "ledger_failed"
    __str__ = ReadroomError.__str__

    def __init__(self, where: str, problem: str, advice: str = "Tell the user; calls need it.") -> None:
        super().__init__(
            f"The ledger {where} cannot be used: {problem}",
            advice,
            facts={"where": where, "problem": problem},
        )
