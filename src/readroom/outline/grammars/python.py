"""Python: classes, functions, attributes of classes, variables of modules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.outline.syntax import CLASS, FUNCTION, TYPE, Grammar, Named, table, text_of, words
from readroom.outline.syntax import NodeRule as Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = words("identifier")
_SEVERAL = words("pattern_list tuple_pattern")


def _assigned(source: bytes, node: Node) -> Sequence[Named]:
    """The names that an assignment binds, those of `a = b = 1` and `a, b = pair`, too."""
    found: list[Named] = []
    at: Node | None = node
    while at is not None and at.type == "assignment":
        left = at.child_by_field_name("left")
        if left is not None:
            targets = left.named_children if left.type in _SEVERAL else [left]
            found += [((), text_of(source, one)) for one in targets if one.type in _NAMES]
        at = at.child_by_field_name("right")
    return found


GRAMMAR = Grammar(
    "tree_sitter_python",
    table(
        {
            "class_definition": CLASS,
            "function_definition": FUNCTION,
            "type_alias_statement": TYPE,
            "assignment": Rule("variable", _assigned, (), cut=r"\n", minor=True),
        }
    ),
    wraps=words("decorated_definition"),
    through=words(
        "if_statement elif_clause else_clause try_statement except_clause except_group_clause "
        "finally_clause with_statement block for_statement while_statement expression_statement "
        "match_statement case_clause"
    ),
    not_signature=words("decorator comment"),
    inner=re.compile(rb"\n[ \t]+(?:async[ \t]+)?(?:def|class)[ \t]"),
    inner_nodes=words("class_definition function_definition decorated_definition"),
    inner_words=(b"def", b"class"),
)
