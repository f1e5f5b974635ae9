"""Signatures as outlines show them."""

from __future__ import annotations

import re

from readroom.limits.outline import OUTLINE_SIGNATURE_CHARS
from readroom.outline.syntax import pattern

_OPENING = " {:=;,\\"
"""What a signature may end with before a body."""


_NAMES_IN_BRACKETS = re.compile(r"[(\[](?:[^()\[\]]|[(\[][^()\[\]]*+[)\]])*+[)\]]")
"""What several names of one definition stand in, one in each line: `(a, b) = pair`."""


def cut_off(text: str, cut: str) -> str:
    """What of a definition stands before a pattern, behind all names in brackets that it begins with."""
    names = _NAMES_IN_BRACKETS.match(text)
    found = pattern(cut).search(text, names.end() if names else 0)
    return text if found is None else text[: found.start()]


def shortened(text: str) -> str:
    """A signature on one line, without what opens a body, as long as outlines show it."""
    line = " ".join(text.split())
    if "\n" in text:
        line = line.replace("( ", "(").replace(", )", ")").replace(" )", ")").replace("{ ; }", "{ … }")
    line = line.removesuffix("=>").rstrip(_OPENING)
    if len(line) <= OUTLINE_SIGNATURE_CHARS:
        return line
    return line[: OUTLINE_SIGNATURE_CHARS - 1].rstrip() + "…"
