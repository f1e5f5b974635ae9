"""The first place where a text does not parse: for replies to changes, so never a reason to refuse one.

A grammar marks errors where its recovery put them, which for an open bracket can be the whole file. So the
quotes and brackets outside of sound nodes are paired first, with the indentation as a second source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from readroom.core.deadline import Deadline
from readroom.core.formats.parsing import Fault, Unjudged, judge_of
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline import OUTLINE_MEMORY_KIB, Parsing, Unparsable, require_shallow
from readroom.core.outline.grammars import GRAMMARS, grammar_of
from readroom.core.outline.languages import language_of
from readroom.core.outline.syntax import MissingGrammar, load
from readroom.core.text.encodings import visible

if TYPE_CHECKING:
    from tree_sitter import Node

_HEAD_CHARS = 4096
"""How much of a text tells its language."""

_PAIRS = {"(": ")", "[": "]", "{": "}", "${": "}", "#{": "}"}
_CLOSING = frozenset(_PAIRS.values())
_QUOTED_CHARS = 40

_QUOTE = re.compile(r"[A-Za-z]{0,2}(\"{3}|'{3}|[\"'`])")
_LONG_QUOTES = frozenset({"bash", "elixir", "php", "ruby", "rust"})
"""Languages whose plain quotes span lines."""

_ONLY_BRACKETS = frozenset({"css", "swift"})
"""Languages with newer syntax than their grammars, which fail on it: only brackets are certain."""

_TEMPLATE = re.compile(r"<%[=#-]?[ \w]|\{%[- ]")
"""A mark of templates, which make the text that is in the language of the name."""

_WITH_MACROS = frozenset({"c", "cpp"})
_MACRO = re.compile(r"\b(?!(?:NULL|TRUE|FALSE|EOF)\b)_*[A-Z][A-Z0-9_]{2,}\b")
"""A name that may be a macro, after which a text of C need not be one of the grammar."""


def fault_of(path: str, text: str, deadline: Deadline) -> Fault | None:
    """The place where a text with this path does not parse; None if it does.

    Raises:
        Unjudged: Nothing here parses it, or not safely.
        TimedOut, Cancelled: From the deadline.
    """
    if len(text) > OUTLINE_BYTES:
        raise Unjudged
    text = visible(text).removeprefix("\ufeff")
    language = language_of(path, text[:_HEAD_CHARS])
    judge = judge_of(path, language)
    if judge is not None:
        return judge(text, deadline)
    if language is None or language not in GRAMMARS:
        raise Unjudged
    return _by_grammar(text, language, deadline)


def _by_grammar(text: str, language: str, deadline: Deadline) -> Fault | None:
    grammar = grammar_of(language)
    source = text.encode()
    try:
        load(grammar)
        require_shallow(source, text)
        tree = Parsing(source, grammar, deadline, OUTLINE_MEMORY_KIB).whole()
    except (MissingGrammar, Unparsable):
        raise Unjudged from None
    root = tree.root_node
    if not root.has_error:
        return None
    if _TEMPLATE.search(text):
        raise Unjudged
    nodes = list(_suspects(root, deadline))
    certain = _open_quote(nodes, source, language) or _unpaired(nodes, text)
    if certain is not None:
        return certain
    fault = _first_error(nodes, source)
    if language in _ONLY_BRACKETS or (language in _WITH_MACROS and _is_near(_MACRO, text, fault.line)):
        raise Unjudged
    return fault


def _is_near(pattern: re.Pattern[str], text: str, line: int) -> bool:
    """Whether the pattern matches in this line or the one before or after it."""
    return any(map(pattern.search, text.split("\n")[max(0, line - 2) : line + 1]))


def _suspects(root: Node, deadline: Deadline) -> Iterator[Node]:
    """The nodes in order that are not inside of a sound one; sound ones have all their brackets."""
    waiting = [root]
    while waiting:
        deadline.check()
        node = waiting.pop()
        if node.has_error or node.is_missing:
            yield node
            waiting += reversed(node.children)
        elif not node.child_count:
            yield node


def _open_quote(nodes: Sequence[Node], source: bytes, language: str) -> Fault | None:
    """A quote without its other half."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        if not node.child_count and not node.is_missing and (quote := _QUOTE.match(_text(node, source))):
            found.setdefault(quote[1], []).append(node)
    odd = [(mark, same[0]) for mark, same in found.items() if len(same) % 2]
    if not odd:
        return None
    mark, node = min(odd, key=lambda pair: pair[1].start_byte)
    rest = source[node.end_byte :].strip()
    spans = len(mark) > 1 or mark == "`" or language in _LONG_QUOTES
    at_end = mark.encode() not in rest and (spans or b"\n" not in rest)
    return Fault(node.start_point[0] + 1, f"{_shown(mark)} is not closed", at_end=at_end)


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : min(node.end_byte, node.start_byte + _QUOTED_CHARS)].decode(
        "utf-8", "replace"
    )


def _unpaired(nodes: Sequence[Node], text: str) -> Fault | None:
    """A bracket without its other half."""
    opened: list[tuple[str, int]] = []
    for node in nodes:
        kind, line = node.type, node.start_point[0] + 1
        if node.child_count or node.is_missing or node.is_named:
            continue
        if kind in _PAIRS:
            opened.append((kind, line))
        elif kind in _CLOSING:
            mark, first = opened.pop() if opened else ("", line)
            if not mark:
                return Fault(line, f"`{kind}` closes nothing")
            if _PAIRS[mark] != kind:
                return Fault(first, f"`{mark}` is not closed before `{kind}` in line {line}")
    if not opened:
        return None
    mark, first = opened[-1]
    if mark == "{":
        first = _by_indent(text.split("\n"), first)
    return Fault(first, f"`{mark}` is not closed", at_end=True)


def _by_indent(lines: Sequence[str], first: int) -> int:
    """The line from `first` on whose brace is closed further left than it is opened; else `first`."""
    opened: list[tuple[int, int]] = []
    for number, line in enumerate(lines[first - 1 :], first):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if bare.startswith("}") and opened:
            own, opener = opened.pop()
            if indent < own:
                return opener
        if bare.endswith("{"):
            opened.append((indent, number))
    return first


def _first_error(nodes: Sequence[Node], source: bytes) -> Fault:
    for node in nodes:
        line = node.start_point[0] + 1
        if node.is_missing:
            at_end = not source[node.start_byte :].strip()
            return Fault(line, f"{_shown(node.type)} is missing", at_end=at_end)
        if node.is_error and not any(child.has_error for child in node.children):
            return Fault(line, f"not understood from {_shown(_text(node, source))} on")
    return Fault(nodes[0].start_point[0] + 1, "not understood")


def _shown(text: str) -> str:
    text = text.strip().partition("\n")[0]
    return f"'{text}'" if "`" in text else f"`{text}`"
