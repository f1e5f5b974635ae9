"""Rust: items with their fields, variants and constants, also those in arguments of macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    ENUM_MEMBER,
    FIELD,
    FUNCTION,
    TYPE,
    Bodies,
    Grammar,
    Named,
    NodeRule,
    field_text,
    table,
    without_arguments,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


_REFERENCE = re.compile(r"(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+")


def _impl(source: bytes, node: Node) -> Named:
    """The type of an `impl`; for an array or a slice, which has no name, its text."""
    text = _REFERENCE.sub("", field_text(source, node, "type"), count=1)
    name = without_arguments(text).rpartition("::")[2].strip() or text
    return ((), name) if name else None


_MODULE = NodeRule("module", members=True)
_MODULE_FILE = NodeRule("module", minor=True)


def _module(node: Node) -> NodeRule:
    """The rule for a module: with a body it is a definition, without one it refers to a file."""
    return _MODULE_FILE if node.child_by_field_name("body") is None else _MODULE


_BODIES = Bodies(
    re.compile(rb"[ \t]*+(?:\)|[^\n]*\bfn[ \t])[^\n]*\Z"),
    words=(b'r"', b'#"'),
    quotes=(b"/*", b"*/", b'"'),
)


GRAMMAR = Grammar(
    "tree_sitter_rust",
    table(
        {
            "function_item": FUNCTION,
            "function_signature_item": FUNCTION,
            "struct_item": NodeRule("struct", members=True, cut="{"),
            "enum_item": NodeRule("enum", members=True),
            "union_item": NodeRule("union", members=True),
            "trait_item": NodeRule("trait", members=True),
            "impl_item": NodeRule("impl", _impl, members=True),
            "mod_item": _module,
            "macro_definition": NodeRule("macro", cut="{"),
            "type_item": TYPE,
            "associated_type": TYPE,
            "field_declaration": FIELD,
            "enum_variant": ENUM_MEMBER,
            "const_item": NodeRule("constant", body=(), cut=r" =|\n", minor=True),
            "static_item": NodeRule("variable", body=(), cut=r" =|\n", minor=True),
        }
    ),
    through=words("foreign_mod_item declaration_list expression_statement"),
    comments=words("line_comment block_comment"),
    attached=words("attribute_item"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:fn|struct|enum|trait|impl|macro_rules!|mod|const|static|type)\s"),
    inner_nodes=words("function_item struct_item enum_item union_item trait_item impl_item macro_definition"),
    embedded=words("macro_invocation"),
)
