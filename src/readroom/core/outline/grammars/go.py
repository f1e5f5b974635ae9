"""Go: functions, methods by receiver, types with their fields and methods, constants, variables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import (
    FUNCTION,
    METHOD,
    TYPE,
    Bodies,
    Grammar,
    Named,
    NodeRule,
    field_text,
    names_in,
    table,
    text_of,
    without_arguments,
    words,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _method(source: bytes, node: Node) -> Named:
    receiver = without_arguments(field_text(source, node, "receiver")).strip("() ")
    owner = receiver.rpartition(" ")[2].lstrip("*")
    name = field_text(source, node, "name")
    return ((owner,) if owner else (), name) if name else None


def _fields(source: bytes, node: Node) -> Sequence[Named]:
    """The names of a field; an embedded field has the name of its type."""
    names = node.children_by_field_name("name")
    if names:
        return [((), text_of(source, one)) for one in names]
    name = without_arguments(field_text(source, node, "type")).lstrip("*").rpartition(".")[2]
    return [((), name)] if name else []


_BODIES = Bodies(
    re.compile(rb"[ \t]*+(?:func\b|\)|var\b[^\n]*\bfunc\b)[^\n]*\Z"), quotes=(b"/*", b"*/", b"`")
)


GRAMMAR = Grammar(
    "tree_sitter_go",
    table(
        {
            "function_declaration": FUNCTION,
            "method_declaration": NodeRule("method", _method),
            "type_spec": NodeRule("type", body=("type",), members=True, cut="{"),
            "type_alias": TYPE,
            "method_elem": METHOD,
            "field_declaration": NodeRule("field", _fields, (), cut="[{`]", minor=True),
            "const_spec": NodeRule("constant", names_in("name"), (), cut=r"\n", minor=True),
            "var_spec": NodeRule("variable", names_in("name"), (), cut=r"\n", minor=True),
        }
    ),
    wraps=words("type_declaration const_declaration var_declaration"),
    through=words("field_declaration_list var_spec_list"),
    bodies=_BODIES,
    inner=re.compile(rb"\btype[ \t]"),
    inner_nodes=words("type_spec"),
)
