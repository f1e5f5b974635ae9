"""Programming languages, each in a file: what of its syntax defines something.

Knows: the kinds of nodes of each grammar, and which of them an outline shows.
Does not know: how a tree is walked.
May be touched: freely; a language is a file here, a row below, and a fixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readroom.outline.syntax import Grammar

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
"""By the names of `languages`: the module here that has it, and its name there."""


def grammar_of(language: str) -> Grammar:
    """What is known of a language of `GRAMMARS`; imported when it is first asked for."""
    module, _, name = GRAMMARS[language].partition(":")
    found: Grammar = getattr(import_module(f"{__name__}.{module}"), name)
    return found
