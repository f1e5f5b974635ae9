"""A container of Azure Blob Storage to test the store on, in a server that the registry of npm has."""

from __future__ import annotations

import atexit
import base64
import http.client
import os
import socket
import subprocess
import threading
import time
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

from readroom.core.stores.bucket.address import AZURE, BucketAddress
from readroom.core.stores.bucket.store import BucketStore
from scripts.blob_server import AZURITE
from scripts.locked import node
from tests.core.stores.bucket.servers import Proxy

_REQUIRED = "CI" in os.environ and not AZURITE.unreached()

needs_azurite = pytest.mark.skipif(
    not _REQUIRED and (find_spec("azure") is None or not AZURITE.installed()),
    reason="azure-storage-blob or its server is not installed (python -m scripts.blob_server --install)",
)

ACCOUNT = "accountoftests"
KEY = base64.b64encode(b"secret-of-tests-in-azure").decode()
_STARTS_S = 240
_STRING = "AZURE_STORAGE_CONNECTION_STRING"


class Azurite:
    """A process that answers as Azure Blob Storage does."""

    def __init__(self) -> None:
        until = time.monotonic() + _STARTS_S
        while not self._answers(until):  # another program may have taken the port
            assert time.monotonic() < until, "azurite does not answer"

    def _answers(self, until: float) -> bool:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--blobHost", "127.0.0.1"]
        self._process = subprocess.Popen(
            [node(), AZURITE.program, *options, "--blobPort", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}", "PATH": os.environ.get("PATH", "")},
        )
        while self._process.poll() is None and time.monotonic() < until:
            asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                asked.request("GET", f"/{ACCOUNT}/x?restype=container")
                asked.getresponse().read()
                return True
            except (OSError, http.client.HTTPException):
                threading.Event().wait(0.1)
            finally:
                asked.close()
        return False

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@cache
def azurite() -> Azurite:
    """The one server of this process, until it ends."""
    server = Azurite()
    atexit.register(server.close)
    return server


def said(address: str) -> str:
    """The connection string of that server."""
    account = f"AccountName={ACCOUNT};AccountKey={KEY}"
    return f"DefaultEndpointsProtocol=http;{account};BlobEndpoint={address}/{ACCOUNT};"


def variables(address: str) -> dict[str, str]:
    """The variables for a store of that server."""
    return {_STRING: said(address)}


def opened_outside(address: str, container: str) -> Any:
    """A new container of that server, as the provider's own library opens it."""
    from azure.storage.blob import ContainerClient

    opened = ContainerClient.from_connection_string(said(address), container, api_version="2026-02-06")
    opened.create_container()
    return opened


def container_keys_of_tests(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let everything that is started find that server, and nothing else."""
    for name in ("ACCOUNT", "KEY", "SAS_TOKEN"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    monkeypatch.setenv(_STRING, said(address))


class ContainerWorld:
    """A container, its store, and a way to change it behind the store's back. Methods as of `BucketWorld`."""

    def __init__(self, port: int, container: str, proxy: Proxy, prefix: str = "") -> None:
        self.outside: Any = opened_outside(f"http://127.0.0.1:{port}", container)
        self.bucket = container
        self.proxy = proxy
        self.store = self.opened(BucketAddress(container, prefix, AZURE))
        self.address = f"az://{container}"

    def file(self, path: str, data: bytes = b"", kind: str = "", by: str = "", cache: str = "") -> None:
        from azure.storage.blob import ContentSettings

        settings = ContentSettings(content_type=kind or None, cache_control=cache or None)
        self.outside.upload_blob(
            path, data, overwrite=True, content_settings=settings, metadata={"by": by} if by else None
        )

    def tagged(self, path: str, data: bytes) -> None:
        self.outside.upload_blob(path, data, overwrite=True, tags={"a": "b"})

    def folder(self, path: str) -> None:
        self.outside.upload_blob(f"{path}/", b"", overwrite=True)

    def link(self, path: str, target: str) -> None:
        raise AssertionError("a bucket has no links")

    def delete(self, path: str) -> None:
        self.outside.delete_blob(path)

    def read(self, path: str) -> bytes:
        data: bytes = self.outside.download_blob(path).readall()
        return data

    def opened(self, address: BucketAddress, **how: Any) -> BucketStore:
        return BucketStore(address, variables=variables(self.proxy.address), **how)

    def keys(self) -> list[str]:
        return [blob.name for blob in self.outside.list_blobs()]

    def about(self, path: str) -> dict[str, Any]:
        found = self.outside.get_blob_client(path).get_blob_properties()
        return {
            "ETag": found.etag,
            "ContentType": found.content_settings.content_type,
            "CacheControl": found.content_settings.cache_control,
            "Metadata": found.metadata,
            "TagCount": found.tag_count,
        }

    def close(self) -> None:
        self.store.close()
        self.outside.close()
