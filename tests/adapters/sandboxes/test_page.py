"""The code of the page about sandboxes, run in its frameworks with models that are told what to say."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from docs_src.frameworks import as_a_sandbox, in_a_deepagents_sandbox, in_a_sandbox
from tests.adapters.agents import deepagents, pydantic_ai
from tests.adapters.calls import make_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


def test_the_agent_of_pydantic_ai_changes_a_file_of_the_sandbox(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "work")
    model = pydantic_ai.scripted(
        [("write_file", {"path": "new.txt", "content": "x", "expected_hash": "absent"})]
    )
    assert asyncio.run(in_a_sandbox.ask("Follow the script.", str(folder), model)) == "done"
    assert (folder / "new.txt").read_text() == "x"


def test_the_deep_agent_changes_a_file_of_the_sandbox(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "work")
    model = deepagents.scripted([("write_file", {"file_path": "/new.txt", "content": "x"})])
    assert asyncio.run(in_a_deepagents_sandbox.ask("Follow the script.", str(folder), model)) == "done"
    assert (folder / "new.txt").read_text() == "x"


@pytest.mark.parametrize("ask", [as_a_sandbox.ask, as_a_sandbox.ask_guarded])
def test_the_agent_has_the_workspace_of_its_run(tmp_path: Path, ask: object) -> None:
    folder = make_folder(tmp_path / "work")
    model = pydantic_ai.scripted([("size", {"path": "odd.txt"})])
    assert callable(ask)
    assert asyncio.run(ask("Follow the script.", str(folder), model)) == "done"
