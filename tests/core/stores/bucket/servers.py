"""Servers of buckets on loopback: moto, a proxy that counts and breaks, and one with a huge object."""

from __future__ import annotations

import atexit
import http.client
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

needs_moto = pytest.mark.skipif(
    find_spec("moto") is None and "CI" not in os.environ, reason="moto[server] is not installed; CI has it"
)
needs_botocore = pytest.mark.skipif(
    find_spec("botocore") is None and "CI" not in os.environ, reason="botocore is not installed; CI has it"
)

_STARTS_S = 240


class Moto:
    """A process that answers as S3 does."""

    def __init__(self) -> None:
        until = time.monotonic() + _STARTS_S
        while not self._answers(until):  # another program may have taken the port
            assert time.monotonic() < until, "moto does not answer"

    def _answers(self, until: float) -> bool:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "moto.server",
            "-H",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self._process.poll() is None and time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                threading.Event().wait(0.1)
        return False

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@cache
def moto() -> Moto:
    """The one server of this process, until it ends."""
    server = Moto()
    atexit.register(server.close)
    return server


class Seen:
    """One request: its method, its path with the query, its range, and the bytes of the answer's body."""

    def __init__(self, method: str, path: str, headers: Any) -> None:
        self.method = method
        self.path = path
        self.range = headers.get("Range") or headers.get("x-ms-range", "")
        self.if_match = headers.get("If-Match", "")
        self.if_none_match = headers.get("If-None-Match", "")
        self.answered = 0

    def __repr__(self) -> str:
        return f"{self.method} {self.path} {self.range} -> {self.answered}"


Fault = Callable[[Seen], "int | str | None"]
"""What becomes of a request: a status, "reset", "cut" in the middle of the body, None for nothing."""


class Server:
    """A server on loopback that notes what it was asked. `answer` is what it does."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.fault: Fault | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _all(self) -> None:
                outer.handle(self)

            do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _all

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def sent(self) -> int:
        return sum(seen.answered for seen in self.seen)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        size = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(size)
        seen = Seen(request.command, request.path, request.headers)
        self.seen.append(seen)
        fault = None if self.fault is None else self.fault(seen)
        try:
            if fault == "reset":
                request.connection.shutdown(socket.SHUT_RDWR)
                request.close_connection = True
            elif isinstance(fault, int):
                code = {503: "SlowDown", 403: "AccessDenied"}.get(fault, "InternalError")
                self.send(request, seen, fault, {}, f"<Error><Code>{code}</Code></Error>".encode())
            else:
                status, headers, data = self.answer(request, body)
                self.send(request, seen, status, headers, data, cut=fault == "cut")
        except OSError:
            request.close_connection = True

    def send(
        self,
        request: BaseHTTPRequestHandler,
        seen: Seen,
        status: int,
        headers: dict[str, str],
        data: bytes,
        *,
        cut: bool = False,
    ) -> None:
        request.send_response_only(status)
        if status != 204:
            headers = {"Content-Length": str(len(data)), **headers}
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command == "HEAD":
            return
        sent = data[: len(data) // 2] if cut else data
        seen.answered = len(sent)
        request.wfile.write(sent)
        if cut:
            request.wfile.flush()
            request.connection.shutdown(socket.SHUT_RDWR)
            request.close_connection = True

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError


class Proxy(Server):
    """Passes requests on to moto."""

    careless = False
    """Whether conditions are left out, as some servers do."""

    def __init__(self, port: int) -> None:
        self._port = port
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        there = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            kept = {
                name: value
                for name, value in request.headers.items()
                if name.lower() not in ("expect", "connection")
                and not (self.careless and name.lower() in ("if-match", "if-none-match"))
            }
            there.request(request.command, request.path, body, kept)
            answer = there.getresponse()
            data = answer.read()
            left_out = ("transfer-encoding", "connection") + (
                () if request.command == "HEAD" else ("content-length",)
            )
            headers = {
                "Content-Length" if name.lower() == "content-length" else name: value
                for name, value in answer.getheaders()
                if name.lower() not in left_out
            }
            return answer.status, headers, data
        finally:
            there.close()


class Huge(Server):
    """A bucket with one object of lines of the same length, made up as they are asked for."""

    ETAG = '"huge-1"'
    WIDTH = 64

    def __init__(self, lines: int) -> None:
        self.size = lines * self.WIDTH
        super().__init__()

    @classmethod
    def line(cls, number: int) -> bytes:
        return b"%0*d\n" % (cls.WIDTH - 1, number)

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path = request.path.partition("?")[0]
        if path.rstrip("/").count("/") == 1:
            return 200, {}, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
        if not path.endswith("/huge.txt"):
            return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
        state = {"ETag": self.ETAG, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if request.headers.get("If-Match") not in (None, self.ETAG):
            return 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
        if request.command == "HEAD":
            return 200, {**state, "Content-Length": str(self.size)}, b""
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["Range"])
        assert asked is not None, "an object of that size is never asked for as a whole"
        first, last = int(asked[1]), min(int(asked[2]), self.size - 1)
        begin = first // self.WIDTH
        data = b"".join(self.line(number + 1) for number in range(begin, last // self.WIDTH + 1))
        data = data[first - begin * self.WIDTH :][: last - first + 1]
        return 206, {**state, "Content-Range": f"bytes {first}-{last}/{self.size}"}, data


class Disk(Server):
    """A bucket whose objects are the files of a folder, which may have holes of any size.

    Attributes:
        state: Part of each ETag: another one makes every object another.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = 1
        super().__init__()

    def asked(self, name: str) -> list[Seen]:
        """The requests for bytes of an object."""
        return [seen for seen in self.seen if seen.method == "GET" and seen.path.endswith(f"/{name}")]

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path = request.path.partition("?")[0]
        if path.rstrip("/").count("/") == 1:
            return 200, {}, b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
        name = path.rpartition("/")[2]
        file = self.folder / name
        if not file.is_file():
            return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
        etag = f'"{name}-{self.state}"'
        state = {"ETag": etag, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if request.headers.get("If-Match") not in (None, etag):
            return 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
        size = file.stat().st_size
        if request.command == "HEAD":
            return 200, {**state, "Content-Length": str(size)}, b""
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["Range"])
        assert asked is not None, "no object is asked for as a whole"
        first, last = int(asked[1]), min(int(asked[2]), size - 1)
        with file.open("rb") as opened:
            opened.seek(first)
            data = opened.read(last + 1 - first)
        return 206, {**state, "Content-Range": f"bytes {first}-{last}/{size}"}, data
