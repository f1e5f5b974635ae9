"""The programs that reach another machine, and their arguments.

`--` is before every host and container. The text for the shell there is the same for every address, and has
no character that sh, bash, zsh, fish, csh or tcsh reads differently between single quotes; what differs, the
folder and all arguments, goes through the connection. Only a command that a client runs without readroom has
the folder in it, as `shell_word` quotes it.
"""

from __future__ import annotations

import os
import re

from readroom.cli.remote import COMMAND
from readroom.cli.remote.address import CONTAINERS, Address

CONNECT_S = 10
"""Seconds in which a host has to answer the first packet."""

ABSENT = "readroom-absent"
"""The first word of the line that says what is there if readroom is not."""

_SSH_OPTIONS = (
    f"ConnectTimeout={CONNECT_S}",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",  # a connection that is dead ends after 45 s
    "ClearAllForwardings=yes",
    "ControlMaster=no",  # uses a connection that is there, and leaves none behind
    "RemoteCommand=none",
    "LogLevel=ERROR",
)

_LOOK = (
    "v=; for p in python3 python3.14 python3.13 python3.12 python3.11; do "
    "command -v $p >/dev/null 2>&1 && "
    'v="$v $($p -c "import sys; print(sys.version.split()[0])" 2>/dev/null)"; done; '
    f'echo "{ABSENT} $(uname -s) $(uname -m)$v"; exit 127'
)

_OWN = "~/.local/bin/readroom"
"""The place where a user installs it; it is not on the PATH of a shell that ssh starts."""


def _found(words: str) -> str:
    """Run readroom with these words, from the PATH or from where a user has it.

    Some clients replace $NAME and ${NAME} in their settings, so there is none.
    """
    return (
        f"command -v readroom >/dev/null 2>&1 && exec readroom {words}; test -x {_OWN} && exec {_OWN} {words}"
    )


def started(address: Address, *, asks: bool) -> list[str]:
    """The command that starts the far end; `asks` lets ssh ask a person for a password."""
    return _over(address, f"{_found(COMMAND)}; {_LOOK}", asks=asks)


def direct(address: Address) -> list[str]:
    """The command for a client that starts `readroom mcp` there without readroom here."""
    return _over(address, f"{_found(f'mcp {shell_word(address.folder)}')}; exit 127", asks=False)


def program(address: Address) -> str:
    """The name of the program that reaches it."""
    return address.scheme


def _over(address: Address, script: str, *, asks: bool) -> list[str]:
    if address.scheme in CONTAINERS:
        user = ["--user", address.user] if address.user else []
        return [address.scheme, "exec", "-i", *user, "--", address.host, "/bin/sh", "-c", script]
    assert not re.search(r"['\\!\n]", script.replace("\\0", "")), "a shell may read it differently"
    options = [word for option in _SSH_OPTIONS for word in ("-o", option)]
    options += [] if asks else ["-o", "BatchMode=yes"]
    options += [] if address.port is None else ["-p", str(address.port)]
    options += ["-l", address.user] if address.user else []
    # -a and -x: neither keys nor a screen are lent to the machine.
    return ["ssh", "-T", "-a", "-x", *options, "--", address.host, f"exec /bin/sh -c '{script}'"]


def shell_word(word: str) -> str:
    """A word for sh inside single quotes of any shell: as it is, quoted, or in octal."""
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,-]+", word):
        return word
    if re.fullmatch(r"[A-Za-z0-9_./:=@%+,~ ()\[\]{}&;|<>#*?^-]+", word):
        return f'"{word}"'
    octal = "".join(
        chr(byte) if chr(byte).isascii() and chr(byte).isalnum() else f"\\0{byte:03o}"
        for byte in os.fsencode(word)
    )
    return f'"$(printf %b "{octal}")"'
