"""Java: types with their methods, fields and constants."""

from __future__ import annotations

import re

from readroom.core.outline import syntax

_BODIES = syntax.Bodies(
    re.compile(
        rb"(?![^\n]*\b(?:if|for|while|switch|catch|synchronized|else|return|new|class|interface|enum|record)\b)"
        rb"[ \t]*+\w[\w<>\[\], .?&@]*[ \t>\]]\w+[ \t]*\([^{}]*\)(?:[ \t]*throws[ \t][\w., ]+)?[ \t]*\Z"
    ),
    quotes=(b"/*", b"*/", b'"' * 3),
)


GRAMMAR = syntax.Grammar(
    "tree_sitter_java",
    syntax.table(
        {
            "class_declaration": syntax.CLASS,
            "interface_declaration": syntax.INTERFACE,
            "enum_declaration": syntax.ENUM,
            "record_declaration": syntax.NodeRule("record", members=True),
            "annotation_type_declaration": syntax.INTERFACE,
            "method_declaration": syntax.METHOD,
            "constructor_declaration": syntax.NodeRule("constructor"),
            "compact_constructor_declaration": syntax.NodeRule("constructor"),
            "annotation_type_element_declaration": syntax.NodeRule("method", body=(), minor=True),
            "variable_declarator": syntax.NodeRule("field", body=("value",), minor=True),
            "enum_constant": syntax.NodeRule("enum member", body=("body",), members=True, minor=True),
        }
    ),
    wraps=syntax.words("field_declaration constant_declaration"),
    through=syntax.words("enum_body_declarations"),
    comments=syntax.words("line_comment block_comment"),
    not_signature=syntax.words("annotation marker_annotation line_comment block_comment"),
    bodies=_BODIES,
    inner=re.compile(rb"\b(?:class|interface|enum|record)\s|\bnew\s[^;{}]{0,200}\)\s*\{"),
    inner_nodes=syntax.words(
        "class_declaration interface_declaration enum_declaration record_declaration method_declaration"
    ),
)
