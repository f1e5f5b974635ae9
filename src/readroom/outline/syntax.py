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

from readroom.extras import OF_GRAMMARS, install, problem

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

Named: TypeAlias = "tuple[tuple[str, ...], str] | None"
"""The names of what owns a definition, and its own; None where the node defines nothing."""

Namer: TypeAlias = "Callable[[bytes, Node], Named | Sequence[Named]]"
"""From a text and a node to what it names; several where one node declares several."""

_MOST_NAME = 1000
"""Bytes of a text that is looked through for a name."""

_MOST_BLANK = 400
"""Bytes behind a definition that its node may take in."""

_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_SPACE = re.compile(r"\s+")


class NodeRule(Struct, frozen=True):
    """What a kind of node defines.

    `name` is the field that holds the name, or a function that finds it.  `body`
    are fields or kinds of children, of which the first that is there ends the
    signature, or a function that finds it; with `members` it is looked into.
    `needs_body`: without one it only mentions the name.  `cut` is a regular
    expression that ends the signature, too; of "{" the body may hold more of the
    signature.  `heads` are kinds of children before it that hold members, too.  An
    empty `kind` is the word that declares it.  What is `minor` is
    folded where it would flood an outline, and left out in bodies of functions.  What is
    `aside` are nodes in the one called `maker` that define something of the class that it is in.  What
    `joins` is one definition with what precedes it under the same name, as the equations of a function.
    Where `told` matches the text of a node it is the signature, and its group the name.
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
    told: re.Pattern[bytes] | None = None


Chooser: TypeAlias = "Callable[[Node], NodeRule | None]"
"""For kinds of nodes that define one thing or another, by what is in them."""


class Bodies(Struct, frozen=True):
    """Which bodies of functions need not be parsed, since nothing in them is listed.

    `head` matches a line up to the brace that begins one, or, where bodies are `indented`, all of what
    begins one from the line feed before it, with its indentation as a group.  A body is parsed all the same
    where one of the `words` is in it or `inner`, or else that of the grammar, matches, or where there is
    an odd number of some of the `quotes` of texts of several lines.  A statement is `put` in its place.
    """

    head: re.Pattern[bytes]
    indented: bool = False
    words: tuple[bytes, ...] = ()
    inner: re.Pattern[bytes] | None = None
    quotes: tuple[bytes, ...] = ()
    put: bytes = b";"


class Grammar(Struct, frozen=True):
    """One language: where its grammar is, and what its kinds of nodes mean.

    `wraps` hold one definition and count as part of it; `through` hold some and
    are looked into; those of them that are `scopes` hold the locals of a function.
    `comments` stand above what they describe; `attached` belong to the next
    definition where `attached_if`, if there is one, matches; `not_signature` precede a
    signature within its node, also inside `modifiers`.
    Bodies of functions are looked through for `inner_nodes` where `inner` matches; where
    one of the `inner_words` stands in each of them, or its name where `inner_names` says,
    by these.  Those that are `inner_named` count with a name only.  What is `embedded`
    holds text of the language that its grammar left alone, parsed on its own where
    `inner` matches.  What is `plain` holds no definition unless `plain_unless` is in it.
    `bodies` are those that need not be parsed.
    `heads` is how lines begin functions, for a text that does not parse everywhere.
    `prepare` blanks what the grammar stumbles over, byte for byte, `simplify` what else
    it may for the lines in which that did not do; `other` is the language to try where this
    one does not fit and `other_if` matches.
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
    """A grammar that is in an extra, and not installed."""


def load(grammar: Grammar) -> Language:
    """The compiled grammar, imported when first used. Raises MissingGrammar where it is not installed."""
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
    """What a walk does with one kind of node: what `Grammar` says of it, all at once."""

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
        """Whether such a node may hold definitions, or is one that may: no field, no variable."""
        return self.rule is None or not self.rule.minor

    @property
    def defines(self) -> bool:
        """Whether such a node may define something itself."""
        return self.rule is not None or self.choose is not None


class Plan(Struct, frozen=True):
    """A grammar by the numbers that its language has for names: those of nodes are far quicker to ask for.

    `actions` are by the kinds of nodes; any other defines and holds nothing.  `fields` are by
    their names, and `kinds`: one name may be that of several.  `larger` are those that may hold others.
    """

    actions: Mapping[int, Action]
    fields: Mapping[str, int]
    kinds: Mapping[str, frozenset[int]]
    not_signature: frozenset[int]
    modifiers: frozenset[int]
    larger: frozenset[int]
    _numbers: dict[tuple[str, ...], tuple[tuple[int, ...], frozenset[int]]]

    def numbers(self, names: tuple[str, ...]) -> tuple[tuple[int, ...], frozenset[int]]:
        """Those of the fields, and of the kinds of nodes, that have one of these names."""
        found = self._numbers.get(names)
        if found is None:
            fields = tuple(self.fields[name] for name in names if name in self.fields)
            found = self._numbers[names] = fields, _of_kinds(self.kinds, names)
        return found


