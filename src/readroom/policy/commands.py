"""What an operator says of commands, and what the system offers to keep them in.

A confined command sees the workspace less what policy denies, the system's
programs, and a home and temporary folder of its own; nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Demand: TypeAlias = Literal["any", "bwrap", "landlock", "none"]
"""Which confinement has to be there. "any" is one of the two; only "none" runs commands without."""

VersionControl: TypeAlias = Literal["hidden", "read", "write"]

VERSION_CONTROL: tuple[VersionControl, ...] = ("hidden", "read", "write")
"""From the strictest on."""


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """What commands may do.

    Attributes:
        enabled: Whether there are any.
        confinement: What has to keep them to the workspace.
        network: Whether they can use the network.
        version_control: What they can do with `.git` and its like, which tools never show.
        read: Absolute folders or files outside the workspace that they can read and run.
        write: The same, and change.
        environment: Variables that they get beside the few that all get.
        forbidden_by: The file in the workspace that forbids what the operator allows.
        one_shot: Outputs cannot be asked for later: the workspace is closed with the call.
    """

    enabled: bool = False
    confinement: Demand = "any"
    network: bool = False
    version_control: VersionControl = "read"
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    forbidden_by: str = ""
    one_shot: bool = False


@dataclass(frozen=True, slots=True)
class SystemPlace:
    """A place outside every workspace that confined commands can read, and why."""

    path: str
    reason: str


_PROGRAMS = "programs and their libraries"
_LOADER = "where the loader finds libraries"
_TRUST = "certificates of the authorities that are trusted"
_TIME = "the time zone"
_NAMES = "how names of hosts and services are looked up"
_SETTINGS = "settings without which the program does not start"

SYSTEM: tuple[SystemPlace, ...] = (
    SystemPlace("/usr", _PROGRAMS),
    SystemPlace("/bin", _PROGRAMS),
    SystemPlace("/sbin", _PROGRAMS),
    SystemPlace("/lib", _PROGRAMS),
    SystemPlace("/lib32", _PROGRAMS),
    SystemPlace("/lib64", _PROGRAMS),
    SystemPlace("/libx32", _PROGRAMS),
    SystemPlace("/nix/store", _PROGRAMS),
    SystemPlace("/gnu/store", _PROGRAMS),
    SystemPlace("/etc/alternatives", "links to programs"),
    SystemPlace("/etc/ld.so.cache", _LOADER),
    SystemPlace("/etc/ld.so.conf", _LOADER),
    SystemPlace("/etc/ld.so.conf.d", _LOADER),
    SystemPlace("/etc/ssl/certs", _TRUST),
    SystemPlace("/etc/ssl/openssl.cnf", _SETTINGS),
    SystemPlace("/etc/ca-certificates", _TRUST),
    SystemPlace("/etc/pki/tls/certs", _TRUST),
    SystemPlace("/etc/pki/ca-trust/extracted", _TRUST),
    SystemPlace("/etc/crypto-policies", _SETTINGS),
    SystemPlace("/etc/localtime", _TIME),
    SystemPlace("/etc/timezone", _TIME),
    SystemPlace("/etc/nsswitch.conf", _NAMES),
    SystemPlace("/etc/host.conf", _NAMES),
    SystemPlace("/etc/hosts", _NAMES),
    SystemPlace("/etc/resolv.conf", _NAMES),
    SystemPlace("/etc/gai.conf", _NAMES),
    SystemPlace("/etc/services", _NAMES),
    SystemPlace("/etc/protocols", _NAMES),
    SystemPlace("/etc/mime.types", _NAMES),
    SystemPlace("/etc/magic", _NAMES),
    SystemPlace("/etc/perl", _SETTINGS),
    SystemPlace("/etc/maven", _SETTINGS),
    SystemPlace("/etc/java", _SETTINGS),
)
"""Nothing of it names people, keys or passwords: /etc/passwd is not among it. A name that is not there is
left out."""

SYSTEM_PATTERNS: tuple[SystemPlace, ...] = (
    SystemPlace("/etc/java-*-openjdk", _SETTINGS),
    SystemPlace("/etc/python3*", _SETTINGS),
)
"""The same with versions in their names."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""Of all devices these."""

SYSTEM_FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system/cpu",
)  # fmt: skip
"""What programs ask to find out how many processors there are. Nothing of other processes: with Landlock
there is one view of /proc for all."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where commands find programs, unless the operator passes on another."""
