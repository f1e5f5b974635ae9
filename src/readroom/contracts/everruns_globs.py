"""The `path_pattern` of a search as globs of the engine, and back.

A value with a special character is a glob: one without a slash means a name at any
depth.  Any other value is a part of the path, wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from readroom.contracts.everruns_paths import ROOT

_SPECIAL = re.compile(r"[*?\[{]")
_PLAIN = re.compile(r"([\\*?\[\]{}!#])")

_BELOW = "/**"
_ANYWHERE = "**/"


def globs(path_pattern: str) -> tuple[str, ...]:
    """The globs that take the files that `path_pattern` means; none for an empty one."""
    if not path_pattern:
        return ()
    text = path_pattern
    anchored = text == ROOT or text.startswith(f"{ROOT}/")
    if anchored:
        text = text[len(ROOT) :] or "/"
    if _SPECIAL.search(text):
        # Only here a "!" takes something out, and a "#" begins a comment.
        return (f"\\{text}" if text[0] in "!#" else text,)
    return _part(text, anchored=anchored)


def _part(text: str, *, anchored: bool) -> tuple[str, ...]:
    """Globs for all paths that hold a text; with a slash before them as they are shown."""
    plain = re.sub(r"/+", "/", _PLAIN.sub(r"\\\1", text))
    if plain == "/" and not anchored:
        return ()
    if anchored:
        begin = plain
    elif plain.startswith("/"):
        begin = f"**{plain}"
    else:
        begin = f"{_ANYWHERE}*{plain}"
    return (f"{begin}*", f"{begin}*{_BELOW}")


def path_pattern(found: Sequence[str]) -> str:
    """The `path_pattern` that means these globs."""
    if not found:
        return ""
    first = found[0]
    if len(found) == 1:
        return first[1:] if first[:2] in ("\\!", "\\#") else first
    text = first.removesuffix("*").removeprefix("**/*")
    if first.startswith("**/") and not first.startswith("**/*"):
        text = first.removesuffix("*")[2:]
    elif not first.startswith("**/"):
        text = ROOT + first.removesuffix("*")
    return re.sub(r"\\(.)", r"\1", text)
