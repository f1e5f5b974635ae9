"""Shells: functions, and what the script itself assigns."""

from __future__ import annotations

import re

from readroom.outline.syntax import FUNCTION, Grammar, NodeRule, table, words

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
)
