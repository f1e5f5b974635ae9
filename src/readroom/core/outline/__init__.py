"""Outlines of source code, markup and structured data: functions of texts.

Knows: languages, their grammars, and the definitions in one text.
Does not know: files and policies, and which parts of an outline are shown.
May be touched: freely; a language is a row of `languages`, its module in `grammars`, and a fixture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.limits import NEAR_NAMES
from readroom.core.limits.outline import LARGE_MEMORY_KIB, OUTLINE_ERRORS
from readroom.core.outline.syntax import Grammar, MissingGrammar, load, plan_of
from readroom.core.quoting import unquoted
from readroom.core.text.encodings import visible
from readroom.core.values.files import Item, Outline, Row, rows

if TYPE_CHECKING:
    from tree_sitter import Range, Tree

    from readroom.core.outline.certain import Damage
    from readroom.core.outline.walk import Walk

# -----------------------------------------------------------------------------
# The outline of a text, within a time limit.
# -----------------------------------------------------------------------------

_CHUNK_BYTES = 64 * 1024
"""Bytes per call of the function that feeds the parser, which can be stopped only if it is fed like that."""


_STEPS = 32
"""Progress callbacks of the parser per check of the clock and the memory: a callback comes every few hundred
bytes, and a check takes longer than parsing those."""


_TOO_DEEP = "it is nested too deeply"


class Unparsable(Exception):
    """A text that cannot be parsed safely, with the reason."""


class TooMuchMemory(Unparsable):
    """A text whose tree is too large."""


def can_outline(language: str | None) -> bool:
    """Whether `build` knows the language."""
    from readroom.core.outline.grammars import GRAMMARS

    return language in GRAMMARS or (language is not None and _by_lines(language) is not None)


def _by_lines(language: str) -> Callable[[str, Deadline], Sequence[Item]] | None:
    """The function that outlines a language by its lines; None for other languages."""
    from readroom.core.outline.blocks import BLOCKS
    from readroom.core.outline.html import html
    from readroom.core.outline.markup import MARKUP

    return html if language == "html" else MARKUP.get(language) or BLOCKS.get(language)


def build(text: str, language: str, deadline: Deadline, *, isolated: bool = False) -> Outline:
    """The outline of a text in a language that `can_outline` knows; an `isolated` process takes more memory.

    Raises:
        TimedOut, Cancelled: From the deadline; there is no partial result.
        Unparsable: The text cannot be parsed safely, or the grammar is not installed.
    """
    from readroom.core.outline.grammars import GRAMMARS, grammar_of

    # A reply cannot contain half of a surrogate pair.
    text = visible(text)
    by_lines = None if language in GRAMMARS else _by_lines(language)
    if by_lines is not None:
        return Outline(language, tuple(by_lines(text, deadline)))
    grammar = grammar_of(language)
    try:
        load(grammar)
    except MissingGrammar as missing:
        raise Unparsable(str(missing)) from None
    return _parsed(text, language, grammar, deadline, isolated=isolated)


OUTLINE_MEMORY_KIB = 256 * 1024
"""How much the process may grow while one text is parsed, in KiB: some 80 MB is usual, hostile texts take
gigabytes."""


def _parsed(text: str, language: str, grammar: Grammar, deadline: Deadline, *, isolated: bool) -> Outline:
    from readroom.core.outline.cuts import whole, without_bodies
    from readroom.core.outline.walk import Walk

    source = text.encode()
    deadline.check()
    memory = LARGE_MEMORY_KIB if isolated else OUTLINE_MEMORY_KIB
    cut = without_bodies(source, grammar, deadline)
    if cut is not None and _is_surely_shallow(cut.source):
        parsing = Parsing(cut.source, grammar, deadline, memory)
        tree = parsing.whole()
        if not tree.root_node.has_error and cut.is_code(tree.root_node):
            walk = Walk(cut, grammar, deadline, parsing.part)
            return Outline(language, walk.items(tree.root_node), _TOO_DEEP if walk.too_deep else None)
    require_shallow(source, text)
    parsing, tree = best_tree(source, grammar, deadline, memory)
    walk = Walk(whole(source), parsing.grammar, deadline, parsing.part)
    items = walk.items(tree.root_node)
    from readroom.core.outline.certain import bare_bodies, damage_of, with_ends

    damage = damage_of(tree.root_node, deadline, plan_of(parsing.grammar).larger)
    if damage.errors:
        tree, items, damage = _simplified(text, parsing, walk, tree, items, damage)
    partial, bare = None, bare_bodies(tree.root_node)
    errors = sorted([*damage.errors, *bare])
    if errors:
        from readroom.core.outline.recover import with_headed, with_lost

        around = sorted([*damage.wide, *bare])
        items = with_lost(items, source, around, parsing.part, lambda piece: walk.items(piece.root_node))
        if parsing.grammar.heads is not None:
            items = with_headed(items, source, parsing.grammar.heads)
        items = with_ends(items, text, language, errors, deadline)
    if walk.too_deep:
        partial = _TOO_DEEP
    elif errors:
        partial = f"it has syntax errors, the first in line {errors[0][0]:,}"
    return Outline(language, items, partial, tuple(errors[:OUTLINE_ERRORS]))


def best_tree(source: bytes, grammar: Grammar, deadline: Deadline, memory_kib: int) -> tuple[Parsing, Tree]:
    """The tree of a text, from the grammar of its language or from one that fits better.

    Raises:
        TimedOut, Cancelled: From the deadline.
        Unparsable: It takes too much memory to parse.
    """
    parsing = Parsing(source, grammar, deadline, memory_kib)
    tree = parsing.whole()
    if not tree.root_node.has_error or grammar.other is None or grammar.other_if is None:
        return parsing, tree
    if grammar.other_if.search(source) is None:
        return parsing, tree
    from readroom.core.outline.certain import damage_of
    from readroom.core.outline.grammars import grammar_of

    another = Parsing(source, grammar_of(grammar.other), deadline, memory_kib)
    other = another.whole()
    before, after = (len(damage_of(one.root_node, deadline).errors) for one in (tree, other))
    better = after < before
    return (another, other) if better else (parsing, tree)


def _simplified(
    text: str, parsing: Parsing, walk: Walk, tree: Tree, items: tuple[Item, ...], damage: Damage
) -> tuple[Tree, tuple[Item, ...], Damage]:
    """The tree, items and damage of a simplified text if it has fewer errors, with items of the original."""
    simplify = parsing.grammar.simplify
    if simplify is None:
        return tree, items, damage
    simple = parsing.of(simplify(parsing.prepared, damage.errors))
    if simple.prepared == parsing.prepared:
        return tree, items, damage
    from readroom.core.outline.certain import damage_of, with_ends
    from readroom.core.outline.recover import with_others

    other = simple.whole()
    remaining = damage_of(other.root_node, parsing.deadline, plan_of(parsing.grammar).larger)
    if len(remaining.errors) >= len(damage.errors):
        return tree, items, damage
    others = with_ends(items, text, "", damage.errors, parsing.deadline)
    return other, with_others(walk.items(other.root_node), others), remaining


class Parsing:
    """Parses one text with one grammar, within limits of time and memory."""

    def __init__(self, source: bytes, grammar: Grammar, deadline: Deadline, memory_kib: int) -> None:
        self.grammar = grammar
        self.prepared = source if grammar.prepare is None else grammar.prepare(source)
        self.deadline = deadline
        self._maximum = getrusage(RUSAGE_SELF).ru_maxrss + memory_kib
        self._steps = 0

    def of(self, prepared: bytes) -> Parsing:
        """The same for another form of the text."""
        other = copy(self)
        other.prepared = prepared
        return other

    def whole(self) -> Tree:
        """The tree of the text. Raises TimedOut, Cancelled or Unparsable."""
        tree = self.part(None)
        if tree is None or self._is_over():
            self.deadline.check()
            raise TooMuchMemory("it takes too much memory to parse")
        return tree

    def part(self, span: Range | None) -> Tree | None:
        """The tree of a part of the text, or of all; None if memory or time ran out."""
        from tree_sitter import Parser

        parser = Parser(load(self.grammar))
        if span is not None:
            parser.included_ranges = [span]
        try:
            return parser.parse(self._feed, progress_callback=self._stops)
        except ValueError:
            return None

    def _is_over(self) -> bool:
        spent = self.deadline.cancelled or self.deadline.expired
        return spent or getrusage(RUSAGE_SELF).ru_maxrss > self._maximum

    def _stops(self, *state: object) -> bool:
        self._steps += 1
        return self._steps % _STEPS == 0 and self._is_over()

    def _feed(self, offset: int, point: object) -> bytes:
        # Some scanners search the whole rest for one token without calling the progress callback.
        return b"" if self._is_over() else self.prepared[offset : offset + _CHUNK_BYTES]


_BRACKETS = re.compile(r"[()\[\]{}<>;]")
_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}


_NO_BRACKET = bytes(set(range(256)) - set(b"()[]{}"))
_PEELED = 20


OUTLINE_BRACKETS = 500
"""Nested brackets in a text that is parsed. 100,000 times `A<` overflow the stack of a Java parser; real
programs have 30."""


def _is_surely_shallow(source: bytes) -> bool:
    """Whether a text is surely not nested too deeply, by a cheap check: innermost pairs are removed."""
    marks, angles = source.translate(None, _NO_BRACKET), source.count(b"<")
    for _ in range(_PEELED):
        rest = marks.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(rest) == len(marks):
            break
        marks = rest
    # Each round removes at most three levels, one per kind of bracket.
    return len(marks) + 3 * _PEELED + angles <= OUTLINE_BRACKETS


def require_shallow(source: bytes, text: str) -> None:
    """Refuse a text that is nested so deeply that a parser in C could overflow its stack."""
    if _is_surely_shallow(source):
        return
    if max(text.count(opening) for opening in _OPENING) <= OUTLINE_BRACKETS:
        return
    depth = angles = 0
    for bracket in _BRACKETS.finditer(text):
        mark = bracket[0]
        if mark == "<":
            angles += 1
        elif mark == ">":
            angles = max(0, angles - 1)
        elif mark in _OPENING:
            depth += 1
        elif mark != ";":
            depth = max(0, depth - 1)
        if mark in ";{}":
            angles = 0  # these were comparisons
        if depth + angles > OUTLINE_BRACKETS:
            raise Unparsable(_TOO_DEEP)


# -----------------------------------------------------------------------------
# Find the definition for a name: `Class.method`, `function`, `a::b`, `Type#method`, a heading.
# -----------------------------------------------------------------------------

_SEPARATORS = re.compile(r"::|->|[.#:\\/]")
_OPERATOR = re.compile(r"(?:^|[.:#])operator(?=[^\w.:#])")
"""An operator of C++ or C#, whose name may consist of characters that separate other names."""

