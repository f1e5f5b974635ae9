"""Swift: types and extensions with their functions, properties and cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    TYPE,
    Bodies,
    Grammar,
    Named,
    NodeRule,
    field_text,
    names_in,
    split_name,
    table,
    text_of,
    without_arguments,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _type(source: bytes, node: Node) -> Named:
    name = without_arguments(field_text(source, node, "name"))
    return split_name(name) if name else None


_FIRST_WORDS = frozenset({"init", "deinit", "subscript"})


def _first_word(source: bytes, node: Node) -> Named:
    return next((((), one.type) for one in node.children if one.type in _FIRST_WORDS), None)


def _properties(source: bytes, node: Node) -> Sequence[Named]:
    """The names that a declaration binds; none for a pattern such as `(a, b)`."""
    names = [text_of(source, one) for one in node.children_by_field_name("name")]
    plain = [name.partition(":")[0].strip() for name in names]
    return [((), name) for name in plain if re.fullmatch(r"`?\w+`?", name)]


_BODIES = Bodies(
    re.compile(rb"[^\n]*\b(?:func|init|deinit)\b[^\n]*\Z"),
    quotes=(b"/*", b"*/", b'"' * 3, b"#if", b"#end"),
    put=b"0",
)


GRAMMAR = Grammar(
    "tree_sitter_swift",
    table(
        {
            "class_declaration": NodeRule("", _type, members=True),
            "protocol_declaration": NodeRule("protocol", members=True),
            "function_declaration": NodeRule("function"),
            "protocol_function_declaration": NodeRule("method"),
            "init_declaration": NodeRule("constructor", _first_word),
            "deinit_declaration": NodeRule("destructor", _first_word),
            "subscript_declaration": NodeRule("method", _first_word, ("computed_property",)),
            "typealias_declaration": TYPE,
            "associatedtype_declaration": TYPE,
            "property_declaration": NodeRule("property", _properties, (), cut=r" =| \{|\n", minor=True),
            "protocol_property_declaration": NodeRule("property", _properties, (), minor=True),
            "enum_entry": NodeRule("enum member", names_in("name"), (), minor=True),
        }
    ),
    comments=words("comment multiline_comment"),
    not_signature=words("attribute comment multiline_comment"),
    through=words("directive"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:func|struct|class|enum)\s"),
    inner_nodes=words("function_declaration class_declaration"),
)
