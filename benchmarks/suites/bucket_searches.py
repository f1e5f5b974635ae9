"""Searches over a bucket whose server is far away, one request after the other and several at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from benchmarks.bucket_server import Made
from benchmarks.measure import Record
from readroom import Workspace
from readroom.core.config import in_memory
from readroom.core.config.settings import Settings
from readroom.core.limits import Limits
from readroom.core.policy.rules import denials
from readroom.core.stores.bucket import ahead
from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.values import Reply

_KEYS = 100
_WAIT_S = 0.05
_ROUNDS = 3

_CALLS: dict[str, Callable[[Workspace], Reply]] = {
    "a search": lambda workspace: workspace.grep("content", path="many", output="files"),
    "the first match": lambda workspace: workspace.grep("content", path="many", limit=1),
    "a search by relevance": lambda workspace: workspace.grep("content", path="many", sort="relevance"),
    "ranked reading": lambda workspace: workspace.find("the content of a key", path="many"),
}


def run(record: Record) -> None:
    """Each call in turns, each in a conversation of its own."""
    server = Made(_KEYS, _WAIT_S)
    os.environ.update(
        AWS_ENDPOINT_URL=server.address, AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench",
        AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true",
    )  # fmt: skip
    usual = ahead.MOST
    ways = {"one after the other": 0, f"up to {usual} ahead": usual}
    record.say(f"- {_KEYS} objects; the server waits {_WAIT_S * 1000:.0f} ms before each answer.")
    try:
        rows = [_row(record, server, call, who, most) for call in _CALLS for who, most in ways.items()]
        record.table(["call", "way", "s", "requests", "bytes"], rows)
    finally:
        ahead.MOST = usual
        server.close()


def _row(record: Record, server: Made, call: str, who: str, most: int) -> list[str]:
    ahead.MOST = most
    seconds: list[float] = []
    for _ in range(_ROUNDS):
        patient = Limits(grep_timeout_s=600)
        settings = in_memory(Settings(layers=(denials(),), limits=patient))
        with Workspace(BucketStore(BucketAddress("bench", "")), settings=settings) as workspace:
            workspace.list("many")  # asks for the rules
            server.seen.clear()
            begun = time.perf_counter()
            _CALLS[call](workspace)
            seconds.append(time.perf_counter() - begun)
    requests, sent = len(server.seen), server.sent
    record.add("bucket_searches", call, f"{who}, requests", [requests], "count")
    record.add("bucket_searches", call, f"{who}, bytes", [sent], "count")
    median = record.add("bucket_searches", call, who, seconds, "s")
    return [call, who, f"{median:.2f}", f"{requests:,}", f"{sent:,}"]
