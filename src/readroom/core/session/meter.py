"""The cost of a call: the seam `Meter`, and requests reduced for a low budget.

Knows: levels, reservations as a call sees them, and how tokens are counted.
Does not know: whose budgets there are, and where they are kept; a server does (`session/budgets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from readroom.core import values
from readroom.core.caller import Caller
from readroom.core.errors import MissingProgram
from readroom.core.extras import install
from readroom.core.session.conversation import State
from readroom.core.values.commands import EndRequest, RunRequest, WatchRequest
from readroom.core.values.find import FindOutput
from readroom.core.values.many import ReadManyRequest, ReadManyResult
from readroom.core.values.verbs import BY_REQUEST, function


class Level(IntEnum):
    """What is still possible with a budget, from everything to nothing."""

    CONTENT = 0
    OUTLINE = 1
    COUNTS = 2
    CHANGES = 3
    SPENT = 4


class Use(Struct, frozen=True):
    """How much of a budget is used.

    Attributes:
        scope: session, token or workspace.
        limit: The tokens of the budget.
        used: The tokens spent so far.
        warned: The percentage that this call reached, 0 if none.
    """

    scope: str
    limit: int
    used: int
    warned: int = 0

    @property
    def left(self) -> int:
        """Tokens, never negative."""
        return max(0, self.limit - self.used)


class Reservation(Protocol):
    """Tokens reserved for one call. Used by one thread; settled exactly once. Methods raise StateFailed."""

    amount: int
    level: Level

    def spent(self) -> Use:
        """The budget with the least left."""

    def grow(self, amount: int) -> bool:
        """Reserve more, if every budget has it."""

    def settle(self, tokens: int) -> Sequence[Use]:
        """Release the reservation and pay the real cost; how much of each budget is used."""


class Meter(Protocol):
    """The budgets of one workspace. Safe to share between threads."""

    def reserve(self, caller: Caller, wanted: int) -> Reservation:
        """Reserve up to `wanted` tokens, fewer if a budget has fewer. Raises StateFailed."""


class Metering(Protocol):
    """The settings of budgets."""

    @property
    def counter(self) -> str:
        """The name of the counter of tokens."""

    def meter(self, workspace: str, state: State | None) -> Meter | None:
        """The budgets of a workspace; None if nothing is bounded."""


# -----------------------------------------------------------------------------
# How a call is reduced when its budget runs low.
# -----------------------------------------------------------------------------

REASON = "budget"
"""The `reason` of omissions because of a budget."""


def degraded(request: values.Request, level: Level) -> values.Request:
    """The request reduced to what a level allows."""
    less = BY_REQUEST[type(request)].degraded
    if level is Level.CONTENT or less is None:
        return request
    smaller: values.Request = function(less)(request, level)
    return smaller


def less_of_read(request: values.ReadRequest, level: Level) -> values.ReadRequest:
    """The outline of the file; at the lowest level a read that shows only counts."""
    return outlined(request) if level is Level.OUTLINE else replace(request, view="text", symbol=None)


def less_of_grep(request: values.GrepRequest, level: Level) -> values.GrepRequest:
    """Counts of matches, at every level."""
    if request.output == "references":
        from readroom.core.search.names import whole_word  # of a budget that runs low

        request = replace(request, pattern=whole_word(request.pattern), fixed=False, kinds=())
    if request.output not in ("content", "references"):
        return request
    return replace(request, output="count", cursor=None)


def less_of_find(request: values.FindRequest, level: Level) -> values.FindRequest:
    """The signatures of passages, then the names of their files."""
    output: FindOutput = "outline" if level is Level.OUTLINE else "files"
    return replace(request, output=output, cursor=None, explain=False)


def less_of_list(request: values.ListRequest, level: Level) -> values.ListRequest:
    """The folder alone, at every level."""
    return replace(request, depth=1)


def less_of_run(request: RunRequest, level: Level) -> RunRequest:
    """The command without its output, at every level."""
    return replace(request, output="silent")


def less_of_output(request: WatchRequest | EndRequest, level: Level) -> WatchRequest | EndRequest:
    """The look at a command without its output, at every level."""
    return replace(request, output="silent")


def outlined(request: values.ReadRequest) -> values.ReadRequest:
    """The request for the outline of the same file."""
    if request.pages is not None or request.view == "outline":
        return request
    return values.ReadRequest(
        request.path,
        known_hash=request.known_hash,
        encoding=request.encoding,
        view="outline",
        options=request.options,
    )


def shows_content(request: values.Request, level: Level) -> bool:
    """Whether the result is shown as it is at that level."""
    if level is Level.CONTENT or BY_REQUEST[type(request)].counted is None:
        return True
    return level is Level.OUTLINE and getattr(request, "view", "") == "outline"


def counted(result: values.Result, request: values.Request) -> values.Result:
    """The result reduced to its counts."""
    less = BY_REQUEST[type(request)].counted
    assert less is not None
    counts: values.Result = function(less)(result, request)
    return counts


def counts_of_read(result: values.ReadResult, request: values.ReadRequest) -> values.ReadResult:
    """A read without its lines: facts about the file, and the request that would show it."""
    if result.not_modified:
        return result
    total = result.total_lines or 0
    omitted = (values.Omission("lines", 1, total, REASON, request=request),) if total else ()
    return replace(
        result,
        start=0,
        lines=(),
        header=None,
        cuts={},
        omitted=omitted,
        next=None,
        image=None,
        document=None,
    )


def counts_of_reads(result: ReadManyResult, request: ReadManyRequest) -> ReadManyResult:
    """The same of each file."""
    return ReadManyResult(
        [
            counts_of_read(item, values.ReadRequest(item.path, request.offset, request.limit))
            if isinstance(item, values.ReadResult)
            else item
            for item in result.items
        ]
    )


# -----------------------------------------------------------------------------
# Counting tokens: an estimate that needs no package, or an exact count that needs one.
# -----------------------------------------------------------------------------

Counter: TypeAlias = Callable[[str], int]
"""Returns the number of tokens of a text."""

COUNTERS: Final = ("estimate", "o200k")
"""Names of the counters: an estimate of o200k, and the exact count."""


def counter(name: str) -> Counter:
    """The counter of that name. Raises MissingProgram if its package is not installed."""
    if name == "estimate":
        from readroom.core.text.tokens import estimate

        return estimate
    import warnings

    try:
        with warnings.catch_warnings():
            # It opens its vocabulary in a way that Python 3.11 deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai

            encoding = bpe_openai.get_encoding("o200k_base")
    except ImportError:
        raise MissingProgram("bpe-openai", install("tokens")) from None

    def count(text: str) -> int:
        return len(encoding.encode(text.encode("utf-8", "replace").decode()))

    return count
