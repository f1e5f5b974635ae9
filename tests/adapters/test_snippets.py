"""The first agent of each how-to, run in its framework with a model that is told what to say."""

from __future__ import annotations

import asyncio
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from tests.adapters.calls import adapters, make_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


@pytest.mark.parametrize(
    "adapter", adapters("pydantic_ai", "openai_agents", "langchain", "deepagents", "smolagents")
)
def test_the_agent_of_the_page_reads_the_folder_and_answers(adapter: str, tmp_path: Path) -> None:
    """It changes a file, so that what the model asked for can be seen to have happened there."""
    given = {"path": "new.txt", "content": "x", "expected_hash": "absent"}
    if adapter == "deepagents":
        given = {"file_path": "/new.txt", "content": "x"}
    model = import_module(f"tests.adapters.agents.{adapter}").scripted([("write_file", given)])
    ask = import_module(f"docs_src.frameworks.with_{adapter}").ask
    folder = make_folder(tmp_path / "work")
    answer = ask("Follow the script.", str(folder), model)
    assert (asyncio.run(answer) if inspect.iscoroutine(answer) else answer) == "done"
    assert (folder / "new.txt").read_text() == "x"