_ARGUMENTS = re.compile(r"\(.*\)\s*\Z|<[^<>]*>")
_PLAIN = frozenset({"heading", "table", "key"})

_LIKELY = 60
"""The lowest similarity, of 100, of a suggested name: `lenght` for `length` has 83."""


class FoundSymbol(Struct, frozen=True):
    """The definitions for a name: `rows`, several if it is ambiguous; if there are none, `near` names."""

    rows: Sequence[Row]
    near: Sequence[Row] = ()


def look_up(outline: Outline, symbol: str, line: int | None = None) -> FoundSymbol:
    """The definitions that `symbol` names.

    A full qualified name wins over the end of one, and a type over its extensions.  Among several, `line`
    selects the one that contains it.
    """
    listed = list(rows(outline.items))
    # A name may come with the quotes of a reply, unless they are part of a name.
    matching = _named(listed, symbol, line) or _named(listed, unquoted(symbol) or symbol, line)
    if len(matching) > 1:
        matching = _different(matching)
    return FoundSymbol(matching, () if matching else _near(listed, symbol))


def _named(listed: Sequence[Row], symbol: str, line: int | None) -> list[Row]:
    parts, folded = _parts(symbol), _folded(symbol)
    ways: tuple[Callable[[Row], bool], ...] = (
        lambda row: row.name == symbol,
        # A heading, or a key with dots in it, is one name, whatever characters it has.
        lambda row: row.item.kind in _PLAIN and row.item.name == symbol,
        lambda row: row.item.kind in _PLAIN and _folded(row.item.name) == folded,
        lambda row: bool(parts) and _flat(row) == parts,
        lambda row: bool(parts) and _flat(row)[-len(parts) :] == parts,
    )
    for fits in ways:
        found = [row for row in listed if fits(row)]
        if found:
            here = [row for row in found if line is not None and row.item.start <= line <= row.item.end]
            # One that begins in that line wins over those around it.
            found = [row for row in here if row.item.start == line] or here or found
            # A method wins over a field of the same name, which can still be found by its qualified name.
            found = [row for row in found if not row.item.minor] or found
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
    """Its path, with names split at dots: a caller may copy either form."""
    if not any(_SEPARATORS.search(name) for name in row.path):
        return row.path
    return tuple(part for name in row.path for part in _parts(name) or (name,))