def _of_kinds(kinds: Mapping[str, frozenset[int]], names: Iterable[str]) -> frozenset[int]:
    return frozenset(at for name in names for at in kinds.get(name, ()))


_BROKEN = "ERROR"
_BROKEN_ID = 0xFFFF
"""Of a node that the parser made of what it did not understand, in every language."""


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
    """The plan of a grammar that is loaded."""
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
    """The query for what may be defined in bodies of functions, with what stands around and above it."""
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
    """What ends a signature; each rule has one of a few."""
    return re.compile(cut)


# -----------------------------------------------------------------------------
# What tables are written with.
# -----------------------------------------------------------------------------


def words(names: str) -> frozenset[str]:
    """A set, from its words."""
    return frozenset(names.split())


def table(rules: Mapping[str, NodeRule | Chooser]) -> Mapping[str, NodeRule | Chooser]:
    """Rules that nobody can change."""
    return MappingProxyType(dict(rules))


CLASS = NodeRule("class", members=True)
FUNCTION = NodeRule("function")
METHOD = NodeRule("method")
INTERFACE = NodeRule("interface", members=True)
ENUM = NodeRule("enum", members=True)
TYPE = NodeRule("type", body=())
FIELD = NodeRule("field", body=(), minor=True)
CONSTANT = NodeRule("constant", body=(), minor=True)
VARIABLE = NodeRule("variable", body=(), minor=True)
PROPERTY = NodeRule("property", body=(), minor=True)
ENUM_MEMBER = NodeRule("enum member", body=(), minor=True)


def text_of(source: bytes, node: Node | None) -> str:
    """The beginning of its text on one line; empty without a node."""
    if node is None:
        return ""
    # Not `node.text`, which collects the text anew when a function has fed it to the parser.
    start = node.start_byte
    text = source[start : min(node.end_byte, start + _MOST_NAME)].decode("utf-8", "replace")
    return text if text.isidentifier() else _SPACE.sub(" ", text).strip()


def last_row(source: bytes, node: Node) -> int:
    """The row in which a node ends: some end behind their line feed, or where the next thing begins."""
    end = node.end_byte
    if not source[end - 1 : end].isspace():
        return node.end_point[0]
    tail = source[max(node.start_byte, end - _MOST_BLANK) : end]
    return node.end_point[0] - tail[len(tail.rstrip()) :].count(b"\n")


def field_text(source: bytes, node: Node, name: str) -> str:
    """The text of a field."""
    return text_of(source, node.child_by_field_name(name))


def named_by(source: bytes, node: Node, field: str) -> Named:
    """What the text of a field names."""
    name = field_text(source, node, field).strip("'\"")
    return ((), name) if name else None


def itself(source: bytes, node: Node) -> Named:
    """What the text of the node names."""
    name = text_of(source, node).strip("'\"")
    return ((), name) if name else None


def names_in(field: str) -> Namer:
    """A namer of what all fields of that name do."""

    def named(source: bytes, node: Node) -> Sequence[Named]:
        return [((), text_of(source, one)) for one in node.children_by_field_name(field) if one.is_named]

    return named


def names_of(kinds: str) -> Namer:
    """A namer of what the children of those kinds do."""
    wanted = words(kinds)

    def named(source: bytes, node: Node) -> Sequence[Named]:
        return [((), text_of(source, one)) for one in node.named_children if one.type in wanted]

    return named


def first_of(kinds: str) -> Namer:
    """A namer by the first child of those kinds."""
    wanted = words(kinds)

    def named(source: bytes, node: Node) -> Named:
        child = next((one for one in node.named_children if one.type in wanted), None)
        return None if child is None else itself(source, child)

    return named


def split_name(name: str, separator: str = ".") -> Named:
    """A name with what owns it before a separator."""
    parts = [part.strip() for part in name.split(separator)]
    return (tuple(filter(None, parts[:-1])), parts[-1]) if parts[-1] else None


def without_arguments(name: str) -> str:
    """A type without its generic arguments, nested ones included."""
    before = ""
    while before != name:
        before, name = name, _TYPE_ARGUMENTS.sub("", name)
    return name.strip()


def child_of(node: Node | None, kinds: frozenset[str]) -> Node | None:
    """The first child of one of those kinds."""
    if node is None:
        return None
    return next((one for one in node.named_children if one.type in kinds), None)
