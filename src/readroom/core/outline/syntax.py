"""Tables of languages: what the nodes of a grammar define, and the helpers for writing them.

Node names are those of the grammars' releases.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from readroom.core.extras import OF_GRAMMARS, install, problem

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

Named: TypeAlias = "tuple[tuple[str, ...], str] | None"
"""The names of a definition's owners, and its own; None if the node defines nothing."""

Namer: TypeAlias = "Callable[[bytes, Node], Named | Sequence[Named]]"
"""Returns the name that a node of a text defines, or several names if it declares several."""

_MAX_NAME = 1000
"""Maximum bytes of a node that are read for a name."""

_MAX_BLANK = 400
"""Maximum bytes of blanks after a definition that its node may include."""

_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_SPACE = re.compile(r"\s+")


class NodeRule(Struct, frozen=True):
    """What a kind of node defines.

    `name` is the field with the name, or a function that finds it.  `body` are fields or kinds of children,
    or a function that finds the body: the first one found ends the signature, and with `members` its members
    are listed.  `needs_body`: without a body the node only mentions the name.  `cut` is a regular
    expression that also ends the signature; if it is "{", the body may contain more of the signature.
    `heads` are kinds of children before the body that also contain members.  An empty `kind` stands for the
    keyword of the declaration.  `minor` definitions are folded if they would flood an outline, and omitted
    in bodies of functions.  `aside` finds nodes, in the definition named `maker`, that define members of the
    class around it.  A definition that `joins` is one with a preceding one of the same name, like the
    equations of a function.  If `pattern` matches the text of a node, the match is the signature, and its
    group the name.
    """

    kind: str
    name: str | Namer = "name"
    body: tuple[str, ...] | Callable[[Node], Node | None] = ("body",)
    members: bool = False
    heads: tuple[str, ...] = ()
    needs_body: bool = False
    cut: str = ""
    minor: bool = False
    aside: Callable[[Node], Sequence[Node]] | None = None
    maker: str = ""
    joins: bool = False
    pattern: re.Pattern[bytes] | None = None


Chooser: TypeAlias = "Callable[[Node], NodeRule | None]"
"""Selects the rule for a node whose kind alone does not say what it defines."""


class Bodies(Struct, frozen=True):
    """Which bodies of functions need not be parsed, because nothing in them is listed.

    `head` matches a line up to the brace that begins a body, or, if bodies are `indented`, the whole head of
    a body from the line feed before it, with its indentation as a group.  A body is parsed nevertheless if it
    contains one of the `words`, if `inner` (by default that of the grammar) matches, or if one of `quotes`
    may be open at its end: they can span lines.  The statement `put` replaces a body.
    """

    head: re.Pattern[bytes]
    indented: bool = False
    words: tuple[bytes, ...] = ()
    inner: re.Pattern[bytes] | None = None
    quotes: tuple[bytes, ...] = (b"/*", b"*/")
    put: bytes = b";"


class Grammar(Struct, frozen=True):
    """One language: where its grammar is, and what its kinds of nodes mean.

    `wraps` contain one definition and count as part of it; `through` contain definitions and are searched;
    those of them that are `scopes` contain the locals of a function.  `comments` are above what they
    describe; `attached` belong to the next definition, if `attached_if` matches or is None; `not_signature`
    precede a signature within its node, also inside `modifiers`.
    Bodies of functions are searched for `inner_nodes` if `inner` matches.  If each of these contains one of
    the `inner_words`, or has its name at a place from `inner_names`, they are found by those.  Nodes that are
    `inner_named` count only with a name.  `embedded` nodes contain text of the language that the grammar did
    not parse; it is parsed separately if `inner` matches.  `plain` nodes contain no definition unless
    `plain_unless` matches in them.  `bodies` need not be parsed.
    `heads` matches lines that begin functions, for a text with syntax errors.
    `prepare` blanks what the grammar cannot parse, byte for byte; `simplify` blanks more, for the lines that
    still have errors; `other` is the language to try if this one has errors and `other_if` matches.
    """

    module: str
    rules: Mapping[str, NodeRule | Chooser]
    function: str = "language"
    wraps: frozenset[str] = frozenset()
    through: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    attached: frozenset[str] = frozenset()
    attached_if: re.Pattern[bytes] | None = None
    not_signature: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset({"modifiers"})
    inner: re.Pattern[bytes] | None = None
    inner_nodes: frozenset[str] = frozenset()
    inner_words: tuple[bytes, ...] = ()
    inner_names: Callable[[bytes], Iterable[int]] | None = None
    inner_named: frozenset[str] = frozenset()
    embedded: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    plain_unless: re.Pattern[bytes] | None = None
    bodies: Bodies | None = None
    heads: re.Pattern[bytes] | None = None
    prepare: Callable[[bytes], bytes] | None = None
    simplify: Callable[[bytes, Sequence[tuple[int, int]]], bytes] | None = None
    other: str | None = None
    other_if: re.Pattern[bytes] | None = None


