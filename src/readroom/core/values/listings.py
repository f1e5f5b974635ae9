"""Choose what an outline lists when a file has too many definitions, and what it folds.

Nothing that is folded is lost: it is counted, found by its name, and listed by a full outline.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.values.files import RUN, Item, Row, folded_in, main_rows, rows


class Folds(Struct, frozen=True):
    """What is folded, for one language, if an outline is still too long without its minor items.

    Items of `lesser` kinds, unless there are no others; with `nested`, items inside others, the most costly
    first; with `runs`, of functions declared one after another, everything but the names.
    """

    lesser: frozenset[str] = frozenset()
    nested: bool = False
    runs: bool = False


NO_FOLDS = Folds()


class Listing(Struct, frozen=True):
    """What an outline lists; `folded` counts by kind the minor items that are in none of it."""

    rows: Sequence[Row]
    folded: tuple[tuple[str, int], ...] = ()


OUTLINE_SHORT_BYTES = 2_000
"""Nested keys of data, and signatures of headers, are folded only in longer outlines: a shorter one is
quickly read, and most are asked for the names of services, scripts or jobs."""


def listing(
    items: Sequence[Item], maximum: float, cost: Callable[[Row], int], folds: Folds = NO_FOLDS
) -> Listing:
    """All rows if they cost at most `maximum`; else those that are not minor, less what a language folds."""
    if folds.nested:
        maximum = max(maximum, OUTLINE_SHORT_BYTES)
    whole, left = list[Row](), maximum
    for row in rows(items):
        whole.append(row)
        left -= cost(row)
        if left < 0:
            break
    else:
        return Listing(whole)
    main = list(main_rows(items))
    if folds.lesser and sum(map(cost, main)) > maximum and any(row.item.kind in folds.lesser for row in main):
        fewer = _lessened(items, folds.lesser)
        kept = list(main_rows(fewer))
        items, main = (fewer, kept) if kept else (items, main)
    if folds.nested:
        main = list(main_rows(_emptied(items, maximum, cost)))
    if folds.runs and sum(map(cost, main)) > max(maximum, OUTLINE_SHORT_BYTES):
        main = list(_in_runs(main))
    return Listing(main, folded_in(items))


_DECLARED = frozenset({"function", "method", "type"})
_SIGNATURE = "signature"


def named(listed: Sequence[Row]) -> int:
    """How many definitions rows name."""
    return sum(row.folded[0][1] if row.is_run else 1 for row in listed)


OUTLINE_RUN = 12
"""Functions or types of a header named in one row where their signatures would flood an outline: the lines of
so many are quickly read, and outlines of headers take half the bytes."""

OUTLINE_RUN_LINES = 8
"""Most lines of such a function without its comment: some are declared with one parameter per line."""


def _in_runs(listed: Sequence[Row]) -> Iterator[Row]:
    """The rows, with one row of names for some short functions, or types, that follow each other."""
    run = list[Row]()
    for row in listed:
        item = row.item
        fits = item.kind in _DECLARED and not item.members and item.end - item.line < OUTLINE_RUN_LINES
        is_alike = run and row.path[:-1] == run[0].path[:-1] and _word(row.item) == _word(run[0].item)
        if run and not (fits and is_alike and len(run) < OUTLINE_RUN):
            yield from _joined(run)
            run = []
        if fits:
            run.append(row)
        else:
            yield row
    yield from _joined(run)


def _word(item: Item) -> str:
    """The first word of a row of names: none for functions, the word that declares types."""
    return f"{item.signature.split()[0]} " if item.kind == "type" else ""


def _joined(run: Sequence[Row]) -> Sequence[Row]:
    if not run[1:]:
        return run
    first, names = run[0], ", ".join(row.item.name for row in run)
    certain = all(row.item.certain for row in run)
    item = replace(
        first.item, kind=RUN, signature=_word(first.item) + names, end=run[-1].item.end, certain=certain
    )
    return [replace(first, item=item, folded=((_SIGNATURE, len(run)),))]


def _emptied(items: Sequence[Item], maximum: float, cost: Callable[[Row], int]) -> tuple[Item, ...]:
    """The items, those in others made minor, the costliest first, until the rest fits."""
    inside = [sum(map(cost, main_rows(item.members, 1))) for item in items]
    left = sum(inside) + sum(cost(Row(item, 0, (item.name,))) for item in items) - maximum
    emptied = set[int]()
    for at in sorted(range(len(items)), key=lambda at: -inside[at]):
        if left <= 0 or not inside[at]:
            break
        left -= inside[at]
        emptied.add(at)
    return tuple(
        replace(item, members=tuple(replace(member, minor=True) for member in item.members))
        if at in emptied
        else item
        for at, item in enumerate(items)
    )


def _lessened(items: Sequence[Item], kinds: Container[str]) -> tuple[Item, ...]:
    """The items, those of some kinds made minor."""
    return tuple(
        replace(item, minor=item.minor or item.kind in kinds, members=_lessened(item.members, kinds))
        if item.members or item.kind in kinds
        else item
        for item in items
    )
