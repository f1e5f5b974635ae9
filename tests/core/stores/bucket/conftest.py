"""A bucket of its own for each test, behind the proxy; each test runs for each kind of bucket."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.core.stores.bucket import containers, servers
from tests.core.stores.bucket.containers import ContainerWorld, container_keys_of_tests, needs_azurite
from tests.core.stores.bucket.servers import Proxy, needs_moto
from tests.core.stores.bucket.worlds import BucketWorld, keys_of_tests

_NUMBERS = itertools.count()


@pytest.fixture(params=[pytest.param("s3", marks=needs_moto), pytest.param("az", marks=needs_azurite)])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def proxy(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    server = Proxy((servers.moto() if kind == "s3" else containers.azurite()).port)
    settings = keys_of_tests if kind == "s3" else container_keys_of_tests
    settings(monkeypatch, server.address)
    yield server
    server.close()


@pytest.fixture
def world(kind: str, proxy: Proxy) -> Iterator[BucketWorld | ContainerWorld]:
    name = f"tests-{next(_NUMBERS)}"
    made: BucketWorld | ContainerWorld
    if kind == "s3":
        made = BucketWorld(servers.moto().port, name, proxy)
    else:
        made = ContainerWorld(containers.azurite().port, name, proxy)
    yield made
    made.close()
