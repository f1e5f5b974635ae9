"""Which of many refusals are told one by one, and which only counted: a flood must not fill a disk.

Pure; a stretch of time ends when its owner says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import final

from readroom.caller import Caller
from readroom.limits_keeping import LEDGER_REFUSALS, LEDGER_REFUSALS_ALIKE

NOBODY = Caller(face="http")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was refused before it was a call, or many that were alike.

    Attributes:
        code: Of the refusal.
        status: Of the answer; 0 when nobody was left to hear it, or of many.
        workspace: Its name, empty where it was not reached.
        caller: As far as it is known.
        address: Of the client; empty for many addresses.
        method: As sent, if it is one; empty of many.
        asked: The address that it was sent to, without what could be a secret; empty of many.
        times: How many.
    """

    code: str
    status: int = 0
    workspace: str = ""
    caller: Caller = NOBODY
    address: str = ""
    method: str = ""
    asked: str = ""
    times: int = 1

    @property
    def kind(self) -> Refusal:
        """What those that are alike have in common."""
        caller = replace(NOBODY, token=self.caller.token)
        return Refusal(self.code, workspace=self.workspace, caller=caller, address=self.address)


@final
class Tally:
    """The refusals of one stretch of time."""

    def __init__(self, *, most: int = LEDGER_REFUSALS, alike: int = LEDGER_REFUSALS_ALIKE) -> None:
        """`most` are told one by one, and of each kind no more than `alike`."""
        self._most = most
        self._alike = alike
        self._told: Counter[Refusal] = Counter()
        self._counted: Counter[Refusal] = Counter()

    @property
    def counted(self) -> bool:
        """Whether there is something to settle."""
        return bool(self._counted)

    def add(self, one: Refusal, *, room: bool = True) -> bool:
        """Whether it is told by itself; otherwise it is counted, as it is when there is no `room`."""
        kind = one.kind
        used_up = self._told[kind] >= self._alike
        if room and not used_up and self._told.total() < self._most:
            self._told[kind] += 1
            return True
        # Kinds have no bound, as addresses have none; those that were told so often have, and codes.
        self._counted[kind if used_up else Refusal(one.code)] += one.times
        return False

    def settle(self) -> list[Refusal]:
        """The sums of what was only counted; another stretch begins."""
        counted, self._counted, self._told = self._counted, Counter(), Counter()
        return [replace(kind, times=times) for kind, times in counted.items()]
