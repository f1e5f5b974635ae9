"""The operator's settings for commands, and what of the system a confined command can read.

A confined command sees the workspace without what policy denies, the system's programs, and a home and a
temporary folder of its own; nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Demand: TypeAlias = Literal["any", "bwrap", "landlock", "none"]
"""The required confinement. "any" is one of the two; only "none" runs commands without one."""

VersionControl: TypeAlias = Literal["hidden", "read", "write"]

VERSION_CONTROL: tuple[VersionControl, ...] = ("hidden", "read", "write")
"""In order, the strictest first."""


class CommandPolicy(Struct, frozen=True):
    """What commands may do.

    Attributes:
        enabled: Whether commands may run.
        confinement: The required confinement to the workspace.
        network: Whether they can use the network.
        version_control: What they can do with `.git` and its like, which tools never show.
        read: Absolute paths outside the workspace that they can read and run.
        write: Absolute paths that they can also change.
        environment: Variables that they get in addition to the few default ones.
        forbidden_by: The file in the workspace that forbids what the operator allows.
        one_shot: Outputs cannot be read later, because the workspace is closed with the call.
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


class SystemFolder(Struct, frozen=True):
    """A system folder or file that confined commands can read, and why."""

    path: str
    reason: str


_PROGRAMS = "programs and their libraries"
_LOADER = "where the loader finds libraries"
_TRUST = "certificates of the authorities that are trusted"
_TIME = "the time zone"
_NAMES = "how names of hosts and services are looked up"
_SETTINGS = "settings without which the program does not start"

SYSTEM: tuple[SystemFolder, ...] = (
    SystemFolder("/usr", _PROGRAMS),
    SystemFolder("/bin", _PROGRAMS),
    SystemFolder("/sbin", _PROGRAMS),
    SystemFolder("/lib", _PROGRAMS),
    SystemFolder("/lib32", _PROGRAMS),
    SystemFolder("/lib64", _PROGRAMS),
    SystemFolder("/libx32", _PROGRAMS),
    SystemFolder("/nix/store", _PROGRAMS),
    SystemFolder("/gnu/store", _PROGRAMS),
    SystemFolder("/etc/alternatives", "links to programs"),
    SystemFolder("/etc/ld.so.cache", _LOADER),
    SystemFolder("/etc/ld.so.conf", _LOADER),
    SystemFolder("/etc/ld.so.conf.d", _LOADER),
    SystemFolder("/etc/ssl/certs", _TRUST),
    SystemFolder("/etc/ssl/openssl.cnf", _SETTINGS),
    SystemFolder("/etc/ca-certificates", _TRUST),
    SystemFolder("/etc/pki/tls/certs", _TRUST),
    SystemFolder("/etc/pki/ca-trust/extracted", _TRUST),
    SystemFolder("/etc/pki/tls/openssl.cnf", _SETTINGS),
    SystemFolder("/etc/pki/tls/openssl.d", _SETTINGS),
    SystemFolder("/etc/crypto-policies", _SETTINGS),
    SystemFolder("/etc/localtime", _TIME),
    SystemFolder("/etc/timezone", _TIME),
    SystemFolder("/etc/nsswitch.conf", _NAMES),
    SystemFolder("/etc/host.conf", _NAMES),
    SystemFolder("/etc/hosts", _NAMES),
    SystemFolder("/etc/resolv.conf", _NAMES),
    SystemFolder("/etc/gai.conf", _NAMES),
    SystemFolder("/etc/services", _NAMES),
    SystemFolder("/etc/protocols", _NAMES),
    SystemFolder("/etc/mime.types", _NAMES),
    SystemFolder("/etc/magic", _NAMES),
    SystemFolder("/etc/perl", _SETTINGS),
    SystemFolder("/etc/maven", _SETTINGS),
    SystemFolder("/etc/java", _SETTINGS),
    SystemFolder("/etc/ant", _SETTINGS),
    SystemFolder("/etc/dotnet/install_location", _SETTINGS),
    SystemFolder("/etc/R/ldpaths", _SETTINGS),
    SystemFolder("/etc/R/Renviron", _SETTINGS),
    SystemFolder("/etc/texmf", _SETTINGS),
    SystemFolder("/etc/fonts", _SETTINGS),
)
"""Nothing in it has names of people, keys or passwords: /etc/passwd is not among it. Missing names are left
out."""

SYSTEM_PATTERNS: tuple[SystemFolder, ...] = (
    SystemFolder("/etc/ld-musl-*.path", _LOADER),
    SystemFolder("/etc/java-*-openjdk", _SETTINGS),
    SystemFolder("/etc/python3*", _SETTINGS),
)
"""The same for names with versions."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
"""The only devices."""

SYSTEM_FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system/cpu",
)  # fmt: skip
"""What programs read to find out how many processors there are. Nothing about other processes: with Landlock
there is one view of /proc for all."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where commands find programs, unless the operator sets another."""
