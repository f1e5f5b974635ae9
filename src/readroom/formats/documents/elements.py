"""An element of XML, as lxml and the standard library know it."""

from __future__ import annotations

from typing import Any, TypeAlias

Element: TypeAlias = Any
"""One of lxml, which has no types of its own, or of `xml.etree`, where nothing of a file is parsed."""


def local(element: Element) -> str:
    """The name of an element without its namespace; empty for what is not an element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
