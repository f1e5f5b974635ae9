"""Shells: functions, and variables that the script assigns outside functions."""

from __future__ import annotations

import re

from readroom.core.outline.syntax import FUNCTION, Grammar, NodeRule, table, words

_DISOWNED = re.compile(rb"(?<!&)&([!|])(?=[ \t]*(?:\r?\n|;|\)|\}))")
"""The sign after a job that zsh starts and disowns (`&!` or `&|`)."""


def _without_zsh(source: bytes) -> bytes:
    """The text with blanks for syntax of zsh that the grammar does not support."""
    return _DISOWNED.sub(b"& ", source) if b"&!" in source or b"&|" in source else source


_NAME = rb"""([^\s(){}'"$`;&|<>#=]{1,200})"""
_HEADS = re.compile(
    rb"[ \t]*(?:function[ \t]+" + _NAME + rb"[ \t]*(?:\([ \t]*\))?|" + _NAME + rb"[ \t]*\([ \t]*\))"
    rb"[ \t]*(?:\{|$)"
)
"""The beginning of a line that begins a function."""


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
