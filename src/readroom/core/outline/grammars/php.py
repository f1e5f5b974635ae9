"""PHP: types with their methods, properties and constants, functions, variables, and `define` constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    CLASS,
    ENUM,
    FUNCTION,
    INTERFACE,
    METHOD,
    Bodies,
    Grammar,
    Named,
    NodeRule,
    field_text,
    first_of,
    table,
    text_of,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _property(source: bytes, node: Node) -> Named:
    name = field_text(source, node, "name").lstrip("$")
    return ((), name) if name else None


def _defined(source: bytes, node: Node) -> Named:
    """The name of the constant in `define("NAME", value)`."""
    if field_text(source, node, "function").lower() != "define":
        return None
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_children[:1] if arguments is not None else []
    name = text_of(source, first[0]).strip("'\"") if first else ""
    return ((), name) if re.fullmatch(r"\w+", name) else None


def _assigned(source: bytes, node: Node) -> Named:
    name = field_text(source, node, "left")
    return ((), name.lstrip("$")) if re.fullmatch(r"\$\w+", name) else None


_BODIES = Bodies(
    re.compile(rb"[^\n]*\bfunction\b[^\n]*\Z"), words=(b"?>", b"<<<"), quotes=(b"/*", b"*/", b"'", b'"', b"`")
)


GRAMMAR = Grammar(
    "tree_sitter_php",
    table(
        {
            "class_declaration": CLASS,
            "interface_declaration": INTERFACE,
            "trait_declaration": NodeRule("trait", members=True),
            "enum_declaration": ENUM,
            "function_definition": FUNCTION,
            "method_declaration": METHOD,
            "const_element": NodeRule("constant", first_of("name"), (), cut=r"\n", minor=True),
            "property_element": NodeRule("property", _property, (), cut=r"\n", minor=True),
            "enum_case": NodeRule("enum member", body=(), minor=True),
            "function_call_expression": NodeRule("constant", _defined, (), cut=r"\n", minor=True),
            "assignment_expression": NodeRule("variable", _assigned, (), cut=r"\n", minor=True),
        }
    ),
    "language_php",
    wraps=words("const_declaration property_declaration"),
    through=words(
        "namespace_definition compound_statement if_statement else_clause else_if_clause colon_block "
        "expression_statement enum_declaration_list"
    ),
    not_signature=words("attribute_list comment"),
    bodies=_BODIES,
    inner=re.compile(rb"\bfunction\s+&?\s*\w|\bclass\s+\w|\bnew\s+class\b"),
    inner_nodes=words("function_definition class_declaration method_declaration"),
)
