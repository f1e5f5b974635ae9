"""From a syntax tree to an outline: a walk that leaves out what defines nothing.

Only nodes that the table names are looked into, so bodies of functions, which
are most of a file, cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from readroom.deadline import Deadline
from readroom.limits.outline import OUTLINE_DEPTH, OUTLINE_NAME_CHARS, OUTLINE_SIGNATURE_CHARS
from readroom.outline.grammars import Grammar, NodeRule
from readroom.outline.names import BODIES, name_in
from readroom.values.files import Item

if TYPE_CHECKING:
    from tree_sitter import Node

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


def _rows(node: Node) -> tuple[int, int]:
    """Its first and last row; some nodes end behind their line feed."""
    first, (last, column) = node.start_point[0], node.end_point
    return first, last - 1 if column == 0 and last > first else last


@final
class Walk:
    """One walk. `too_deep` says whether something was too deeply nested to be looked into."""

    def __init__(self, source: bytes, grammar: Grammar, deadline: Deadline) -> None:
        self._source = source
        self._grammar = grammar
        self._deadline = deadline
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
    ) -> list[Item]:
        """The items among `nodes`, the last thing before which ends in `row_before`.

        `outer` is what wraps them and is part of the first, `lead` what stands above it.
        """
        if depth > OUTLINE_DEPTH:
            self.too_deep = True
            return []
        self._deadline.check()
        grammar, items = self._grammar, list[Item]()
        for node in nodes:
            kind = node.type
            if kind in grammar.comments or kind in grammar.attached:
                if outer is None or items:
                    lead = _Lead.after(lead, _rows(node), row_before, attached=kind in grammar.attached)
                continue
            rule = grammar.rules.get(kind)
            item = None
            if rule is not None:
                item = self._item(node, rule, depth, parent, None if items else outer, lead)
            if item is not None:
                items.append(item)
            elif kind in grammar.wraps:
                inside = outer or node if self._is_single(node) else None
                items += self._scan(node.named_children, row_before, depth + 1, parent, inside, lead)
            elif kind in grammar.through or kind == _BROKEN:
                items += self._scan(node.named_children, node.start_point[0], depth + 1, parent)
            row_before = node.end_point[0]
            # What precedes the definition within its wrapper is no reason to forget the comment above both.
            lead = lead if outer is not None and not items else None
        return items

    def _is_single(self, wrapper: Node) -> bool:
        """Whether it holds one definition, whose signature it begins."""
        rules = self._grammar.rules
        inside = [one for one in wrapper.children[:3] if one.type in rules or one.type == "("]
        return len(inside) < 2

    def _item(
        self,
        node: Node,
        rule: NodeRule,
        depth: int,
        parent: str | None,
        outer: Node | None,
        lead: _Lead | None,
    ) -> Item | None:
        body = self._body(node, rule)
        if body is None and rule.needs_body:
            return None
        named = name_in(self._source, node, rule.name)
        if named is None:
            return None
        owner, name = named[0], named[1][:OUTLINE_NAME_CHARS]
        begin = self._begin(node if outer is None else outer)
        if outer is not None and begin.start_byte == node.start_byte:
            begin = self._begin(node)
        start = (node if outer is None else outer).start_point[0]
        signature = self._signature(begin, node, body, rule, name)
        kind = rule.kind or _declared_as(signature)
        return Item(
            kind="method" if kind == "function" and parent in _CLASSES else kind,
            name=name,
            signature=signature,
            start=(start if lead is None else lead.above(start)) + 1,
            end=_rows(node)[1] + 1,
            line=begin.start_point[0] + 1,
            owner=owner,
            members=self._members(body, depth, kind) if body is not None and rule.members else (),
        )

    def _body(self, node: Node, rule: NodeRule) -> Node | None:
        for name in rule.body:
            body = BODIES[name](node) if name in BODIES else node.child_by_field_name(name)
            if body is not None:
                return body
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
        comments: list[Node] = []
        previous = body.prev_sibling
        while previous is not None and previous.type in self._grammar.comments:
            comments.insert(0, previous)
            previous = previous.prev_sibling
        return comments

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