def _owned(rows: list[Row]) -> list[Row]:
    """The rows without extensions of types, unless there are no others."""
    own = [row for row in rows if row.item.kind not in ("impl", "extension")]
    return own or rows


def _outermost(rows: list[Row]) -> list[Row]:
    """The rows without those inside another one."""
    kept: list[Row] = []
    for row in rows:
        inside = kept and kept[-1].item.start <= row.item.start and row.item.end <= kept[-1].item.end
        if not (inside and row.depth > kept[-1].depth):
            kept.append(row)
    return kept


def _different(rows: list[Row]) -> list[Row]:
    """One row per span: reads of definitions on the same lines are the same."""
    spans: dict[tuple[int, int], Row] = {}
    for row in rows:
        spans.setdefault((row.item.start, row.item.end), row)
    return list(spans.values())


def _near(listed: Sequence[Row], symbol: str) -> list[Row]:
    from rapidfuzz import fuzz, process  # takes 16 ms, and only a missing name needs it

    names = [row.name for row in listed]
    last = (_parts(symbol) or (symbol,))[-1]
    best: dict[int, float] = {}
    for wanted, choices in ((symbol, names), (last, [row.item.name for row in listed])):
        for _, score, at in process.extract(
            wanted, choices, scorer=fuzz.ratio, processor=str.casefold, score_cutoff=_LIKELY, limit=NEAR_NAMES
        ):
            best[at] = max(best.get(at, 0), score)
    return [listed[at] for at in sorted(best, key=lambda at: (-best[at], at))[:NEAR_NAMES]]
