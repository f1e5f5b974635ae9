"""Settings of the contract opencode: [contracts.opencode]."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET
from msgspec.structs import replace

from readroom.contracts.opencode.requests import OpencodeSettings
from readroom.core.config.file import ContractSection, Inside, Switch
from readroom.core.contracts import OwnSettings


class OpencodeSection(ContractSection, frozen=True):
    """[contracts.opencode]."""

    unset: ClassVar[OwnSettings] = OpencodeSettings()
    inside: ClassVar = {"kilo": Inside(None, "cannot choose how files are read")}

    kilo: Switch = UNSET

    def settings(self, before: OpencodeSettings | None, where: str) -> OpencodeSettings:
        """The settings before, and what the section says."""
        return replace(before or OpencodeSettings(), **self.given())
