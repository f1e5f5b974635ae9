"""The section [contracts.rnd]: which command file the contract takes its limits and paths from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from readroom.config_commands import Bad
from readroom.contracts.front_matter import read_front_matter
from readroom.contracts.rnd_setup import RndSetup
from readroom.contracts.setup import Setup
from readroom.errors import BadConfig
from readroom.limits_rnd import FRONT_MATTER_BYTES

RND_KEYS = ("front_matter",)


def with_command(setup: Setup, path: str) -> Setup:
    """The setup with a command file. Raises BadConfig when it cannot be used."""
    try:
        with open(path, "rb") as file:
            data = file.read(FRONT_MATTER_BYTES + 1)
    except (OSError, ValueError) as error:
        number = error.errno if isinstance(error, OSError) else None
        problem = os.strerror(number) if number else type(error).__name__
        raise BadConfig(path, "", problem, "Name a readable command file.") from None
    return replace(setup, rnd=RndSetup(read_front_matter(path, data)))


def read_rnd(section: Mapping[str, object], before: Setup, bad: Bad, *, where: str, trusted: bool) -> Setup:
    """The setup with what [contracts.rnd] says; `trusted` is whether the file is the operator's.

    Raises:
        BadConfig: From `bad`, or from the command file.
    """
    if "front_matter" not in section:
        return before
    key, value = "contracts.rnd.front_matter", section["front_matter"]
    if not trusted:
        raise bad(
            key,
            "a file inside the workspace cannot choose what may be read",
            "Put it into the file that readroom is started with (--config), or use --front-matter.",
        )
    if not isinstance(value, str) or not value:
        raise bad(key, "must be the path of a command file", 'Write front_matter = "commands/read.md".')
    return with_command(
        before, os.path.join(os.path.dirname(os.path.abspath(where)), os.path.expanduser(value))
    )
