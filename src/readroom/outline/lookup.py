"""Which definition a name means: `Class.method`, `function`, `a::b`, `Type#method`, a heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from readroom.limits import NEAR_NAMES
from readroom.outlines import Outline, Row, rows
from readroom.quoting import unquoted

_SEPARATORS = re.compile(r"::|->|[.#:\\/]")
_OPERATOR = re.compile(r"(?:^|[.:#])operator(?=[^\w.:#])")
"""Of C++ and C#, whose names are made of what separates others."""

_ARGUMENTS = re.compile(r"\(.*\)\s*\Z|<[^<>]*>")
_PLAIN = frozenset({"heading", "table", "key"})

_LIKELY = 60
"""Least likeness, of 100, of a suggested name: `lenght` for `length` has 83."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a name means: `rows`, more than one when it is ambiguous; none, and then `near` names."""

    rows: Sequence[Row]
    near: Sequence[Row] = ()


def look_up(outline: Outline, symbol: str, line: int | None = None) -> Found:
    """The definitions that `symbol` names.

    A whole qualified name wins over the end of one, and a type over what extends
    it elsewhere.  `line` chooses among several: the one that holds it.
    """
    listed = list(rows(outline.items))
    # In the quotes of replies too, unless something has them in its name.
    found = _named(listed, symbol, line) or _named(listed, unquoted(symbol) or symbol, line)
    if len(found) > 1:
        found = _different(found)
    return Found(found, () if found else _near(listed, symbol))


def _named(listed: Sequence[Row], symbol: str, line: int | None) -> list[Row]:
    parts, folded = _parts(symbol), _folded(symbol)
    ways: tuple[Callable[[Row], bool], ...] = (
        lambda row: row.name == symbol,
        # A heading, or a key with dots in it, is one name, whatever it holds.
        lambda row: row.item.kind in _PLAIN and row.item.name == symbol,
        lambda row: row.item.kind in _PLAIN and _folded(row.item.name) == folded,
        lambda row: bool(parts) and _flat(row) == parts,
        lambda row: bool(parts) and _flat(row)[-len(parts) :] == parts,
    )
    for fits in ways:
        found = [row for row in listed if fits(row)]
        if found:
            here = [row for row in found if line is not None and row.item.start <= line <= row.item.end]
            found = here or found
            return _outermost(_owned(found))
    return []


def _folded(text: str) -> str:
    return " ".join(text.lstrip("# ").split()).casefold()


def _parts(symbol: str) -> tuple[str, ...]:
    operator = _OPERATOR.search(symbol)
    if operator:
        return (
            *_split(symbol[: operator.start()]),
            " ".join(symbol[operator.start() :].lstrip(".:#").split()),
        )
    return _split(_ARGUMENTS.sub("", symbol.strip()).lstrip("#* "))


def _split(name: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip(" ()*&") for part in _SEPARATORS.split(name))))


def _flat(row: Row) -> tuple[str, ...]:
    """Its names, those with dots in them split: what a reader copies may be either."""
    if not any(_SEPARATORS.search(name) for name in row.path):
        return row.path
    return tuple(part for name in row.path for part in _parts(name) or (name,))


def _owned(found: list[Row]) -> list[Row]:
    """Without blocks that extend a type which is itself among them."""
    own = [row for row in found if row.item.kind not in ("impl", "extension")]
    return own or found


def _outermost(found: list[Row]) -> list[Row]:
    """Without those inside another one."""
    kept: list[Row] = []
    for row in found:
        inside = kept and kept[-1].item.start <= row.item.start and row.item.end <= kept[-1].item.end
        if not (inside and row.depth > kept[-1].depth):
            kept.append(row)
    return kept


def _different(found: list[Row]) -> list[Row]:
    """One for each span: definitions on the same lines read the same."""
    spans: dict[tuple[int, int], Row] = {}
    for row in found:
        spans.setdefault((row.item.start, row.item.end), row)
    return list(spans.values())


def _near(listed: Sequence[Row], symbol: str) -> list[Row]:
    names = [row.name for row in listed]
    last = (_parts(symbol) or (symbol,))[-1]
    best: dict[int, float] = {}
    for wanted, choices in ((symbol, names), (last, [row.item.name for row in listed])):
        for _, score, at in process.extract(
            wanted, choices, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=_LIKELY, limit=NEAR_NAMES
        ):
            best[at] = max(best.get(at, 0), score)
    return [listed[at] for at in sorted(best, key=lambda at: (-best[at], at))[:NEAR_NAMES]]
