"""Ten calls through every adapter, inside its framework: the model is shown what the library replies."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from readroom import Reply, Workspace
from readroom.core.config import Settings
from readroom.core.stores.memory import MemoryStore
from tests.adapters.calls import CALLER, Call, adapters, agent, calls_of, make_folder, picture

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "work")


def replies(workspace: Workspace, calls: Sequence[Call], contract_name: str) -> list[Reply]:
    return [workspace.call(*call, contract_name=contract_name, caller=CALLER) for call in calls]


@pytest.mark.parametrize("adapter", adapters())
def test_the_model_is_shown_the_librarys_replies_byte_for_byte(adapter: str, tmp_path: Path) -> None:
    calls, contract_name = calls_of(adapter)
    assert len(calls) == 10
    if adapter == "inspect_ai":
        with Workspace(MemoryStore()) as memory:
            expected = replies(memory, calls, contract_name)
            shown = agent(adapter)(memory, calls, contract_name)
    else:
        # Two folders, for the calls change them; of one name, for replies may say it.
        with Workspace(make_folder(tmp_path / "one" / "work")) as workspace:
            expected = replies(workspace, calls, contract_name)
        with Workspace(make_folder(tmp_path / "two" / "work")) as workspace:
            shown = agent(adapter)(workspace, calls, contract_name)
        assert _contents(tmp_path / "one") == _contents(tmp_path / "two")
    assert [one.text for one in shown] == [reply.text for reply in expected]
    marks = [one.failed for one in shown]
    if set(marks) != {None}:
        assert marks == [reply.is_error for reply in expected]


@pytest.mark.parametrize("adapter", adapters("pydantic_ai", "openai_agents", "langchain", "smolagents"))
def test_an_image_arrives_as_an_image(adapter: str, folder: Path) -> None:
    with Workspace(folder) as workspace:
        (shown,) = agent(adapter)(workspace, [("read_file", {"path": "logo.png"})], "native")
    (data,) = shown.images
    with Image.open(BytesIO(data)) as ours, Image.open(BytesIO(picture())) as theirs:
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("adapter", adapters("pydantic_ai", "openai_agents", "langchain"))
def test_wrong_arguments_are_answered_by_the_contract_and_the_agent_goes_on(
    adapter: str, folder: Path
) -> None:
    """No check of a framework stands before the sentence that lists them; smolagents has one of types."""
    calls = [
        ("grep_files", {"pattern": "x", "context": "many"}),
        ("grep_files", {"pattern": "x", "globb": "*.py"}),
        ("read_file", {"path": "odd.txt"}),
    ]
    with Workspace(folder) as workspace:
        expected = replies(workspace, calls, "native")
        shown = agent(adapter)(workspace, calls, "native")
    assert [reply.is_error for reply in expected] == [True, True, False]
    assert [one.text for one in shown] == [reply.text for reply in expected]


@pytest.mark.parametrize("adapter", adapters("pydantic_ai", "openai_agents", "langchain", "smolagents"))
@pytest.mark.parametrize("contract_name", ["everruns", "rnd"])
def test_the_tools_of_other_contracts_are_served_the_same_way(
    adapter: str, contract_name: str, folder: Path
) -> None:
    call = (
        ("read_file", {"path": "/workspace/odd.txt"})
        if contract_name == "everruns"
        else ("read", {"path": "a.py"})
    )
    with Workspace(folder, settings=Settings()) as workspace:
        (expected,) = replies(workspace, [call], contract_name)
        (shown,) = agent(adapter)(workspace, [call], contract_name)
    assert shown.text == expected.text


@pytest.mark.parametrize("adapter", adapters("pydantic_ai", "openai_agents", "langchain", "smolagents"))
def test_twelve_refusals_in_a_row_do_not_end_a_run(adapter: str, folder: Path) -> None:
    with Workspace(folder) as workspace:
        shown = agent(adapter)(workspace, [("read_file", {"path": ".env"})] * 12, "native")
    assert len(shown) == 12
    assert all("denied by the rule" in one.text and "hunter2" not in one.text for one in shown)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
