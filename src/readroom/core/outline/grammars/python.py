"""Python: classes, functions, attributes of classes and instances, variables of modules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.outline.syntax import CLASS, TYPE, Bodies, Grammar, Named, table, text_of, words
from readroom.core.outline.syntax import NodeRule as Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = words("identifier")
_SEVERAL = words("pattern_list tuple_pattern")
_SELF = "self."

_THROUGH = words(
    "if_statement elif_clause else_clause try_statement except_clause except_group_clause "
    "finally_clause with_statement block for_statement while_statement expression_statement "
    "match_statement case_clause"
)


def _of_instance(source: bytes, target: Node) -> str:
    """The name of an attribute if the target is an attribute of `self`; empty for other targets."""
    text = text_of(source, target) if target.type == "attribute" else ""
    name = text.removeprefix(_SELF)
    return name if text.startswith(_SELF) and name.isidentifier() else ""


def _attributes(node: Node) -> Sequence[Node]:
    """The assignments in `__init__`."""
    body = node.child_by_field_name("body")
    if body is None:
        return ()
    found: list[Node] = []
    waiting = [body]
    while waiting:
        at = waiting.pop()
        if at.type == "assignment":
            found.append(at)
        elif at.type in _THROUGH:
            waiting += reversed(at.named_children)
    return found


def _assigned(source: bytes, node: Node) -> Sequence[Named]:
    """The names that an assignment binds, including those of `a = b = 1` and `a, b = pair`."""
    found: list[Named] = []
    at: Node | None = node
    while at is not None and at.type == "assignment":
        left = at.child_by_field_name("left")
        if left is not None:
            targets = left.named_children if left.type in _SEVERAL else [left]
            found += [((), text_of(source, one)) for one in targets if one.type in _NAMES]
            found += [((), name) for one in targets if (name := _of_instance(source, one))]
        at = at.child_by_field_name("right")
    return found


_COMMENTS = re.compile(rb"(?:\n[ \t]*+#[^\n]*+)+")
_QUOTES = (b'"' * 3, b"'" * 3)


OUTLINE_COMMENT_LINES = 100
"""Consecutive comment lines that a Python parser is given: 20,000 of them took it minutes."""


def _without_long_comments(source: bytes) -> bytes:
    """The text with blanks for long comments, except for the last lines, as many as belong to a definition.

    For each comment, the scanner of the grammar reads all comments that follow.
    """
    if source.count(b"#") <= OUTLINE_COMMENT_LINES:
        return source
    text: bytearray | None = None
    for run in _COMMENTS.finditer(source):
        lines = run[0].count(b"\n")
        # A line of a string may look like a comment and contain the closing quotes.
        if lines <= OUTLINE_COMMENT_LINES or any(mark in run[0] for mark in _QUOTES):
            continue
        text = text or bytearray(source)
        end = run.end()
        for _ in range(OUTLINE_COMMENT_LINES):
            end = source.rfind(b"\n", run.start(), end)
        text[run.start() : end] = _DARK.sub(b" ", source[run.start() : end])
    return source if text is None else bytes(text)


_DARK = re.compile(rb"[^\r\n]")


_BODIES = Bodies(
    re.compile(
        rb"\n( {0,80}+|\t{0,20}+)(?:async[ \t]+)?def[ \t]+(?!__init__\b)\w++(?:\[[^\[\]\n]{0,200}\])?"
        rb"\([^()]*+(?:\([^()]*+(?:\([^()]*+\)[^()]*+)*\)[^()]*+)*\)(?:[ \t]*->[^:\n]{0,200})?:[ \t]*+\r?\n"
    ),
    indented=True,
    inner=re.compile(rb"\n[ \t]++(?:async[ \t]+)?(?:def|class)[ \t]"),
    quotes=_QUOTES,
    put=b"0",
)


GRAMMAR = Grammar(
    "tree_sitter_python",
    table(
        {
            "class_definition": CLASS,
            "function_definition": Rule("function", aside=_attributes, maker="__init__"),
            "type_alias_statement": TYPE,
            "assignment": Rule("variable", _assigned, (), cut=r"\n", minor=True),
        }
    ),
    wraps=words("decorated_definition"),
    through=_THROUGH,
    not_signature=words("decorator comment"),
    inner_nodes=words("class_definition function_definition decorated_definition"),
    inner_words=(b"def ", b"class "),
    bodies=_BODIES,
    prepare=_without_long_comments,
)
