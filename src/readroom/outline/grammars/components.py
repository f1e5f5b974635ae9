"""Vue and Svelte: what their scripts define, at its places in the file, read as TypeScript."""

from __future__ import annotations

import re

from msgspec.structs import replace

from readroom.outline.grammars.javascript import TYPESCRIPT

_SCRIPT = re.compile(rb"^[ \t]*<script\b[^<>]{0,400}>(.*?)^[ \t]*</script\b", re.MULTILINE | re.DOTALL)
_DARK = re.compile(rb"[^\r\n]")


def _scripts(source: bytes) -> bytes:
    """The text with blanks for all that is no script."""
    text = bytearray(_DARK.sub(b" ", source))
    for script in _SCRIPT.finditer(source):
        text[script.start(1) : script.end(1)] = script[1]
    return bytes(text)


GRAMMAR = replace(TYPESCRIPT, prepare=_scripts, other=None, other_if=None)
