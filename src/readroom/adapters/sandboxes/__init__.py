"""Sandboxes of frameworks as workspaces, and a workspace as such a sandbox; each module needs its extra.

    from readroom import Workspace
    from readroom.adapters.sandboxes.pydantic_ai import store

    workspace = Workspace(store(backend))

A module wraps the client of one framework as a `stores.environment.Environment`: how a command is run, and
how a whole file is read and written.  Everything else is shared.

Knows: how the frameworks' clients are called, and which errors they raise.
Does not know: names, links, changes and policies, which are the store's and the guard's.
May be touched: freely, with the frameworks' own suites in `tests/adapters/sandboxes`.
"""

from __future__ import annotations
