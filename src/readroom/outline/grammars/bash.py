"""Shells: functions, and what the script itself assigns."""

from __future__ import annotations

import re

from readroom.outline.syntax import FUNCTION, Grammar, NodeRule, table, words

_DISOWNED = re.compile(rb"(?<!&)&([!|])(?=[ \t]*(?:\r?\n|;|\)|\}))")
"""Behind a job that zsh starts and forgets."""


def _without_zsh(source: bytes) -> bytes:
    """The text with blanks for what only zsh knows, and the grammar does not."""
    return _DISOWNED.sub(b"& ", source) if b"&!" in source or b"&|" in source else source


_NAME = rb"""([^\s(){}'"$`;&|<>#=]{1,200})"""
_HEADS = re.compile(
    rb"[ \t]*(?:function[ \t]+" + _NAME + rb"[ \t]*(?:\([ \t]*\))?|" + _NAME + rb"[ \t]*\([ \t]*\))"
    rb"[ \t]*(?:\{|$)"
)
"""How a function begins a line."""


GRAMMAR = Grammar(
    "tree_sitter_bash",
    table(
        {
            "function_definition": FUNCTION,
            "variable_assignment": NodeRule("variable", cut=r"\n", minor=True),
        }
    ),
    wraps=words("declaration_command"),
    through=words(
        "if_statement else_clause elif_clause case_statement case_item compound_statement list "
        "variable_assignments subshell while_statement for_statement c_style_for_statement do_group "
        "redirected_statement pipeline"
    ),
    inner=re.compile(rb"\(\s*\)|\bfunction\s"),
    inner_nodes=words("function_definition"),
    heads=_HEADS,
    prepare=_without_zsh,
)
