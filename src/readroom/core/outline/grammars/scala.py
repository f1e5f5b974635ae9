"""Scala: types and objects with their definitions and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    CLASS,
    ENUM,
    ENUM_MEMBER,
    FUNCTION,
    TYPE,
    Grammar,
    Named,
    NodeRule,
    names_in,
    table,
    text_of,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _pattern(source: bytes, node: Node) -> Sequence[Named]:
    """The names that a value binds: one, several, or none for a pattern that destructures."""
    found: list[Named] = []
    for one in node.children_by_field_name("pattern"):
        names = one.named_children if one.type in ("identifiers", "tuple_pattern") else [one]
        found += [((), text_of(source, name)) for name in names if name.type == "identifier"]
    return found


_VALUE = NodeRule("value", _pattern, (), cut=r" =|\n", minor=True)
_DECLARED = NodeRule("value", names_in("name"), (), minor=True)

GRAMMAR = Grammar(
    "tree_sitter_scala",
    table(
        {
            "class_definition": CLASS,
            "object_definition": NodeRule("object", members=True),
            "package_object": NodeRule("object", members=True),
            "trait_definition": NodeRule("trait", members=True),
            "enum_definition": ENUM,
            "function_definition": FUNCTION,
            "function_declaration": FUNCTION,
            "given_definition": NodeRule("given"),
            "type_definition": TYPE,
            "val_definition": _VALUE,
            "var_definition": _VALUE,
            "val_declaration": _DECLARED,
            "var_declaration": _DECLARED,
            "simple_enum_case": ENUM_MEMBER,
            "full_enum_case": ENUM_MEMBER,
        }
    ),
    through=words("package_clause template_body extension_definition enum_case_definitions enum_body"),
    comments=words("comment block_comment"),
    not_signature=words("annotation comment block_comment"),
    inner=re.compile(rb"\b(?:def|class|object|trait)\s"),
    inner_nodes=words(
        "function_definition class_definition object_definition trait_definition function_declaration"
    ),
)
