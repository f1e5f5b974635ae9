"""A server of S3 on loopback: an object of 10 GiB and a prefix of 1,000,000 keys, made up when asked for."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from typing import overload
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.core.stores.bucket.servers import Huge

LINES = 160 * 1024 * 1024
"""Lines of the large object, 64 bytes each."""

KEYS = 1_000_000
"""Keys below `many/`, with a line each."""

_STATE = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
_END = "\U0010ffff"


class _Keys(Sequence[str]):
    """All keys in their order."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return self._keys + 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        return "huge.txt" if at == 0 else f"many/f-{at - 1:07}.txt"


class Made(Huge):
    """The bucket `bench`."""

    def __init__(self, keys: int = KEYS, wait_s: float = 0.0) -> None:
        """So many keys below `many/`, and so many seconds before each answer."""
        self._keys = _Keys(keys)
        self._wait_s = wait_s
        super().__init__(LINES)

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        threading.Event().wait(self._wait_s)
        address = urlsplit(request.path)
        key = unquote(address.path).removeprefix("/").partition("/")[2]
        if not key:
            asked = {name: values[-1] for name, values in parse_qs(address.query).items()}
            return 200, {"Content-Type": "application/xml"}, self._listed(asked)
        at = bisect_left(self._keys, key)
        if key == "huge.txt" or at == len(self._keys) or self._keys[at] != key:
            return super().answer(request, body)
        data = f"the content of {key}\n".encode()
        state = {**_STATE, "ETag": f'"{at}"', "Accept-Ranges": "bytes"}
        if request.command == "HEAD":
            return 200, {**state, "Content-Length": str(len(data))}, b""
        if "Range" not in request.headers:
            return 200, state, data
        return 206, {**state, "Content-Range": f"bytes 0-{len(data) - 1}/{len(data)}"}, data

    def _listed(self, asked: dict[str, str]) -> bytes:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        after = unquote(asked.get("continuation-token") or asked.get("start-after", ""))
        most = min(int(asked.get("max-keys", 1000)), 1000)
        at = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after) if after else 0)
        rows: list[str] = []
        last = ""
        while at < len(self._keys) and self._keys[at].startswith(prefix) and len(rows) < most:
            key = self._keys[at]
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            last = key if cut < 0 else key[: cut + 1] + _END
            rows.append(self._row(key, at) if cut < 0 else _common(key[: cut + 1]))
            at = at + 1 if cut < 0 else bisect_left(self._keys, last)
        more = at < len(self._keys) and self._keys[at].startswith(prefix)
        token = f"<NextContinuationToken>{quote(last)}</NextContinuationToken>" if more else ""
        return (
            f"<ListBucketResult><KeyCount>{len(rows)}</KeyCount><EncodingType>url</EncodingType>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(rows)}</ListBucketResult>"
        ).encode()

    def _row(self, key: str, at: int) -> str:
        size = self.size if at == 0 else len(f"the content of {key}\n")
        tag = self.ETAG if at == 0 else f'"{at}"'
        return (
            f"<Contents><Key>{quote(key)}</Key><Size>{size}</Size><ETag>{tag}</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        )


def _common(prefix: str) -> str:
    return f"<CommonPrefixes><Prefix>{quote(prefix)}</Prefix></CommonPrefixes>"
