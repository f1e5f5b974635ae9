"""Outlines in each reply of everruns are kept."""

from __future__ import annotations

import pytest

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.session.test_conversation import CODE


@pytest.fixture
def workspace() -> Workspace:
    return Workspace(MemoryStore({"a.txt": "one\ntwo\n"}))


def test_a_contract_that_has_the_outline_in_each_reply_keeps_it() -> None:
    workspace = Workspace(MemoryStore({"a.py": CODE}))
    for _ in range(2):
        reply = workspace.call("read_file", {"path": "/workspace/a.py"}, contract_name="everruns")
        assert "Outline of lines" in reply.text
