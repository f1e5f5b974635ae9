"""The outline of a text, within a time limit."""

from __future__ import annotations

import re
from resource import RUSAGE_SELF, getrusage

from readroom.deadline import Deadline
from readroom.limits_outline import OUTLINE_BRACKETS, OUTLINE_ERRORS, OUTLINE_MEMORY_KIB
from readroom.outline.grammar import Grammar, load
from readroom.outlines import Outline
from readroom.text.encodings import visible

_CHUNK_BYTES = 64 * 1024
"""Handed to the parser at once; it asks on, and can be stopped, only when it is fed by a function."""


class Unparsable(Exception):
    """A text that a parser cannot take safely; says why."""


def can_outline(language: str | None) -> bool:
    """Whether `build` knows the language."""
    from readroom.outline.markup import MARKUP
    from readroom.outline.tables import GRAMMARS

    return language in GRAMMARS or language in MARKUP


def build(text: str, language: str, deadline: Deadline) -> Outline:
    """The outline of a text in a language that `can_outline` knows.

    Raises:
        TimedOut, Cancelled: From the deadline; nothing is known then.
        Unparsable: No parser is given this text.
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
    _require_shallow(text)
    parser = Parser(load(grammar))

    most = getrusage(RUSAGE_SELF).ru_maxrss + OUTLINE_MEMORY_KIB

    def stop(*state: object) -> bool:
        return deadline.cancelled or deadline.expired or getrusage(RUSAGE_SELF).ru_maxrss > most

    def feed(offset: int, point: object) -> bytes:
        # Some scanners look through all of the rest for one token, and nobody asks whether to stop.
        return b"" if stop() else source[offset : offset + _CHUNK_BYTES]

    try:
        tree = parser.parse(feed, progress_callback=stop)
    except ValueError:
        tree = None
    if tree is None or stop():
        deadline.check()
        raise Unparsable("it takes too much memory to parse")
    walk = Walk(source, grammar, deadline)
    items = walk.items(tree.root_node)
    partial, errors = None, list[tuple[int, int]]()
    if tree.root_node.has_error:
        from readroom.outline.certain import errors_of, with_ends

        errors = errors_of(tree.root_node, deadline)
        items = with_ends(items, text, language, errors)
    if walk.too_deep:
        partial = "it is nested too deeply"
    elif errors:
        partial = f"it has syntax errors, the first in line {errors[0][0]:,}"
    return Outline(language, items, partial, tuple(errors[:OUTLINE_ERRORS]))


_BRACKETS = re.compile(r"[()\[\]{}<>;]")
_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _require_shallow(text: str) -> None:
    """Refuse what is nested so deeply that a parser written in C overflows its stack."""
    if max(text.count(opening) for opening in _OPENING) <= OUTLINE_BRACKETS:
        return
    depth = angles = 0
    for found in _BRACKETS.finditer(text):
        mark = found[0]
        if mark == "<":
            angles += 1
        elif mark == ">":
            angles = max(0, angles - 1)
        elif mark in _OPENING:
            depth += 1
        elif mark != ";":
            depth = max(0, depth - 1)
        if mark in ";{}":
            angles = 0  # these were comparisons
        if depth + angles > OUTLINE_BRACKETS:
            raise Unparsable("it is nested too deeply")
