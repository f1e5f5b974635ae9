"""Ten calls that every adapter answers as the library does, and what a model is shown of one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from PIL import Image

from readroom import Caller, Workspace

Call: TypeAlias = tuple[str, dict[str, Any]]

CALLER = Caller(agent="conformance")


@dataclass(frozen=True)
class Seen:
    """What of one reply reached the model; `failed` is None where the framework has no mark for it."""

    text: str
    images: list[bytes] = field(default_factory=list)
    failed: bool | None = None


Run: TypeAlias = Callable[[Workspace, Sequence[Call], str], list[Seen]]

FRAMEWORKS = {
    "pydantic_ai": "pydantic_ai",
    "openai_agents": "agents",
    "langchain": "langchain",
    "smolagents": "smolagents",
    "deepagents": "deepagents",
    "inspect_ai": "inspect_ai",
}
"""By adapter: the package that has to be there."""


OWN_TOOLS = {"deepagents"}
"""Adapters below whose framework's own tools the workspace is, so that the words are theirs."""


def _is_missing(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ModuleNotFoundError:  # of the package that it would be in
        return True


def needs(adapter: str, package: str) -> pytest.MarkDecorator:
    """Not run where the framework is not installed; `scripts/frameworks` runs it in its environment."""
    reason = f"{package} is not installed; scripts/frameworks tests its adapter"
    missing = _is_missing(package)
    return pytest.mark.skipif(missing, reason=reason)


def adapters(*names: str) -> list[Any]:
    """These adapters as parameters of a test, or all of them."""
    chosen = names or tuple(name for name in FRAMEWORKS if name not in OWN_TOOLS)
    return [pytest.param(name, marks=needs(name, FRAMEWORKS[name])) for name in chosen]


def agent(adapter: str) -> Run:
    """The agent of an adapter's framework."""
    found: Run = import_module(f"tests.adapters.agents.{adapter}").run
    return found


ODD = "tab\there\r\nü \U0001f600 <tag> {brace} %s \\n\r\nthree\r\n"
"""What frameworks might escape, strip or read as a template."""


def picture() -> bytes:
    out = BytesIO()
    Image.new("RGB", (40, 20), (200, 30, 30)).save(out, "PNG")
    return out.getvalue()


def make_folder(folder: Path) -> Path:
    """The workspace of the calls."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "orders.py").write_text(
        "def shipping(weight):\n    return weight * 2\n\n\ndef total(items):\n    return sum(items)\n"
    )
    (folder / "odd.txt").write_bytes(ODD.encode())
    (folder / "logo.png").write_bytes(picture())
    (folder / ".env").write_text("SECRET=hunter2\n")
    (folder / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 3001)))
    return folder


_KNOWN = "sha256:" + hashlib.sha256(ODD.encode()).hexdigest()

NATIVE: tuple[Call, ...] = (
    ("list_directory", {"depth": 2}),
    ("read_file", {"path": "long.txt"}),
    ("read_file", {"path": "odd.txt"}),
    ("read_file", {"path": "src/orders.py", "symbol": "total"}),
    ("grep_files", {"pattern": r"weight|items", "context": 1}),
    ("read_file", {"path": "logo.png"}),
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "src/order.py"}),
    (
        "edit_file",
        {
            "path": "odd.txt",
            "expected_hash": _KNOWN,
            "edits": [{"old_text": "three", "new_text": "3\nfour"}],
        },
    ),
    ("write_file", {"path": "src/new.py", "content": "x = {}\n", "expected_hash": "absent"}),
)

INSPECT: tuple[Call, ...] = (
    ("files", {"params": {"command": "write", "file_path": "a.txt", "content": "one\ntwo\n"}}),
    ("read_file", {"file_path": "a.txt"}),
    ("read_file", {"file_path": "a.txt", "offset": 1}),
    ("read_file", {"file_path": "missing.txt"}),
    ("files", {"params": {"command": "ls"}}),
    ("files", {"params": {"command": "stat", "path": "a.txt"}}),
    (
        "files",
        {"params": {"command": "edit", "file_path": "a.txt", "old_string": "two", "new_string": "2 {x}"}},
    ),
    ("files", {"params": {"command": "edit", "file_path": "a.txt", "old_string": "none", "new_string": ""}}),
    ("files", {"params": {"command": "move", "src_path": "a.txt", "dst_path": "ü.txt"}}),
    ("read_file", {"file_path": "ü.txt"}),
)
"""Inspect's tools are those of inspect_agents, whose files are in memory."""

CALLS = {"inspect_ai": INSPECT}
CONTRACTS = {"inspect_ai": "inspect_agents"}


def calls_of(adapter: str) -> tuple[Sequence[Call], str]:
    """The ten calls that an adapter is asked to make, and the contract whose they are."""
    return CALLS.get(adapter, NATIVE), CONTRACTS.get(adapter, "native")
