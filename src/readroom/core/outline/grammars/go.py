"""Go: functions, methods by receiver, types with their fields and methods, constants, variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node


def _method(source: bytes, node: Node) -> syntax.Named:
    receiver = syntax.without_arguments(syntax.field_text(source, node, "receiver")).strip("() ")
    owner = receiver.rpartition(" ")[2].lstrip("*")
    name = syntax.field_text(source, node, "name")
    return ((owner,) if owner else (), name) if name else None


def _fields(source: bytes, node: Node) -> Sequence[syntax.Named]:
    """The names of a field; an embedded field has the name of its type."""
    names = node.children_by_field_name("name")
    if names:
        return [((), syntax.text_of(source, one)) for one in names]
    name = syntax.without_arguments(syntax.field_text(source, node, "type")).lstrip("*").rpartition(".")[2]
    return [((), name)] if name else []


_BODIES = syntax.Bodies(
    re.compile(rb"[ \t]*+(?:func\b|\)|var\b[^\n]*\bfunc\b)[^\n]*\Z"), quotes=(b"/*", b"*/", b"`")
)


GRAMMAR = syntax.Grammar(
    "tree_sitter_go",
    syntax.table(
        {
            "function_declaration": syntax.FUNCTION,
            "method_declaration": syntax.NodeRule("method", _method),
            "type_spec": syntax.NodeRule("type", body=("type",), members=True, cut="{"),
            "type_alias": syntax.TYPE,
            "method_elem": syntax.METHOD,
            "field_declaration": syntax.NodeRule("field", _fields, (), cut="[{`]", minor=True),
            "const_spec": syntax.NodeRule("constant", syntax.names_in("name"), (), cut=r"\n", minor=True),
            "var_spec": syntax.NodeRule("variable", syntax.names_in("name"), (), cut=r"\n", minor=True),
        }
    ),
    wraps=syntax.words("type_declaration const_declaration var_declaration"),
    through=syntax.words("field_declaration_list var_spec_list"),
    bodies=_BODIES,
    inner=re.compile(rb"\btype[ \t]"),
    inner_nodes=syntax.words("type_spec"),
)
