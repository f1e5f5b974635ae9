"""Addresses of workspaces elsewhere: ssh://[user@]host[:port]/folder, docker://container/folder and podman://.

An address comes from the command line or from a client's settings, never from a file in a folder. It is
decoded once, here; every part that could be an option, or more than one word, for a program or its shell is
refused.
"""

from __future__ import annotations

import os
import re
from typing import Final

from msgspec import Struct

from readroom.core.errors import BadValue
from readroom.core.stores.bucket.address import is_bucket

SSH: Final = "ssh"
CONTAINERS: Final = ("docker", "podman")
SCHEMES: Final = (SSH, *CONTAINERS)

_UNTRIED = ("kubectl", "wsl")
"""Ways that the documentation describes, and that nobody has tried."""

_FORMS = "ssh://[user@]host[:port]/folder, docker://container/folder, podman://container/folder"

# ssh gives host and user to commands of its own configuration (ProxyCommand, Match exec), which a shell
# runs: neither may hold anything that means something there.
_USER = re.compile(r"\w[\w.+@-]*")
_HOST = re.compile(r"\w[\w.-]*")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SIX = re.compile(r"[0-9A-Fa-f:.]+(?:%\w[\w.-]*)?")

_LONGEST_NAME = 255
_LONGEST_FOLDER = 4095


class Address(Struct, frozen=True):
    """A folder elsewhere.

    Attributes:
        scheme: The way there, one of `SCHEMES`.
        host: A host, or a container.
        folder: Absolute, or `~` and what is below it; as the system there takes it.
        user: The account there; empty for the usual one.
        port: The port of ssh; None for the usual one.
    """

    scheme: str
    host: str
    folder: str
    user: str = ""
    port: int | None = None

    def __str__(self) -> str:
        """The address, encoded once."""
        user = f"{_encoded(self.user)}@" if self.user else ""
        host = f"[{self.host.replace('%', '%25')}]" if ":" in self.host else _encoded(self.host)
        port = "" if self.port is None else f":{self.port}"
        home = "/" if self.folder.startswith("~") else ""
        return f"{self.scheme}://{user}{host}{port}{home}{_encoded(self.folder)}"

    @property
    def machine(self) -> str:
        """The machine, for people."""
        return f"container {self.host}" if self.scheme in CONTAINERS else self.host


def is_address(text: str) -> bool:
    """Whether it is meant as one: it has a scheme other than that of local files and of buckets."""
    scheme, sign, _ = text.partition("://")
    if is_bucket(text):
        return False
    return bool(sign) and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) is not None and scheme != "file"


def parsed(text: str) -> Address:
    """The address that a text is. Raises BadValue."""
    scheme, sign, rest = text.partition("://")
    scheme = scheme.lower()
    if not sign or scheme not in SCHEMES:
        raise _scheme(text, scheme)
    authority, slash, folder = rest.partition("/")
    userinfo, at, place = authority.rpartition("@")
    if ":" in _decoded(userinfo, text):  # before anything that shows the text
        raise _bad(text, "has a password in it", "Leave it out: ssh uses its agent and its keys.")
    _usual_signs(text)
    if not slash or not folder:
        raise _bad(text, "names no folder", f"Write {text.rstrip('/')}/~ for the home folder there.")
    user = _decoded(userinfo, text)
    if at and not _USER.fullmatch(user):
        raise _bad(text, "has a user that is not the name of an account", f"The forms are {_FORMS}.")
    host, port = _host(scheme, place, text)
    return Address(scheme, host, _folder(folder, text), user, port)


def _scheme(text: str, scheme: str) -> BadValue:
    if scheme in _UNTRIED:
        advice = "docs/how-to/other-machines.md has the settings to write by hand, which are untried."
        return _bad(text, f"is for {scheme}, which connect does not know", advice)
    return _bad(text, "is not an address of another machine", f"The forms are {_FORMS}.")


def _usual_signs(text: str) -> None:
    if any(not char.isprintable() or char.isspace() for char in text):
        raise _bad(text, "has a blank or a control character", "Write a blank in a folder's name as %20.")
    if "?" in text or "#" in text:
        raise _bad(text, "has ? or # in it", "Write them as %3F and %23 in a folder's name.")


def _host(scheme: str, place: str, text: str) -> tuple[str, int | None]:
    bracket, six, after = place.rpartition("]")
    host, colon, digits = after.partition(":")
    host = _decoded(bracket.removeprefix("[") if six and not host else "" if six else host, text)
    if scheme in CONTAINERS:
        if colon or six:
            raise _bad(text, "has a port, and a container has none", f"The forms are {_FORMS}.")
        form = _CONTAINER
    else:
        form = _SIX if six else _HOST
    if not form.fullmatch(host) or (six and not _is_six(host)):
        what = "container" if scheme in CONTAINERS else "host"
        raise _bad(text, f"has no {what} that is a name", f"The forms are {_FORMS}.")
    if not colon:
        return host, None
    port = int(digits) if re.fullmatch(r"[0-9]{1,5}", digits) else 0
    if not 1 <= port <= 65535:
        raise _bad(text, "has a port that is none", "Ports are 1 to 65535.")
    return host, port


def _is_six(host: str) -> bool:
    import ipaddress  # takes 5 ms, and few hosts are written so

    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _folder(text: str, whole: str) -> str:
    """The folder there, from what comes after the slash that ends the host."""
    decoded = _decoded(text, whole)
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in decoded):
        raise _bad(whole, "has a control character in its folder", "Rename the folder there.")
    data = os.fsencode(decoded)
    if len(data) > _LONGEST_FOLDER or any(len(part) > _LONGEST_NAME for part in data.split(b"/")):
        raise _bad(whole[:200], "has a folder with a longer name than systems take", "Name a shorter one.")
    if decoded == "~" or decoded.startswith("~/"):
        return decoded
    return f"/{decoded}"


def _decoded(text: str, whole: str) -> str:
    """The text with its percent signs decoded, once."""
    data = text.encode("utf-8", "surrogateescape")
    if b"%" in re.sub(rb"%[0-9A-Fa-f]{2}", b"", data):
        raise _bad(whole, "has a % that two hexadecimal digits do not follow", "Write the % itself as %25.")
    return os.fsdecode(re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes([int(code[1], 16)]), data))


def _encoded(text: str) -> str:
    return re.sub(rb"[^A-Za-z0-9._~/@:+,=-]", lambda byte: b"%%%02X" % byte[0][0], os.fsencode(text)).decode()


def _bad(text: str, problem: str, advice: str) -> BadValue:
    """The error, whose text never shows what may be a password."""
    scheme, sign, rest = text.partition("://")
    authority, slash, folder = rest.partition("/")
    _, at, place = authority.rpartition("@")
    shown = f"{scheme}{sign}***@{place}{slash}{folder}" if at else text
    return BadValue("ADDRESS", shown, problem, advice)
