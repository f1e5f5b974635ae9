"""Settings of the contract rnd: [contracts.rnd]."""

from __future__ import annotations

import os
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType

from readroom.contracts.rnd.front_matter import FRONT_MATTER_BYTES, FrontMatter, read_front_matter
from readroom.core.config.file import ContractSection, Inside
from readroom.core.contracts import OwnSettings
from readroom.core.errors import BadConfig

_PATH = Meta(
    min_length=1,
    title="must be the path of a command file",
    description='Write front_matter = "commands/read.md".',
)


class RndSection(ContractSection, frozen=True):
    """[contracts.rnd]."""

    unset = OwnSettings()
    inside: ClassVar = {
        "front_matter": Inside(None, "cannot choose what may be read", ", or use --front-matter")
    }

    front_matter: Annotated[str, _PATH] | UnsetType = UNSET

    def settings(self, before: OwnSettings | None, where: str) -> FrontMatter:
        """The command file, relative to the file that names it. Raises BadConfig if it cannot be used."""
        assert isinstance(self.front_matter, str)
        folder = os.path.dirname(os.path.abspath(where)) if where else ""
        path = os.path.join(folder, os.path.expanduser(self.front_matter))
        try:
            with open(path, "rb") as file:
                data = file.read(FRONT_MATTER_BYTES + 1)
        except (OSError, ValueError) as error:
            number = error.errno if isinstance(error, OSError) else None
            problem = os.strerror(number) if number else type(error).__name__
            raise BadConfig(path, "", problem, "Name a readable command file.") from None
        return read_front_matter(path, data)
