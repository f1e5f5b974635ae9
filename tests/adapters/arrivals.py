"""What arrives at the model in each framework, found out there and kept for the documentation.

python -m tests.adapters.arrivals    write it
    python -m tests.adapters.arrivals --recipe NAME PACKAGE    keep the version that a recipe was tested with
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from readroom import Workspace
from readroom.core.stores.memory import MemoryStore
from tests.adapters.calls import CALLER, Call, Seen, agent, calls_of, make_folder

FILE = Path(__file__).with_name("arrivals.json")
RECIPES = Path(__file__).with_name("recipes.json")

PACKAGES = {
    "pydantic_ai": "pydantic-ai-slim",
    "openai_agents": "openai-agents",
    "langchain": "langchain",
    "deepagents": "deepagents",
    "smolagents": "smolagents",
    "inspect_ai": "inspect-ai",
}
"""By adapter: what is installed."""

_PROBES: Mapping[str, tuple[Call, Call, Call]] = {
    "deepagents": (
        ("read_file", {"file_path": "/odd.txt"}),
        ("read_file", {"file_path": "/logo.png"}),
        ("read_file", {"file_path": "/.env"}),
    ),
}
_NATIVE: tuple[Call, Call, Call] = (
    ("read_file", {"path": "odd.txt"}),
    ("read_file", {"path": "logo.png"}),
    ("read_file", {"path": ".env"}),
)


def arrivals() -> dict[str, dict[str, Any]]:
    """By adapter: its version, and what arrived."""
    return {name: {"version": version(package), **arrived(name)} for name, package in PACKAGES.items()}


def known() -> dict[str, dict[str, Any]]:
    """What stands in the file."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def arrived(adapter: str) -> dict[str, Any]:
    """How many of ten replies of an adapter were the library's, how an image and an error came."""
    if adapter == "inspect_ai":
        return {"same": _same(adapter), "image": "none", "error": "marked"}
    text, image, error = _shown(adapter, _PROBES.get(adapter, _NATIVE))
    assert "three" in text.text
    assert "denied by the rule" in error.text
    return {
        "same": None if adapter in _PROBES else _same(adapter),
        "image": "image" if image.images else "none",
        "error": {True: "marked", None: "text"}[error.failed],
    }


def _same(adapter: str) -> int:
    """Of ten calls, how many replies were byte for byte those of the library."""
    calls, contract_name = calls_of(adapter)
    shown = _shown(adapter, calls)
    with TemporaryDirectory() as folder:
        root = MemoryStore() if adapter == "inspect_ai" else make_folder(Path(folder, "work"))
        with Workspace(root) as workspace:
            texts = [workspace.call(*call, contract_name=contract_name, caller=CALLER).text for call in calls]
    return sum(one.text == text for one, text in zip(shown, texts, strict=True))


def _shown(adapter: str, calls: Any) -> list[Seen]:
    contract_name = calls_of(adapter)[1]
    with TemporaryDirectory() as folder:
        root = MemoryStore() if adapter == "inspect_ai" else make_folder(Path(folder, "work"))
        with Workspace(root) as workspace:
            return agent(adapter)(workspace, calls, contract_name)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--recipe"]:
        kept = json.loads(RECIPES.read_text(encoding="utf-8")) if RECIPES.exists() else {}
        versions = dict(sorted({**kept, arguments[1]: version(arguments[2])}.items()))
        RECIPES.write_text(json.dumps(versions, indent=2) + "\n", encoding="utf-8")
        return 0
    FILE.write_text(json.dumps(arrivals(), indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
