"""Kept outputs of commands as resources: what a host lists and attaches without its model.

A listing is a call of `list_directory`, a reading one of `read_file`: the same guard, grants, caps,
budget and ledger, and the same words, which say what was left out.  Nothing else of a workspace is a
resource, and an address has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from readroom.contracts.base import FACTS_KEY
from readroom.errors import BadCursor, NotFound, NotGranted, OutputGone
from readroom.limits.session import MCP_RESOURCES
from readroom.paths import OUTPUTS
from readroom.protocol import eras
from readroom.protocol.messages import Refusal
from readroom.values import Fact

Run: TypeAlias = Callable[[str, Mapping[str, Fact]], Awaitable[dict[str, Any]]]
"""Performs a tool call in the name of who sent the request."""

_SCHEME = "readroom://"
_ADDRESS = re.compile(rf"{_SCHEME}({re.escape(OUTPUTS)}/[a-z0-9]+\.(?:stdout|stderr))")


class Resources(Struct, frozen=True):
    """What one sender may list and read, in one version of the protocol."""

    run: Run
    version: str

    async def list(self, cursor: str | None) -> dict[str, Any]:
        """The newest outputs first, a page at a time; none for whoever may not list them."""
        arguments: dict[str, Fact] = {"path": OUTPUTS, "sort": "mtime", "limit": MCP_RESOURCES}
        if cursor is not None:
            arguments["cursor"] = cursor
        result = await self.run("list_directory", arguments)
        facts = result["_meta"][FACTS_KEY]
        if result["isError"]:
            if facts["error"]["code"] == NotGranted.code:
                return {"resources": []}
            raise self._refusal(result, {})
        listed: dict[str, Any] = {"resources": [_listed(entry) for entry in facts["entries"]]}
        following = facts["next"]
        return listed if following is None else {**listed, "nextCursor": following["arguments"]["cursor"]}

    async def read(self, uri: str) -> dict[str, Any]:
        """The text that `read_file` gives, numbered, cut and saying so; an image beside it."""
        match = _ADDRESS.fullmatch(uri)
        if match is None:
            words = "There is no such resource. resources/list names those there are"
            raise Refusal(self._absent, words, {"uri": uri})
        result = await self.run("read_file", {"path": match[1]})
        if result["isError"]:
            raise self._refusal(result, {"uri": uri})
        contents = [_content(uri, part) for part in result["content"]]
        return {"contents": contents, "_meta": result["_meta"]}

    @property
    def _absent(self) -> int:
        return eras.INVALID_PARAMS if eras.is_stateless(self.version) else eras.RESOURCE_ABSENT

    def _refusal(self, result: Mapping[str, Any], data: Mapping[str, Any]) -> Refusal:
        error = result["_meta"][FACTS_KEY]["error"]
        absent = self._absent
        codes = {NotFound.code: absent, OutputGone.code: absent, BadCursor.code: eras.INVALID_PARAMS}
        code = codes.get(error["code"], eras.INTERNAL_ERROR)
        return Refusal(code, result["content"][0]["text"], {**data, **error})


def _listed(entry: Mapping[str, Any]) -> dict[str, Any]:
    name = entry["path"]
    return {
        "uri": f"{_SCHEME}{OUTPUTS}/{name}",
        "name": name,
        "mimeType": "text/plain",
        "size": entry["size_bytes"],
        "annotations": {"audience": ["user", "assistant"], "lastModified": entry["modified"]},
    }


def _content(uri: str, part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"uri": uri, "mimeType": "text/plain", "text": part["text"]}
    return {"uri": uri, "mimeType": part["mimeType"], "blob": part["data"]}
