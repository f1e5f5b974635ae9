"""A search names the compressed files that it left out."""

from __future__ import annotations

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.engine.grep.test_compressed_in_folders import FILES
from tests.laws.driving import fact


def test_a_contract_without_the_argument_says_it_too() -> None:
    with Workspace(MemoryStore(FILES)) as space:
        reply = space.call("grep_files", {"pattern": "needle"}, contract_name="everruns")
        assert "5 files were not searched" in reply.text
        assert "include" not in reply.text
        assert all(item["call"] is None for item in fact(reply, "omitted"))
