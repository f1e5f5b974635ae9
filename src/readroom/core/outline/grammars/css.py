"""CSS: rules by their selectors, and blocks of at-rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readroom.core.outline.syntax import Grammar, Named, NodeRule, table, text_of, words

if TYPE_CHECKING:
    from tree_sitter import Node


def _selectors(source: bytes, node: Node) -> Named:
    name = text_of(source, node.named_children[0]) if node.named_children else ""
    return ((), name) if name else None


def _at_rule(source: bytes, node: Node) -> Named:
    name = " ".join(text_of(source, node).partition("{")[0].split())
    return ((), name) if name else None


GRAMMAR = Grammar(
    "tree_sitter_css",
    table(
        {
            "rule_set": NodeRule("rule", _selectors, ("block",)),
            "media_statement": NodeRule("media", _at_rule, ("block",), members=True),
            "supports_statement": NodeRule("supports", _at_rule, ("block",), members=True),
            "keyframes_statement": NodeRule("keyframes", _at_rule, ("keyframe_block_list",)),
            "at_rule": NodeRule("at-rule", _at_rule, ("block",), members=True),
        }
    ),
    comments=words("comment js_comment"),
)