_LANGUAGES: dict[tuple[str, str], Language] = {}
_PLANS: dict[tuple[str, str], Plan] = {}
_QUERIES: dict[tuple[str, str], Query] = {}
_LOCK = threading.Lock()


class MissingGrammar(Exception):
    """A grammar that belongs to an extra and is not installed."""


def load(grammar: Grammar) -> Language:
    """The compiled grammar, imported on first use. Raises MissingGrammar if it is not installed."""
    key = (grammar.module, grammar.function)
    with _LOCK:
        found = _LANGUAGES.get(key)
        if found is None:
            from tree_sitter import Language

            try:
                module = import_module(grammar.module)
            except ModuleNotFoundError:
                package = problem(grammar.module.replace("_", "-"))
                raise MissingGrammar(f"{package}: {install(OF_GRAMMARS)}") from None
            found = Language(getattr(module, grammar.function)())
            _LANGUAGES[key] = found
        return found


class Action(Struct, frozen=True):
    """What a walk does with one kind of node, collected from `Grammar`."""

    rule: NodeRule | None
    choose: Chooser | None
    stands_above: bool
    is_attached: bool
    wraps: bool
    is_through: bool
    is_scope: bool
    is_embedded: bool
    plain_unless: re.Pattern[bytes] | None

    @property
    def is_larger(self) -> bool:
        """Whether such a node may contain definitions, unlike a field or a variable."""
        return self.rule is None or not self.rule.minor

    @property
    def defines(self) -> bool:
        """Whether such a node may be a definition itself."""
        return self.rule is not None or self.choose is not None


class Plan(Struct, frozen=True):
    """A grammar by the numeric ids of its kinds and fields, which are much faster to read than names.

    `actions` are by kind; all other kinds define and contain nothing.  `fields` and `kinds` are by name, and
    a name may stand for several kinds.  `larger` are the kinds with `Action.is_larger`.
    """

    actions: Mapping[int, Action]
    fields: Mapping[str, int]
    kinds: Mapping[str, frozenset[int]]
    not_signature: frozenset[int]
    modifiers: frozenset[int]
    larger: frozenset[int]
    _numbers: dict[tuple[str, ...], tuple[tuple[int, ...], frozenset[int]]]

    def numbers(self, names: tuple[str, ...]) -> tuple[tuple[int, ...], frozenset[int]]:
        """The ids of the fields, and of the kinds of nodes, with one of these names."""
        found = self._numbers.get(names)
        if found is None:
            fields = tuple(self.fields[name] for name in names if name in self.fields)
            found = self._numbers[names] = fields, _of_kinds(self.kinds, names)
        return found


def _of_kinds(kinds: Mapping[str, frozenset[int]], names: Iterable[str]) -> frozenset[int]:
    return frozenset(at for name in names for at in kinds.get(name, ()))


_BROKEN = "ERROR"
_BROKEN_ID = 0xFFFF
"""The kind of nodes for text that the parser did not understand, in every language."""


def _action(grammar: Grammar, kind: str) -> Action | None:
    attached, wraps = kind in grammar.attached, kind in grammar.wraps
    rule, through = grammar.rules.get(kind), kind in grammar.through or kind == _BROKEN
    above, embedded = attached or kind in grammar.comments, kind in grammar.embedded
    if rule is None and not (above or wraps or through or embedded):
        return None
    choose = None if isinstance(rule, NodeRule) else rule
    own = rule if isinstance(rule, NodeRule) else None
    unless = grammar.plain_unless if kind in grammar.plain else None
    return Action(own, choose, above, attached, wraps, through, kind in grammar.scopes, embedded, unless)


def plan_of(grammar: Grammar) -> Plan:
    """The plan of a loaded grammar."""
    key = (grammar.module, grammar.function)
    with _LOCK:
        found = _PLANS.get(key)
        if found is None:
            language = _LANGUAGES[key]
            kinds = {at: language.node_kind_for_id(at) for at in range(language.node_kind_count)}
            named = {at: kind for at, kind in kinds.items() if kind and language.node_kind_is_named(at)}
            chosen = {at: _action(grammar, kind) for at, kind in {**named, _BROKEN_ID: _BROKEN}.items()}
            fields = ((language.field_name_for_id(at), at) for at in range(1, language.field_count + 1))
            numbers: dict[str, frozenset[int]] = {}
            for at, kind in named.items():
                numbers[kind] = numbers.get(kind, frozenset()) | {at}
            found = Plan(
                {at: action for at, action in chosen.items() if action is not None},
                {name: at for name, at in fields if name},
                numbers,
                _of_kinds(numbers, grammar.not_signature),
                _of_kinds(numbers, grammar.modifiers),
                frozenset(at for at, action in chosen.items() if action is not None and action.is_larger),
                {},
            )
            _PLANS[key] = found
        return found


