"""Cut and shorten signatures for outlines."""

from __future__ import annotations

import re

from readroom.core.limits.outline import OUTLINE_SIGNATURE_CHARS
from readroom.core.outline.syntax import pattern

_OPENING = " {:=;,\\"
"""Characters before a body that are stripped from the end of a signature."""


_NAMES_IN_BRACKETS = re.compile(r"[(\[][^()\[\]]*+(?:[(\[][^()\[\]]*+[)\]][^()\[\]]*+)*[)\]]")
"""Brackets around several names of one definition, which may be one per line: `(a, b) = pair`."""


def cut_off(text: str, cut: str) -> str:
    """The part of a definition before a pattern, which is searched after names in brackets at its start."""
    names = _NAMES_IN_BRACKETS.match(text)
    found = pattern(cut).search(text, names.end() if names else 0)
    return text if found is None else text[: found.start()]


def shortened(text: str) -> str:
    """A signature on one line, without what opens a body, cut to the length that outlines show."""
    line = " ".join(text.split())
    if "\n" in text:
        line = line.replace("( ", "(").replace(", )", ")").replace(" )", ")").replace("{ ; }", "{ … }")
    line = line.removesuffix("=>").rstrip(_OPENING)
    if len(line) <= OUTLINE_SIGNATURE_CHARS:
        return line
    return line[: OUTLINE_SIGNATURE_CHARS - 1].rstrip() + "…"
