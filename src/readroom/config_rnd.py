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

CONTRACT_KEYS = {"rnd": ("front_matter",)}
"""The keys of each contract in [contracts]."""


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


def read_contracts(
    section: Mapping[str, object], before: Setup, bad: Bad, *, where: str, trusted: bool
) -> Setup:
    """The setup with what the section [contracts] says.

    Args:
        section: Its keys.
        before: What held until now.
        bad: Makes the error of a key.
        where: The configuration file, beside which command files are looked for.
        trusted: It is the operator's. Another would choose what may be read.

    Raises:
        BadConfig: From `bad`, or from the command file.
    """
    for name, keys in section.items():
        known = CONTRACT_KEYS.get(name)
        if known is None:
            told = f"Contracts with settings are: {', '.join(CONTRACT_KEYS)}."
            raise bad(f"contracts.{name}", "there is no such key", told)
        if not isinstance(keys, dict):
            raise bad(
                f"contracts.{name}", "must be a section", f"Write [contracts.{name}] and its keys below."
            )
        for key, value in keys.items():
            if key not in known:
                raise bad(
                    f"contracts.{name}.{key}", "there is no such key", f"The keys are: {', '.join(known)}."
                )
            before = _command(f"contracts.{name}.{key}", value, before, bad, where=where, trusted=trusted)
    return before


def _command(key: str, value: object, before: Setup, bad: Bad, *, where: str, trusted: bool) -> Setup:
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
