"""[ledger] in the operator's file."""

from __future__ import annotations

import os
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from readroom.core import config
from readroom.core.config.file import AbsolutePath, PostgresUrl, Section, Switch
from readroom.core.config.settings import LEDGER_FILE, Settings
from readroom.server.ledger import LedgerPolicy
from readroom.server.ledger.recorder import KEPT

KeptArgument: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf"\A({'|'.join(KEPT)})\Z",
        title="{} is not kept anyway",
        description=f"Names are: {', '.join(sorted(KEPT))}.",
    ),
]


class LedgerSection(Section, frozen=True):
    """[ledger]."""

    enabled: Switch = UNSET
    required: Switch = UNSET
    file: AbsolutePath | UnsetType = UNSET
    url: PostgresUrl | UnsetType = UNSET
    synchronous: Literal["normal", "full"] | UnsetType = UNSET
    hide: list[KeptArgument] | UnsetType = UNSET
    keep_days: Annotated[float, Meta(gt=0, le=36_500, examples=[365])] | UnsetType = UNSET

    def applied(self, before: LedgerPolicy | None) -> LedgerPolicy:
        """The policy with the section's values."""
        values = self.given()
        if "synchronous" in values:
            values["full_sync"] = values.pop("synchronous") == "full"
        if "hide" in values:
            values["hide"] = frozenset(values["hide"])
        return replace(before or LedgerPolicy(file=config.own_file(LEDGER_FILE)), **values)


def is_postgres(source: str) -> bool:
    """Whether the source of a ledger is the address of a database, and not a file."""
    return source.startswith(("postgresql://", "postgres://"))


def ledger_at(source: str) -> LedgerPolicy:
    """The policy of a ledger that a command line names: a file, or the address of a database."""
    if is_postgres(source):
        return LedgerPolicy(enabled=True, url=source)
    return LedgerPolicy(enabled=True, file=os.path.abspath(source))


def policy_of(settings: Settings) -> LedgerPolicy:
    """The policy of these settings, or of settings without the section."""
    assert settings.ledger is None or isinstance(settings.ledger, LedgerPolicy)
    return LedgerSection().applied(settings.ledger)
