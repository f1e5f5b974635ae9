"""Tools as plain functions: what a framework finds when it looks at one, and what it gives.

The recipes of frameworks that take functions are run in their environments by `scripts/frameworks --recipes`.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from readroom import Workspace
from readroom.adapters.functions import functions
from readroom.core.extras import install, typed
from tests.adapters.calls import CALLER, NATIVE, make_folder, needs
from tests.suites import daily

RECIPES = {
    "agno": "agno",
    "autogen": "autogen_core",
    "crewai": "crewai",
    "google_adk": "google.adk",
    "llama_index": "llama_index.core",
}
"""By recipe: the package that has to be there."""


def recipes() -> list[Any]:
    return [pytest.param(name, marks=needs(name, package)) for name, package in RECIPES.items()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("recipe", recipes())
def test_ten_calls_through_the_tools_of_a_framework_give_the_texts_of_the_library(
    recipe: str, tmp_path: Path
) -> None:
    with Workspace(make_folder(tmp_path / "one" / "work")) as workspace:
        expected = [workspace.call(*call, caller=CALLER).text for call in NATIVE]
    with Workspace(make_folder(tmp_path / "two" / "work")) as workspace:
        found = import_module(f"tests.adapters.recipes.{recipe}").run(functions(workspace), NATIVE)
    assert found == expected


EXTRAS = {
    "deepagents": ("deepagents", "deepagents"),
    "inspect_ai": ("inspect_ai", "inspect"),
    "langchain": ("langchain_core", "langchain"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "smolagents": ("smolagents", "smolagents"),
}
"""By adapter: what it imports, and the extra that brings it."""


def test_ten_calls_give_the_texts_of_the_library(tmp_path: Path) -> None:
    with Workspace(make_folder(tmp_path / "one" / "work")) as workspace:
        expected = [workspace.call(*call, caller=CALLER).text for call in NATIVE]
    with Workspace(make_folder(tmp_path / "two" / "work")) as workspace:
        found = {one.__name__: one for one in functions(workspace, caller=CALLER)}
        assert [found[name](**given) for name, given in NATIVE] == expected


def test_a_function_shows_its_parameters_types_and_words(tmp_path: Path) -> None:
    with Workspace(make_folder(tmp_path / "work")) as workspace:
        found = {one.__name__: one for one in functions(workspace)}
        read, grep, edit = found["read_file"], found["grep_files"], found["edit_file"]
        assert list(inspect.signature(read).parameters)[:3] == ["path", "offset", "limit"]
        assert get_type_hints(read)["offset"] == int | None
        assert get_type_hints(grep)["glob"] == str | list[str] | None
        assert "text" in str(get_type_hints(read)["view"])
        assert inspect.signature(edit).parameters["edits"].default is inspect.Parameter.empty
        assert "old_text: As in the file" in (edit.__doc__ or "")
        assert "3\tline 3" in read("long.txt", 3, limit=1, column=None)


@daily(2, "adapter", EXTRAS)
def test_a_missing_framework_is_one_sentence_with_the_command_that_installs_it(adapter: str) -> None:
    package, extra = EXTRAS[adapter]
    # Of the base install: Pillow comes with a framework or an extra.
    missing = f"dict.fromkeys(({package!r}, 'PIL'))"
    code = f"import sys; sys.modules.update({missing}); import readroom.adapters.{adapter}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    (last,) = done.stderr.rstrip("\n").split("\n")[-1:]
    sentence = f"{package} is not installed. Install it: {typed(install(extra))}"
    assert last == f"ModuleNotFoundError: {sentence}"
