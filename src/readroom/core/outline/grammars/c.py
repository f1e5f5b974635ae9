"""C and C++: types, functions and variables; names are in declarators, macros and conditions anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax
from readroom.core.outline.grammars.macros import first_branches, without_macros

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DECLARATORS = 32
"""Maximum pointers, arrays and parentheses around a declared name; only generated code has more."""

# -----------------------------------------------------------------------------
# Names in declarators.
# -----------------------------------------------------------------------------


_LEAVES = syntax.words("identifier field_identifier type_identifier operator_cast")
"""Declarators without another one inside: a name, or a conversion operator, which is a name."""


def _inside(found: Node, kind: str) -> Node | None:
    """The next declarator inside one of this kind."""
    inner = found.child_by_field_name("declarator")
    if inner is None and kind in ("parenthesized_declarator", "reference_declarator"):
        return found.named_children[-1] if found.named_children else None
    is_given = inner is not None and kind == inner.type == "function_declarator"
    return _given_name(inner) if is_given else inner


def _given_name(inner: Node | None) -> Node | None:
    """The name in `int API(name)(int a)`: functions cannot return functions, so `API` is a macro."""
    given = None if inner is None else inner.child_by_field_name("parameters")
    if given is None or given.named_child_count != 1:
        return inner
    name = given.named_children[0].child_by_field_name("type")
    return name if name is not None and name.type == "type_identifier" else inner


def _name_in(found: Node | None) -> Node | None:
    """The name inside pointers, arrays, functions and parentheses."""
    for _ in range(_MAX_DECLARATORS):
        kind = "" if found is None else found.type
        inner = None if found is None or kind in _LEAVES else _inside(found, kind)
        if inner is None:
            return found
        found = inner
    return None


_OPERATOR = re.compile(r"(?:(.*)::)?\s*(operator\b.*)\Z")

_CALL = re.compile(r"operator\s*\(")


def _function(source: bytes, node: Node) -> syntax.Named:
    text = syntax.text_of(source, _name_in(node.child_by_field_name("declarator")))
    if text.isidentifier():
        return (), text
    operator = _OPERATOR.match(text)
    if operator:
        owner = syntax.split_name(syntax.without_arguments(operator[1] or ""), "::")
        own = operator[2].partition("(")[0] if not _CALL.match(operator[2]) else "operator()"
        return (() if owner is None else (*owner[0], owner[1])), own.strip()
    name = syntax.without_arguments(text)
    return syntax.split_name(name, "::") if name else None


_VARIABLES = syntax.words("parenthesized_declarator identifier field_identifier type_identifier")
"""Declarators that never declare a function."""


def _is_prototype(found: Node | None) -> bool:
    """Whether a declarator declares a function; a pointer to a function is a variable."""
    for _ in range(_MAX_DECLARATORS):
        kind = "" if found is None else found.type
        if found is None or kind in _VARIABLES:
            return False
        if kind == "operator_cast":
            return True
        if kind == "function_declarator":
            inner = found.child_by_field_name("declarator")
            return inner is not None and inner.type != "parenthesized_declarator"
        found = _inside(found, kind)
    return False


def _declared(source: bytes, node: Node) -> Sequence[syntax.Named]:
    """All names that a declaration declares."""
    found: list[syntax.Named] = []
    for one in node.children_by_field_name("declarator"):
        name = syntax.text_of(source, _name_in(one))
        if name.isidentifier():
            found.append(((), name))
        elif re.fullmatch(r"[\w:~]+", name):
            found.append(syntax.split_name(name, "::"))
    return found


def _aliases(source: bytes, node: Node) -> Sequence[syntax.Named]:
    """The names that a typedef declares, and the name of its type itself."""
    found = _declared(source, node)
    inner = node.child_by_field_name("type")
    own = (
        syntax.field_text(source, inner, "name") if inner is not None and _type_body(node) is not None else ""
    )
    if own and all(name is None or name[1] != own for name in found):
        found = [*found, ((), own)]
    return found


def _type_body(node: Node) -> Node | None:
    """The body of the type that a declaration also defines."""
    inner = node.child_by_field_name("type")
    return None if inner is None else inner.child_by_field_name("body")


_PROTOTYPE = syntax.NodeRule("function", _function, ())
_METHOD = syntax.NodeRule("method", _function, ())
_VARIABLE = syntax.NodeRule("variable", _declared, (), cut=r"\n|=|\{", minor=True)
_FIELD = syntax.NodeRule("field", _declared, (), cut=r"\n|\{", minor=True)
_STRUCT_FIELD = syntax.NodeRule("field", _declared, _type_body, members=True, cut="{", minor=True)


def _is_named_type(node: Node) -> bool:
    inner = node.child_by_field_name("type")
    return inner is not None and inner.child_by_field_name("name") is not None


def _declaration(node: Node) -> syntax.NodeRule | None:
    if _is_prototype(node.child_by_field_name("declarator")):
        return _PROTOTYPE
    if _type_body(node) is not None:
        return None if _is_named_type(node) else _STRUCT_FIELD
    return _VARIABLE if node.child_by_field_name("declarator") is not None else None


def _member(node: Node) -> syntax.NodeRule | None:
    if _is_prototype(node.child_by_field_name("declarator")):
        return _METHOD
    if _type_body(node) is not None:
        declares = node.child_by_field_name("declarator") is not None
        return _STRUCT_FIELD if declares and not _is_named_type(node) else None
    return _FIELD if node.child_by_field_name("declarator") is not None else None


# -----------------------------------------------------------------------------
# The tables.
# -----------------------------------------------------------------------------

_HOLDERS = syntax.words(
    "preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef linkage_specification "
    "declaration_list declaration field_declaration type_definition enumerator_list "
    "field_declaration_list struct_specifier union_specifier enum_specifier class_specifier "
    "expression_statement"
)

_DEFINED = rb"#[ \t]*define[ \t]+([A-Za-z_]\w*)"
_VALUE_OF = re.compile(_DEFINED + rb"(?![\x80-\xff$\\])[^\n]*")
_HEAD_OF = re.compile(_DEFINED + rb"\([^()\n\\/]*\)(?=[ \t]+[^\s\\/])")
_MACRO = syntax.NodeRule("constant", body=(), cut=r"\n", minor=True, pattern=_VALUE_OF)

_RULES: dict[str, syntax.NodeRule | syntax.Chooser] = {
    "function_definition": syntax.NodeRule(
        "function",
        _function,
        ("body", "default_method_clause", "delete_method_clause"),
        cut=r"(?<=\))\s*:(?!:)",
    ),
    "declaration": _declaration,
    "field_declaration": _member,
    "type_definition": syntax.NodeRule("type", _aliases, _type_body, members=True, cut="{"),
    "struct_specifier": syntax.NodeRule("struct", members=True, needs_body=True),
    "union_specifier": syntax.NodeRule("union", members=True, needs_body=True),
    "enum_specifier": syntax.NodeRule("enum", members=True, needs_body=True),
    "enumerator": syntax.ENUM_MEMBER,
    "preproc_def": _MACRO,
    "preproc_function_def": syntax.NodeRule("macro", body=("value",), cut=r"\\\s*\n", pattern=_HEAD_OF),
}

_CPP = re.compile(rb"^[ \t]*(?:class[ \t]+\w|namespace\b|template[ \t]*<|using[ \t]+\w)|\w::\w", re.MULTILINE)

_BODIES = syntax.Bodies(
    re.compile(
        rb"(?![ \t]*+(?:#|\}|if\b|else\b|for\b|while\b|switch\b))"
        rb"(?![^\n(]*\b(?:struct|union|enum|class|namespace)\b(?![ \t]+\w+[ \t]*\*[ \t*]*\w+[ \t]*\())"
        rb"[^\n{}]*\)(?:[ \t]*(?:const|noexcept|override|final)\b){0,4}[ \t]*\Z"
    ),
    words=(b"#if", b"#el", b"#end", b"# ", b'R"'),
)

C = syntax.Grammar(
    "tree_sitter_c",
    syntax.table(_RULES),
    through=_HOLDERS,
    bodies=_BODIES,
    prepare=without_macros,
    simplify=first_branches,
    other="cpp",
    other_if=_CPP,
)


def _scoped(source: bytes, node: Node) -> syntax.Named:
    name = syntax.without_arguments(syntax.field_text(source, node, "name"))
    return syntax.split_name(name, "::") if name else None


def _namespace(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "name")
    return syntax.split_name(name, "::") if name else ((), "(anonymous)")


CPP = syntax.Grammar(
    "tree_sitter_cpp",
    syntax.table(
        {
            **_RULES,
            "class_specifier": syntax.NodeRule("class", _scoped, members=True, needs_body=True),
            "struct_specifier": syntax.NodeRule("struct", _scoped, members=True, needs_body=True),
            "union_specifier": syntax.NodeRule("union", _scoped, members=True, needs_body=True),
            "namespace_definition": syntax.NodeRule("namespace", _namespace, members=True),
            "concept_definition": syntax.NodeRule("concept", body=(), cut=" ="),
            "alias_declaration": syntax.NodeRule("type", body=()),
        }
    ),
    wraps=syntax.words("template_declaration friend_declaration"),
    through=_HOLDERS,
    not_signature=syntax.words("attribute_declaration comment"),
    bodies=_BODIES,
    prepare=without_macros,
    simplify=first_branches,
)
