"""Settings of the contract everruns: [contracts.everruns]."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from readroom.contracts.everruns import EverrunsSettings
from readroom.core.config.file import ContractSection, Inside
from readroom.core.errors import BadConfig

_EXAMPLE = "/srv/project"

_PARTS = re.compile(r'(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x20\x7f"`<>]+)+')
"""An absolute path as it is shown in sentences, schemas and calls, with nothing that needs quotes there."""


class EverrunsSection(ContractSection, frozen=True):
    """[contracts.everruns]."""

    unset = EverrunsSettings()
    inside: ClassVar = {"display_root": Inside(None, "cannot choose how the root is shown")}

    display_root: Annotated[str, Meta(examples=[_EXAMPLE])] | UnsetType = UNSET

    def settings(self, before: EverrunsSettings | None, where: str) -> EverrunsSettings:
        """The settings with what the section says. Raises BadConfig if it is no absolute path."""
        if isinstance(self.display_root, str) and not _PARTS.fullmatch(self.display_root):
            problem = "is not an absolute path without '.', '..', blanks, quotes and an end of '/'"
            advice = f'Write display_root = "{_EXAMPLE}".'
            raise BadConfig(where, "contracts.everruns.display_root", problem, advice)
        return replace(before or self.unset, **self.given())
