"""Most tests of this folder import frameworks; `scripts/frameworks` runs them where they are installed."""

from __future__ import annotations

from importlib.util import find_spec

_OF_PYDANTIC_AI = ["test_backend.py", "test_conformance_suite.py", "test_pydantic_ai.py", "test_page.py"]
_OF_DEEPAGENTS = ["test_deepagents.py", "test_page.py"]

collect_ignore = [
    *(_OF_PYDANTIC_AI if find_spec("pydantic_ai") is None else []),
    *(_OF_DEEPAGENTS if find_spec("deepagents") is None else []),
]
