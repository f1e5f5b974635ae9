"""Requests and bytes of calls in a bucket, as its server counts them, next to programs that people use."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bucket_server import KEYS, LINES, Made
from benchmarks.measure import Record
from readroom import Workspace
from readroom.core.config import in_memory
from readroom.core.config.settings import Settings
from readroom.core.errors import ReadroomError
from readroom.core.policy.rules import denials
from readroom.core.stores.bucket.address import BucketAddress
from readroom.core.stores.bucket.store import BucketStore

_AT = 50_000
"""The line at which a reader is that has read from the beginning."""

_PEERS = "READROOM_BENCH_S3"
"""The variable with a folder of programs that has `aws`, and a `python` with s3fs."""

_FSSPEC = """
import sys, s3fs
fs = s3fs.S3FileSystem()
what = sys.argv[1]
if what == "lines":
    with fs.open("bench/huge.txt", "rb") as file:
        for _ in range(100): file.readline()
elif what == "middle":
    with fs.open("bench/huge.txt", "rb") as file:
        file.seek(50_000 * 64)
        for _ in range(100): file.readline()
elif what == "end":
    with fs.open("bench/huge.txt", "rb") as file:
        file.seek(-6400, 2)
        file.read()
elif what == "list":
    fs.ls("bench/many")[:500]
else:
    fs.cat_file("bench/many/f-0500000.txt")
"""


def run(record: Record) -> None:
    """Each call once: it is counted, not timed."""
    server = Made()
    os.environ.update(
        AWS_ENDPOINT_URL=server.address, AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench",
        AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true",
    )  # fmt: skip
    try:
        record.say(f"- An object of {LINES:,} lines and {server.size:,} bytes, and {KEYS:,} keys, made up.")
        rows = [*_ours(record, server), *_peers(record, server), _whole(server)]
        record.table(["who", "call", "requests", "bytes"], rows)
    finally:
        server.close()


def _counted(record: Record, server: Made, who: str, call: str, act: Callable[[], object]) -> list[str]:
    server.seen.clear()
    try:
        act()
    except ReadroomError as error:
        call += f", refused: {error.code}"
    requests, sent = len(server.seen), server.sent
    record.add("buckets", call, f"{who}, requests", [requests], "count")
    record.add("buckets", call, f"{who}, bytes", [sent], "count")
    return [who, call, f"{requests:,}", f"{sent:,}"]


def _ours(record: Record, server: Made) -> list[list[str]]:
    who = f"readroom, botocore {metadata.version('botocore')}"
    settings = in_memory(Settings(layers=(denials(),)))
    found: list[list[str]] = []

    def count(call: str, act: Callable[[], object]) -> None:
        found.append(_counted(record, server, who, call, act))

    with Workspace(BucketStore(BucketAddress("bench", "")), settings=settings) as workspace:
        workspace.read("many/f-0000000.txt")  # the rules of the folder are asked for once
        count("lines 1 to 100", lambda: workspace.read("huge.txt", limit=100))
        count(f"100 lines from {_AT:,} on, first", lambda: workspace.read("huge.txt", offset=_AT, limit=100))
        count("100 lines from 30,000 on", lambda: workspace.read("huge.txt", offset=30_000, limit=100))
        count("the last 100 lines", lambda: workspace.read("huge.txt", offset=-100))
        count("a small object", lambda: workspace.read("many/f-0500000.txt"))
        count("500 names", lambda: workspace.list("many", limit=500))
        following = workspace.list("many", limit=500).facts["next"]
        assert isinstance(following, dict)
        count("the next 500 names", lambda: workspace.call(following["tool"], following["arguments"]))
        count("a search over all", lambda: workspace.grep("0999999", path="many"))
        count(
            "a search by name of a file", lambda: workspace.grep("content", path="many", glob="f-0000042.txt")
        )
        count("ranked reading over all", lambda: workspace.find("the content of a key", path="many"))
    return found


def _peers(record: Record, server: Made) -> list[list[str]]:
    folder = os.environ.get(_PEERS)
    if folder is None:
        record.say(f"- Peers were not asked: {_PEERS} names no folder of programs.")
        return []
    python, aws = Path(folder) / "python", Path(folder) / "aws"
    version = subprocess.run(
        [python, "-c", "import s3fs; print(s3fs.__version__)"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = [
        _counted(record, server, f"s3fs {version}", call, partial(_run, python, "-c", _FSSPEC, what))
        for call, what in (
            ("lines 1 to 100", "lines"),
            (f"100 lines from byte {_AT * 64:,} on", "middle"),
            ("the last 6,400 bytes", "end"),
            ("a small object", "small"),
            ("500 names", "list"),
        )
    ]
    words = subprocess.run([aws, "--version"], capture_output=True, text=True, check=True).stdout.split()
    who = words[0].replace("/", " ")
    first = f"{shlex.quote(str(aws))} s3 cp --quiet s3://bench/huge.txt - 2>/dev/null | head -100"
    found.append(_counted(record, server, who, "`s3 cp`, `head -100`", partial(_run, "sh", "-c", first)))
    found.append(
        _counted(
            record, server, who, "`s3 ls` of the prefix", partial(_run, aws, "s3", "ls", "s3://bench/many/")
        )
    )
    with TemporaryDirectory() as target:
        one = partial(_run, aws, "s3", "cp", "--quiet", "s3://bench/many/f-0500000.txt", target)
        found.append(_counted(record, server, who, "`s3 cp` of a small object", one))
    return found


def _run(*command: str | Path) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=sys.stderr, check=True)


def _whole(server: Made) -> list[str]:
    """Backends of harnesses hand over whole files: that needs no measuring."""
    return ["a backend that reads whole files", "any line of the object", "1 or more", f"{server.size:,}"]
