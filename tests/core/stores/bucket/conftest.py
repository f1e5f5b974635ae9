"""A bucket of its own for each test, behind the proxy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.core.stores.bucket import servers
from tests.core.stores.bucket.servers import Moto, Proxy
from tests.core.stores.bucket.worlds import BucketWorld, keys_of_tests

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def moto() -> Moto:
    return servers.moto()


@pytest.fixture
def proxy(moto: Moto, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    server = Proxy(moto.port)
    keys_of_tests(monkeypatch, server.address)
    yield server
    server.close()


@pytest.fixture
def world(moto: Moto, proxy: Proxy) -> Iterator[BucketWorld]:
    made = BucketWorld(moto.port, f"tests-{next(_NUMBERS)}", proxy)
    yield made
    made.close()
