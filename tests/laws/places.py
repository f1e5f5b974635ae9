"""Stores whose files are elsewhere: behind a shell as a sandbox has one, in a bucket of S3 or of Azure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from readroom.core.stores.base import Store
from readroom.core.stores.bucket.address import AZURE, BucketAddress
from readroom.core.stores.bucket.azure import AzureClient
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.stores.environment import EnvironmentStore
from tests.core.stores.bucket.containers import azurite, needs_azurite, opened_outside, variables
from tests.core.stores.bucket.servers import moto, needs_moto
from tests.core.stores.bucket.worlds import keys_of_tests
from tests.core.stores.environment.machines import ShellMachine

PlaceName: TypeAlias = Literal["shell", "bucket", "container"]
BUCKETS = {"bucket": needs_moto, "container": needs_azurite}
"""Those whose files are objects, with what a test there needs."""

PLACES = [
    pytest.param("shell", id="shell"),
    *(pytest.param(name, id=name, marks=needs) for name, needs in BUCKETS.items()),
]

BUCKET = "laws"

_NUMBERS = itertools.count()


def over_shell(root: Path) -> Store:
    """A folder as a store over commands."""
    return EnvironmentStore(ShellMachine(root))


def is_key(path: str, kind: str = "bucket") -> bool:
    """Whether a path can be a key there: UTF-8, and no line feed, to which moto has no way."""
    if kind == "container" and not all(map(AzureClient.is_name, path.split("/"))):
        return False
    try:
        return len(path.encode()) <= 1000 and "\n" not in path
    except UnicodeEncodeError:
        return False


@contextmanager
def over_bucket(
    files: Mapping[str, bytes], beside: Mapping[str, bytes] | None = None, *, kind: str = "bucket"
) -> Iterator[Store]:
    """A folder of a bucket with those files, links left out, and others next to that folder."""
    above = f"{next(_NUMBERS)}/"
    put, opened = _container() if kind == "container" else _bucket()
    for prefix, some in ((f"{above}root/", files), (above, beside or {})):
        for path, data in some.items():
            assert is_key(path, kind), path
            put(prefix + path, data)
    store = opened(f"{above}root/")
    try:
        yield store
    finally:
        store.close()


_Ways: TypeAlias = tuple[Callable[[str, bytes], object], Callable[[str], BucketStore]]
"""A way to put an object from outside, and one to open a folder."""


@cache
def _bucket() -> _Ways:
    """The provider's own library, with the bucket of all laws."""
    import botocore.session

    address = f"http://127.0.0.1:{moto().port}"
    with pytest.MonkeyPatch.context() as patched:
        keys_of_tests(patched, address)
        client = botocore.session.Session().create_client("s3", region_name="us-east-1", endpoint_url=address)
    client.create_bucket(Bucket=BUCKET)

    def put(key: str, data: bytes) -> None:
        client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def opened(prefix: str) -> BucketStore:
        with pytest.MonkeyPatch.context() as patched:
            keys_of_tests(patched, address)
            return BucketStore(BucketAddress(BUCKET, prefix))

    return put, opened


@cache
def _container() -> _Ways:
    """The same for Azure."""
    address = f"http://127.0.0.1:{azurite().port}"
    container = opened_outside(address, BUCKET)
    return container.upload_blob, lambda prefix: BucketStore(
        BucketAddress(BUCKET, prefix, AZURE), variables=variables(address)
    )
