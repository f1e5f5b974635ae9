"""Files as resources, which a host lists, attaches and watches without its model.

Listed are the files that the conversation was shown last, and kept outputs of commands.  Listing outputs is
a call of `list_directory`, reading a call of `read_file`: with the same guard, grants, caps, budget and
ledger, and the same text, which says what was left out.  What a host reads, its model has not seen.  An
address has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct

from readroom.core.contracts.base import FACTS_KEY
from readroom.core.contracts.native.facts import timestamp
from readroom.core.errors import (
    BadCursor,
    BadPath,
    BadValue,
    Denied,
    HardLinked,
    NotAFile,
    NotFound,
    NotGranted,
    OutputGone,
    OutsideRoot,
    ReadroomError,
    StateFailed,
)
from readroom.core.paths import OUTPUTS, WorkPath
from readroom.core.session.seen import SeenFile
from readroom.core.values import Fact
from readroom.mcp.access import Access
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.messages import Refusal

Run: TypeAlias = Callable[[str, Mapping[str, Fact]], dict[str, Any]]
"""Performs a tool call in the name of the request's sender."""

_SCHEME = "readroom://"
_OUTPUT = re.compile(rf"{re.escape(OUTPUTS)}/[a-z0-9]+\.(?:stdout|stderr)")

READ = "read_file"
"""The tool that a caller must be granted."""


def address(path: str) -> str:
    """The address of a file, by its path in the workspace, or of a kept output."""
    return f"{_SCHEME}/{quote(path.removeprefix('/').encode('utf-8', 'surrogateescape'))}"


def shown_to(access: Access) -> Sequence[SeenFile]:
    """The files that the conversation was shown last. Raises Refusal."""
    try:
        return access.workspace.session(access.caller.session).files()
    except StateFailed as error:
        raise Refusal(eras.INTERNAL_ERROR, str(error), {"code": error.code}) from None


def path_of(uri: str, access: Access) -> WorkPath | None:
    """The path of an address; None for that of no resource, denied or not."""
    if not uri.startswith(f"{_SCHEME}/"):
        return None
    path = once_of(uri)
    if address(path) != uri:
        return None
    if path.startswith("/"):
        return path if access.workspace.runs_commands else None
    return next((seen.path for seen in shown_to(access) if seen.path == path), None)


def once_of(uri: str) -> WorkPath:
    """The path of an address that was that of a resource."""
    path = unquote_to_bytes(uri[len(_SCHEME) + 1 :]).decode("utf-8", "surrogateescape")
    return WorkPath(f"/{path}" if _OUTPUT.fullmatch(f"/{path}") else path)


def absent(version: str, uri: str) -> Refusal:
    """The refusal of an address that leads to nothing."""
    words = "There is no such resource. resources/list names those there are"
    code = eras.INVALID_PARAMS if eras.is_stateless(version) else eras.RESOURCE_ABSENT
    return Refusal(code, words, {"uri": uri, "code": NotFound.code})


def code_of(error: str, version: str) -> int:
    """The code of the protocol for one of ours."""
    if error in (NotFound.code, OutputGone.code):
        return eras.INVALID_PARAMS if eras.is_stateless(version) else eras.RESOURCE_ABSENT
    return eras.INVALID_PARAMS if error in _CALLERS else eras.INTERNAL_ERROR


_CALLERS = frozenset(
    kind.code
    for kind in (BadCursor, BadPath, BadValue, Denied, HardLinked, NotAFile, NotGranted, OutsideRoot)
)
"""Errors of the one who asks."""


MCP_RESOURCES = 100
"""Kept outputs listed at once: some 15 kB; a host fetches more when its user looks further."""


class Resources(Struct, frozen=True):
    """Lists and reads for one sender, in one version of the protocol."""

    run: Run
    version: str
    access: Access

    def list(self, cursor: str | None) -> dict[str, Any]:
        """The files that were shown last, then the newest outputs, a page at a time."""
        listed: dict[str, Any] = {"resources": [] if cursor is not None else [*self._shown()]}
        if not self.access.workspace.runs_commands:
            if cursor is not None:
                raise Refusal(eras.INVALID_PARAMS, "There is no such cursor: there is one page")
            return listed
        arguments: dict[str, Fact] = {"path": OUTPUTS, "sort": "mtime", "limit": MCP_RESOURCES}
        if cursor is not None:
            arguments["cursor"] = cursor
        result = self.run("list_directory", arguments)
        facts = result["_meta"][FACTS_KEY]
        if result["isError"]:
            if facts["error"]["code"] == NotGranted.code:
                return listed
            raise self._refusal(result, {})
        listed["resources"] += [_output(entry) for entry in facts["entries"]]
        following = facts["next"]
        return listed if following is None else {**listed, "nextCursor": following["arguments"]["cursor"]}

    def read(self, uri: str) -> dict[str, Any]:
        """The text of `read_file`, numbered and with a note if it is cut; images follow."""
        path = path_of(uri, self.access)
        if path is None:
            raise absent(self.version, uri)
        result = self.run(READ, {"path": path})
        if result["isError"]:
            raise self._refusal(result, {"uri": uri})
        contents = [_content(uri, part) for part in result["content"]]
        return {"contents": contents, "_meta": result["_meta"]}

    def _shown(self) -> Sequence[dict[str, Any]]:
        """The files that the conversation was shown and may still be read."""
        granted = self.access.granted
        if granted is not None and READ not in granted:
            return []
        listed = (self._file(seen) for seen in shown_to(self.access))
        return [file for file in listed if file is not None]

    def _file(self, seen: SeenFile) -> dict[str, Any] | None:
        try:
            stat = self.access.workspace.guard.stat(seen.path)[1]
        except ReadroomError:
            return None
        modified = timestamp(stat.mtime_ns)
        annotations: dict[str, Any] = {"audience": ["user", "assistant"]}
        if modified is not None:
            annotations["lastModified"] = modified
        name = seen.path.encode("utf-8", "replace").decode()
        return {"uri": address(seen.path), "name": name, "size": stat.size, "annotations": annotations}

    def _refusal(self, result: Mapping[str, Any], data: Mapping[str, Any]) -> Refusal:
        error = result["_meta"][FACTS_KEY]["error"]
        return Refusal(code_of(error["code"], self.version), result["content"][0]["text"], {**data, **error})


def _output(entry: Mapping[str, Any]) -> dict[str, Any]:
    name = entry["path"]
    return {
        "uri": address(f"{OUTPUTS}/{name}"),
        "name": name,
        "mimeType": "text/plain",
        "size": entry["size_bytes"],
        "annotations": {"audience": ["user", "assistant"], "lastModified": entry["modified"]},
    }


def _content(uri: str, part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"uri": uri, "mimeType": "text/plain", "text": part["text"]}
    return {"uri": uri, "mimeType": part["mimeType"], "blob": part["data"]}
