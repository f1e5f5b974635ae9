"""Requests to a bucket: few at once, counted, bounded in time and tries; each failure an error of ours.

Keys, tokens and addresses of servers appear in no error: what a library says of a failure is not repeated.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any, Protocol, final

from msgspec import Struct

from readroom.core.errors import BucketDenied, MissingProgram, ReadroomError, StoreFailed
from readroom.core.extras import OF_BUCKETS, install
from readroom.core.stores import spending
from readroom.core.stores.bucket import names
from readroom.core.stores.bucket.address import BucketAddress

AT_ONCE = 8
"""Requests in flight."""

TRIES = 3
CONNECT_S = 5
READ_S = 20
"""Seconds without a byte; with `TRIES`, a dead server ends a call within a minute or so."""

BUSY = (429, 500, 502, 503, 504)
"""Statuses of a server that may answer in a moment."""

_AGAIN = "Send the call again in a moment; if it persists, tell the user."
_REACH = "Ask the user to check the network, the region, and AWS_ENDPOINT_URL for a server that is not AWS."
_KEYS = (
    "Ask the user to set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, where readroom starts."
)


class Refused(Exception):
    """An answer that is no failure. `repeated` says that the request was sent before, without an answer."""

    def __init__(self, *, repeated: bool = False) -> None:
        super().__init__()
        self.repeated = repeated


class Missing(Refused):
    """There is no such key."""


class Differs(Refused):
    """The object has another state than the request was for."""


class Beyond(Exception):
    """The range begins at the end of the object, or after it."""


class Meta(Struct, frozen=True):
    """One state of an object. `etag` is as the server writes it."""

    size: int
    etag: str
    mtime_ns: int


class Part(Struct, frozen=True):
    """Bytes of an object from an offset on, and the state that they are of; `headers` are the reply's."""

    data: bytes
    meta: Meta
    headers: dict[str, Any]


class Connection(Protocol):
    """The connection to one bucket of any provider. Safe to share between threads.

    Attributes:
        server: What tells this server from others, for identities.
    """

    server: str

    def head(self, key: str, path: str, if_match: str | None = None) -> tuple[Meta, dict[str, Any]]:
        """The state of an object, and its properties. Raises Missing, Differs."""

    def get(self, key: str, path: str, start: int, size: int, if_match: str | None = None) -> Part:
        """Up to `size` bytes of an object. Raises Missing, Differs, Beyond."""

    def list(self, path: str, prefix: str, most: int, *, flat: bool = False, **more: Any) -> dict[str, Any]:
        """One page of keys, and, unless it is `flat`, of the folders among them."""

    def put(self, key: str, path: str, data: bytes, **how: Any) -> tuple[str, int]:
        """Put an object; its ETag, and how often the request was repeated. Raises Differs."""

    def delete(self, key: str, path: str, etag: str) -> None:
        """Delete an object in that state. Raises Differs."""

    def is_name(self, part: str) -> bool:
        """Whether a part of a key can be the name of a file or folder."""

    def holds(self, reply: dict[str, Any], content: bytes) -> bool:
        """Whether what `head` has replied is of an object with this content."""

    def close(self) -> None:
        """Release the connections."""


