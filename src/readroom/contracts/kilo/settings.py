"""Settings of the contract kilo: [contracts.kilo]."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from readroom.contracts.kilo import NEVER, KiloSettings
from readroom.core.config.file import ContractSection, Inside, Switch, on
from readroom.core.errors import BadConfig
from readroom.core.limits import NUMBER_MOST

_LESS = "can only have less of a file shown"


def _fewer_lines(before: int, after: int) -> bool:
    return before == NEVER or 1 <= after <= before


class KiloSection(ContractSection, frozen=True):
    """[contracts.kilo]."""

    unset = KiloSettings()
    inside: ClassVar = {
        "max_read_file_line": Inside(_fewer_lines, _LESS),
        "auto_truncate": Inside(on, _LESS),
    }

    max_read_file_line: Annotated[int, Meta(ge=NEVER, le=NUMBER_MOST, examples=[500])] | UnsetType = UNSET
    auto_truncate: Switch = UNSET

    def settings(self, before: KiloSettings | None, where: str) -> KiloSettings:
        if self.max_read_file_line == 0:
            advice = f"Use a number from 1, or {NEVER} to truncate no file."
            key = "contracts.kilo.max_read_file_line"
            raise BadConfig(where, key, "0 is not a number of lines", advice)
        return replace(before or self.unset, **self.given())
