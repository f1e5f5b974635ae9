"""Programming languages, one per file: which nodes of their syntax trees define something.

Knows: the kinds of nodes of each grammar, and which of them an outline shows.
Does not know: how trees are walked.
May be touched: freely; a language is a file here, a row below, and a fixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readroom.core.outline.syntax import Grammar

GRAMMARS: Mapping[str, str] = MappingProxyType(
    {
        "python": "python:GRAMMAR",
        "javascript": "javascript:JAVASCRIPT",
        "typescript": "javascript:TYPESCRIPT",
        "tsx": "javascript:TSX",
        "go": "go:GRAMMAR",
        "rust": "rust:GRAMMAR",
        "java": "java:GRAMMAR",
        "c": "c:C",
        "cpp": "c:CPP",
        "c_sharp": "csharp:GRAMMAR",
        "ruby": "ruby:GRAMMAR",
        "php": "php:GRAMMAR",
        "kotlin": "kotlin:GRAMMAR",
        "swift": "swift:GRAMMAR",
        "scala": "scala:GRAMMAR",
        "lua": "lua:GRAMMAR",
        "bash": "bash:GRAMMAR",
        "css": "css:GRAMMAR",
        "elixir": "elixir:GRAMMAR",
        "dart": "dart:GRAMMAR",
        "zig": "zig:GRAMMAR",
        "haskell": "haskell:GRAMMAR",
        "vue": "components:GRAMMAR",
        "svelte": "components:GRAMMAR",
    }
)
"""By language, as in `languages`: the module in this package, and the name in it."""


def grammar_of(language: str) -> Grammar:
    """The grammar of a language in `GRAMMARS`, imported on first use."""
    module, _, name = GRAMMARS[language].partition(":")
    found: Grammar = getattr(import_module(f"{__name__}.{module}"), name)
    return found
