"""The host names that a server answers to.

A page in the user's browser can send requests here and, by rebinding its own host name to this address, even
read the answers; its Host and Origin headers give it away
(https://owasp.org/www-community/attacks/DNS_Rebinding). So names must be known; an IP address cannot be
rebound, so a server on other interfaces accepts those.

Another port of this machine is another origin: any other account can serve a page there. A page is ours if
it comes from the very address that it sends to.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import final
from urllib.parse import urlsplit

from readroom.core.errors import NotThisHost, WrongOrigin

_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))


@final
class Hosts:
    """The host names of one server."""

    def __init__(
        self,
        names: Sequence[str] = (),
        origins: Sequence[str] = (),
        *,
        loopback: bool = True,
        named: bool = True,
    ) -> None:
        """Accept the local names and `names`, with any port: a tunnel has another at its other end.

        Args:
            names: More names, in lower case.
            origins: Origins of pages that may send requests besides our own, in lower case.
            loopback: Only this machine can connect; otherwise any IP address is accepted too.
            named: False for a Unix socket, which no page can reach.
        """
        self._names = _LOCAL.union(names)
        self._origins = frozenset(origins)
        self._loopback = loopback
        self._named = named

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Raises NotThisHost or WrongOrigin for a request to, or from, another host."""
        host = self.check_name(headers)
        origin = headers.get(b"origin", b"").decode("latin-1")
        if b"origin" in headers and not self._is_ours(origin.lower(), host.lower()):
            raise WrongOrigin(origin)

    def check_name(self, headers: Mapping[bytes, bytes]) -> str:
        """The host that a request names, from whatever page it comes. Raises NotThisHost."""
        host = headers.get(b"host", b"").decode("latin-1")
        if self._named and not self._known(host):
            raise NotThisHost(host)
        return host

    def _known(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname, parts.port  # an invalid port raises
        except ValueError:
            return False
        if not name or parts.netloc != host or parts.username is not None:
            return False
        return name in self._names or (not self._loopback and _is_address(name))

    def _is_ours(self, origin: str, host: str) -> bool:
        if origin in self._origins:
            return True
        scheme, _, place = origin.partition("://")
        if not self._named or place != host or not self._known(place):
            return False
        # A proxy terminates TLS, under a name from the operator; on this machine https is another server.
        return scheme == "http" or (scheme == "https" and urlsplit(origin).hostname not in _LOCAL)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
