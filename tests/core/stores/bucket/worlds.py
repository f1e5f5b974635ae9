"""A bucket to test the store on, changed from outside with the provider's own library."""

from __future__ import annotations

from typing import Any

import pytest

from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.store import BucketStore
from tests.core.stores.bucket.servers import Proxy


def keys_of_tests(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let everything that is started find that server, and nothing else."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-tests")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


class BucketWorld:
    """A bucket, its store, and a way to change it behind the store's back."""

    def __init__(self, port: int, bucket: str, proxy: Proxy, prefix: str = "") -> None:
        import botocore.session

        session = botocore.session.Session()
        address = f"http://127.0.0.1:{port}"
        self.outside: Any = session.create_client("s3", region_name="us-east-1", endpoint_url=address)
        self.outside.create_bucket(Bucket=bucket)
        self.bucket = bucket
        self.proxy = proxy
        self.store = BucketStore(BucketAddress(bucket, prefix))
        self.address = f"s3://{bucket}"

    def file(self, path: str, data: bytes = b"", kind: str = "", by: str = "", cache: str = "") -> None:
        beside = {"ContentType": kind, "Metadata": {"by": by} if by else None, "CacheControl": cache}
        how = {name: value for name, value in beside.items() if value}
        self.outside.put_object(Bucket=self.bucket, Key=path, Body=data, **how)

    def tagged(self, path: str, data: bytes) -> None:
        self.outside.put_object(Bucket=self.bucket, Key=path, Body=data, Tagging="a=b")

    def folder(self, path: str) -> None:
        self.outside.put_object(Bucket=self.bucket, Key=f"{path}/", Body=b"")

    def link(self, path: str, target: str) -> None:
        raise AssertionError("a bucket has no links")

    def delete(self, path: str) -> None:
        self.outside.delete_object(Bucket=self.bucket, Key=path)

    def read(self, path: str) -> bytes:
        data: bytes = self.outside.get_object(Bucket=self.bucket, Key=path)["Body"].read()
        return data

    def opened(self, address: BucketAddress, **how: Any) -> BucketStore:
        return BucketStore(address, **how)

    def keys(self) -> list[str]:
        listed = self.outside.list_objects_v2(Bucket=self.bucket)
        return [one["Key"] for one in listed.get("Contents", ())]

    def about(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.outside.head_object(Bucket=self.bucket, Key=path)
        return found

    def close(self) -> None:
        self.store.close()
        self.outside.close()
