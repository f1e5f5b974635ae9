"""Published tool interfaces, each a record over the one engine.

Knows: the records of all contracts by name, each loaded when it is asked for.
Does not know: how a file is read or changed.
May be touched: a contract's own folder freely; `base` and `schema` serve all of them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from readroom.contracts.base import Contract
from readroom.contracts.setup import Setup
from readroom.errors import BadValue

# -----------------------------------------------------------------------------
# The contracts by name, imported when first asked for.
# -----------------------------------------------------------------------------

WHERE = {
    "native": "readroom.contracts.native:NATIVE",
    "everruns": "readroom.contracts.everruns:EVERRUNS",
    "kilo": "readroom.contracts.kilo:made",
    "rnd": "readroom.contracts.rnd:made",
    "coder": "readroom.contracts.coder:made",
    "inspect_agents": "readroom.contracts.inspect_agents:made",
}
"""Where a record is, or a function that makes it for a `Setup`; a new contract is a folder and a row here."""

NAMES = tuple(WHERE)
"""Every contract that is served."""

_OF_ADAPTERS = {"deepagents": "readroom.contracts.deepagents:DEEPAGENTS"}
"""Those that an adapter alone speaks, for a framework whose own tools have the words."""

_KEPT = 256
"""Records made for one setup; a server has as many as it has workspaces."""


@lru_cache(_KEPT)
def contract(name: str, setup: Setup = Setup()) -> Contract:  # noqa: B008 - frozen
    """The contract of that name, for workspaces with that setup.

    Raises:
        BadValue: With the names there are.
    """
    where = WHERE.get(name) or _OF_ADAPTERS.get(name)
    if where is None:
        raise BadValue("contract", name, "is not a contract", f"The contracts are: {', '.join(NAMES)}.")
    module, attribute = where.split(":")
    record_or_maker = getattr(import_module(module), attribute)
    record = record_or_maker if isinstance(record_or_maker, Contract) else record_or_maker(setup)
    assert isinstance(record, Contract)
    return record
