"""Where a server listens: bound before anything else is started, so that a bad address fails at once."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from readroom.errors import BadValue
from readroom.session.tokens import Tokens

_OTHERS = "Make one with `readroom token create`, or use 127.0.0.1 and a tunnel (ssh -L)."


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect. Raises BadValue for what is no address."""
    return _address(host).is_loopback


def require_tokens(host: str, tokens: Tokens | None) -> None:
    """Raises BadValue when other machines could come in without a token that was made for somebody."""
    if tokens is None or not tokens.any_valid():
        raise BadValue("host", host, "is open to other machines, and there is no token that works", _OTHERS)


@contextmanager
def listening(host: str, port: int, path: str | None) -> Iterator[tuple[socket.socket, str]]:
    """A socket that listens, and the URL of what is behind it; the file of a Unix socket goes with it.

    Raises:
        BadValue: The address, port or path cannot be used.
    """
    if path is not None:
        with _unix(path) as bound:
            yield bound, f"http+unix://{os.path.abspath(path).replace('/', '%2F')}"
        return
    with closing(_tcp(host, port)) as bound:
        name, number = bound.getsockname()[:2]
        yield bound, f"http://{f'[{name}]' if ':' in name else name}:{number}"


def _tcp(host: str, port: int) -> socket.socket:
    address = _address(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # With the protocol in numbers: only then does asyncio set TCP_NODELAY on connections, without which every
    # answer after a connection's first waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that has just ended leaves its port in TIME_WAIT; this does not let two listen at once.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((str(address), port))
        # Only this tells whether another program listens there: with the option above two may bind.
        bound.listen()
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from None
    except OverflowError:
        bound.close()
        raise BadValue("port", port, "is no port", "Ports are 0 to 65535; 0 takes a free one.") from None
    return bound


@contextmanager
def _unix(path: str) -> Iterator[socket.socket]:
    """A socket that only this user can connect to."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with closing(bound):
        try:
            _clear(path)
            before = os.umask(0o177)  # the mode has to be right from the first moment
            try:
                bound.bind(path)
            finally:
                os.umask(before)
            bound.listen()
        except OSError as error:
            problem = "is in use by another program" if error.errno == errno.EADDRINUSE else _said(error)
            raise BadValue("socket", path, problem, "Choose another path, of up to 100 bytes.") from None
        made = os.stat(path).st_ino
        try:
            yield bound
        finally:
            with suppress(OSError):
                if os.stat(path).st_ino == made:
                    os.unlink(path)


def _clear(path: str) -> None:
    """Remove what a server left that was killed; nothing else, and not the socket of one that runs."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise BadValue("socket", path, "is a file and no socket", "Choose a path where there is nothing.")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        advice = "Use 127.0.0.1, ::1, or another address of this machine in numbers."
        raise BadValue("host", host, "is no address", advice) from None


def _unusable(host: str, port: int, error: OSError) -> BadValue:
    if error.errno == errno.EADDRNOTAVAIL:
        return BadValue("host", host, "is not an address of this machine", "Use 127.0.0.1.")
    if error.errno == errno.EADDRINUSE:
        problem = "is in use by another program"
    elif error.errno == errno.EACCES:
        problem = "may not be used by this user"
    else:
        problem = f"cannot be used ({_said(error)})"
    return BadValue("port", port, problem, "Choose another, or 0 for a free one.")


def _said(error: OSError) -> str:
    return error.strerror or type(error).__name__
