"""From a syntax tree to an outline: a walk that leaves out what defines nothing.

Only nodes that the table names are looked into.  Bodies of functions, which are
most of a file, cost nothing where nothing in them reads like a definition; where
something does, the parser's own search finds it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.limits.outline import OUTLINE_DEPTH, OUTLINE_NAME_CHARS, OUTLINE_SIGNATURE_CHARS
from readroom.outline.syntax import Grammar, NodeRule, inner_query, named_by
from readroom.values.files import Item

if TYPE_CHECKING:
    from tree_sitter import Node, Range, Tree

Reparse: TypeAlias = "Callable[[Range], Tree | None]"
"""Parses a part of the text on its own; None where it cannot."""

_SPACE = re.compile(r"\s+")
_BROKEN = "ERROR"
_UTF8_BYTES = 4

_CLASSES = frozenset(
    {"class", "struct", "interface", "trait", "impl", "enum", "object", "protocol", "record"}
    | {"extension", "actor", "union", "type"}
)
"""What a function is a method of."""


def shortened(text: str) -> str:
    """A signature on one line, without what opens a body, as long as outlines show it."""
    line = _SPACE.sub(" ", text).strip()
    if "\n" in text:
        line = line.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    line = line.removesuffix("=>").rstrip(" {:=;,\\")
    if len(line) <= OUTLINE_SIGNATURE_CHARS:
        return line
    return line[: OUTLINE_SIGNATURE_CHARS - 1].rstrip() + "…"


_WORDS = frozenset({"struct", "enum", "extension", "actor", "interface"})


def _declared_as(signature: str) -> str:
    """What a declaration says that it declares; some grammars call all of them classes."""
    return next((word for word in signature.split() if word in _WORDS), "class")


def _kind(kind: str, name: str, parent: str | None) -> str:
    """What a reader calls it: by where it stands, and by how its name is written."""
    if kind == "variable":
        return "constant" if name.isupper() else "field" if parent in _CLASSES else "variable"
    return "method" if kind == "function" and parent in _CLASSES else kind


def _is_new(item: Item, seen: set[tuple[str, ...]]) -> bool:
    key = (*item.owner, item.name)
    is_new = key not in seen
    seen.add(key)
    return is_new


def _rows(node: Node) -> tuple[int, int]:
    """Its first and last row; some nodes end behind their line feed."""
    first, (last, column) = node.start_point[0], node.end_point
    return first, last - 1 if column == 0 and last > first else last


_FUNCTIONS = frozenset({"function", "method", "constructor"})
_HOLDING = frozenset({"object", "table", "property"})
"""What is minor unless it holds a method: an API, and no data."""

_ONCE = frozenset({"variable", "property"})
"""What is assigned to several times is defined by the first."""


@final
class Walk:
    """One walk. `too_deep` says whether something was too deeply nested to be looked into."""

    def __init__(self, source: bytes, grammar: Grammar, deadline: Deadline, reparse: Reparse) -> None:
        self._source = source
        self._grammar = grammar
        self._deadline = deadline
        self._reparse = reparse
        self._captured: list[tuple[int, int, int, Node]] | None = None
        """What is defined in the outermost body that is looked through, by where it begins and ends."""
        self.too_deep = False

    def items(self, root: Node) -> tuple[Item, ...]:
        """What the tree defines, in its order."""
        return tuple(self._scan(root.named_children, -1, 0, None))

    def _scan(
        self,
        nodes: Sequence[Node],
        row_before: int,
        depth: int,
        parent: str | None,
        outer: Node | None = None,
        lead: _Lead | None = None,
        *,
        local: bool = False,
        flat: bool = False,
    ) -> list[Item]:
        """The items among `nodes`, the last thing before which ends in `row_before`.

        `outer` is what wraps them and is part of the first, `lead` what stands above it.
        What is `local` to a function has no fields and variables; with `flat` only wrappers are looked into.
        """
        if depth > OUTLINE_DEPTH:
            self.too_deep = True
            return []
        self._deadline.check()
        grammar, found = self._grammar, list[Item]()
        seen: set[tuple[str, ...]] = set()
        for node in nodes:
            kind = node.type
            if kind in grammar.comments or kind in grammar.attached:
                if outer is None or found:
                    lead = _Lead.after(lead, _rows(node), row_before, attached=kind in grammar.attached)
                continue
            rule = grammar.rules.get(kind)
            if rule is not None and not isinstance(rule, NodeRule):
                rule = rule(node)
            items: list[Item] = []
            if rule is not None and not (local and rule.minor):
                items = self._items(node, rule, depth, parent, None if found else outer, lead, local=local)
            if items:
                if rule is not None and rule.kind in _ONCE:
                    items = [item for item in items if _is_new(item, seen)]
                found += items
            elif kind in grammar.wraps:
                inside = outer or node if self._is_single(node) else None
                found += self._scan(
                    node.named_children, row_before, depth + 1, parent, inside, lead, local=local
                )
            elif flat:
                pass
            elif kind in grammar.through or kind == _BROKEN:
                here = local or kind in grammar.scopes
                found += self._scan(node.named_children, node.start_point[0], depth + 1, parent, local=here)
            elif kind in grammar.embedded:
                found += self._embedded(node, depth, parent)
            row_before = node.end_point[0]
            # What precedes the definition within its wrapper is no reason to forget the comment above both.
            lead = lead if outer is not None and not found else None
        return found

    def _is_single(self, wrapper: Node) -> bool:
        """Whether it holds one definition, whose signature it begins."""
        rules = self._grammar.rules
        inside = [one for one in wrapper.children[:3] if one.type in rules or one.type == "("]
        return len(inside) < 2

    def _items(
        self,
        node: Node,
        rule: NodeRule,
        depth: int,
        parent: str | None,
        outer: Node | None,
        lead: _Lead | None,
        *,
        local: bool,
    ) -> list[Item]:
        """What a node defines: one thing, or several of one form."""
        body = self._body(node, rule)
        if body is None and rule.needs_body:
            return []
        names = self._names(node, rule)
        if not names:
            return []
        begin = self._begin(node if outer is None else outer)
        if outer is not None and begin.start_byte == node.start_byte:
            begin = self._begin(node)
        start = (node if outer is None else outer).start_point[0]
        owner, name = names[0]
        signature = self._signature(begin, node, body, rule, name)
        kind = _kind(rule.kind or _declared_as(signature), name, parent)
        members: tuple[Item, ...] = ()
        if body is not None:
            members = self._members(body, depth, kind) if rule.members and kind not in _FUNCTIONS else ()
            members = members or self._within(body, depth)
        if rule.heads:
            members = (*self._in_head(node, rule, depth, kind), *members)
        minor = rule.minor or kind == "object"
        if kind in _HOLDING and any(not member.minor for member in members):
            minor = False
        if minor and local:
            return []
        first = Item(
            kind=kind,
            name=name[:OUTLINE_NAME_CHARS],
            signature=signature,
            start=(start if lead is None else lead.above(start)) + 1,
            end=_rows(node)[1] + 1,
            line=begin.start_point[0] + 1,
            owner=owner,
            members=members,
            minor=minor,
        )
        more = [
            replace(first, owner=own, name=one[:OUTLINE_NAME_CHARS], minor=True) for own, one in names[1:]
        ]
        return [first, *(replace(one, members=()) for one in more)]

    def _names(self, node: Node, rule: NodeRule) -> list[tuple[tuple[str, ...], str]]:
        if isinstance(rule.name, str):
            name = named_by(self._source, node, rule.name)
            return [] if name is None else [name]
        named = rule.name(self._source, node)
        if named is None:
            return []
        several = [named] if isinstance(named, tuple) and isinstance(named[1], str) else named
        return [one for one in several if one is not None and one[1]]  # type: ignore[misc]  # told by `several`

    def _in_head(self, node: Node, rule: NodeRule, depth: int, kind: str) -> list[Item]:
        """What a type declares before its body, as the parameters of its constructor."""
        found: list[Item] = []
        for head in node.named_children:
            if head.type in rule.heads:
                found += self._scan(head.named_children, head.start_point[0], depth + 1, kind)
        return found

    def _within(self, body: Node, depth: int) -> tuple[Item, ...]:
        """What is defined in the body of a function."""
        grammar = self._grammar
        start, end = body.start_byte, body.end_byte
        line = max(0, self._source.rfind(b"\n", 0, start))
        if grammar.inner is None or not grammar.inner.search(self._source, line, end):
            return ()
        is_outermost = self._captured is None
        if self._captured is None:
            from tree_sitter import QueryCursor

            nodes = QueryCursor(inner_query(grammar)).captures(body).get("d", [])
            self._captured = sorted(
                ((node.start_byte, -node.end_byte, at, node) for at, node in enumerate(nodes))
            )
        first, last = bisect_left(self._captured, (start,)), bisect_left(self._captured, (end,))
        captured = [node for _, _, _, node in self._captured[first:last]]
        found, behind = list[Item](), start
        above: list[Node] = []
        for node in captured:
            if node.start_byte < behind or (node.start_byte == start and node.end_byte == end):
                continue
            if node.type in grammar.comments or node.type in grammar.attached:
                above.append(node)
                continue
            items = self._scan([*above, node], -1, depth + 1, None, local=True, flat=True)
            above = []
            if items:
                found += items
                behind = node.end_byte
        if is_outermost:
            self._captured = None
        return tuple(replace(item, minor=True) for item in found)

    def _embedded(self, node: Node, depth: int, parent: str | None) -> list[Item]:
        """What is defined in text that the grammar left alone, such as what a macro is given."""
        from tree_sitter import Range

        inside, inner = node.named_children[-1] if node.named_children else None, self._grammar.inner
        if inside is None or inner is None or self._source[inside.start_byte : inside.start_byte + 1] != b"{":
            return []
        if not inner.search(self._source, inside.start_byte, inside.end_byte):
            return []
        first, last = inside.children[0], inside.children[-1]
        tree = self._reparse(Range(first.end_point, last.start_point, first.end_byte, last.start_byte))
        if tree is None:
            return []
        return self._scan(tree.root_node.named_children, first.end_point[0], depth + 1, parent)

    def _body(self, node: Node, rule: NodeRule) -> Node | None:
        if not isinstance(rule.body, tuple):
            return rule.body(node)
        for name in rule.body:
            found = node.child_by_field_name(name)
            if found is not None:
                return found
        return (
            next((one for one in node.named_children if one.type in rule.body), None) if rule.body else None
        )

    def _begin(self, node: Node) -> Node:
        """Where the signature starts, behind decorators and annotations."""
        grammar = self._grammar
        if not grammar.not_signature:
            return node
        for child in node.children:
            if child.type in grammar.not_signature:
                continue
            if child.type not in grammar.modifiers:
                return child
            for word in child.children:
                if word.type not in grammar.not_signature:
                    return word
        return node

    def _signature(self, begin: Node, node: Node, body: Node | None, rule: NodeRule, name: str) -> str:
        start, end = begin.start_byte, node.end_byte
        if body is not None and rule.cut != "{":
            end = body.start_byte if not (before := self._comments_before(body)) else before[0].start_byte
        end = min(end, start + _UTF8_BYTES * 2 * OUTLINE_SIGNATURE_CHARS)
        text = self._source[start:end].decode("utf-8", "ignore")
        if not rule.cut:
            return shortened(text)
        kept = shortened(re.split(rule.cut, text, maxsplit=1)[0])
        # The name of a type may stand behind what was cut: typedef struct { ... } name.
        return kept if name in kept or name not in text[len(kept) :] else f"{kept} {name}"

    def _comments_before(self, body: Node) -> list[Node]:
        """Comments before the first thing in a body stand outside it in some grammars."""
        found: list[Node] = []
        previous = body.prev_sibling
        while previous is not None and previous.type in self._grammar.comments:
            found.insert(0, previous)
            previous = previous.prev_sibling
        return found

    def _members(self, body: Node, depth: int, kind: str) -> tuple[Item, ...]:
        before = self._comments_before(body)
        previous = (before[0] if before else body).prev_sibling
        opened = self._source[body.start_byte : body.start_byte + 1] in (b"{", b"(")
        row = body.start_point[0] if opened or previous is None else previous.end_point[0]
        return tuple(self._scan([*before, *body.named_children], row, depth + 1, kind))


@final
class _Lead:
    """Rows of comments and attributes above a definition."""

    __slots__ = ("_attached", "_first", "_last")

    def __init__(self, first: int, last: int, attached: bool) -> None:
        self._first = first
        self._last = last
        self._attached = attached

    @staticmethod
    def after(lead: _Lead | None, rows: tuple[int, int], row_before: int, *, attached: bool) -> _Lead | None:
        """With one more; a comment behind code on its line is about that code."""
        first, last = rows
        if not attached and first == row_before:
            return lead
        if lead is not None and (lead._attached or first <= lead._last + 1):
            return _Lead(lead._first, last, attached or lead._attached)
        return _Lead(first, last, attached)

    def above(self, row: int) -> int:
        """The first row of a definition that begins in `row`."""
        return self._first if self._attached or self._last + 1 >= row else row
