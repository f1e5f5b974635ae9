"""Zig: functions, tests, and the types and values of constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import Grammar, Named, NodeRule, child_of, first_of, table, text_of, words

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES = words(
    "struct_declaration enum_declaration union_declaration opaque_declaration error_set_declaration"
)


def _held(node: Node) -> Node | None:
    return child_of(node, _TYPES)


def _test(source: bytes, node: Node) -> Named:
    named = child_of(node, words("string identifier"))
    return (), text_of(source, named).strip('"') or "test"


_TYPE = NodeRule("type", first_of("identifier"), _held, members=True, cut="{")
_VALUE = NodeRule("constant", first_of("identifier"), (), cut=r"\n", minor=True)


def _variable(node: Node) -> NodeRule:
    return _VALUE if _held(node) is None else _TYPE


GRAMMAR = Grammar(
    "tree_sitter_zig",
    table(
        {
            "function_declaration": NodeRule("function"),
            "variable_declaration": _variable,
            "test_declaration": NodeRule("test", _test, ("block",)),
            "container_field": NodeRule("field", first_of("identifier"), (), minor=True),
        }
    ),
    # A generic type is the return value of a function.
    inner=re.compile(rb"\bfn[ \t]+\w"),
    inner_nodes=words("function_declaration"),
)
