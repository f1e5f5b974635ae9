"""Stores whose files are elsewhere: behind a shell as a sandbox has one, and in a bucket."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

from readroom.core.stores.base import Store
from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.stores.environment import EnvironmentStore
from tests.core.stores.bucket.servers import moto, needs_moto
from tests.core.stores.bucket.worlds import keys_of_tests
from tests.core.stores.environment.machines import ShellMachine

PlaceName: TypeAlias = Literal["shell", "bucket"]
PLACES = [pytest.param("shell", id="shell"), pytest.param("bucket", id="bucket", marks=needs_moto)]

BUCKET = "laws"

_NUMBERS = itertools.count()


def over_shell(root: Path) -> Store:
    """A folder as a store over commands."""
    return EnvironmentStore(ShellMachine(root))


def is_key(path: str) -> bool:
    """Whether a path can be a key: UTF-8, and no line feed, to which moto has no way."""
    try:
        return len(path.encode()) <= 1000 and "\n" not in path
    except UnicodeEncodeError:
        return False


@contextmanager
def over_bucket(files: Mapping[str, bytes], beside: Mapping[str, bytes] | None = None) -> Iterator[Store]:
    """A folder of a bucket with those files, links left out, and others next to that folder."""
    above = f"{next(_NUMBERS)}/"
    for prefix, some in ((f"{above}root/", files), (above, beside or {})):
        for path, data in some.items():
            assert is_key(path), path
            _outside().put_object(Bucket=BUCKET, Key=prefix + path, Body=data)
    with pytest.MonkeyPatch.context() as patched:
        keys_of_tests(patched, f"http://127.0.0.1:{moto().port}")
        store = BucketStore(BucketAddress(BUCKET, f"{above}root/"))
    try:
        yield store
    finally:
        store.close()


@cache
def _outside() -> Any:
    """The provider's own library, with the bucket of all laws."""
    import botocore.session

    with pytest.MonkeyPatch.context() as patched:
        address = f"http://127.0.0.1:{moto().port}"
        keys_of_tests(patched, address)
        client = botocore.session.Session().create_client("s3", region_name="us-east-1", endpoint_url=address)
    client.create_bucket(Bucket=BUCKET)
    return client
