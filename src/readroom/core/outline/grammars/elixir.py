"""Elixir: modules, protocols and implementations with their functions and macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import Grammar, Named, NodeRule, child_of, field_text, table, text_of, words

if TYPE_CHECKING:
    from tree_sitter import Node

_MODULES = {"defmodule": "module", "defprotocol": "protocol", "defimpl": "impl"}
_FUNCTIONS = {
    "def": "function",
    "defp": "function",
    "defmacro": "macro",
    "defmacrop": "macro",
    "defguard": "guard",
    "defguardp": "guard",
    "defdelegate": "function",
}
_ARGUMENTS = words("arguments")
_BODY = ("do_block",)


def _argument(node: Node) -> Node | None:
    given = child_of(node, _ARGUMENTS)
    return given.named_children[0] if given is not None and given.named_children else None


def _module(source: bytes, node: Node) -> Named:
    name = text_of(source, _argument(node))
    return ((), name) if name else None


def _function(source: bytes, node: Node) -> Named:
    head = _argument(node)
    while head is not None and head.type == "binary_operator":
        head = head.child_by_field_name("left")  # the right side is a guard
    if head is None:
        return None
    name = field_text(source, head, "target") if head.type == "call" else text_of(source, head)
    return ((), name) if name else None


_RULES = {
    **{word.encode(): NodeRule(kind, _module, _BODY, members=True) for word, kind in _MODULES.items()},
    **{word.encode(): NodeRule(kind, _function, _BODY, cut=r",\s*do:") for word, kind in _FUNCTIONS.items()},
}


def _call(node: Node) -> NodeRule | None:
    target = node.child_by_field_name("target")
    return None if target is None or target.text is None else _RULES.get(target.text)


GRAMMAR = Grammar(
    "tree_sitter_elixir",
    table({"call": _call}),
    # Functions are also defined in conditions and loops.
    through=words("call do_block"),
    attached=words("unary_operator"),
    attached_if=re.compile(rb"@(?:doc|spec|impl|since|deprecated|typedoc|tag)\b"),
)
