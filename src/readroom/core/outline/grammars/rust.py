"""Rust: items with their fields, variants and constants, also those in arguments of macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


_REFERENCE = re.compile(r"(?:&\s*(?:'\w+\s+)?(?:mut\s+)?)+")


def _impl(source: bytes, node: Node) -> syntax.Named:
    """The type of an `impl`; for an array or a slice, which has no name, its text."""
    text = _REFERENCE.sub("", syntax.field_text(source, node, "type"), count=1)
    name = syntax.without_arguments(text).rpartition("::")[2].strip() or text
    return ((), name) if name else None


_MODULE = syntax.NodeRule("module", members=True)
_MODULE_FILE = syntax.NodeRule("module", minor=True)


def _module(node: Node) -> syntax.NodeRule:
    """The rule for a module: with a body it is a definition, without one it refers to a file."""
    return _MODULE_FILE if node.child_by_field_name("body") is None else _MODULE


_BODIES = syntax.Bodies(
    re.compile(rb"[ \t]*+(?:\)|[^\n]*\bfn[ \t])[^\n]*\Z"),
    words=(b'r"', b'#"'),
    quotes=(b"/*", b"*/", b'"'),
)


GRAMMAR = syntax.Grammar(
    "tree_sitter_rust",
    syntax.table(
        {
            "function_item": syntax.FUNCTION,
            "function_signature_item": syntax.FUNCTION,
            "struct_item": syntax.NodeRule("struct", members=True, cut="{"),
            "enum_item": syntax.NodeRule("enum", members=True),
            "union_item": syntax.NodeRule("union", members=True),
            "trait_item": syntax.NodeRule("trait", members=True),
            "impl_item": syntax.NodeRule("impl", _impl, members=True),
            "mod_item": _module,
            "macro_definition": syntax.NodeRule("macro", cut="{"),
            "type_item": syntax.TYPE,
            "associated_type": syntax.TYPE,
            "field_declaration": syntax.FIELD,
            "enum_variant": syntax.ENUM_MEMBER,
            "const_item": syntax.NodeRule("constant", body=(), cut=r" =|\n", minor=True),
            "static_item": syntax.NodeRule("variable", body=(), cut=r" =|\n", minor=True),
        }
    ),
    through=syntax.words("foreign_mod_item declaration_list expression_statement"),
    comments=syntax.words("line_comment block_comment"),
    attached=syntax.words("attribute_item"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:fn|struct|enum|trait|impl|macro_rules!|mod|const|static|type)\s"),
    inner_nodes=syntax.words(
        "function_item struct_item enum_item union_item trait_item impl_item macro_definition"
    ),
    embedded=syntax.words("macro_invocation"),
)
