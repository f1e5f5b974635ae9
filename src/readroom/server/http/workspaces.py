"""The workspaces of one server: each opened once, and once more per policy of tokens."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import final

from readroom.core import config
from readroom.core.errors import BadConfig, NoSuchWorkspace
from readroom.core.lru import LruCache
from readroom.core.workspace import Workspace
from readroom.server.tokens import Grant

_Key = tuple[str, str, int, int]


SERVE_POLICIES = 64
"""Workspaces open at once because tokens restrict them further; the least recently used is closed."""


@final
class Workspaces:
    """Workspaces by name. Safe to share between threads."""

    def __init__(self, workspaces: Mapping[str, Workspace], default: str) -> None:
        """Addresses without a name mean `default`; the caller closes the workspaces."""
        self._workspaces = dict(workspaces)
        self.default = default
        self._restricted: LruCache[_Key, Workspace] = LruCache(SERVE_POLICIES)
        self._lock = threading.Lock()

    def names(self, grant: Grant | None) -> list[str]:
        """The names of workspaces that a token allows; None is a caller without need of a token."""
        return [name for name in self._workspaces if grant is None or grant.opens(name)]

    @property
    def run_commands(self) -> bool:
        """Whether any workspace runs commands."""
        return any(workspace.runs_commands for workspace in self._workspaces.values())

    def get(self, name: str | None, grant: Grant | None) -> Workspace:
        """The workspace with the restrictions of the token.

        Raises:
            NoSuchWorkspace: It does not exist, or the token does not allow it: the two look the same.
            BadConfig: The token's policy file is invalid; nothing is served without it.
        """
        wanted = self.default if name is None else name
        workspace = self._workspaces.get(wanted)
        if workspace is None or (grant is not None and not grant.opens(wanted)):
            raise NoSuchWorkspace(wanted, self.names(grant))
        if grant is None or grant.policy is None:
            return workspace
        return self._under(wanted, workspace, grant.policy)

    def close(self) -> None:
        """Close the restricted workspaces."""
        for workspace in self._restricted.clear():
            workspace.close()

    def _under(self, name: str, whole: Workspace, policy: str) -> Workspace:
        key = (name, policy, *_state(policy))
        with self._lock:
            workspace = self._restricted.get(key)
            if workspace is None:
                if whole.guard.folder is None:
                    raise BadConfig(
                        policy, "", "it cannot restrict what is not a folder", "Use another token."
                    )
                settings = config.restricted(whole.settings, policy)
                store = config.opened_again(whole.guard.store)
                workspace = Workspace(store, settings=settings, state=whole.state)
                for oldest in self._restricted.put(key, workspace):
                    # Calls that still run in it are answered: its open files stay open.
                    oldest.close()
            return workspace


def _state(path: str) -> tuple[int, int]:
    """A value that changes with the file."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return 0, 0
