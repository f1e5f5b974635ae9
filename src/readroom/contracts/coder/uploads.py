"""The address upload-chat-file: a file that a person attached to a chat, under a name that is free.

Files lie in `.coder/chats/ID/files` of the workspace.  A name keeps its last part only; one that is taken
gets a number.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.contracts.coder import words
from readroom.contracts.coder.words import spelled
from readroom.core import errors
from readroom.core.contracts.base import Sentences
from readroom.core.contracts.native import facts as native_facts
from readroom.core.errors import BadValue
from readroom.core.values import Fact, Result, changes

UPLOAD = "upload-chat-file"

NAME_BYTES = 255
"""Longest name, as file systems have it."""

_UUID = re.compile(
    r"(?:urn:uuid:)?(?:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|([0-9a-f]{32}))"
    r"|\{([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\}",
    re.IGNORECASE,
)

_UNSAFE = re.compile(r"[\x00-\x20\x7f]+")


class UploadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of upload-chat-file, and its body, here in base64."""

    chat_id: Annotated[str, Meta(description="A UUID")]
    name: str
    content: bytes


def chat_of(text: str) -> str | None:
    """A UUID in its usual form; None if the text is none."""
    match = _UUID.fullmatch(text)
    if match is None:
        return None
    digits = re.sub("-", "", next(filter(None, match.groups()))).lower()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def file_name(name: str) -> str:
    """The last part of a name without what file systems or shells mistake; "" if nothing is left."""
    last = posixpath.basename(name.strip().replace("\\", "/").rstrip("/"))
    safe = _cut(_UNSAFE.sub("_", last).lstrip("."), NAME_BYTES)
    return "" if safe == "_" else safe


def _cut(text: str, size: int) -> str:
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def numbered(name: str, number: int) -> str:
    """The name for the n-th file that would have this one."""
    if number == 1:
        return name
    stem, ending = posixpath.splitext(name)
    mark = f"_{number}{ending}"
    return _cut(stem, NAME_BYTES - len(mark.encode())) + mark


def request(query: UploadQuery, root: str) -> changes.WriteRequest:
    """The canonical request. Raises BadValue."""
    chat, name = chat_of(query.chat_id), file_name(query.name)
    if chat is None:
        raise BadValue("chat_id", query.chat_id, "is not a UUID", "Send the UUID of a chat.")
    if not name:
        raise BadValue("name", query.name, "has nothing to name a file with", "Send a file name.")
    path = f"{root.rstrip('/')}/.coder/chats/{chat}/files/{name}"
    names = partial(numbered, name)
    return changes.WriteRequest(path, "", changes.ABSENT, data=query.content, numbered=names)


def _required(call: object, error: BadValue) -> str | None:
    return "workspace upload file name is required" if error.argument == "name" else None


WORDS: Sentences = {
    errors.BadValue: _required,
    errors.Exists: "too many existing files with the same name",
    errors.SymbolicLink: "workspace upload directory must not contain symlinks: {error.path}",
    errors.TooLarge: "file is {facts[size]} bytes, more than the {facts[limit]} of one upload",
}


def uploaded(root: str, result: Result) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """The body for an upload, and its facts."""
    assert isinstance(result, changes.WriteResult)
    name = posixpath.basename(result.path)
    body: dict[str, Fact] = {"path": spelled(result.path, root), "name": name, "size": result.size_bytes}
    return body, native_facts.of_write(result)


def tables() -> tuple[Sentences, ...]:
    """The sentences of this address."""
    return (words.SPENT, WORDS, words.ANY)
