"""Scala: types and objects with their definitions and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _pattern(source: bytes, node: Node) -> Sequence[syntax.Named]:
    """The names that a value binds: one, several, or none for a pattern that destructures."""
    found: list[syntax.Named] = []
    for one in node.children_by_field_name("pattern"):
        names = one.named_children if one.type in ("identifiers", "tuple_pattern") else [one]
        found += [((), syntax.text_of(source, name)) for name in names if name.type == "identifier"]
    return found


_VALUE = syntax.NodeRule("value", _pattern, (), cut=r" =|\n", minor=True)
_DECLARED = syntax.NodeRule("value", syntax.names_in("name"), (), minor=True)

GRAMMAR = syntax.Grammar(
    "tree_sitter_scala",
    syntax.table(
        {
            "class_definition": syntax.CLASS,
            "object_definition": syntax.NodeRule("object", members=True),
            "package_object": syntax.NodeRule("object", members=True),
            "trait_definition": syntax.NodeRule("trait", members=True),
            "enum_definition": syntax.ENUM,
            "function_definition": syntax.FUNCTION,
            "function_declaration": syntax.FUNCTION,
            "given_definition": syntax.NodeRule("given"),
            "type_definition": syntax.TYPE,
            "val_definition": _VALUE,
            "var_definition": _VALUE,
            "val_declaration": _DECLARED,
            "var_declaration": _DECLARED,
            "simple_enum_case": syntax.ENUM_MEMBER,
            "full_enum_case": syntax.ENUM_MEMBER,
        }
    ),
    through=syntax.words("package_clause template_body extension_definition enum_case_definitions enum_body"),
    comments=syntax.words("comment block_comment"),
    not_signature=syntax.words("annotation comment block_comment"),
    inner=re.compile(rb"\b(?:def|class|object|trait)\s"),
    inner_nodes=syntax.words(
        "function_definition class_definition object_definition trait_definition function_declaration"
    ),
)
