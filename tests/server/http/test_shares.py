"""One token with work for minutes keeps nobody else waiting."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack, closing
from pathlib import Path

from readroom.core.limits import MCP_WORKERS
from tests.mcp.serving import endless_log
from tests.server.http.serving import END_S, agent


def test_who_asks_for_what_takes_long_leaves_threads_to_others(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    endless_log(root)
    with ExitStack() as stack:
        found = stack.enter_context(agent(tmp_path / "state", str(root)))
        greedy, other = found.make_token("greedy"), found.make_token("other")
        body = json.dumps({"path": "endless.txt", "offset": -1})
        headers = {"Authorization": f"Bearer {greedy}", "Content-Type": "application/json"}
        for _ in range(2 * MCP_WORKERS):
            line = stack.enter_context(closing(found.connect()))
            line.request("POST", "/v1/native/read_file", body, headers)
        gives_up = time.monotonic() + END_S
        while _open(found.request("GET", "/metrics", token=other).body) < 2 * MCP_WORKERS:
            assert time.monotonic() < gives_up
        for _ in range(5):
            assert found.call("read_file", {"path": "a.txt"}, token=other).status == 200


def _open(metrics: bytes) -> float:
    """Calls that run or wait."""
    match = re.search(rb"^readroom_open_calls ([\d.]+)$", metrics, re.MULTILINE)
    assert match is not None
    return float(match[1])
