"""Kinds of definitions as readers know them: by declaration, by context, by the spelling of the name."""

from __future__ import annotations

CLASSES = frozenset(
    {"class", "struct", "interface", "trait", "impl", "enum", "object", "protocol", "record"}
    | {"extension", "actor", "union", "type"}
)
"""Kinds whose functions are methods."""

FUNCTIONS = frozenset({"function", "method", "constructor"})
HOLDING = frozenset({"object", "table", "property"})
"""Kinds that are minor unless they contain a method, which makes them an API instead of data."""

ONCE = frozenset({"variable", "property"})
"""Kinds that may be assigned several times and are defined by the first."""

_WORDS = frozenset({"struct", "enum", "extension", "actor", "interface"})


def called(kind: str, signature: str, name: str, parent: str | None) -> str:
    """The kind of a definition; an empty `kind` is for grammars with one node for all sorts of classes."""
    if kind == "function":
        return "method" if parent in CLASSES else kind
    if kind == "variable":
        return "constant" if name.isupper() else "field" if parent in CLASSES else kind
    return kind or next((word for word in signature.split() if word in _WORDS), "class")
