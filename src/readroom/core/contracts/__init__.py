"""Contracts: published tool interfaces, each a record over the one engine.

Knows: where all contracts are, by name, loaded when they are used; and what one is made for (`Setup`).
Does not know: how a file is read or changed, and what can be set for a contract: its own folder says so.
May be touched: a contract's own folder freely; `base` and `schema` serve all contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from readroom.core.contracts.base import Contract
from readroom.core.errors import BadValue
from readroom.core.values.verbs import function


class Registered(Struct, frozen=True):
    """Where a contract is; names are written as `module:name`.

    Attributes:
        record: Its record, or a function that makes it for a `Setup`.
        section: Its section of a configuration file, [contracts.NAME].
        variables: Prefixes of its environment variables.
        is_served: Whether clients can ask for it; others are spoken by an adapter alone.
    """

    record: str
    section: str | None = None
    variables: str | None = None
    is_served: bool = True


ROWS = {
    "native": Registered("readroom.core.contracts.native:NATIVE"),
    "everruns": Registered(
        "readroom.contracts.everruns:made", section="readroom.contracts.everruns.settings:EverrunsSection"
    ),
    "kilo": Registered(
        "readroom.contracts.kilo:made", section="readroom.contracts.kilo.settings:KiloSection"
    ),
    "rnd": Registered("readroom.contracts.rnd:made", section="readroom.contracts.rnd.settings:RndSection"),
    "coder": Registered("readroom.contracts.coder:made"),
    "inspect_agents": Registered("readroom.contracts.inspect_agents:made", variables="INSPECT_"),
    "opencode": Registered(
        "readroom.contracts.opencode:made", section="readroom.contracts.opencode.settings:OpencodeSection"
    ),
    "text_editor": Registered(
        "readroom.contracts.text_editor:made", section="readroom.contracts.text_editor.settings:EditorSection"
    ),
    "history": Registered("readroom.core.contracts.history.record:HISTORY", is_served=False),
    "deepagents": Registered("readroom.adapters.deepagents.contract:DEEPAGENTS", is_served=False),
    "sandbox": Registered("readroom.adapters.sandboxes.contract:SANDBOX", is_served=False),
}
"""A new contract is a folder and a row here."""

NAMES = tuple(name for name, row in ROWS.items() if row.is_served)
"""Every contract that is served."""


class OwnSettings(Struct, frozen=True):
    """What is set for one contract."""

    @property
    def files(self) -> tuple[str, ...]:
        """Files that say so, which no call may change."""
        return ()


class Setup(Struct, frozen=True):
    """The setup of one contract.

    Attributes:
        root: The root of the workspace as an absolute path, for contracts that speak in such paths.
        real: The same without links on its way.
        own: The settings of the contract; None if there are none.
        variables: Variables of the environment that a contract reads; the last of a name counts.
        others: The names of the other roots and their paths, which `root` and `real` know (`absolute`).
    """

    root: str = "/workspace"
    real: str = "/workspace"
    own: OwnSettings | None = None
    variables: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[str, str], ...] = ()


def variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Those variables of the environment that contracts read."""
    begins = tuple(row.variables for row in ROWS.values() if row.variables)
    return tuple(sorted((name, value) for name, value in environ.items() if name.startswith(begins)))


_KEPT = 256
"""Records made for one setup; a server has as many as it has workspaces."""


@lru_cache(_KEPT)
def contract(name: str, setup: Setup = Setup()) -> Contract:  # noqa: B008 - frozen
    """The contract of that name, for workspaces with that setup. Raises BadValue."""
    row = ROWS.get(name)
    if row is None:
        raise BadValue("contract", name, "is not a contract", f"The contracts are: {', '.join(NAMES)}.")
    record_or_maker = function(row.record)
    record = record_or_maker if isinstance(record_or_maker, Contract) else record_or_maker(setup)
    assert isinstance(record, Contract)
    return record
