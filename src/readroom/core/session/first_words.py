"""A sentence that the first reply of each conversation ends with, and again after it was shortened."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.text.select import byte_size

if TYPE_CHECKING:
    from readroom.core.caller import Caller
    from readroom.core.contracts.base import Contract
    from readroom.core.session.gatekeeper import Gatekeeper
    from readroom.core.values import Cap, Reply

_WHAT = "folders"

_REMARK_BYTES = 100
"""A bound of the text that contracts put around a remark."""


@final
class FirstWords:
    """A sentence about a workspace; an empty one is never said. Safe to share between threads."""

    def __init__(self, words: str, gatekeeper: Gatekeeper) -> None:
        self.words = words
        self._gatekeeper = gatekeeper

    def are_due(self, caller: Caller) -> bool:
        """Whether the next reply is to end with it. A person at a shell has said it a moment ago."""
        if not self.words or caller.face == "cli":
            return False
        return not self._gatekeeper.session(caller.session).was_told(_WHAT)

    def room(self, cap: Cap, caller: Caller) -> Cap:
        """The size limit of a reply without the sentence."""
        if not self.are_due(caller):
            return cap
        return replace(cap, size=max(cap.size - byte_size(self.words) - _REMARK_BYTES, MIN_REPLY_BYTES))

    def said(self, reply: Reply, record: Contract) -> Reply:
        """The reply with it."""
        return record.remark(reply, self.words)

    def were_said(self, caller: Caller) -> None:
        """Remember it."""
        self._gatekeeper.session(caller.session).tell(_WHAT)
