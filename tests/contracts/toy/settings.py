"""What can be set for the contract of the tests: [contracts.toy], found in its row like that of any other."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from readroom.core.config.file import ContractSection, Inside
from tests.contracts.toy import ToySettings


class ToySection(ContractSection, frozen=True):
    """[contracts.toy]."""

    unset = ToySettings()
    inside: ClassVar = {"lines": Inside(lambda before, after: after <= before, "can only show less")}

    lines: Annotated[int, Meta(ge=1, le=500, examples=[500])] | UnsetType = UNSET

    def settings(self, before: ToySettings | None, where: str) -> ToySettings:
        """The settings with what the section says."""
        return replace(before or self.unset, **self.given())