@final
class Client:
    """The connection to one bucket of S3. Attributes as of `Connection`."""

    def __init__(self, address: BucketAddress) -> None:
        """Find keys and settings. Raises MissingProgram, StoreFailed."""
        self.bucket = address.bucket
        self.name = str(address)
        self._room = threading.BoundedSemaphore(AT_ONCE)
        try:
            import botocore.exceptions
            import botocore.session
            from botocore.config import Config
        except ModuleNotFoundError:
            raise MissingProgram("botocore", install(OF_BUCKETS)) from None
        self._failures = botocore.exceptions
        config = Config(
            connect_timeout=CONNECT_S,
            read_timeout=READ_S,
            retries={"mode": "standard", "total_max_attempts": TRIES},
            max_pool_connections=AT_ONCE,
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        try:
            session = botocore.session.Session()
            region = session.get_config_variable("region") or "us-east-1"
            self._client = session.create_client("s3", region_name=region, config=config)
        except (self._failures.BotoCoreError, ValueError) as error:
            raise StoreFailed(
                self.name, f"its settings cannot be used ({type(error).__name__})", _KEYS
            ) from None
        self._client.meta.events.register("before-send.s3", lambda **_: spending.count())
        self.server: str = self._client.meta.endpoint_url

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    # --- requests -----------------------------------------------------------------------------

    def head(self, key: str, path: str, if_match: str | None = None) -> tuple[Meta, dict[str, Any]]:
        """The state of an object, and the headers. Raises Missing, Differs."""
        reply = self._call("head_object", path, Key=key, **_given(IfMatch=if_match))
        return _meta(reply, reply["ContentLength"]), reply

    def get(self, key: str, path: str, start: int, size: int, if_match: str | None = None) -> Part:
        """Up to `size` bytes of an object. Raises Missing, Differs, Beyond."""
        wanted = {"Range": f"bytes={start}-{start + size - 1}", **_given(IfMatch=if_match)}

        def read(reply: dict[str, Any]) -> Part:
            total, begins = _range(reply, start)
            if begins != start:
                raise StoreFailed(path, "the server does not send the range that was asked for", _AGAIN)
            expected = min(size, total - start)
            with reply["Body"] as body:
                data: bytes = body.read(expected)
            if len(data) < expected:
                raise self._failures.IncompleteReadError(actual_bytes=len(data), expected_bytes=expected)
            meta = _meta(reply, total)
            if if_match is not None and meta.etag != if_match:
                raise Differs
            return Part(data, meta, reply)

        with spending.expecting(size) as received:
            part: Part = self._call("get_object", path, read, Key=key, **wanted)
            received(len(part.data))
        return part

    def list(self, path: str, prefix: str, most: int, *, flat: bool = False, **more: Any) -> dict[str, Any]:
        """One page of keys, and, unless it is `flat`, of the folders among them."""
        apart: dict[str, Any] = {} if flat else {"Delimiter": "/"}
        reply: dict[str, Any] = self._call(
            "list_objects_v2", path, Prefix=prefix, MaxKeys=most, **apart, **more
        )
        return reply

    def put(self, key: str, path: str, data: bytes, **how: Any) -> tuple[str, int]:
        """Put an object; its ETag, and how often the request was repeated. Raises Differs."""
        reply = self._call("put_object", path, action="change", Key=key, Body=data, **how)
        return reply["ETag"], reply["ResponseMetadata"].get("RetryAttempts", 0)

    def delete(self, key: str, path: str, etag: str) -> None:
        """Delete an object in that state. Raises Differs."""
        self._call("delete_object", path, action="change", Key=key, IfMatch=etag)

    is_name = staticmethod(names.is_name)

    @staticmethod
    def holds(reply: dict[str, Any], content: bytes) -> bool:
        """Whether what `head` has replied is of an object with this content."""
        digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
        return bool(reply.get("ETag", "").strip('"') == digest)

    # --- one request --------------------------------------------------------------------------

    def _call(
        self,
        operation: str,
        path: str,
        use: Callable[[dict[str, Any]], Any] = lambda reply: reply,
        *,
        action: str = "read",
        **arguments: Any,
    ) -> Any:
        """Send a request, and read its reply with `use`; again where that breaks off."""
        for left in reversed(range(TRIES)):
            with self._room:
                reply = self._sent(operation, path, action, arguments)
                try:
                    return use(reply)
                except (self._failures.HTTPClientError, self._failures.IncompleteReadError, OSError) as error:
                    if not left:
                        raise self._failed(error, path, action) from None
        raise AssertionError  # the last try returns or raises

    def _sent(self, operation: str, path: str, action: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = getattr(self._client, operation)(Bucket=self.bucket, **arguments)
        except ReadroomError:
            raise  # a bound that is met, among others
        except self._failures.ClientError as error:
            raise self._refused(error, path, action) from None
        except (self._failures.BotoCoreError, OSError) as error:
            raise self._failed(error, path, action) from None
        return reply

    def _refused(self, error: Any, path: str, action: str) -> Exception:
        """The exception to raise for a status of the server."""
        code = str(error.response.get("Error", {}).get("Code", ""))
        told = error.response.get("ResponseMetadata", {})
        status, repeated = told.get("HTTPStatusCode", 0), bool(told.get("RetryAttempts"))
        if code == "NoSuchBucket":
            advice = "Ask the user to check the bucket's name, the region, and AWS_ENDPOINT_URL."
            return StoreFailed(self.name, "there is no such bucket", advice)
        if status == 404:
            return Missing(repeated=repeated)
        if status in (409, 412):
            return Differs(repeated=repeated)
        if status == 416:
            return Beyond()
        if status in (401, 403) or code in _BAD_KEYS:
            return BucketDenied(path, action, plain(code) or str(status))
        said = f"the bucket answers {status} {plain(code)}".rstrip()
        if status in BUSY:
            return StoreFailed(path, f"{said}, also when asked again", _AGAIN)
        return StoreFailed(path, said, _REACH)

    def _failed(self, error: Exception, path: str, action: str) -> StoreFailed:
        """The error for a request without an answer."""
        known = self._failures
        keys = (known.NoCredentialsError, known.PartialCredentialsError, known.CredentialRetrievalError)
        if isinstance(error, (*keys, known.TokenRetrievalError, known.SSOError, known.ProfileNotFound)):
            return StoreFailed(self.name, "there are no keys for the bucket that can be used", _KEYS)
        if action == "change":
            unknown = "Whether it was changed is not known: read it again before anything else."
            return StoreFailed(path, f"the bucket did not answer ({type(error).__name__})", unknown)
        return StoreFailed(path, f"the bucket cannot be reached ({type(error).__name__})", _REACH)


_BAD_KEYS = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthorizationHeaderMalformed",
)


def plain(code: str) -> str:
    """The code of a failure, if it looks like one: the server may send anything."""
    return code if code.isascii() and code.isalnum() and len(code) <= 64 else ""


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _meta(reply: dict[str, Any], size: int) -> Meta:
    return Meta(size, reply.get("ETag", ""), nanoseconds(reply.get("LastModified")))


def nanoseconds(moment: Any) -> int:
    """A moment as nanoseconds since the epoch; 0 for none."""
    return 0 if moment is None else int(moment.timestamp()) * 1_000_000_000


def _range(reply: dict[str, Any], start: int) -> tuple[int, int]:
    """The size of the object, and where the sent bytes begin: a server may send all of it."""
    said = reply.get("ContentRange")
    if said is None:
        return int(reply["ContentLength"]), 0
    place, _, total = said.removeprefix("bytes ").partition("/")
    return int(total), int(place.partition("-")[0])
