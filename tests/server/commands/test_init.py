"""doctor reports a server without tokens."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Cli
from tests.cli.test_init import diagnosed
from tests.server.http.serving import agent, open_agent


def test_a_server_without_tokens_is_a_problem_and_one_with_them_is_none(
    root: Path, tmp_path: Path, cli: Cli
) -> None:
    with open_agent(tmp_path / "open", "--", str(root)) as running:
        found = diagnosed(cli, str(root), "--port", str(running.port))
    assert (found["code"], found["server"]["state"]) == (5, "problem")
    assert "every account on this machine" in found["server"]["found"]
    with agent(tmp_path / "closed", "--", str(root)) as running:
        found = diagnosed(cli, str(root), "--port", str(running.port))
    assert (found["code"], found["server"]["state"]) == (0, "ok")
