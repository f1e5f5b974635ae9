"""Dart: types, functions and variables; signatures and bodies are siblings, and wrapped in classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    CLASS,
    ENUM,
    ENUM_MEMBER,
    Grammar,
    Named,
    NodeRule,
    child_of,
    first_of,
    table,
    text_of,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNATURES = words(
    "function_signature getter_signature setter_signature operator_signature constructor_signature "
    "constant_constructor_signature factory_constructor_signature redirecting_factory_constructor_signature"
)
_LISTS = words("static_final_declaration_list initialized_identifier_list identifier_list")
_DECLARED = words("static_final_declaration initialized_identifier")
_IDENTIFIER = words("identifier")


def _body(node: Node) -> Node | None:
    """The body after a signature; for a constructor without one, its initializers or redirection."""
    behind = node.next_named_sibling
    if behind is not None and behind.type == "function_body":
        return behind
    return child_of(node, words("initializers redirection"))


def _name(source: bytes, node: Node) -> Named:
    """The name of a signature, or of a node that contains one; for a named constructor, its own name."""
    signature = node if node.type in _SIGNATURES else child_of(node, _SIGNATURES)
    if signature is None:
        return None
    if signature.type == "operator_signature":
        words_of = text_of(source, signature).partition("(")[0].split()
        return (), " ".join(words_of[words_of.index("operator") :]) if "operator" in words_of else ""
    named = signature.child_by_field_name("name")
    if named is None or "constructor" in signature.type:
        names = [one for one in signature.named_children if one.type == "identifier"]
        named = names[-1] if names else None
    return None if named is None else ((), text_of(source, named))


def _class(source: bytes, node: Node) -> Named:
    name = node.child_by_field_name("name")
    alias = child_of(node, words("mixin_application_class"))
    name = child_of(alias, _IDENTIFIER) if name is None else name
    return None if name is None else ((), text_of(source, name))


def _extension(source: bytes, node: Node) -> Named:
    """The name of an extension, or the type that it extends."""
    named = node.child_by_field_name("name") or node.child_by_field_name("class")
    return None if named is None else ((), text_of(source, named))


def _alias(source: bytes, node: Node) -> Named:
    """The name of a type alias: first if there is an `=`, otherwise after the return type."""
    names = [one for one in node.named_children if one.type == "type_identifier"]
    if not names:
        return None
    return (), text_of(source, names[0 if any(one.type == "=" for one in node.children) else -1])


def _variables(source: bytes, node: Node) -> Sequence[Named]:
    listed = node if node.type in _LISTS else child_of(node, _LISTS)
    declared = [] if listed is None else listed.named_children
    names = (child_of(one, _IDENTIFIER) if one.type in _DECLARED else one for one in declared)
    return [((), text_of(source, name)) for name in names if name is not None and name.type == "identifier"]


_METHOD = NodeRule("method", _name, _body)
_CONSTRUCTOR = NodeRule("constructor", _name, _body)
_FUNCTION = NodeRule("function", _name, _body)
_VARIABLES = NodeRule("variable", _variables, (), cut=r"\s*=(?!=)|;", minor=True)


def _of_class(node: Node) -> NodeRule | None:
    """The rule for a member of a class: a method, a constructor, or fields."""
    signature = child_of(node, _SIGNATURES)
    if signature is None:
        return _VARIABLES if child_of(node, _LISTS) is not None else None
    return _CONSTRUCTOR if "constructor" in signature.type else _METHOD


def _of_body(source: bytes, node: Node) -> Named:
    """The name of a function in a function."""
    inside = child_of(node, words("lambda_expression"))
    return None if inside is None else _name(source, inside)


def _inner_body(node: Node) -> Node | None:
    inside = child_of(node, words("lambda_expression"))
    return None if inside is None else inside.child_by_field_name("body")


GRAMMAR = Grammar(
    "tree_sitter_dart",
    table(
        {
            "class_definition": NodeRule("class", _class, members=True),
            "mixin_declaration": NodeRule("class", first_of("identifier"), ("class_body",), members=True),
            "extension_declaration": NodeRule("extension", _extension, members=True),
            "extension_type_declaration": CLASS,
            "enum_declaration": ENUM,
            "enum_constant": ENUM_MEMBER,
            "type_alias": NodeRule("type", _alias, (), cut=r" =|;"),
            "method_signature": _of_class,
            "declaration": _of_class,
            "function_signature": _FUNCTION,
            "getter_signature": _FUNCTION,
            "setter_signature": _FUNCTION,
            "static_final_declaration_list": _VARIABLES,
            "initialized_identifier_list": _VARIABLES,
            "local_function_declaration": NodeRule("function", _of_body, _inner_body),
        }
    ),
    comments=words("comment documentation_comment"),
    attached=words("annotation"),
    not_signature=words("annotation comment documentation_comment"),
    inner=re.compile(rb"\w[ \t]*\([^;{}]{0,400}\)[ \t\r\n]*(?:a?sync\*?[ \t\r\n]*)?(?:\{|=>)"),
    inner_nodes=words("local_function_declaration"),
)
