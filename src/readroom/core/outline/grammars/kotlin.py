"""Kotlin: types with their functions, properties and entries; extensions by the type they extend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_BODIES = ("class_body", "enum_class_body")
_DECLARED = syntax.words("variable_declaration")

_DELEGATION = ("delegation_specifiers", "delegation_specifier", "explicit_delegation", "call_expression")


def _class_body(node: Node) -> Node | None:
    """The body of a class; in `class A : B by c {` the grammar parses it as an argument of `c`."""
    body = syntax.child_of(node, frozenset(_BODIES))
    found: Node | None = node if body is None else None
    for kind in (*_DELEGATION, "annotated_lambda", "lambda_literal"):
        inside = [] if found is None else [one for one in found.named_children if one.type == kind]
        found = inside[-1] if inside else None
    return body or found


def _function(source: bytes, node: Node) -> syntax.Named:
    """The name of a function; the owner of an extension function is the type before its name."""
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return _extended(source, node, name)


def _extended(source: bytes, node: Node, name: Node) -> syntax.Named:
    before = [one for one in node.named_children if one.end_byte <= name.start_byte]
    has_owner = bool(before) and before[-1].type in ("user_type", "nullable_type")
    owner = syntax.without_arguments(syntax.text_of(source, before[-1])).rstrip("?") if has_owner else ""
    return ((owner,) if owner else (), syntax.text_of(source, name))


def _property(source: bytes, node: Node) -> syntax.Named:
    declared = syntax.child_of(node, _DECLARED)
    if declared is None:
        return None
    name = syntax.child_of(declared, syntax.words("identifier simple_identifier"))
    if name is None:
        return syntax.itself(source, declared)
    owner = _extended(source, node, declared)
    return (owner[0] if owner else ()), syntax.text_of(source, name)


_VALUES = syntax.words("object_literal call_expression lambda_literal")


def _property_value(node: Node) -> Node | None:
    """The value of a property, if it may contain definitions: an object, a call or a lambda."""
    last = node.named_children[-1] if node.named_children else None
    return last if last is not None and last.type in _VALUES else None


_VALUE = re.compile(r"\b(?:val|var)\b")


def _parameter(source: bytes, node: Node) -> syntax.Named:
    """The name of a parameter of a constructor that is also a property."""
    name = syntax.child_of(node, syntax.words("identifier simple_identifier"))
    if name is None or not _VALUE.search(
        source[node.start_byte : name.start_byte].decode("utf-8", "replace")
    ):
        return None
    return (), syntax.text_of(source, name)


def _companion(source: bytes, node: Node) -> syntax.Named:
    return (), syntax.field_text(source, node, "name") or "Companion"


def _constructor(source: bytes, node: Node) -> syntax.Named:
    return (), "constructor"


_PLAIN_BODIES = syntax.Bodies(
    re.compile(
        rb"(?![^\n]*\b(?:object|interface|class)\b)[^\n]*\bfun\b[^\n]*\)(?:[ \t]*:[^\n{}=]*)?[ \t]*\Z"
    ),
    quotes=(b"/*", b"*/", b'"' * 3),
    put=b"0",
)


_ACTUAL = re.compile(rb"(?<=\w)[ \t]+(?:actual|expect)(?=[ \t]+constructor\b)")


def _without_actual(source: bytes) -> bytes:
    """Blank `actual` or `expect` after another modifier of a constructor, which the grammar does not know."""
    return _ACTUAL.sub(lambda found: b" " * len(found[0]), source) if b" constructor" in source else source


GRAMMAR = syntax.Grammar(
    "tree_sitter_kotlin",
    syntax.table(
        {
            "class_declaration": syntax.NodeRule(
                "", body=_class_body, members=True, heads=("primary_constructor",)
            ),
            "object_declaration": syntax.NodeRule("object", body=("class_body",), members=True),
            "companion_object": syntax.NodeRule("object", _companion, ("class_body",), members=True),
            "function_declaration": syntax.NodeRule("function", _function, ("function_body",)),
            "secondary_constructor": syntax.NodeRule(
                "constructor", _constructor, ("constructor_delegation_call", "block"), cut=" :"
            ),
            "type_alias": syntax.NodeRule("type", "type", ()),
            "property_declaration": syntax.NodeRule(
                "property", _property, _property_value, cut=r" =|\n", minor=True
            ),
            "class_parameter": syntax.NodeRule("property", _parameter, (), minor=True),
            "enum_entry": syntax.NodeRule(
                "enum member",
                syntax.first_of("identifier simple_identifier"),
                ("class_body",),
                True,
                minor=True,
            ),
        }
    ),
    comments=syntax.words("line_comment block_comment"),
    not_signature=syntax.words("annotation line_comment block_comment"),
    through=syntax.words("class_parameters"),
    bodies=_PLAIN_BODIES,
    prepare=_without_actual,
    inner=re.compile(rb"\b(?:fun|class)\s|\bobject\s*:"),
    inner_nodes=syntax.words("function_declaration class_declaration"),
)
