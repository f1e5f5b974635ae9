"""Programming languages, one per file: which nodes of their syntax trees define something.

Knows: the kinds of nodes of each grammar, and which of them an outline shows.
Does not know: how trees are walked.
May be touched: freely; a language is a file here, its row in `languages`, and a fixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from readroom.core.outline.languages import LANGUAGES

if TYPE_CHECKING:
    from readroom.core.outline.syntax import Grammar

GRAMMARS: Mapping[str, str] = MappingProxyType({row.name: row.grammar for row in LANGUAGES if row.grammar})
"""By language: the module in this package, and the name in it."""


def grammar_of(language: str) -> Grammar:
    """The grammar of a language in `GRAMMARS`, imported on first use."""
    module, _, name = GRAMMARS[language].partition(":")
    found: Grammar = getattr(import_module(f"{__name__}.{module}"), name)
    return found