def inner_query(grammar: Grammar) -> Query:
    """The query for definitions in bodies of functions, and for comments and attributes above them."""
    key = (grammar.module, grammar.function)
    with _LOCK:
        found = _QUERIES.get(key)
        if found is None:
            from tree_sitter import Query

            kinds = sorted(grammar.inner_nodes | grammar.comments | grammar.attached)
            patterns = " ".join(f"({kind}) @d" for kind in kinds)
            found = Query(_LANGUAGES[key], patterns)
            _QUERIES[key] = found
        return found


@cache
def pattern(cut: str) -> re.Pattern[str]:
    """The compiled `cut` of a rule; rules share a few."""
    return re.compile(cut)


# -----------------------------------------------------------------------------
# Helpers for writing tables.
# -----------------------------------------------------------------------------


def words(names: str) -> frozenset[str]:
    """A set of the words in a string."""
    return frozenset(names.split())


def table(rules: Mapping[str, NodeRule | Chooser]) -> Mapping[str, NodeRule | Chooser]:
    """A read-only mapping of rules."""
    return MappingProxyType(dict(rules))


CLASS = NodeRule("class", members=True)
FUNCTION = NodeRule("function")
METHOD = NodeRule("method")
INTERFACE = NodeRule("interface", members=True)
ENUM = NodeRule("enum", members=True)
TYPE = NodeRule("type", body=())
FIELD = NodeRule("field", body=(), minor=True)
PROPERTY = NodeRule("property", body=(), minor=True)
ENUM_MEMBER = NodeRule("enum member", body=(), minor=True)


def text_of(source: bytes, node: Node | None) -> str:
    """The beginning of a node's text, on one line; empty without a node."""
    if node is None:
        return ""
    # Not `node.text`, which collects the text again if a function fed it to the parser.
    start = node.start_byte
    text = source[start : min(node.end_byte, start + _MAX_NAME)].decode("utf-8", "replace")
    return text if text.isidentifier() else _SPACE.sub(" ", text).strip()


def last_row(source: bytes, node: Node) -> int:
    """The last row of a node without trailing blanks: some nodes end after their line feed, or even later."""
    end = node.end_byte
    if not source[end - 1 : end].isspace():
        return node.end_point[0]
    tail = source[max(node.start_byte, end - _MAX_BLANK) : end]
    return node.end_point[0] - tail[len(tail.rstrip()) :].count(b"\n")


def field_text(source: bytes, node: Node, name: str) -> str:
    """The text of a field."""
    return text_of(source, node.child_by_field_name(name))


def named_by(source: bytes, node: Node, field: str) -> Named:
    """The text of a field as a name."""
    name = field_text(source, node, field).strip("'\"")
    return ((), name) if name else None


def itself(source: bytes, node: Node) -> Named:
    """The text of the node as a name."""
    name = text_of(source, node).strip("'\"")
    return ((), name) if name else None


def names_in(field: str) -> Namer:
    """A namer for all fields with this name."""

    def named(source: bytes, node: Node) -> Sequence[Named]:
        return [((), text_of(source, one)) for one in node.children_by_field_name(field) if one.is_named]

    return named


def names_of(kinds: str) -> Namer:
    """A namer for all children of these kinds."""
    wanted = words(kinds)

    def named(source: bytes, node: Node) -> Sequence[Named]:
        return [((), text_of(source, one)) for one in node.named_children if one.type in wanted]

    return named


def first_of(kinds: str) -> Namer:
    """A namer for the first child of these kinds."""
    wanted = words(kinds)

    def named(source: bytes, node: Node) -> Named:
        child = next((one for one in node.named_children if one.type in wanted), None)
        return None if child is None else itself(source, child)

    return named


def split_name(name: str, separator: str = ".") -> Named:
    """Split a name into its owners and itself."""
    parts = [part.strip() for part in name.split(separator)]
    return (tuple(filter(None, parts[:-1])), parts[-1]) if parts[-1] else None


def without_arguments(name: str) -> str:
    """A type without its generic arguments, nested ones included."""
    before = ""
    while before != name:
        before, name = name, _TYPE_ARGUMENTS.sub("", name)
    return name.strip()


def child_of(node: Node | None, kinds: frozenset[str]) -> Node | None:
    """The first child of one of these kinds."""
    if node is None:
        return None
    return next((one for one in node.named_children if one.type in kinds), None)
