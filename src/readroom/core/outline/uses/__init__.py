"""Tell what each place of a name is: its definition, a call, an import, another use, text or a comment.

The tree of the grammars that outlines use says it, by name alone: which definition a name means is not known.
Roles of nodes are tables by language (`roles`).  In a language without one, a definition is what the outline
lists, and a call is a name before a parenthesis.

Knows: the syntax around a place, and the definitions around its line.
Does not know: how the places are found, and which are shown.
May be touched: freely, with a run of `benchmarks`; a language is a row of `roles`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, final

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.outline import OUTLINE_MEMORY_KIB, Unparsable, best_tree, require_shallow
from readroom.core.outline.cuts import whole
from readroom.core.outline.syntax import Grammar, MissingGrammar, load, plan_of
from readroom.core.outline.uses.roles import ROLES, Roles
from readroom.core.text.encodings import visible
from readroom.core.values.files import Item, Row, main_rows, rows
from readroom.core.values.matches import UseKind

if TYPE_CHECKING:
    from tree_sitter import Node

_TEXT = re.compile(
    r"string|heredoc|char_literal|character_literal|rune_literal|regex|jsx_text|str_text|str_part|quoted_content"
    r"|^(?:text|char|raw_text|html_text)$"
)
"""Kinds of nodes for text: strings, characters, regular expressions, what stands between tags."""

_COMMENT = re.compile(r"comment|haddock|hash_?bang|shebang")

_SYMBOLS = re.compile(r"symbol|atom|keyword$")
"""Kinds of nodes that name something with a mark, as `:name` in Ruby: names, not text."""

_MARKS = "@$:&%#~'\"`*."
"""Marks that belong to a name in some grammar, and that the one who searches leaves out: `@name`, `$name`."""

_CALLED = re.compile(rb"[ \t]*!?[ \t]*(?:::)?(?:<[\w ,.:&*\[\]<>?]{0,100}>|\[[\w ,.*]{0,60}\])?[ \t]*\(")
"""The text after a called name, where there is no tree."""

_MAX_UP = 24
"""Nodes above a name that are looked at, as patterns and declarators; only generated code has more."""

_GIVEN_BYTES = 200
"""Bytes after a bound name in which what gives it is looked for."""

_MAX_ERRORS = 8
"""Places of syntax errors that may overlap in one line and are compared with it."""

_RAW = frozenset({"preproc_arg", "ERROR"})
"""Kinds of nodes for code that the grammar does not parse."""


@cache
def _sort_of(kind: str) -> UseKind | None:
    """Comment or text, from the kind of a node; None for code."""
    if _COMMENT.search(kind):
        return "comment"
    return "text" if _TEXT.search(kind) and not _SYMBOLS.search(kind) else None


class Use(Struct, frozen=True):
    """One place of a name: its bytes in the text, what it is, and whether the text around it was parsed."""

    start: int
    end: int
    kind: UseKind
    certain: bool = True


def parsed(source: bytes, language: str, deadline: Deadline) -> Uses:
    """The places of names in a text of a language with a grammar.

    Raises:
        TimedOut, Cancelled: From the deadline.
        Unparsable: The text cannot be parsed safely, or the grammar is not installed.
    """
    from readroom.core.outline.certain import damage_of
    from readroom.core.outline.grammars import grammar_of
    from readroom.core.outline.walk import Walk

    source = _same_size(source)
    grammar = grammar_of(language)
    try:
        load(grammar)
    except MissingGrammar as missing:
        raise Unparsable(str(missing)) from None
    deadline.check()
    require_shallow(source, source.decode())
    parsing, tree = best_tree(source, grammar, deadline, OUTLINE_MEMORY_KIB)
    root = tree.root_node
    items = Walk(whole(source), parsing.grammar, deadline, parsing.part).items(root)
    errors = damage_of(root, deadline, plan_of(parsing.grammar).larger).errors if root.has_error else ()
    roles = ROLES[language]
    return Uses(
        source, parsing.prepared, root, roles, _imports(root, source, parsing.grammar, roles), items, errors
    )


def _imports(root: Node, source: bytes, grammar: Grammar, roles: Roles) -> list[tuple[int, int]]:
    """The bytes of all imports, in order."""
    from tree_sitter import Query, QueryCursor

    kinds = [kind for kind in roles.imports if kind in plan_of(grammar).kinds]
    if not kinds:
        return []
    query = Query(load(grammar), " ".join(f"({kind}) @{kind}" for kind in kinds))
    found = []
    for kind, nodes in QueryCursor(query).captures(root).items():
        wanted = roles.imports[kind]
        spans = ((node.start_byte, node.end_byte) for node in nodes)
        found += [(start, end) for start, end in spans if wanted is None or wanted.match(source, start, end)]
    return sorted(found)


_BROKEN = re.compile("[\udc80-\udcff]")


def _same_size(source: bytes) -> bytes:
    """The text as UTF-8 with a mark for each broken byte, so that all places stay."""
    try:
        source.decode()
    except UnicodeDecodeError:
        return visible(_BROKEN.sub("?", source.decode("utf-8", "surrogateescape"))).encode()
    return source


@final
class Uses:
    """The kinds of places of names in one parsed text. Lines are asked for in their order."""

    def __init__(
        self,
        source: bytes,
        prepared: bytes,
        root: Node,
        roles: Roles,
        imports: Sequence[tuple[int, int]],
        items: Sequence[Item],
        errors: Sequence[tuple[int, int]],
    ) -> None:
        """`imports` are the bytes of imports in order, `errors` the lines that do not parse."""
        self._source = source
        self._prepared = prepared
        self._root = root
        self._roles = roles
        self._imports = imports
        self._errors = deque(errors)
        self._defined: dict[int, set[str]] = {}
        for row in main_rows(items) if roles.assigns else rows(items):
            self._defined.setdefault(row.item.line, set()).update(
                (row.item.name, row.item.name.lstrip(_MARKS))
            )
        self._around = _Around(list(main_rows(items)))

    def of_line(self, number: int, places: Sequence[tuple[int, int]], deadline: Deadline) -> list[Use]:
        """Tell what the places in a line are. Raises TimedOut, Cancelled."""
        found = []
        for start, end in places:
            deadline.check()
            kind, certain = self._of(start, end)
            found.append(Use(start, end, kind, certain and not self._is_broken(number)))
        names = self._defined.get(number)
        if names is not None and all(use.kind != "definition" for use in found):
            self._define(found, names)
        return found

    def symbol(self, number: int, name: str) -> str | None:
        """The definition around a line, without the one that the line begins and that has this name."""
        return self._around.of(number, name)

    def _is_broken(self, number: int) -> bool:
        while self._errors and self._errors[0][1] < number:
            self._errors.popleft()
        return any(first <= number <= last for first, last in islice(self._errors, _MAX_ERRORS))

    def _define(self, found: list[Use], names: set[str]) -> None:
        """Make the first place a definition whose name the outline lists in this line."""
        kinds = ("use",) if self._roles.calls else ("use", "call")
        for at, use in enumerate(found):
            text = self._source[use.start : use.end].decode()
            if use.kind in kinds and text in names:
                found[at] = Use(use.start, use.end, "definition", use.certain)
                return

    def _of(self, start: int, end: int) -> tuple[UseKind, bool]:
        if self._prepared[start:end] != self._source[start:end]:
            return self._raw(end), False
        # A name of several parts, such as `a.b`, is what its last part is.
        last = end - 1
        while last > start and self._prepared[last] & 0xC0 == 0x80:
            last -= 1
        node = self._root.descendant_for_byte_range(last, end)
        if node is None:
            return self._raw(end), False
        kind = node.type
        sort = _sort_of(kind)
        if sort == "comment":
            return "comment", True
        if self._is_imported(start):
            return "import", True
        if sort == "text":
            return "text", True
        if kind in _RAW:
            return self._raw(end), kind == "preproc_arg"
        same = self._is_whole(node, start, end)
        return self._role(node, self._roles) if self._roles.calls else self._raw(end), same

    def _is_whole(self, node: Node, start: int, end: int) -> bool:
        """Whether a place is all of its name: not if it is a part of one, as in `name-of` or `name?`."""
        own = self._source[node.start_byte : node.end_byte][: end - start + 8]
        is_inside = start <= node.start_byte and node.end_byte <= end
        return is_inside or own.lstrip(_MARKS.encode()) == self._source[start:end]

    def _raw(self, end: int) -> UseKind:
        return "call" if _CALLED.match(self._source, end) else "use"

    def _is_imported(self, start: int) -> bool:
        at = bisect_right(self._imports, (start, len(self._source))) - 1
        return at >= 0 and start < self._imports[at][1]

    def _role(self, node: Node, roles: Roles) -> UseKind:
        at = node
        for _ in range(_MAX_UP):
            parent = at.parent
            if parent is None:
                break
            if _is_in(at, parent, roles.calls):
                return "call"
            if not _is_in(at, parent, roles.members):
                break
            at = parent
        if roles.tokens and node.parent is not None and node.parent.type in roles.tokens:
            return self._raw(node.end_byte)
        return self._bound(node, roles)

    def _bound(self, node: Node, roles: Roles) -> UseKind:
        """A definition if something binds the name, or an import if it binds what another file gives."""
        at = node
        for _ in range(_MAX_UP):
            parent = at.parent
            if parent is None:
                return "use"
            if _is_in(at, parent, roles.binds):
                given = self._source[node.end_byte : min(parent.end_byte, node.end_byte + _GIVEN_BYTES)]
                is_given = roles.given is not None and roles.given.match(given) is not None
                return "import" if is_given else "definition"
            if not _is_in(at, parent, roles.patterns):
                return "definition" if self._is_own(at, parent, roles) else "use"
            at = parent
        return "use"

    def _is_own(self, node: Node, member: Node, roles: Roles) -> bool:
        """Whether an assignment defines a member of an own object."""
        if roles.own is None or not _is_in(node, member, roles.members):
            return False
        if roles.own.match(self._source, member.start_byte, node.start_byte) is None:
            return False
        at: Node | None = member
        parent = member.parent
        while at is not None and parent is not None and _is_in(at, parent, roles.patterns):
            at, parent = parent, parent.parent
        return at is not None and parent is not None and _is_in(at, parent, roles.assigns)


def _is_in(node: Node, parent: Node, wanted: dict[str, tuple[str, ...]]) -> bool:
    """Whether a node is in one of the wanted fields of its parent."""
    fields = wanted.get(parent.type)
    if fields is None:
        return False
    for field in fields:
        if field == "*":
            return True
        name = field.strip("!?;")
        if field.startswith("!"):
            other = parent.child_by_field_name(name)
            return other is None or other.id != node.id
        first = parent.child_by_field_name(name)
        if first is None:
            continue
        if first.id != node.id and (
            first.start_byte >= node.start_byte
            or all(one.id != node.id for one in parent.children_by_field_name(name))
        ):
            continue
        if not field.endswith("?"):
            return True
        # A type is declared where its body is, or where nothing but a semicolon follows.
        following = parent.next_sibling
        return parent.child_by_field_name("body") is not None or (
            following is not None and following.type == ";"
        )
    return False


@final
class _Around:
    """The innermost definition around each line, for lines in their order."""

    def __init__(self, listed: Sequence[Row]) -> None:
        self._rows = sorted(listed, key=lambda row: (row.item.start, row.depth))
        self._next = 0
        self._open: list[Row] = []

    def of(self, line: int, name: str) -> str | None:
        while self._next < len(self._rows) and self._rows[self._next].item.start <= line:
            self._open.append(self._rows[self._next])
            self._next += 1
        self._open = [row for row in self._open if row.item.end >= line]
        inside = [row for row in self._open if row.item.line != line or row.item.name != name]
        return max(inside, key=lambda row: row.depth).name if inside else None
