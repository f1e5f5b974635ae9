"""Why the far end did not answer: from the words of ssh, docker or podman, and of the shell there.

Other programs say in words alone what went wrong, so this is the one module that reads words. Others than it
knows are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from readroom.cli.remote import transport
from readroom.cli.remote.address import CONTAINERS, Address
from readroom.cli.remote.install import by_hand, command
from readroom.core.errors import NotReached
from readroom.core.quoting import quote

OLDEST: Final = (3, 11)
"""The oldest Python that readroom runs on."""

PAGE: Final = "docs/how-to/other-machines.md"

_INSTALLED: Final = {
    "ssh": "Install it: apt install openssh-client, dnf install openssh-clients.",
    "docker": "Install Docker's command line.",
    "podman": "Install it: apt install podman, dnf install podman.",
}

_SHOWN_CHARS = 300

_CAUSES: Sequence[tuple[str, str, str]] = (
    # What ssh says, what it means, and what to do.
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key .* has changed",
     "its host key is not the one that you know",
     "Find out why before you trust it; then `ssh-keygen -R {known}` forgets the old key."),
    (r"Host key verification failed|No .*host key is known", "its host key is unknown",
     "Connect once with `{ssh}`, and compare the key that it shows."),
    (r"Permission denied|Too many authentication failures|no mutual signature",
     "ssh has no key that it accepts",
     "`{ssh}` must work without a question: see ssh-agent and ssh-copy-id."),
    (r"Could not resolve hostname|Name or service not known", "there is no host of that name",
     "Check the name."),
    (r"Connection refused", "nothing listens on that port", "Check the port, and that sshd runs there."),
    (r"timed out|No route to host|Network is unreachable|Host is down", "it does not answer",
     "Check the network and the name."),
    (r"Bad owner or permissions|Bad configuration option|UNPROTECTED PRIVATE KEY",
     "ssh refuses its own settings: {said}", "Mend what it names."),
    # What docker and podman say.
    (r"No such container|no such container|no container with name", "there is no container of that name",
     "`{program} ps -a` lists them."),
    (r"is not running|is not in a running state|on running containers|state improper|is paused",
     "the container is stopped", "`{program} start {host}` starts it."),
    (r"Cannot connect to the Docker daemon|Cannot connect to Podman|permission denied while trying",
     "{program} cannot be used here: {said}", "`{program} ps` must work for this account."),
    (r"exec: \"/bin/sh\"|executable file .*not found|/bin/sh.*no such file", "the container has no /bin/sh",
     "Use an image that has a shell and Python."),
    (r"unable to find user|no matching entries in passwd", "the container has no such account",
     "Check the user."),
)  # fmt: skip


def no_program(address: Address) -> NotReached:
    """The error where the program that reaches it is not here."""
    name = transport.program(address)
    return NotReached(str(address), f"{name} is not installed here", _INSTALLED[name])


def too_late(address: Address, seconds: float, printed: bytes) -> NotReached:
    """The error for an address that does not answer in time."""
    said = _said(printed)
    shown = f"; its shell printed {said}" if said else ""
    problem = f"readroom there did not answer within {seconds:g} s{shown}"
    return NotReached(str(address), problem, f"Try `{_by_hand(address)}` yourself.")


def not_answered(address: Address, code: int, printed: bytes, complained: bytes) -> NotReached:
    """The error for a far end that ended before it said anything.

    Args:
        address: The address.
        code: The exit code of the program that reaches it.
        printed: Standard output, which a login shell may have written to.
        complained: Standard error, of the program and of the shell there.
    """
    at = printed.rfind(transport.ABSENT.encode())
    if at >= 0:
        return _absent(address, printed[at:].split(b"\n")[0].decode("utf-8", "replace").split()[1:])
    # docker writes some of its errors to standard output.
    words = (complained + printed[-_SHOWN_CHARS:]).decode("utf-8", "replace")
    if re.search(r"No such command", words):
        problem = "readroom there is of another version, which has no `readroom remote`"
        return NotReached(str(address), problem, _install(address))
    known = f"[{address.host}]:{address.port}" if address.port else address.host
    facts = {
        "said": _said(complained), "program": transport.program(address), "host": address.host,
        "known": known, "ssh": _by_hand(address),
    }  # fmt: skip
    for pattern, problem, advice in _CAUSES:
        if re.search(pattern, words):
            return NotReached(str(address), problem.format(**facts), advice.format(**facts))
    said = _said(complained) or _said(printed)
    ended = f"it ended with exit code {code}"
    problem = f"{ended}, and said {said}" if said else f"{ended} without a word"
    return NotReached(str(address), problem, f"Try `{_by_hand(address)}` yourself.")


def lost(address: Address, complained: bytes) -> NotReached:
    """The error for a connection that ended before the answer was complete."""
    said = _said(complained)
    why = f" ({said})" if said else ""
    problem = f"the connection ended before the answer was complete{why}"
    return NotReached(str(address), problem, "A change may have been made: look before you repeat it.")


def not_ours(address: Address) -> NotReached:
    """The error for bytes that no readroom sends."""
    problem = "what it sends is not from readroom: something there writes to the same output"
    return NotReached(str(address), problem, f"See {PAGE} about shells that print.")


def _absent(address: Address, found: Sequence[str]) -> NotReached:
    """The error where no readroom is, from the system, the processor and every Python there."""
    pythons = [
        tuple(map(int, version.split(".")[:2])) for version in found[2:] if re.match(r"\d+\.\d+", version)
    ]
    if not pythons:
        problem, advice = "there is no Python there", "Install Python 3.11 or newer there, then readroom"
    elif max(pythons) < OLDEST:
        newest = ".".join(map(str, max(pythons)))
        problem = f"there is no readroom there, and its Python {newest} is too old"
        advice = "Install Python 3.11 or newer there, then readroom"
    else:
        return NotReached(str(address), "there is no readroom there", _install(address, found[:2]))
    return NotReached(str(address), problem, f"{advice}: {PAGE} tells how.")


def _install(address: Address, system: Sequence[str] = ()) -> str:
    return f"Copy the one file that `scripts/package` makes: {command(address, system)}"


def _by_hand(address: Address) -> str:
    """How a person tries the way there."""
    return f"{by_hand(address)} /bin/sh" if address.scheme in CONTAINERS else by_hand(address)


def _said(text: bytes) -> str:
    """The last line, quoted."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").split("\n") if line.strip()]
    return quote(lines[-1][:_SHOWN_CHARS]) if lines else ""
