"""Haskell: functions with their signatures and all equations, types with their constructors, classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import TYPE, Grammar, Named, NodeRule, field_text, table, text_of, words

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "()` "
_BINDINGS = words("binding_list")


def _bound(source: bytes, node: Node) -> Sequence[Named]:
    """The names of a signature or an equation; in an equation, an operator may be between its operands."""
    several = [one for one in node.named_children[:1] if one.type in _BINDINGS]
    if several:
        return [((), text_of(source, one).strip(_QUOTES)) for one in several[0].named_children]
    name = field_text(source, node, "name")
    if not name:
        infix = next((one for one in node.named_children if one.type == "infix"), None)
        name = "" if infix is None else field_text(source, infix, "operator")
    return [((), name.strip(_QUOTES))]


def _made(source: bytes, node: Node) -> Named:
    """The name of a constructor, which may be a record, and may be before its fields or between two."""
    inner = node.child_by_field_name("constructor") or node
    name = field_text(source, inner, "name") or field_text(source, inner, "operator")
    return (), name.strip(_QUOTES) or text_of(source, inner).split(" ")[0]


def _instance(source: bytes, node: Node) -> Named:
    """The name of an instance, with its type, as in `HasArea Shape`."""
    name, of = field_text(source, node, "name"), field_text(source, node, "patterns")
    return ((), f"{name} {of}".strip()) if name else None


_EQUATION = NodeRule("function", _bound, ("match",), cut=r"\n", joins=True)
_FAMILY = NodeRule("type", body=("closed_family",))

GRAMMAR = Grammar(
    "tree_sitter_haskell",
    table(
        {
            "signature": NodeRule("function", _bound, (), joins=True),
            "function": _EQUATION,
            "bind": _EQUATION,
            "data_type": NodeRule("type", body=("constructors",), members=True),
            "newtype": NodeRule("type", body=("constructor",), members=True, cut="="),
            "type_synonym": TYPE,
            "type_family": _FAMILY,
            "data_family": _FAMILY,
            "class": NodeRule("class", body=("declarations",), members=True, cut=r"\bwhere\b"),
            "instance": NodeRule("impl", _instance, ("declarations",), members=True, cut=r"\bwhere\b"),
            "data_constructor": NodeRule("constructor", _made, (), heads=("record",), minor=True),
            "newtype_constructor": NodeRule("constructor", _made, (), minor=True),
            "field": NodeRule("field", body=(), minor=True),
        }
    ),
    through=words("declarations foreign_import fields data_instance"),
    comments=words("comment haddock"),
    attached=words("pragma"),
)
