"""Read patches: unified diffs and V4A patches, as values that a batch of edits applies.

`read` takes either form, `hosted` one operation of a hosted `apply_patch` tool.  What models and terminals
put around a patch, a here document or a fence, is taken off.

Knows: both forms, and what each of their lines says.
Does not know: files; `fitting` knows lines of a file, and where a hunk fits among them.
May be touched: with the corpus (`scripts/patch_corpus.py`): git applies the same patches.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from readroom.core.errors import BadPatch
from readroom.core.text.patches import unified, v4a
from readroom.core.values.patches import FilePatch

Form: TypeAlias = Literal["unified", "v4a"]
Operation: TypeAlias = Literal["create_file", "update_file", "delete_file"]

OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {"create_file": "create_file", "update_file": "update_file", "delete_file": "delete_file"}
)
"""The operations of a hosted tool, by name."""

_HERE = re.compile(r"(?:(?:cat|apply_?patch)\s+)?<<-?\s*(['\"]?)(\w+)\1[ \t]*\r?\n(.*?)\r?\n\2\s*", re.DOTALL)
_FENCE = re.compile(r"(`{3,}|~{3,})[\w-]*[ \t]*\r?\n(.*?\n)\1\s*", re.DOTALL)

EITHER: Final = f"{unified.FORM} Or a V4A patch, from `{v4a.BEGIN}` to `{v4a.END}`."


def read(patch: str | bytes, form: Form | None = None) -> Sequence[FilePatch]:
    """The files that a patch names, in its order.

    Args:
        patch: The patch. Bytes that are not UTF-8 stay what they are: they are those of a file in another
            encoding.
        form: The only form to take; None takes both.

    Raises:
        BadPatch: It is none, or cannot be read.
    """
    if isinstance(patch, bytes):
        return [replace(file, raw=True) for file in read(patch.decode("utf-8", "surrogateescape"), form)]
    text = unwrapped(patch)
    begin, start = v4a.begin(text), unified.start(text)
    if form == "v4a" or (form is None and begin >= 0 and (start < 0 or begin < start)):
        return v4a.read(text)
    if form is None and start < 0:
        problem = "is neither a unified diff nor a V4A patch" if text.strip() else "is empty"
        raise BadPatch("form", problem, EITHER)
    return unified.read(text)


def hosted(operation: Operation, path: str, diff: str | None) -> FilePatch:
    """The file of one operation of a hosted tool, whose `diff` has no markers. Raises BadPatch."""
    if operation == "delete_file":
        return FilePatch(path, "delete")
    text = unwrapped(diff or "")
    if operation == "create_file":
        return FilePatch(path, "add", content=v4a.read_content(text))
    hunks = v4a.read_hunks(text)
    if not hunks:
        raise BadPatch(
            "empty", f"does not change {path}", "Send hunks of lines that begin with a blank, - or +."
        )
    return FilePatch(path, hunks=hunks)


def unwrapped(text: str) -> str:
    """The text inside a here document or a fence that surrounds all of it; else the text."""
    inner = text.strip()
    for pattern, group in ((_FENCE, 2), (_HERE, 3), (_FENCE, 2)):
        match = pattern.fullmatch(inner)
        if match is not None:
            inner = text = match[group]
    return text
