"""A bucket that is served over HTTP: what is printed names it, and a token opens it."""

from __future__ import annotations

from pathlib import Path

from tests.core.stores.bucket.conftest import kind as kind
from tests.core.stores.bucket.conftest import proxy as proxy
from tests.core.stores.bucket.conftest import world as world
from tests.core.stores.bucket.worlds import BucketWorld
from tests.server.http.serving import command
from tests.server.http.test_first_token import started


def test_a_bucket_is_served_by_its_address(world: BucketWorld, tmp_path: Path) -> None:
    world.file("notes/a.txt", b"hello\n")
    world.file("a.txt", b"above\n")
    address = f"{world.address}/notes"
    with started(tmp_path / "state", address) as found:
        assert f"readroom serves {address} to MCP clients" in found.text
        assert f" mcp -- {address}\n" in found.text
        assert found.read(None).status == 401
        token = command(tmp_path / "state", "token", "create", "reader").split()[-1]
        answer = found.read(token)
        assert answer.status == 200
        assert "hello" in str(answer.json)
        assert "above" not in str(answer.json)
