"""Java: types with their methods, fields and constants."""

from __future__ import annotations

import re

from readroom.core.outline.syntax import (
    CLASS,
    ENUM,
    INTERFACE,
    METHOD,
    Bodies,
    Grammar,
    NodeRule,
    table,
    words,
)

_BODIES = Bodies(
    re.compile(
        rb"(?![^\n]*\b(?:if|for|while|switch|catch|synchronized|else|return|new|class|interface|enum|record)\b)"
        rb"[ \t]*+\w[\w<>\[\], .?&@]*[ \t>\]]\w+[ \t]*\([^{}]*\)(?:[ \t]*throws[ \t][\w., ]+)?[ \t]*\Z"
    ),
    quotes=(b"/*", b"*/", b'"' * 3),
)


GRAMMAR = Grammar(
    "tree_sitter_java",
    table(
        {
            "class_declaration": CLASS,
            "interface_declaration": INTERFACE,
            "enum_declaration": ENUM,
            "record_declaration": NodeRule("record", members=True),
            "annotation_type_declaration": INTERFACE,
            "method_declaration": METHOD,
            "constructor_declaration": NodeRule("constructor"),
            "compact_constructor_declaration": NodeRule("constructor"),
            "annotation_type_element_declaration": NodeRule("method", body=(), minor=True),
            "variable_declarator": NodeRule("field", body=("value",), minor=True),
            "enum_constant": NodeRule("enum member", body=("body",), members=True, minor=True),
        }
    ),
    wraps=words("field_declaration constant_declaration"),
    through=words("enum_body_declarations"),
    comments=words("line_comment block_comment"),
    not_signature=words("annotation marker_annotation line_comment block_comment"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:class|interface|enum|record)\s|\bnew\s[^;{}]{0,200}\)\s*\{"),
    inner_nodes=words(
        "class_declaration interface_declaration enum_declaration record_declaration method_declaration"
    ),
)
