"""Kinds of definitions as readers know them: by declaration, by context, by the spelling of the name."""

from __future__ import annotations

CLASSES = frozenset(
    {"class", "struct", "interface", "trait", "impl", "enum", "object", "protocol", "record"}
    | {"extension", "actor", "union", "type"}
)
"""What a function is a method of."""

FUNCTIONS = frozenset({"function", "method", "constructor"})
HOLDING = frozenset({"object", "table", "property"})
"""What is minor unless it holds a method: an API, and no data."""

ONCE = frozenset({"variable", "property"})
"""What is assigned to several times is defined by the first."""

_WORDS = frozenset({"struct", "enum", "extension", "actor", "interface"})


def called(kind: str, signature: str, name: str, parent: str | None) -> str:
    """The kind of a definition; of no kind of its own is what some grammars call a class, whatever it is."""
    if kind == "function":
        return "method" if parent in CLASSES else kind
    if kind == "variable":
        return "constant" if name.isupper() else "field" if parent in CLASSES else kind
    return kind or next((word for word in signature.split() if word in _WORDS), "class")
