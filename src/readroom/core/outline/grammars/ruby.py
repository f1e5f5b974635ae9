"""Ruby: modules, classes, methods, constants, accessors and aliases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_END = r";|\s+end\Z"
_ACCESSORS = syntax.words(
    "attr_reader attr_writer attr_accessor attr mattr_accessor cattr_accessor class_attribute"
)


def _scoped(source: bytes, node: Node) -> syntax.Named:
    return syntax.split_name(syntax.field_text(source, node, "name"), "::")


def _constant(source: bytes, node: Node) -> syntax.Named:
    left = node.child_by_field_name("left")
    if left is None or left.type not in ("constant", "scope_resolution"):
        return None
    return syntax.split_name(syntax.text_of(source, left), "::")


def _accessors(source: bytes, node: Node) -> Sequence[syntax.Named]:
    method = syntax.field_text(source, node, "method")
    if method not in _ACCESSORS and method != "alias_method":
        return []
    arguments = node.child_by_field_name("arguments")
    given = [] if arguments is None else arguments.named_children
    if method == "alias_method":
        given = given[:1]
    return [((), syntax.text_of(source, one).lstrip(":")) for one in given if one.type == "simple_symbol"]


def _alias(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "name").lstrip(":")
    return ((), name) if name else None


def _block(node: Node) -> Node | None:
    """The body of the block in `Name = Struct.new(:x) do ... end`, which is the body of a class."""
    right = node.child_by_field_name("right")
    block = None if right is None or right.type != "call" else right.child_by_field_name("block")
    return None if block is None else block.child_by_field_name("body")


_CLASS = syntax.NodeRule("class", _constant, _block, members=True, cut=r"\s+do\b|\n")
_CONSTANT = syntax.NodeRule("constant", _constant, (), cut=r"\n", minor=True)


def _assignment(node: Node) -> syntax.NodeRule:
    return _CONSTANT if _block(node) is None else _CLASS


def _call(node: Node) -> syntax.NodeRule | None:
    receiver = node.child_by_field_name("receiver")
    return _ATTRIBUTE if receiver is None and node.child_by_field_name("block") is None else None


_ATTRIBUTE = syntax.NodeRule("attribute", _accessors, (), minor=True)

GRAMMAR = syntax.Grammar(
    "tree_sitter_ruby",
    syntax.table(
        {
            "module": syntax.NodeRule("module", _scoped, members=True, cut=_END),
            "class": syntax.NodeRule("class", _scoped, members=True, cut=_END),
            "method": syntax.NodeRule("method", cut=_END),
            "singleton_method": syntax.NodeRule("method", cut=_END),
            "assignment": _assignment,
            "alias": syntax.NodeRule("alias", _alias, (), minor=True),
            "call": _call,
        }
    ),
    through=syntax.words(
        "singleton_class body_statement call argument_list if unless then else begin do_block block "
        "if_modifier unless_modifier assignment"
    ),
    inner=re.compile(rb"\bdef\s"),
    inner_nodes=syntax.words("method singleton_method"),
)
