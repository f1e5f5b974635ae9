"""Elements of XML, whether lxml made them or the standard library."""

from __future__ import annotations

from typing import Any, TypeAlias

Element: TypeAlias = Any
"""Of lxml, which has no types, or of `xml.etree`, which parses no file here."""


def local(element: Element) -> str:
    """The name of an element without its namespace; empty for a comment and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
