"""Settings of the contract text_editor: [contracts.text_editor]."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from readroom.contracts.text_editor.requests import VIEW_CHARACTERS, EditorSettings
from readroom.core.config.file import ContractSection, Inside
from readroom.core.contracts import OwnSettings
from readroom.core.limits import NUMBER_MOST


def _fewer(before: int, after: int) -> bool:
    return after <= before


class EditorSection(ContractSection, frozen=True):
    """[contracts.text_editor]."""

    unset: ClassVar[OwnSettings] = EditorSettings()
    inside: ClassVar = {"max_characters": Inside(_fewer, "can only have less of a file shown")}

    max_characters: Annotated[int, Meta(ge=1, le=NUMBER_MOST, examples=[VIEW_CHARACTERS])] | UnsetType = UNSET

    def settings(self, before: EditorSettings | None, where: str) -> EditorSettings:
        """The settings before, and what the section says."""
        return replace(before or EditorSettings(), **self.given())
