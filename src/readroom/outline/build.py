"""The outline of a text, within a time limit."""

from __future__ import annotations

from readroom.deadline import Deadline
from readroom.outline.grammar import Grammar, load
from readroom.outlines import Outline
from readroom.text.encodings import visible

_CHUNK_BYTES = 64 * 1024
"""Handed to the parser at once; it asks on, and can be stopped, only when it is fed by a function."""


def can_outline(language: str | None) -> bool:
    """Whether `build` knows the language."""
    from readroom.outline.markup import MARKUP
    from readroom.outline.tables import GRAMMARS

    return language in GRAMMARS or language in MARKUP


def build(text: str, language: str, deadline: Deadline) -> Outline:
    """The outline of a text in a language that `can_outline` knows.

    Raises:
        TimedOut, Cancelled: From the deadline; nothing is known then.
    """
    from readroom.outline.markup import MARKUP

    # Half of a surrogate pair has no place in a reply.
    text = visible(text)
    if language in MARKUP:
        return Outline(language, tuple(MARKUP[language](text, deadline)))
    from readroom.outline.tables import GRAMMARS

    return _parsed(text, language, GRAMMARS[language], deadline)


def _parsed(text: str, language: str, grammar: Grammar, deadline: Deadline) -> Outline:
    from tree_sitter import Parser

    from readroom.outline.walk import Walk

    source = text.encode()
    deadline.check()
    parser = Parser(load(grammar))

    def feed(offset: int, point: object) -> bytes:
        return source[offset : offset + _CHUNK_BYTES]

    def stop(*state: object) -> bool:
        return deadline.cancelled or deadline.expired

    try:
        tree = parser.parse(feed, progress_callback=stop)
    except ValueError:
        # "Parsing failed": it was stopped.
        deadline.check()
        raise
    walk = Walk(source, grammar, deadline)
    items = walk.items(tree.root_node)
    partial = None
    if walk.too_deep:
        partial = "it is nested too deeply"
    elif tree.root_node.has_error:
        partial = "it has syntax errors"
    return Outline(language, items, partial)
