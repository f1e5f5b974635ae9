"""Swift: types and extensions with their functions, properties and cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _type(source: bytes, node: Node) -> syntax.Named:
    name = syntax.without_arguments(syntax.field_text(source, node, "name"))
    return syntax.split_name(name) if name else None


_FIRST_WORDS = frozenset({"init", "deinit", "subscript"})


def _first_word(source: bytes, node: Node) -> syntax.Named:
    return next((((), one.type) for one in node.children if one.type in _FIRST_WORDS), None)


def _properties(source: bytes, node: Node) -> Sequence[syntax.Named]:
    """The names that a declaration binds; none for a pattern such as `(a, b)`."""
    names = [syntax.text_of(source, one) for one in node.children_by_field_name("name")]
    plain = [name.partition(":")[0].strip() for name in names]
    return [((), name) for name in plain if re.fullmatch(r"`?\w+`?", name)]


_BODIES = syntax.Bodies(
    re.compile(rb"[^\n]*\b(?:func|init|deinit)\b[^\n]*\Z"),
    quotes=(b"/*", b"*/", b'"' * 3, b"#if", b"#end"),
    put=b"0",
)


GRAMMAR = syntax.Grammar(
    "tree_sitter_swift",
    syntax.table(
        {
            "class_declaration": syntax.NodeRule("", _type, members=True),
            "protocol_declaration": syntax.NodeRule("protocol", members=True),
            "function_declaration": syntax.NodeRule("function"),
            "protocol_function_declaration": syntax.NodeRule("method"),
            "init_declaration": syntax.NodeRule("constructor", _first_word),
            "deinit_declaration": syntax.NodeRule("destructor", _first_word),
            "subscript_declaration": syntax.NodeRule("method", _first_word, ("computed_property",)),
            "typealias_declaration": syntax.TYPE,
            "associatedtype_declaration": syntax.TYPE,
            "property_declaration": syntax.NodeRule(
                "property", _properties, (), cut=r" =| \{|\n", minor=True
            ),
            "protocol_property_declaration": syntax.NodeRule("property", _properties, (), minor=True),
            "enum_entry": syntax.NodeRule("enum member", syntax.names_in("name"), (), minor=True),
        }
    ),
    comments=syntax.words("comment multiline_comment"),
    not_signature=syntax.words("attribute comment multiline_comment"),
    through=syntax.words("directive"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:func|struct|class|enum)\s"),
    inner_nodes=syntax.words("function_declaration class_declaration"),
)
