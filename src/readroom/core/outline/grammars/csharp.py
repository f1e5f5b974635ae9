"""C#: types with their methods, properties, fields, events and constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    CLASS,
    ENUM,
    ENUM_MEMBER,
    FUNCTION,
    INTERFACE,
    METHOD,
    TYPE,
    Grammar,
    Named,
    NodeRule,
    field_text,
    split_name,
    table,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _namespace(source: bytes, node: Node) -> Named:
    return split_name(field_text(source, node, "name"))


def _destructor(source: bytes, node: Node) -> Named:
    return (), f"~{field_text(source, node, 'name')}"


def _operator(source: bytes, node: Node) -> Named:
    return (), f"operator {field_text(source, node, 'operator')}".strip()


def _conversion(source: bytes, node: Node) -> Named:
    return (), f"operator {field_text(source, node, 'type')}"


def _indexer(source: bytes, node: Node) -> Named:
    return (), "this"


GRAMMAR = Grammar(
    "tree_sitter_c_sharp",
    table(
        {
            "namespace_declaration": NodeRule("namespace", _namespace, members=True),
            "class_declaration": CLASS,
            "struct_declaration": NodeRule("struct", members=True),
            "interface_declaration": INTERFACE,
            "enum_declaration": ENUM,
            "record_declaration": NodeRule("record", members=True),
            "method_declaration": METHOD,
            "constructor_declaration": NodeRule("constructor"),
            "destructor_declaration": NodeRule("destructor", _destructor),
            "operator_declaration": NodeRule("operator", _operator),
            "conversion_operator_declaration": NodeRule("operator", _conversion),
            "using_directive": NodeRule("alias", body=(), minor=True),
            "indexer_declaration": NodeRule("property", _indexer, ("accessors", "value")),
            "property_declaration": NodeRule("property", body=("accessors", "value")),
            "event_declaration": NodeRule("event", body=("accessors",), minor=True),
            "delegate_declaration": TYPE,
            "local_function_statement": FUNCTION,
            "variable_declarator": NodeRule("field", cut=" =", minor=True),
            "enum_member_declaration": ENUM_MEMBER,
        }
    ),
    wraps=words("field_declaration event_field_declaration variable_declaration"),
    through=words(
        "global_statement file_scoped_namespace_declaration preproc_if preproc_else preproc_elif "
        "declaration_list enum_member_declaration_list"
    ),
    not_signature=words("attribute_list comment"),
    inner=re.compile(rb"\)\s*(?:where\b[^{;]{0,200})?(?:\{|=>)"),
    inner_nodes=words("local_function_statement"),
)
