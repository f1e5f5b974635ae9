"""Walk a syntax tree for its outline, skipping nodes that define nothing.

Only nodes that the table names are visited. Bodies of functions, which are most of a file, cost nothing
unless something in them looks like a definition; then a query of the parser finds it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, final

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.limits.outline import OUTLINE_DEPTH, OUTLINE_NAME_CHARS, OUTLINE_SIGNATURE_CHARS
from readroom.core.outline.called import CLASSES, FUNCTIONS, HOLDING, ONCE, called
from readroom.core.outline.cuts import CutText
from readroom.core.outline.lead import Lead
from readroom.core.outline.signatures import cut_off, shortened
from readroom.core.outline.syntax import Action, Grammar, NodeRule, inner_query, last_row, plan_of, text_of
from readroom.core.values.files import Item

if TYPE_CHECKING:
    from tree_sitter import Node, Range, Tree

Reparse: TypeAlias = "Callable[[Range], Tree | None]"
"""Parses a part of the text separately; returns None if it cannot."""

_SIGNATURE_BYTES = 4 * 2 * OUTLINE_SIGNATURE_CHARS
"""Bytes that are read for a signature: characters may have four bytes, and as many blanks may be dropped."""

_COMMENTED = re.compile(rb"#|//|/\*|--|\{-")
"""Beginnings of comments: without any before a body, no comment has to be cut off."""

_MAX_HEAD = 1000
"""Maximum bytes before a body in its line that are searched: all of a long line would be, for each body."""

_GIVEN_TYPES = frozenset({"function", "method"})
_UNOPENED = re.compile(r"[^()]*+\)")

_MAX_WORDS = 200
"""Maximum words of definitions in one body that are looked up one by one: each search starts at the body."""

_MAX_AROUND = 5
"""Maximum nodes between such a word and its definition: `=>` is in a function, which may be an argument."""


def _all(source: bytes, word: bytes) -> Iterator[int]:
    """The offsets of a word in a text."""
    at = source.find(word)
    while at >= 0:
        yield at
        at = source.find(word, at + len(word))


def _is_new(item: Item, seen: set[tuple[str, ...]]) -> bool:
    key = (*item.owner, item.name)
    is_new = key not in seen
    seen.add(key)
    return is_new


@final
class Walk:
    """One walk. `too_deep` says whether something was nested too deeply to be visited."""

    def __init__(self, text: CutText, grammar: Grammar, deadline: Deadline, reparse: Reparse) -> None:
        self._source = text.source
        self._lines = text.lines
        self._grammar = grammar
        self._plan = plan_of(grammar)
        self._deadline = deadline
        self._reparse = reparse
        self._captured: list[tuple[int, int, int, Node]] | None = None
        """Candidates for definitions in the outermost searched body, sorted by start and end."""
        self.too_deep = False

    def items(self, root: Node) -> tuple[Item, ...]:
        """The definitions in the tree, in order."""
        return tuple(self._scan(root.named_children, -1, 0, None))

    def _scan(
        self,
        nodes: Sequence[Node],
        row_before: int,
        depth: int,
        parent: str | None,
        outer: Node | None = None,
        lead: Lead | None = None,
        *,
        local: bool = False,
        flat: bool = False,
    ) -> list[Item]:
        """The items among `nodes`; what precedes them ends in `row_before`.

        `outer` is their wrapper, a part of the first item, and `lead` the comments and attributes above it.
        With `local`, in a function, fields and variables are omitted; with `flat` only wrappers are entered.
        """
        if depth > OUTLINE_DEPTH:
            self.too_deep = True
            return []
        self._deadline.check()
        actions, found = self._plan.actions, list[Item]()
        seen: set[tuple[str, ...]] = set()
        previous: Node | None = None
        for node in nodes:
            action = actions.get(node.kind_id)
            if action is None or (action.is_attached and not self._is_attached(node)):
                previous = node
            elif action.stands_above:
                if outer is None or found:
                    row = row_before if previous is None else previous.end_point.row
                    rows = node.start_point[0], last_row(self._source, node)
                    lead = Lead.after(lead, rows, row, attached=action.is_attached)
                continue
            else:
                rule = action.rule if action.choose is None else action.choose(node)
                items: list[Item] = []
                if rule is not None and not (local and rule.minor):
                    wrap = None if found else outer
                    items = self._by_pattern(node, rule, wrap, lead) if rule.pattern is not None else []
                    items = items or self._items(node, rule, depth, parent, wrap, lead, local)
                if items and rule is not None:
                    if rule.joins or rule.aside is not None or rule.kind in ONCE:
                        self._add(items, node, rule, found, seen, depth, parent)
                    else:
                        found += items
                elif action.wraps:
                    if not self._is_plain(node, action):
                        inside = outer or node if self._is_single(node) else None
                        row = row_before if previous is None else previous.end_point.row
                        found += self._scan(
                            node.named_children, row, depth + 1, parent, inside, lead, local=local
                        )
                elif not flat and (action.is_through or action.is_embedded):
                    found += self._through(node, action, depth, parent, local=local)
                previous = node
            # A node before the definition within its wrapper must not drop the comment above both.
            if lead is not None and (outer is None or found):
                lead = None
        return found

    def _is_attached(self, node: Node) -> bool:
        """Whether a node that may belong to the next definition does."""
        wanted = self._grammar.attached_if
        return wanted is None or wanted.match(self._source, node.start_byte) is not None

    def _add(
        self,
        items: list[Item],
        node: Node,
        rule: NodeRule,
        found: list[Item],
        seen: set[tuple[str, ...]],
        depth: int,
        parent: str | None,
    ) -> None:
        """Add the items of a node to those found before, together with those from its `aside` nodes."""
        if rule.joins and found and items[0].name == found[-1].name:
            first, second = found[-1], items[0]
            found[-1] = replace(first, end=second.end, members=(*first.members, *second.members))
            return
        if rule.kind in ONCE:
            items = [item for item in items if _is_new(item, seen)]
        found += items
        if rule.aside is not None and parent in CLASSES and items and items[0].name == rule.maker:
            nodes_aside = rule.aside(node)
            of_class = self._scan(nodes_aside, node.start_point.row, depth + 1, parent) if nodes_aside else ()
            known = {item.name for item in found} if of_class else ()
            found += [item for item in of_class if item.name not in known and _is_new(item, seen)]

    def _through(
        self, node: Node, action: Action, depth: int, parent: str | None, *, local: bool
    ) -> Sequence[Item]:
        """The items in a node that defines nothing itself."""
        if action.is_embedded:
            return self._embedded(node, depth, parent)
        if self._is_plain(node, action):
            return ()
        inside = node.named_children
        # Most statements contain one node, which is checked before a scan is set up for it.
        if not inside or (len(inside) == 1 and inside[0].kind_id not in self._plan.actions):
            return ()
        return self._scan(inside, node.start_point.row, depth + 1, parent, local=local or action.is_scope)

    def _is_plain(self, node: Node, action: Action) -> bool:
        """Whether a node that may contain definitions surely contains none."""
        unless = action.plain_unless
        return unless is not None and unless.search(self._source, node.start_byte, node.end_byte) is None

    def _is_single(self, wrapper: Node) -> bool:
        """Whether it contains a single definition, whose signature it begins."""
        inside, actions = 0, self._plan.actions
        for child in wrapper.children[:3]:
            action = actions.get(child.kind_id)
            if (action is not None and action.defines) or child.type == "(":
                inside += 1
        return inside < 2

    def _by_pattern(self, node: Node, rule: NodeRule, outer: Node | None, lead: Lead | None) -> list[Item]:
        """The item of a node whose text matches `rule.pattern`; none without a match or if it is wrapped."""
        start = node.start_byte
        end = min(node.end_byte, start + _SIGNATURE_BYTES)
        if rule.pattern is None or outer is not None:
            return []
        found = rule.pattern.match(self._source, start, end)
        if found is None:
            return []
        row, signature = node.start_point[0], shortened(found[0].decode("utf-8", "ignore"))
        first = row if lead is None else lead.above(row)
        name = found[1].decode()[:OUTLINE_NAME_CHARS]
        lines = self._lines
        last = lines[last_row(self._source, node)]
        return [Item(rule.kind, name, signature, lines[first], last, lines[row], minor=rule.minor)]

    def _items(
        self,
        node: Node,
        rule: NodeRule,
        depth: int,
        parent: str | None,
        outer: Node | None,
        lead: Lead | None,
        local: bool,
    ) -> list[Item]:
        """The items of a node: one, or several that share a declaration."""
        body = self._body(node, rule) if rule.body else None
        if body is None and rule.needs_body:
            return []
        names = self._names(node, rule)
        if not names:
            return []
        begin = self._begin(node if outer is None else outer)
        if outer is not None and begin.start_byte == node.start_byte:
            begin = self._begin(node)
        line = begin.start_point[0]
        start = line if begin is node and outer is None else (outer or node).start_point[0]
        owner, name = names[0]
        signature = self._signature(begin, node, body, rule, name)
        kind = called(rule.kind, signature, name, parent)
        members: tuple[Item, ...] = ()
        if body is not None:
            members = self._members(body, depth, kind) if rule.members and kind not in FUNCTIONS else ()
            members = members or self._within(body, depth)
        if rule.heads:
            members = (*self._in_head(node, rule, depth, kind), *members)
        minor = rule.minor or kind == "object"
        if kind in HOLDING and any(not member.minor for member in members):
            minor = False
        if minor and local:
            return []
        first = Item(
            kind,
            name[:OUTLINE_NAME_CHARS],
            signature,
            self._lines[start if lead is None else lead.above(start)],
            self._lines[
                last_row(self._source, node if body is None or body.end_byte <= node.end_byte else body)
            ],
            self._lines[line],
            owner,
            members,
            minor=minor,
        )
        if len(names) == 1:
            return [first]
        more = [
            replace(first, owner=own, name=one[:OUTLINE_NAME_CHARS], members=(), minor=True)
            for own, one in names[1:]
        ]
        return [first, *more]

    def _names(self, node: Node, rule: NodeRule) -> list[tuple[tuple[str, ...], str]]:
        namer = rule.name
        if isinstance(namer, str):
            field = self._plan.fields.get(namer)
            child = None if field is None else node.child_by_field_id(field)
            text = "" if child is None else text_of(self._source, child)
            name = text if text.isidentifier() else text.strip("'\"")
            return [((), name)] if name else []
        named = namer(self._source, node)
        if named is None:
            return []
        several = [named] if isinstance(named, tuple) and isinstance(named[1], str) else named
        return [one for one in several if one is not None and one[1]]  # type: ignore[misc]  # by `several`

    def _in_head(self, node: Node, rule: NodeRule, depth: int, kind: str) -> list[Item]:
        """The members that a type declares before its body, like the parameters of its constructor."""
        found: list[Item] = []
        for head in node.named_children:
            if head.type in rule.heads:
                found += self._scan(head.named_children, head.start_point[0], depth + 1, kind)
        return found

    def _within(self, body: Node, depth: int) -> tuple[Item, ...]:
        """The definitions in the body of a function."""
        grammar = self._grammar
        start, end = body.start_byte, body.end_byte
        if not self._may_hold(start, end):
            return ()
        is_outermost = self._captured is None
        if self._captured is None:
            nodes = self._worded(body) if grammar.inner_words else None
            if nodes is None:
                from tree_sitter import QueryCursor

                nodes = QueryCursor(inner_query(grammar)).captures(body).get("d", [])
            if not nodes:
                return ()
            self._captured = sorted(
                ((node.start_byte, -node.end_byte, at, node) for at, node in enumerate(nodes))
            )
        first, last = bisect_left(self._captured, (start,)), bisect_left(self._captured, (end,))
        captured = [node for _, _, _, node in self._captured[first:last]]
        found, done = list[Item](), start
        above: list[Node] = []
        for node in captured:
            if node.start_byte < done or (node.start_byte == start and node.end_byte == end):
                continue
            if node.type in grammar.comments or node.type in grammar.attached:
                above.append(node)
                continue
            items = self._scan([*above, node], -1, depth + 1, None, local=True, flat=True)
            above = []
            if items:
                found += items
                done = node.end_byte
        if is_outermost:
            self._captured = None
        return tuple(replace(item, minor=True) for item in found)

    def _may_hold(self, start: int, end: int) -> bool:
        """Whether something in these bytes looks like a definition."""
        grammar = self._grammar
        if grammar.inner is not None:
            line = max(0, start - _MAX_HEAD, self._source.rfind(b"\n", max(0, start - _MAX_HEAD), start))
            return grammar.inner.search(self._source, line, end) is not None
        if not grammar.inner_words:
            return False
        places = self._places
        at = bisect_left(places, (start,))
        return at < len(places) and places[at][0] < end

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """The offsets and sizes of `inner_words` in the text, and those of `inner_names`, with size 0."""
        grammar, source = self._grammar, self._source
        words = [(at, len(word.rstrip())) for word in grammar.inner_words for at in _all(source, word)]
        names = () if grammar.inner_names is None else grammar.inner_names(source)
        return sorted([*words, *((at, 0) for at in names)])

    def _worded(self, body: Node) -> list[Node] | None:
        """Candidates for definitions in a body, with comments and attributes above; None if too many.

        They are found by the words that every definition contains: as long as these are few, looking them up
        costs a fraction of a query, which visits every node.
        """
        places = self._places
        first, last = bisect_left(places, (body.start_byte,)), bisect_left(places, (body.end_byte,))
        if last - first > _MAX_WORDS:
            return None
        nodes: dict[int, Node] = {}
        for at, size in places[first:last]:
            node = self._around(body, at, size)
            if node is not None and node.id not in nodes:
                nodes[node.id] = node
                nodes |= {one.id: one for one in self._above(node, body)}
        return list(nodes.values())

    def _around(self, body: Node, at: int, size: int) -> Node | None:
        """The outermost node in a body that a word, or a name (with size 0), may define."""
        token = body.descendant_for_byte_range(at, at + size)
        if token is None or (size and token.is_named):
            return None  # in a string or a comment, or part of a longer word
        kinds, node = self._grammar.inner_nodes, token.parent
        for _ in range(_MAX_AROUND):
            if node is None or node.id == body.id:
                return None
            if node.type in kinds and (
                node.type not in self._grammar.inner_named or node.child_by_field_name("name") is not None
            ):
                break
            node = node.parent
        else:
            return None
        outer = node.parent if node is not None else None
        while outer is not None and outer.type in kinds and outer.start_byte > body.start_byte:
            node, outer = outer, outer.parent
        return node

    def _above(self, node: Node, body: Node) -> list[Node]:
        """The comments and attributes directly before a definition, or before its wrapper."""
        grammar = self._grammar
        found: list[Node] = []
        outer = node.parent
        while outer is not None and outer.type in grammar.wraps and outer.id != body.id:
            node, outer = outer, outer.parent
        before = node.prev_sibling
        while before is not None and (before.type in grammar.comments or before.type in grammar.attached):
            found.append(before)
            before = before.prev_sibling
        return found

    def _embedded(self, node: Node, depth: int, parent: str | None) -> list[Item]:
        """The definitions in text that the grammar did not parse, such as the argument of a macro."""
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
        fields, kinds = self._plan.numbers(rule.body)
        for field in fields:
            found = node.child_by_field_id(field)
            if found is not None:
                return found
        return next((one for one in node.named_children if one.kind_id in kinds), None) if kinds else None

    def _begin(self, node: Node) -> Node:
        """Where the signature starts, after decorators and annotations."""
        plan = self._plan
        if not plan.not_signature:
            return node
        first = node.child(0) if node.child_count else None
        if first is None or not (first.kind_id in plan.not_signature or first.kind_id in plan.modifiers):
            return node
        for child in node.children:
            if child.kind_id in plan.not_signature:
                continue
            if child.kind_id not in plan.modifiers:
                return child
            for word in child.children:
                if word.kind_id not in plan.not_signature:
                    return word
        return node

    def _signature(self, begin: Node, node: Node, body: Node | None, rule: NodeRule, name: str) -> str:
        start, end = begin.start_byte, node.end_byte
        if body is not None and rule.cut != "{":
            end = body.start_byte
            if _COMMENTED.search(self._source, start, end):
                before = self._comments_before(body)
                end = before[0].start_byte if before else end
        text = self._source[start : min(end, start + _SIGNATURE_BYTES)].decode("utf-8", "ignore")
        if rule.kind in _GIVEN_TYPES and _UNOPENED.match(text):
            text = self._head(start) + text
        if not rule.cut:
            return shortened(text)
        kept = shortened(cut_off(text, rule.cut))
        # The name may be after the cut: typedef struct { ... } name, or many words.
        is_told = name in kept or (len(kept) >= OUTLINE_SIGNATURE_CHARS and not name.isidentifier())
        if is_told or self._source.find(name.encode(), start, end) < 0:
            return kept
        return f"{kept} {name}"

    def _head(self, start: int) -> str:
        """The blanked text before a type that is the argument of a macro, as in `EXPORT(int) f(void)`."""
        line = max(start - _MAX_HEAD, self._source.rfind(b"\n", 0, start) + 1)
        head = self._source[line:start].decode("utf-8", "ignore").lstrip()
        return head if head.rstrip().endswith("(") else ""

    def _comments_before(self, body: Node) -> list[Node]:
        """Comments directly before a body, since some grammars put its first comments there."""
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
