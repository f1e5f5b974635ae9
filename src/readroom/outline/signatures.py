"""Signatures as outlines show them."""

from __future__ import annotations

from readroom.limits.outline import OUTLINE_SIGNATURE_CHARS

_OPENING = " {:=;,\\"
"""What a signature may end with before a body."""


def shortened(text: str) -> str:
    """A signature on one line, without what opens a body, as long as outlines show it."""
    line = " ".join(text.split())
    if "\n" in text:
        line = line.replace("( ", "(").replace(", )", ")").replace(" )", ")").replace("{ ; }", "{ … }")
    line = line.removesuffix("=>").rstrip(_OPENING)
    if len(line) <= OUTLINE_SIGNATURE_CHARS:
        return line
    return line[: OUTLINE_SIGNATURE_CHARS - 1].rstrip() + "…"
