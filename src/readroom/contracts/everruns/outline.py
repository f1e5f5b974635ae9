"""How Everruns words the outline of what a read does not show, with the signatures of its own module.

A type is its word and its name; a function is its head, without `export`.  Natively a
signature is the whole head of a definition, and one of an arrow function ends before
its arrow.  A function that a module exports without a name is listed natively, as
`default`; here only those with a name are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from readroom.contracts.native.render import warning_parts
from readroom.text.select import byte_size
from readroom.values import ReadResult, Warn
from readroom.values.files import Item, OutlineView, Row

_WORDS = {"module": "mod"}
"""What a kind is called where its own name is not the word of the language."""

_NAMED = {
    "python": frozenset({"class"}),
    "rust": frozenset({"struct", "enum", "trait", "module", "type", "union"}),
}
_SCRIPTS = frozenset({"javascript", "typescript", "tsx"})
_NAMED |= dict.fromkeys(_SCRIPTS, frozenset({"class", "interface", "type", "enum", "namespace"}))
"""Kinds that are shown as their word and their name, by language."""

_EXPORTED = re.compile(r"export (?:default )?")
_ASSIGNED = re.compile(r"(?:[\w$#.]+ )*[\w$#.]+(?:\s*:[^=]+)? = (?!(?:async )?function\b|class\b)")
"""A name with a function that is not called one: its arrow follows."""

_UNNAMED = "default"
"""What is exported without a name is called so."""

_CUT = "…"
"""Ends a signature that is not shown whole."""


def signature(item: Item, language: str) -> str:
    """The signature of a definition, as the outlines of Everruns have it."""
    if item.kind in _NAMED.get(language, ()):
        return f"{_WORDS.get(item.kind, item.kind)} {item.name}"
    text = item.signature
    if language not in _SCRIPTS:
        return text
    text = _EXPORTED.sub("", text, count=1) if text.startswith("export ") else text
    arrow = _ASSIGNED.match(text) is not None and not text.endswith((_CUT, "=>"))
    return f"{text} =>" if arrow else text


def line(row: Row, language: str) -> str:
    """One definition."""
    return f"{'  ' * row.depth}// L{row.item.line}: {signature(row.item, language)} {{ ... }}"


def longest(row: Row) -> int:
    """Bytes of that line at most, whatever the language."""
    return byte_size(line(row, "")) + len(" =>")


def text(result: ReadResult, outline: OutlineView) -> str:
    """The sections below what is shown: of the lines before it, and of those behind it."""
    total, language = result.total_lines or result.end, outline.language
    rows = [row for row in outline.rows if not _is_unnamed_function(row.item, language)]
    above = [row for row in rows if row.item.line < result.start]
    below = [row for row in rows if row.item.line > result.end]
    sections = _section(above, 1, result.start - 1, language)
    sections += _section(below, result.end + 1, total, language)
    if outline.left_out:
        sections += f"// ... {outline.left_out} more not listed\n"
    return sections


def _is_unnamed_function(item: Item, language: str) -> bool:
    """Whether it is what a module exports; a method may be called `default` as well."""
    exported = language in _SCRIPTS and item.signature.startswith(f"export {_UNNAMED} ")
    return exported and item.name == _UNNAMED and item.kind == "function"


def _section(rows: Sequence[Row], first: int, last: int, language: str) -> str:
    if not rows:
        return ""
    lines = "".join(f"{line(row, language)}\n" for row in rows)
    return f"\n--- Outline of lines {first}-{last} (not shown) ---\n{lines}"


# -----------------------------------------------------------------------------
# Warnings about a result as sentences of the Everruns contract.
# -----------------------------------------------------------------------------

_ADVISED = frozenset({"left_out", "binary", "hash_unknown"})
"""Warnings that name an argument of the native contract behind a semicolon."""

_OTHERWISE = "notebook"
"""Natively its lines are not those that a read shows; here they are."""


def notes_of(warnings: Sequence[Warn]) -> list[str]:
    """Sentences for the field of notes."""
    return warning_parts([_plain(warning) for warning in warnings if warning.code != _OTHERWISE])


def _plain(warn: Warn) -> Warn:
    return replace(warn, detail=warn.detail.partition(";")[0]) if warn.code in _ADVISED else warn
