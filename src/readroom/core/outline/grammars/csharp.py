"""C#: types with their methods, properties, fields, events and constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _namespace(source: bytes, node: Node) -> syntax.Named:
    return syntax.split_name(syntax.field_text(source, node, "name"))


def _destructor(source: bytes, node: Node) -> syntax.Named:
    return (), f"~{syntax.field_text(source, node, 'name')}"


def _operator(source: bytes, node: Node) -> syntax.Named:
    return (), f"operator {syntax.field_text(source, node, 'operator')}".strip()


def _conversion(source: bytes, node: Node) -> syntax.Named:
    return (), f"operator {syntax.field_text(source, node, 'type')}"


def _indexer(source: bytes, node: Node) -> syntax.Named:
    return (), "this"


GRAMMAR = syntax.Grammar(
    "tree_sitter_c_sharp",
    syntax.table(
        {
            "namespace_declaration": syntax.NodeRule("namespace", _namespace, members=True),
            "class_declaration": syntax.CLASS,
            "struct_declaration": syntax.NodeRule("struct", members=True),
            "interface_declaration": syntax.INTERFACE,
            "enum_declaration": syntax.ENUM,
            "record_declaration": syntax.NodeRule("record", members=True),
            "method_declaration": syntax.METHOD,
            "constructor_declaration": syntax.NodeRule("constructor"),
            "destructor_declaration": syntax.NodeRule("destructor", _destructor),
            "operator_declaration": syntax.NodeRule("operator", _operator),
            "conversion_operator_declaration": syntax.NodeRule("operator", _conversion),
            "using_directive": syntax.NodeRule("alias", body=(), minor=True),
            "indexer_declaration": syntax.NodeRule("property", _indexer, ("accessors", "value")),
            "property_declaration": syntax.NodeRule("property", body=("accessors", "value")),
            "event_declaration": syntax.NodeRule("event", body=("accessors",), minor=True),
            "delegate_declaration": syntax.TYPE,
            "local_function_statement": syntax.FUNCTION,
            "variable_declarator": syntax.NodeRule("field", cut=" =", minor=True),
            "enum_member_declaration": syntax.ENUM_MEMBER,
        }
    ),
    wraps=syntax.words("field_declaration event_field_declaration variable_declaration"),
    through=syntax.words(
        "global_statement file_scoped_namespace_declaration preproc_if preproc_else preproc_elif "
        "declaration_list enum_member_declaration_list"
    ),
    not_signature=syntax.words("attribute_list comment"),
    inner=re.compile(rb"\)\s*(?:where\b[^{;]{0,200})?(?:\{|=>)"),
    inner_nodes=syntax.words("local_function_statement"),
)
