"""A workspace as the backend of deepagents (extra `deepagents`).

    from deepagents import create_deep_agent
    from readroom import Workspace
    from readroom.adapters.deepagents import backend

    agent = create_deep_agent(model, backend=backend(Workspace(".")))

The agent keeps its file tools: ls, read_file, write_file, edit_file, glob, grep and delete all see the same
guarded files; where policy allows commands, execute runs them.  deepagents words their replies: numbers,
words and limits are its own.

Knows: the protocol of deepagents 0.7.32, its sentences and tokens.
Does not know: anything of a workspace but its calls, and the guard that says what a link leads to.
May be touched: freely; what deepagents' own tests ask for is in `tests/adapters/deepagents`.
"""

from __future__ import annotations

from typing import Final

from readroom.adapters.deepagents.backend import CALLER as CALLER
from readroom.adapters.deepagents.backend import WorkspaceBackend as WorkspaceBackend
from readroom.adapters.deepagents.sandbox import WorkspaceSandbox as WorkspaceSandbox
from readroom.core.caller import Caller
from readroom.core.extras import needs
from readroom.core.workspace import Workspace

with needs("deepagents"):
    from deepagents.backends import CompositeBackend, StateBackend

OWN: Final = "/.deepagents"
"""Paths that deepagents keeps in the state of the run: long results and summarized conversations."""


def backend(workspace: Workspace, *, caller: Caller = CALLER) -> CompositeBackend:
    """The backend of a workspace; its opener closes it.

    Nothing that deepagents keeps for itself is written into the workspace.  Where policy allows commands the
    agent has the tool execute, too, and paths are those of this machine, so that a path from a file tool
    works in a command; otherwise they begin at "/", the root of the workspace.
    """
    if workspace.runs_commands:
        files: WorkspaceBackend = WorkspaceSandbox(workspace, virtual_mode=False, caller=caller)
    else:
        files = WorkspaceBackend(workspace, caller=caller)
    return CompositeBackend(files, {f"{OWN}/": StateBackend()}, artifacts_root=OWN)
