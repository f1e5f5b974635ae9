"""Lua: functions by the names they are assigned to, also in tables; values of tables and of the chunk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _value(node: Node) -> Node | None:
    value = node.child_by_field_name("value")
    if value is None:
        listed = next((one for one in node.named_children if one.type == "expression_list"), None)
        value = listed.named_children[0] if listed is not None and listed.named_children else None
    return value


def _function(node: Node) -> Node | None:
    """The function in an assignment, a field of a table or a declaration."""
    if node.type == "function_declaration":
        return node
    value = _value(node)
    return value if value is not None and value.type == "function_definition" else None


def _body(node: Node) -> Node | None:
    """The body of a function; if it is empty it is not a node, and the token after the parameters is used."""
    function = _function(node)
    if function is None:
        return None
    parameters = function.child_by_field_name("parameters")
    return function.child_by_field_name("body") or (None if parameters is None else parameters.next_sibling)


def _named(source: bytes, node: Node) -> syntax.Named:
    return syntax.split_name(syntax.field_text(source, node, "name").replace(":", "."))


_INDEXED = re.compile(r"""[\w.]+(?:\[(?:[\w.-]+|"[^"]*"|'[^']*')\])+[\w.]*""")


def _assigned(source: bytes, node: Node) -> syntax.Named:
    if not node.named_children:
        return None
    name = syntax.text_of(source, node.named_children[0]).replace(":", ".")
    if "[" in name:
        return ((), name) if _INDEXED.fullmatch(name) else None
    return syntax.split_name(name) if re.fullmatch(r"[\w.]+", name) else None


def _field(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "name")
    return ((), name.removeprefix("[").removesuffix("]").strip("'\"")) if name else None


def _handed(node: Node) -> Node | None:
    """The arguments of a call that is assigned, if functions are in a table among them."""
    value = _value(node)
    given = value.child_by_field_name("arguments") if value is not None and value.type == _CALL else None
    tables = [] if given is None else [one for one in given.named_children if one.type == _TABLES]
    fields = (field for one in tables for field in one.named_children if field.type == "field")
    return given if any(_function(field) is not None for field in fields) else None


_CALL = "function_call"
_TABLES = "table_constructor"

_FUNCTION = syntax.NodeRule("function", _assigned, _body)
_TABLE = syntax.NodeRule("table", _assigned, _value, members=True, minor=True, cut="{")
_MADE = syntax.NodeRule("table", _assigned, _handed, members=True, minor=True, cut=r"\n")
_VARIABLE = syntax.NodeRule("variable", _assigned, (), cut=r"\n", minor=True)
_FIELD = syntax.NodeRule("function", _field, _body)
_VALUE = syntax.NodeRule("field", _field, (), cut=r"\n", minor=True)
_INNER_TABLE = syntax.NodeRule("table", _field, _value, members=True, minor=True, cut="{")


def _assignment(node: Node) -> syntax.NodeRule:
    value = _value(node)
    if value is not None and value.type == _TABLES:
        return _TABLE
    if _handed(node) is not None:
        return _MADE
    return _VARIABLE if _function(node) is None else _FUNCTION


def _of_table(node: Node) -> syntax.NodeRule:
    value = _value(node)
    if value is not None and value.type == _TABLES and node.child_by_field_name("name") is not None:
        return _INNER_TABLE
    return _VALUE if _function(node) is None else _FIELD


GRAMMAR = syntax.Grammar(
    "tree_sitter_lua",
    syntax.table(
        {
            "function_declaration": syntax.NodeRule("function", _named, _body),
            "assignment_statement": _assignment,
            "field": _of_table,
        }
    ),
    wraps=syntax.words("variable_declaration"),
    through=syntax.words(
        "assignment_statement expression_list table_constructor field if_statement else_statement "
        "elseif_statement do_statement block return_statement function_definition function_call arguments"
    ),
    scopes=syntax.words("function_definition"),
    inner=re.compile(rb"\bfunction\b"),
    inner_nodes=syntax.words("function_declaration assignment_statement field"),
)
