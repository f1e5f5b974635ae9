"""The command that installs readroom elsewhere, from the one file that `scripts/package` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from readroom.cli.remote.address import CONTAINERS, Address
from readroom.core.release import VERSION

# The name is replaced at the end: a copy that breaks off leaves what was there. No character in it means
# anything to a shell between the quotes that it is put into.
_SCRIPT: Final = (
    "mkdir -p ~/.local/bin && cat >~/.local/bin/.readroom.new && chmod 755 ~/.local/bin/.readroom.new && "
    "mv -f ~/.local/bin/.readroom.new ~/.local/bin/readroom && ~/.local/bin/readroom --version"
)

_PROCESSORS: Final = {"arm64": "aarch64", "amd64": "x86_64"}


def platform_of(system: str, processor: str) -> str:
    """The platform in a file's name, from what `uname -s` and `uname -m` say."""
    return f"{system.lower()}-{_PROCESSORS.get(processor.lower(), processor.lower())}"


def file_name(system: Sequence[str]) -> str:
    """The one file for a system and a processor; for the usual ones where they are unknown."""
    name, processor = system[:2] if len(system) >= 2 else ("Linux", "x86_64")
    return f"readroom-{VERSION}-{platform_of(name, processor)}.pyz"


def command(address: Address, system: Sequence[str] = ()) -> str:
    """A line for a shell that copies the file there; it prints the version that then is there."""
    return f"{by_hand(address)} {_script(address)} <dist/{file_name(system)}"


def by_hand(address: Address) -> str:
    """How a person reaches the machine; what comes after it is run there."""
    if address.scheme in CONTAINERS:
        user = f"--user {address.user} " if address.user else ""
        return f"{address.scheme} exec -i {user}-- {address.host}"
    port = "" if address.port is None else f"-p {address.port} "
    user = f"-l {address.user} " if address.user else ""
    return f"ssh {port}{user}-- {address.host}"


def _script(address: Address) -> str:
    inner = f"/bin/sh -c '{_SCRIPT}'"
    return inner if address.scheme in CONTAINERS else f'"exec {inner}"'
