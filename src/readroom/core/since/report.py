"""The news in a reply: sentences where its contract has room for them, and a fact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import final

from msgspec.structs import replace

from readroom.core.caller import Caller
from readroom.core.contracts.base import Contract
from readroom.core.contracts.native.calls import as_tool_call, shown
from readroom.core.errors import Stale
from readroom.core.since import words
from readroom.core.since.values import CLOSELY, News
from readroom.core.values import Fact, Reply, Request
from readroom.core.values.history import Author

FACT = "changed_since_seen"
"""The fact with the news."""


@final
class Report:
    """News in the words of one contract, for one reader."""

    def __init__(self, record: Contract, caller: Caller) -> None:
        self._record = record
        self._caller = caller

    def size(self, found: Sequence[News]) -> int:
        """The bytes that sentences about news may take, with escapes."""
        return sum(
            2 * len(sentence.encode("utf-8", "replace")) + 8 for sentence in self._sentences(found, ())
        )

    def added(self, reply: Reply, told: Sequence[News], paths: Sequence[str]) -> Reply:
        """The reply with news; of the files with these paths it shows the new state itself."""
        facts = [words.fact(news, named=self._may_name(news.author)) for news in told]
        sent = reply.build_sent
        reply = replace(
            reply,
            build_facts=partial(_with_news, reply.build_facts, facts),
            build_sent=None if sent is None else partial(_with_news, sent, facts),
        )
        for sentence in self._sentences(told, paths):
            reply = self._record.tell(reply, sentence)
        return reply

    def explain(self, error: Stale, news: News, *, own: bool) -> None:
        """Add to a refusal who made the change, when, and where the lines are."""
        assert news.at_ns is not None
        named = self._may_name(news.author)
        author = "by this conversation" if own else words.by(news.author, named=named)
        fact = words.fact(news, named=named)
        when, places = words.moment(news.at_ns, author), words.of_seen(news.places)
        error.add(when, places, at=fact["at"], by=fact["by"], lines=fact["lines"] or None)

    def _sentences(self, told: Sequence[News], paths: Sequence[str]) -> list[str]:
        said = [
            words.sentence(
                news,
                self._spelled,
                author=words.by(news.author, named=self._may_name(news.author)),
                briefly=news.seen.path in paths,
            )
            for news in told[:CLOSELY]
        ]
        left = len(told) - len(said)
        return [*said, words.more(left)] if left else said

    def _spelled(self, request: Request) -> str:
        """A request as a call that the reader can send; empty if there is none."""
        if self._record.name == "native":
            return shown(request)
        call = self._record.to_call(request)
        return "" if call is None else as_tool_call(call)

    def _may_name(self, author: Author | None) -> bool:
        """Whether the reader may know the names of the other one."""
        return author is None or not self._caller.token or self._caller.token == author.token


def _with_news(build: Callable[[], dict[str, Fact]], facts: Sequence[Fact]) -> dict[str, Fact]:
    return {**build(), FACT: list(facts)}
