"""What a table says about one language, and how its grammar is loaded."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind of node defines.

    `name` is the field that holds the name, or the name of a function of
    `names.NAMERS`.  `body` are fields or kinds of children, of which the first
    found ends the signature; with `members` it is looked into.  `needs_body`:
    without one it only mentions the name.  `cut` is a regular expression that
    ends the signature, too; of "{" the body may hold more of the signature.  An
    empty `kind` is the word that declares it.
    """

    kind: str
    name: str = "name"
    body: tuple[str, ...] = ("body",)
    members: bool = False
    needs_body: bool = False
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: where its grammar is, and what its kinds of nodes mean.

    `wraps` hold one definition and count as part of it; `through` hold some and
    are looked into; `comments` stand above what they describe; `attached` belong
    to the next definition; `not_signature` precede a signature within its node,
    also inside `modifiers`.
    """

    module: str
    rules: Mapping[str, Rule]
    function: str = "language"
    wraps: frozenset[str] = frozenset()
    through: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    attached: frozenset[str] = frozenset()
    not_signature: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset({"modifiers"})


_LANGUAGES: dict[tuple[str, str], Language] = {}
_LOCK = threading.Lock()


def load(grammar: Grammar) -> Language:
    """The compiled grammar, imported when first used."""
    key = (grammar.module, grammar.function)
    with _LOCK:
        found = _LANGUAGES.get(key)
        if found is None:
            from tree_sitter import Language

            found = Language(getattr(import_module(grammar.module), grammar.function)())
            _LANGUAGES[key] = found
        return found
