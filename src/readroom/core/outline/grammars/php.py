"""PHP: types with their methods, properties and constants, functions, variables, and `define` constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _property(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "name").lstrip("$")
    return ((), name) if name else None


def _defined(source: bytes, node: Node) -> syntax.Named:
    """The name of the constant in `define("NAME", value)`."""
    if syntax.field_text(source, node, "function").lower() != "define":
        return None
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_children[:1] if arguments is not None else []
    name = syntax.text_of(source, first[0]).strip("'\"") if first else ""
    return ((), name) if re.fullmatch(r"\w+", name) else None


def _assigned(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "left")
    return ((), name.lstrip("$")) if re.fullmatch(r"\$\w+", name) else None


_BODIES = syntax.Bodies(
    re.compile(rb"[^\n]*\bfunction\b[^\n]*\Z"), words=(b"?>", b"<<<"), quotes=(b"/*", b"*/", b"'", b'"', b"`")
)


GRAMMAR = syntax.Grammar(
    "tree_sitter_php",
    syntax.table(
        {
            "class_declaration": syntax.CLASS,
            "interface_declaration": syntax.INTERFACE,
            "trait_declaration": syntax.NodeRule("trait", members=True),
            "enum_declaration": syntax.ENUM,
            "function_definition": syntax.FUNCTION,
            "method_declaration": syntax.METHOD,
            "const_element": syntax.NodeRule("constant", syntax.first_of("name"), (), cut=r"\n", minor=True),
            "property_element": syntax.NodeRule("property", _property, (), cut=r"\n", minor=True),
            "enum_case": syntax.NodeRule("enum member", body=(), minor=True),
            "function_call_expression": syntax.NodeRule("constant", _defined, (), cut=r"\n", minor=True),
            "assignment_expression": syntax.NodeRule("variable", _assigned, (), cut=r"\n", minor=True),
        }
    ),
    "language_php",
    wraps=syntax.words("const_declaration property_declaration"),
    through=syntax.words(
        "namespace_definition compound_statement if_statement else_clause else_if_clause colon_block "
        "expression_statement enum_declaration_list"
    ),
    not_signature=syntax.words("attribute_list comment"),
    bodies=_BODIES,
    inner=re.compile(rb"\bfunction\s+&?\s*\w|\bclass\s+\w|\bnew\s+class\b"),
    inner_nodes=syntax.words("function_definition class_declaration method_declaration"),
)
