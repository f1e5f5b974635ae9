"""Vue and Svelte: definitions in their scripts, parsed as TypeScript at their positions in the file."""

from __future__ import annotations

import re

from msgspec.structs import replace

from readroom.core.outline.grammars.javascript import TYPESCRIPT

_SCRIPT = re.compile(rb"^[ \t]*<script\b[^<>]{0,400}>(.*?)^[ \t]*</script\b", re.MULTILINE | re.DOTALL)
_DARK = re.compile(rb"[^\r\n]")


def _scripts(source: bytes) -> bytes:
    """The text with blanks for everything that is not a script."""
    text = bytearray(_DARK.sub(b" ", source))
    for script in _SCRIPT.finditer(source):
        text[script.start(1) : script.end(1)] = script[1]
    return bytes(text)


GRAMMAR = replace(TYPESCRIPT, prepare=_scripts, other=None, other_if=None)
