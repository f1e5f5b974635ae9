"""The promises of a store and who keeps them, so that people and models learn what is not the same.

A store has `promises`; those of a local folder depend on its system, its file system and the state folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import asdict

Keeper: TypeAlias = Literal["kernel", "store", "readroom", "none"]
"""Who keeps a promise: the kernel of this machine, the store or its server, readroom by its own steps, or
nobody. An earlier one is stronger."""


class Promises(Struct, frozen=True, kw_only=True):
    """The promises of a store.

    Attributes:
        opening: The name that was checked is the file that is opened, and no link leads out, whatever is
            renamed meanwhile.
        exchange: A change takes the place of exactly the state that was read.
        locks: Writers of readroom wait for each other.
        together: Several files change together or not at all, also when the process is killed.
        folded: Whether names that differ only in case are one name; None where that is not known.
    """

    opening: Keeper
    exchange: Keeper
    locks: Keeper
    together: Keeper
    folded: bool | None = False

    @property
    def confinement(self) -> Literal["kernel", "none"]:
        """Whether the kernel keeps every path inside the root; "none" says that others do, or nobody."""
        return "kernel" if self.opening == "kernel" else "none"

    @property
    def facts(self) -> dict[str, Any]:
        """All of them, JSON-ready."""
        return {"confinement": self.confinement, **asdict(self)}


NOTHING = Promises(opening="none", exchange="none", locks="none", together="none", folded=None)
"""The promises of a store of which nothing is known."""

KEPT: tuple[str, ...] = ("opening", "exchange", "locks", "together")
"""The names of the promises that somebody keeps."""


def weakest(every: Iterable[Promises]) -> Promises:
    """The promises that hold in all of several stores."""
    known = list(every)
    folded = {one.folded for one in known}
    order = get_args(Keeper)
    least = {name: max((getattr(one, name) for one in known), key=order.index) for name in KEPT}
    return Promises(**least, folded=True if True in folded else None if None in folded else False)


# -----------------------------------------------------------------------------
# The words.
# -----------------------------------------------------------------------------

OPENING: Mapping[str, str] = {
    "kernel": "links cannot lead out: the kernel resolves every path beneath the root (openat2)",
    "readroom": "links cannot lead out: every part of a path is opened by itself, following no link",
    "store": "links cannot lead out: the store knows no names but its own",
    "none": "a name may come to mean another file between its check and its opening",
}
"""The meaning of each keeper of `opening`, for people and models."""

_EXCHANGE = {
    "kernel": "a change takes the place of the state that was read (exchange by the kernel)",
    "readroom": "a change takes the place of the state that was read (exchange by readroom)",
    "store": "a change takes the place of the state that was read (exchange by the store)",
    "none": "no exchange: the state is compared just before, and another program's change after that is lost",
}

_LOCKS = {
    "kernel": "writers on this machine wait for each other (locks of the kernel)",
    "readroom": "writers wait for each other (locks of readroom)",
    "store": "writers wait for each other (locks of the store)",
    "none": "no locks: writers do not wait for each other",
}

_TOGETHER = {
    "kernel": "several files change all or none (by the kernel)",
    "readroom": "several files change all or none, also when the process is killed (journal of readroom)",
    "store": "several files change all or none (by the store)",
    "none": "not all or none: a killed process may leave part of a change of several files",
}

_FOLDED = {
    True: "names that differ only in case are one name",
    False: "names that differ in case are different names",
    None: "unknown whether names that differ only in case are one name",
}


def in_words(promises: Promises) -> str:
    """Who keeps paths inside, for people: "confinement: none" where the kernel does not."""
    held = OPENING[promises.opening]
    return held if promises.confinement == "kernel" else f"confinement: none; {held}"


def told(promises: Promises) -> str:
    """The promises besides the opening, and who keeps them, for people."""
    every = (
        _EXCHANGE[promises.exchange],
        _LOCKS[promises.locks],
        _TOGETHER[promises.together],
        _FOLDED[promises.folded],
    )
    return "; ".join(every)


_SHORT = {
    "opening": "race-free opening",
    "exchange": "exchange",
    "locks": "locks",
    "together": "all-or-none",
}


def differing(promises: Promises) -> str:
    """The differences from a folder of this machine under a kernel that helps, briefly; may be empty."""
    said = [] if promises.confinement == "kernel" else ["confinement: none"]
    missing = [words for name, words in _SHORT.items() if getattr(promises, name) == "none"]
    if missing:
        said.append(f"not promised: {', '.join(missing)}")
    if promises.folded:
        said.append("case of names does not count")
    return "; ".join(said)
