"""Subscriptions: resources whose state is looked at every few seconds, while somebody listens.

A look is a stat of each resource; policy is asked again before a change is reported, and of one that
may no longer be seen nothing is said.  There is no watcher of the file system.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

from msgspec.structs import astuple

from readroom.core.errors import NotAFile, NotFound, NotGranted, OutputGone, ReadroomError
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.values import EntryKind, Version
from readroom.mcp.access import Access
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.connection import Connection, Numbers, ToolCall
from readroom.mcp.protocol.messages import Refusal
from readroom.mcp.resources import READ, absent, code_of, once_of, path_of

MCP_POLL_S = 2.0
"""Seconds between two looks at the resources that clients hear of: soon for a person, and cheap."""

MCP_SUBSCRIBED = 100
"""Resources of one subscription, or of all of a session: a look takes a quarter of a millisecond."""

MCP_LISTENING = 16
"""Subscriptions of one connection over a pipe, and of one token at a process over HTTP."""

REFUSED_META = "readroom/refused"
"""Addresses in a request to listen that are left out, each with the code of why."""


@final
class Watch:
    """The resources that one listener hears of. Used by one thread at a time."""

    def __init__(self, access: Access, states: Mapping[str, Numbers | None]) -> None:
        """`states` are the known states by address, None for an absent file."""
        self._access = access
        self._paths: dict[str, WorkPath] = {}
        self.states: dict[str, Numbers | None] = {}
        self.follow(states)

    def follow(self, states: Mapping[str, Numbers | None]) -> None:
        """Watch these, which were resources once, and no others; a state that is known already stays."""
        for uri in self.states.keys() - states.keys():
            del self.states[uri], self._paths[uri]
        for uri in states.keys() - self.states.keys():
            self._paths[uri], self.states[uri] = once_of(uri), states[uri]

    def changed(self) -> list[str]:
        """The addresses of those that have changed since the last look."""
        return [uri for uri in list(self.states) if self._changed(uri)]

    def _changed(self, uri: str) -> bool:
        path, known = self._paths[uri], self.states[uri]
        guard = _guard(self._access, path)
        version = None if known is None else Version(*known)
        try:
            if guard.store.is_still(path, version):
                return False
            now = guard.store.version(path)
            if now == version:
                return False
            with suppress(NotFound, OutputGone):
                guard.stat(path)
        except ReadroomError:
            # Nobody may see it any more, and so not that it changes; it may come back.
            return False
        self.states[uri] = _numbers(now)
        return True


@final
class Listening:
    """A subscription of 2026-07-28."""

    def __init__(self, connection: Connection, call: ToolCall, watch: Watch, first: bytes) -> None:
        """`first` is its first message."""
        self.connection = connection
        self.call = call
        self.watch = watch
        self.first = first

    def messages(self) -> list[bytes]:
        """The messages that its client is to get now."""
        return [self.connection.updated(uri, self.call) for uri in self.watch.changed()]


def listening(access: Access, connection: Connection, call: ToolCall) -> Listening:
    """The subscription that a request opens. Raises Refusal if nothing in it can be heard of."""
    wanted = call.params["notifications"].get("resourceSubscriptions") or []
    uris = list(dict.fromkeys(wanted))
    _require_few(len(uris))
    states: dict[str, Numbers | None] = {}
    refused: list[Refusal] = []
    for uri in uris:
        try:
            states[uri] = _state(access, uri, call.version)
        except Refusal as refusal:
            refused.append(refusal)
    if refused and not states:
        raise refused[0]
    honored: dict[str, Any] = {"resourceSubscriptions": list(states)} if states else {}
    data: list[Any] = [one.data for one in refused]
    left = [{"uri": one["uri"], "code": one["code"]} for one in data]
    first = connection.acknowledged(call, honored, {REFUSED_META: left} if left else {})
    return Listening(connection, call, Watch(access, states), first)


def subscribe(access: Access, connection: Connection, call: ToolCall) -> None:
    """Add a resource to those of a session before 2026-07-28. Raises Refusal."""
    uri = call.params["uri"]
    state = _state(access, uri, call.version)
    if uri not in connection.subscribed:
        _require_few(len(connection.subscribed) + 1)
        connection.subscribed[uri] = state


def _require_few(number: int) -> None:
    if number > MCP_SUBSCRIBED:
        words = f"A client hears of at most {MCP_SUBSCRIBED} resources at once: unsubscribe from others first"
        raise Refusal(eras.INVALID_PARAMS, words, {"code": "too_large", "limit": MCP_SUBSCRIBED})


def _state(access: Access, uri: str, version: str) -> Numbers | None:
    """The state of a resource. Raises Refusal for one that is not there or may not be seen."""
    path = path_of(uri, access)
    if path is None:
        raise absent(version, uri)
    guard = _guard(access, path)
    try:
        if access.granted is not None and READ not in access.granted:
            raise NotGranted(READ, sorted(access.granted))
        found = guard.stat(path)[1]
        if found.kind is not EntryKind.FILE:
            raise NotAFile(path, "folder" if found.kind is EntryKind.FOLDER else "device")
        return _numbers(guard.store.version(path))
    except (NotFound, OutputGone):
        raise absent(version, uri) from None
    except ReadroomError as error:
        raise Refusal(code_of(error.code, version), str(error), {"uri": uri, "code": error.code}) from None


def _guard(access: Access, path: WorkPath) -> Guard:
    """The guard of a file of the workspace, or of the outputs of the caller's commands."""
    commands = access.workspace.engine.commands
    if path.startswith("/") and commands is not None:
        return commands.of(access.caller.owner).guard
    return access.workspace.guard


def _numbers(version: Version | None) -> Numbers | None:
    return None if version is None else astuple(version)
