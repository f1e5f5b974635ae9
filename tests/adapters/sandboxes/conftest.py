"""Most tests of this folder import frameworks; `scripts/frameworks` runs them where they are installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from readroom.core.engine import unsearched

_OF_PYDANTIC_AI = ["test_backend.py", "test_conformance_suite.py", "test_pydantic_ai.py", "test_page.py"]
_OF_DEEPAGENTS = ["test_deepagents.py", "test_page.py"]

collect_ignore = [
    *(_OF_PYDANTIC_AI if find_spec("pydantic_ai") is None else []),
    *(_OF_DEEPAGENTS if find_spec("deepagents") is None else []),
]


@pytest.fixture(autouse=True)
def _every_name_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of what a search left out is cut after a second, which one shell for each folder can take."""
    monkeypatch.setattr(unsearched, "_MAX_S", 60.0)
