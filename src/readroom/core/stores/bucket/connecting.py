"""The connection that an address asks for."""

from __future__ import annotations

from collections.abc import Mapping

from readroom.core.stores.bucket.address import AZURE, BucketAddress
from readroom.core.stores.bucket.client import Client, Connection


def connected(address: BucketAddress, variables: Mapping[str, str]) -> Connection:
    """The connection to a bucket, with keys from those variables. Raises MissingProgram, StoreFailed."""
    if address.scheme == AZURE:
        from readroom.core.stores.bucket.azure import AzureClient

        return AzureClient(address, variables)
    return Client(address)
