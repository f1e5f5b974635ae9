"""Requests to a container of Azure Blob Storage: bounded, counted and answered as those of `client`.

Properties and pages have the names that S3 gives them, so that the store knows one kind.  The
library's own tries are off, but for a body that breaks off: each request is counted before it is sent.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeVar, final

from readroom.core.errors import BucketDenied, MissingProgram, ReadroomError, StoreFailed
from readroom.core.extras import OF_AZURE, install
from readroom.core.stores import spending
from readroom.core.stores.bucket import names
from readroom.core.stores.bucket.address import AZURE_VARIABLES, BucketAddress
from readroom.core.stores.bucket.client import (
    AT_ONCE,
    BUSY,
    CONNECT_S,
    READ_S,
    TRIES,
    Beyond,
    Differs,
    Meta,
    Missing,
    Part,
    nanoseconds,
    plain,
)

_T = TypeVar("_T")

_VERSION = "2026-02-06"
"""The version of the protocol; older ones list only from the first name on."""

_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_PAUSE_S = 0.2
"""Before the second try; twice as long before each further one."""

_PUT_BYTES = 64 * 1024 * 1024
"""The most that is sent in one request, which is all that a store puts."""

_LAST = "\U0010ffff"

_AGAIN = "Send the call again in a moment; if it persists, tell the user."
_REACH = "Ask the user to check the network, and the account that AZURE_STORAGE_ACCOUNT names."
_KEYS = (
    "Ask the user to set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or "
    "AZURE_STORAGE_CONNECTION_STRING, where readroom starts; roles need the package azure-identity."
)
_ROLES = "Ask the user for the role Storage Blob Data Reader, for changes Storage Blob Data Contributor."
_THEIRS = "Use the provider's own tool."


@final
class AzureClient:
    """The connection to one container. Safe to share between threads. Attributes as of `client.Client`."""

    def __init__(self, address: BucketAddress, variables: Mapping[str, str]) -> None:
        """Find keys and settings among the variables of the provider. Raises MissingProgram, StoreFailed."""
        self.bucket = address.bucket
        self.name = str(address)
        self._room = threading.BoundedSemaphore(AT_ONCE)
        try:
            from azure.core import MatchConditions, exceptions
            from azure.storage import blob
        except ModuleNotFoundError:
            raise MissingProgram("azure-storage-blob", install(OF_AZURE)) from None
        self._failures, self._library, self._match = exceptions, blob, MatchConditions
        try:
            self._container = self._opened(variables)
        except (exceptions.AzureError, ValueError, TypeError, KeyError) as error:
            problem = f"its settings cannot be used ({type(error).__name__})"
            raise StoreFailed(self.name, problem, _KEYS) from None
        self.server: str = self._container.primary_endpoint.partition("?")[0]

    def close(self) -> None:
        """Release the connections."""
        self._container.close()

    # --- requests -----------------------------------------------------------------------------

    def head(self, key: str, path: str, if_match: str | None = None) -> tuple[Meta, dict[str, Any]]:
        """The state of an object, and its properties. Raises Missing, Differs."""
        blob = self._container.get_blob_client(key)
        found, _ = self._call(path, "read", lambda: blob.get_blob_properties(**self._if_still(if_match)))
        return _meta(found, found.size), _properties(found)

    def get(self, key: str, path: str, start: int, size: int, if_match: str | None = None) -> Part:
        """Up to `size` bytes of an object. Raises Missing, Differs, Beyond."""
        blob = self._container.get_blob_client(key)

        def fetch() -> Part:
            loading = blob.download_blob(start, size, max_concurrency=1, **self._if_still(if_match))
            data: bytes = loading.readall()
            place, _, total = str(loading.properties.content_range).removeprefix("bytes ").partition("/")
            if place.partition("-")[0] != str(start):
                raise StoreFailed(path, "the server does not send the range that was asked for", _AGAIN)
            meta = _meta(loading.properties, int(total))
            if if_match is not None and meta.etag != if_match:
                raise Differs
            return Part(data, meta, _properties(loading.properties))

        with spending.expecting(size) as received:
            part, _ = self._call(path, "read", fetch)
            received(len(part.data))
        return part

    def list(self, path: str, prefix: str, most: int, *, flat: bool = False, **more: Any) -> dict[str, Any]:
        """One page of keys, and, unless it is `flat`, of the folders among them; an empty one is the last."""
        token = more.get("ContinuationToken")
        # From that name on, where S3 begins after it.
        start = {"start_from": more["StartAfter"].rstrip(_LAST)} if "StartAfter" in more else {}
        listed: Any = self._container.list_blobs
        if not flat:
            listed = partial(self._container.walk_blobs, delimiter="/")
        while True:
            pages = listed(name_starts_with=prefix or None, results_per_page=most, **start).by_page(token)
            found, _ = self._call(path, "read", partial(_page, pages))
            token = pages.continuation_token
            if found or not token:
                break  # else a page without names, as the protocol allows
        prefixes = [one for one in found if isinstance(one, self._library.BlobPrefix)]
        return {
            "Contents": [_listed(one) for one in found if not isinstance(one, self._library.BlobPrefix)],
            "CommonPrefixes": [{"Prefix": one.name} for one in prefixes],
            "IsTruncated": bool(token),
            "NextContinuationToken": token,
        }

    def put(self, key: str, path: str, data: bytes, **how: Any) -> tuple[str, int]:
        """Put an object; its ETag, and how often the request was repeated. Raises Differs."""
        blob = self._container.get_blob_client(key)
        settings = self._library.ContentSettings(
            content_type=how.get("ContentType"),
            content_encoding=how.get("ContentEncoding"),
            content_language=how.get("ContentLanguage"),
            content_disposition=how.get("ContentDisposition"),
            cache_control=how.get("CacheControl"),
            content_md5=bytearray(hashlib.md5(data, usedforsecurity=False).digest()),
        )
        kept = {"encryption_scope": how.get("EncryptionScope"), "standard_blob_tier": how.get("StorageClass")}
        kept = {name: value for name, value in kept.items() if value}
        if "IfNoneMatch" not in how:
            kept |= {"overwrite": True, **self._if_still(how["IfMatch"])}
        reply, again = self._call(
            path,
            "change",
            lambda: blob.upload_blob(
                data,
                length=len(data),
                metadata=how.get("Metadata"),
                content_settings=settings,
                max_concurrency=1,
                **kept,
            ),
        )
        return reply["etag"], again

    def delete(self, key: str, path: str, etag: str) -> None:
        """Delete an object in that state. Raises Differs."""
        blob = self._container.get_blob_client(key)
        self._call(path, "change", lambda: blob.delete_blob(**self._if_still(etag)))

    @staticmethod
    def is_name(part: str) -> bool:
        """Whether a part of a key can be a name: the server takes a backslash for a slash, and may drop dots.

        So a path with either would lead to an object of another name.
        """
        return names.is_name(part) and "\\" not in part and not part.endswith(".")

    @staticmethod
    def holds(reply: dict[str, Any], content: bytes) -> bool:
        """Whether what `head` has replied is of an object with this content."""
        return bool(reply["ContentMD5"] == hashlib.md5(content, usedforsecurity=False).digest())

    # --- one request --------------------------------------------------------------------------

    def _opened(self, variables: Mapping[str, str]) -> Any:
        """The library's client of the container."""
        said = {name: variables.get(name, "") for name in AZURE_VARIABLES}
        options: dict[str, Any] = {
            "api_version": _VERSION,
            "retry_total": 0,
            "connection_timeout": CONNECT_S,
            "read_timeout": READ_S,
            "max_single_put_size": _PUT_BYTES,
            "raw_request_hook": lambda _: spending.count(),
        }
        container: Any = self._library.ContainerClient
        if whole := said["AZURE_STORAGE_CONNECTION_STRING"]:
            return container.from_connection_string(whole, self.bucket, **options)
        account = said["AZURE_STORAGE_ACCOUNT"]
        if not _ACCOUNT.fullmatch(account):
            raise StoreFailed(self.name, "there is no account for it", _KEYS)
        address = f"https://{account}.blob.core.windows.net"
        return container(address, self.bucket, credential=self._credential(account, said), **options)

    def _credential(self, account: str, said: dict[str, str]) -> Any:
        if said["AZURE_STORAGE_KEY"]:
            base64.b64decode(said["AZURE_STORAGE_KEY"], validate=True)  # else each signature fails later
            return {"account_name": account, "account_key": said["AZURE_STORAGE_KEY"]}
        if said["AZURE_STORAGE_SAS_TOKEN"]:
            return said["AZURE_STORAGE_SAS_TOKEN"].removeprefix("?")
        if find_spec("azure.identity") is None:
            raise StoreFailed(self.name, "there are no keys for it", _KEYS)
        from azure.identity import DefaultAzureCredential

        return DefaultAzureCredential()

    def _if_still(self, etag: str | None) -> dict[str, Any]:
        """The condition that an object is in that state."""
        return {} if etag is None else {"etag": etag, "match_condition": self._match.IfNotModified}

    def _call(self, path: str, action: str, act: Callable[[], _T]) -> tuple[_T, int]:
        """The result of a request, which is sent again where that may help, and how often it was."""
        known = self._failures
        for again in range(TRIES):
            if again:
                time.sleep(_PAUSE_S * 2 ** (again - 1))
            try:
                with self._room:
                    return act(), again
            except ReadroomError:
                raise  # a bound that is met, among others
            except known.HttpResponseError as error:
                if error.status_code not in BUSY or again + 1 == TRIES:
                    raise self._refused(error, path, action, repeated=again > 0) from None
            except (known.AzureError, OSError) as error:
                # Of a body that broke off, the library has asked again by itself.
                if isinstance(error, known.IncompleteReadError) or again + 1 == TRIES:
                    raise self._failed(error, path, action) from None
        raise AssertionError  # the last try returns or raises

    def _refused(self, error: Any, path: str, action: str, *, repeated: bool) -> Exception:
        """The exception to raise for a status of the server."""
        code = getattr(error.error_code, "value", error.error_code)
        code, status = plain(str(code or "")), error.status_code or 0
        if code == "ContainerNotFound":
            advice = "Ask the user to check the container's name and its account, AZURE_STORAGE_ACCOUNT."
            return StoreFailed(self.name, "there is no such container", advice)
        if status == 404:
            return Missing(repeated=repeated)
        if code.startswith("Lease"):
            return StoreFailed(path, "another program holds a lease on it", _AGAIN)
        if status == 412 or code == "BlobAlreadyExists":
            return Differs(repeated=repeated)
        if status == 416:
            return Beyond()
        if status in (401, 403):
            denied = BucketDenied(path, action, code or str(status))
            denied.advice = _ROLES
            return denied
        said = f"the container answers {status} {code}".rstrip()
        if status in BUSY:
            return StoreFailed(path, f"{said}, also when asked again", _AGAIN)
        return StoreFailed(path, said, _THEIRS if action == "change" else _REACH)

    def _failed(self, error: Exception, path: str, action: str) -> StoreFailed:
        """The error for a request without an answer."""
        if isinstance(error, self._failures.ClientAuthenticationError):
            return StoreFailed(self.name, "there are no keys for it that can be used", _KEYS)
        if action == "change":
            unknown = "Whether it was changed is not known: read it again before anything else."
            return StoreFailed(path, f"the container did not answer ({type(error).__name__})", unknown)
        return StoreFailed(path, f"the container cannot be reached ({type(error).__name__})", _REACH)


def _page(pages: Iterator[Iterable[Any]]) -> list[Any]:
    return [*next(pages, ())]


def _meta(found: Any, size: int) -> Meta:
    return Meta(size, found.etag or "", nanoseconds(found.last_modified))


def _listed(found: Any) -> dict[str, Any]:
    etag = (found.etag or "").strip('"')
    return {
        "Key": found.name,
        "Size": found.size,
        "ETag": f'"{etag}"',  # lists leave out the quotes
        "LastModified": found.last_modified,
    }


def _properties(found: Any) -> dict[str, Any]:
    """The properties of an object, by the names of S3 where that has them."""
    settings = found.content_settings
    return {
        "ETag": found.etag,
        "TagCount": found.tag_count,
        "CacheControl": settings.cache_control,
        "ContentDisposition": settings.content_disposition,
        "ContentEncoding": settings.content_encoding,
        "ContentLanguage": settings.content_language,
        "ContentType": settings.content_type,
        "ContentMD5": bytes(settings.content_md5 or b""),
        "Metadata": found.metadata,
        "StorageClass": None if found.blob_tier_inferred else found.blob_tier,
        "EncryptionScope": found.encryption_scope,
        "BlobType": str(getattr(found.blob_type, "value", found.blob_type) or ""),
    }
