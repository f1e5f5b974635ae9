"""A filter of system calls, for what neither bubblewrap nor Landlock keeps from a command.

A socket in a file or in the abstract name space reaches whoever listens there:
the user's bus and systemd, docker, an SSH agent, each of which would run or sign
something outside.  So a command may open sockets for the network, if it has one,
and no others; pairs of connected sockets stay allowed.  Rings of the kernel's
asynchronous interface would get round the filter, and the key rings belong to the
user.  Classic BPF, made here instruction by instruction.
"""

from __future__ import annotations

import errno
import os
import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data."""

_X32 = 0x40000000
"""Of 64-bit x86: a second set of numbers for the same calls."""

_IO_URING_SETUP = 425
"""The same everywhere, as all calls of its age."""

_NETWORK_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6, and AF_NETLINK, by which addresses are listed."""


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    socket: int
    keys: tuple[int, int, int]


_GENERIC = (198, (217, 218, 219))
_MACHINES = {
    "x86_64": _Machine(0xC000003E, 41, (248, 249, 250)),
    "aarch64": _Machine(0xC00000B7, *_GENERIC),
    "riscv64": _Machine(0xC00000F3, *_GENERIC),
}


def known_machine() -> bool:
    """Whether the numbers of this machine's system calls are known here."""
    return os.uname().machine in _MACHINES


def sockets_filter(*, network: bool) -> bytes:
    """The instructions; without a network there are no sockets at all."""
    machine = _MACHINES[os.uname().machine]
    refused = _ERRNO | errno.EPERM
    found = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, refused),  # programs for another machine have other numbers
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, refused),
    ]
    for number in (*machine.keys, _IO_URING_SETUP):
        found += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    families = _NETWORK_FAMILIES if network else ()
    found.append((_EQUAL, 0, len(families) + 2, machine.socket))
    found.append((_LOAD, 0, 0, _FIRST_ARGUMENT))
    for left, family in zip(range(len(families), 0, -1), families, strict=True):
        found.append((_EQUAL, left, 0, family))
    found.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
    found.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in found)
