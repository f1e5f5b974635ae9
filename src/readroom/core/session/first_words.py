"""A sentence that the first reply of each conversation ends with, and again after it was shortened.

It is about the folders of a workspace with several, or about what is not the same in a store as in a folder
of this machine under a kernel that helps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.promises import Promises, differing
from readroom.core.text.select import byte_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from readroom.core.caller import Caller
    from readroom.core.contracts.base import Contract
    from readroom.core.session.gatekeeper import Gatekeeper
    from readroom.core.values import Cap, Fact, Reply

FACT = "workspace"
"""The fact that comes with the sentence."""

_WHAT = "folders"

_REMARK_BYTES = 100
"""A bound of the text that contracts put around a remark."""


def of_store(promises: Promises, gatekeeper: Gatekeeper) -> FirstWords:
    """The differences of a workspace of one root from a plain folder, if there are any."""
    differs = differing(promises)
    words = f"Workspace: {differs}." if differs else ""
    return FirstWords(words, promises.facts, gatekeeper, to_all=False)


def of_folders(words: str, facts: Sequence[Mapping[str, Fact]], gatekeeper: Gatekeeper) -> FirstWords:
    """The sentence about the folders of a workspace with several; facts about each."""
    return FirstWords(words, {"folders": list(facts)}, gatekeeper, to_all=True)


@final
class FirstWords:
    """A sentence about a workspace; an empty one is never said. Safe to share between threads."""

    def __init__(
        self, words: str, facts: Mapping[str, Fact], gatekeeper: Gatekeeper, *, to_all: bool
    ) -> None:
        """`to_all` says it also to programs that name neither themselves nor a conversation."""
        self.words = words
        self._facts = facts
        self._gatekeeper = gatekeeper
        self._to_all = to_all

    def are_due(self, caller: Caller) -> bool:
        """Whether the next reply is to end with it. A person at a shell has said it a moment ago."""
        if not self.words or caller.face == "cli" or caller.hosts:
            return False
        if not self._to_all and not (caller.is_one_reader and (caller.session or caller.agent)):
            return False
        return not self._gatekeeper.session(caller.session).was_told(_WHAT)

    def room(self, cap: Cap, caller: Caller) -> Cap:
        """The size limit of a reply without the sentence."""
        if not self.are_due(caller):
            return cap
        return replace(cap, size=max(cap.size - byte_size(self.words) - _REMARK_BYTES, MIN_REPLY_BYTES))

    def said(self, reply: Reply, record: Contract) -> Reply:
        """The reply with it, and with the fact."""
        sent = reply.build_sent
        reply = replace(
            reply,
            build_facts=partial(self._with_fact, reply.build_facts),
            build_sent=None if sent is None else partial(self._with_fact, sent),
        )
        return record.remark(reply, self.words) if self._to_all or record.name == "native" else reply

    def were_said(self, caller: Caller) -> None:
        """Remember it."""
        self._gatekeeper.session(caller.session).tell(_WHAT)

    def _with_fact(self, build: Callable[[], dict[str, Fact]]) -> dict[str, Fact]:
        return {**build(), FACT: dict(self._facts)}
