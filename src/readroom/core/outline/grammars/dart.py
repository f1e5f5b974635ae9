"""Dart: types, functions and variables; signatures and bodies are siblings, and wrapped in classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNATURES = syntax.words(
    "function_signature getter_signature setter_signature operator_signature constructor_signature "
    "constant_constructor_signature factory_constructor_signature redirecting_factory_constructor_signature"
)
_LISTS = syntax.words("static_final_declaration_list initialized_identifier_list identifier_list")
_DECLARED = syntax.words("static_final_declaration initialized_identifier")
_IDENTIFIER = syntax.words("identifier")


def _body(node: Node) -> Node | None:
    """The body after a signature; for a constructor without one, its initializers or redirection."""
    body = node.next_named_sibling
    if body is not None and body.type == "function_body":
        return body
    return syntax.child_of(node, syntax.words("initializers redirection"))


def _name(source: bytes, node: Node) -> syntax.Named:
    """The name of a signature, or of a node that contains one; for a named constructor, its own name."""
    signature = node if node.type in _SIGNATURES else syntax.child_of(node, _SIGNATURES)
    if signature is None:
        return None
    if signature.type == "operator_signature":
        words_of = syntax.text_of(source, signature).partition("(")[0].split()
        return (), " ".join(words_of[words_of.index("operator") :]) if "operator" in words_of else ""
    named = signature.child_by_field_name("name")
    if named is None or "constructor" in signature.type:
        names = [one for one in signature.named_children if one.type == "identifier"]
        named = names[-1] if names else None
    return None if named is None else ((), syntax.text_of(source, named))


def _class(source: bytes, node: Node) -> syntax.Named:
    name = node.child_by_field_name("name")
    alias = syntax.child_of(node, syntax.words("mixin_application_class"))
    name = syntax.child_of(alias, _IDENTIFIER) if name is None else name
    return None if name is None else ((), syntax.text_of(source, name))


def _extension(source: bytes, node: Node) -> syntax.Named:
    """The name of an extension, or the type that it extends."""
    named = node.child_by_field_name("name") or node.child_by_field_name("class")
    return None if named is None else ((), syntax.text_of(source, named))


def _alias(source: bytes, node: Node) -> syntax.Named:
    """The name of a type alias: first if there is an `=`, otherwise after the return type."""
    names = [one for one in node.named_children if one.type == "type_identifier"]
    if not names:
        return None
    return (), syntax.text_of(source, names[0 if any(one.type == "=" for one in node.children) else -1])


def _variables(source: bytes, node: Node) -> Sequence[syntax.Named]:
    listed = node if node.type in _LISTS else syntax.child_of(node, _LISTS)
    declared = [] if listed is None else listed.named_children
    names = (syntax.child_of(one, _IDENTIFIER) if one.type in _DECLARED else one for one in declared)
    return [
        ((), syntax.text_of(source, name)) for name in names if name is not None and name.type == "identifier"
    ]


_METHOD = syntax.NodeRule("method", _name, _body)
_CONSTRUCTOR = syntax.NodeRule("constructor", _name, _body)
_FUNCTION = syntax.NodeRule("function", _name, _body)
_VARIABLES = syntax.NodeRule("variable", _variables, (), cut=r"\s*=(?!=)|;", minor=True)


def _of_class(node: Node) -> syntax.NodeRule | None:
    """The rule for a member of a class: a method, a constructor, or fields."""
    signature = syntax.child_of(node, _SIGNATURES)
    if signature is None:
        return _VARIABLES if syntax.child_of(node, _LISTS) is not None else None
    return _CONSTRUCTOR if "constructor" in signature.type else _METHOD


def _of_body(source: bytes, node: Node) -> syntax.Named:
    """The name of a function in a function."""
    inside = syntax.child_of(node, syntax.words("lambda_expression"))
    return None if inside is None else _name(source, inside)


def _inner_body(node: Node) -> Node | None:
    inside = syntax.child_of(node, syntax.words("lambda_expression"))
    return None if inside is None else inside.child_by_field_name("body")


GRAMMAR = syntax.Grammar(
    "tree_sitter_dart",
    syntax.table(
        {
            "class_definition": syntax.NodeRule("class", _class, members=True),
            "mixin_declaration": syntax.NodeRule(
                "class", syntax.first_of("identifier"), ("class_body",), members=True
            ),
            "extension_declaration": syntax.NodeRule("extension", _extension, members=True),
            "extension_type_declaration": syntax.CLASS,
            "enum_declaration": syntax.ENUM,
            "enum_constant": syntax.ENUM_MEMBER,
            "type_alias": syntax.NodeRule("type", _alias, (), cut=r" =|;"),
            "method_signature": _of_class,
            "declaration": _of_class,
            "function_signature": _FUNCTION,
            "getter_signature": _FUNCTION,
            "setter_signature": _FUNCTION,
            "static_final_declaration_list": _VARIABLES,
            "initialized_identifier_list": _VARIABLES,
            "local_function_declaration": syntax.NodeRule("function", _of_body, _inner_body),
        }
    ),
    comments=syntax.words("comment documentation_comment"),
    attached=syntax.words("annotation"),
    not_signature=syntax.words("annotation comment documentation_comment"),
    inner=re.compile(rb"\w[ \t]*\([^;{}]{0,400}\)[ \t\r\n]*(?:a?sync\*?[ \t\r\n]*)?(?:\{|=>)"),
    inner_nodes=syntax.words("local_function_declaration"),
)
