"""The standard tests of a sandbox that `langchain-tests` ships, for a workspace whose policy allows commands.

Their newest version is older than the protocol: what they ask otherwise is expected to fail, and says why.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ClassVar

import pytest
from langchain_tests.integration_tests import SandboxIntegrationTests

from readroom.adapters.deepagents import WorkspaceSandbox
from tests.core.engine.command.running import room

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore"),  # those of frameworks are not ours
]

PYTHON = '#!/bin/sh\nexec python3 "$@"\n'
"""Its commands call python, which systems have under another name."""

_ABSOLUTE = "the protocol of 0.7.32 has absolute paths in a glob"
_LARGER = "a file for the model may have 8 MiB here, as PDF files have"

DIFFERENT = {
    "test_glob": _ABSOLUTE,
    "test_glob_basic_pattern": _ABSOLUTE,
    "test_glob_hidden_files_explicitly": _ABSOLUTE,
    "test_glob_with_character_class": _ABSOLUTE,
    "test_glob_with_question_mark": _ABSOLUTE,
    "test_glob_with_directories": "the protocol of 0.7.32 matches files alone in a glob",
    "test_write_existing_file_fails": "the protocol of 0.7.32 overwrites a file",
    "test_ls_lists_nested_directories": "folders end with a slash, as those of FilesystemBackend",
    "test_read_binary_file_1_mib_returns_error": _LARGER,
    "test_aread_binary_file_1_mib_returns_error": _LARGER,
}


def _expected_to_fail(name: str, reason: str) -> Callable[..., Any]:
    original = getattr(SandboxIntegrationTests, name)

    @wraps(original)
    async def awaited(*values: Any, **named: Any) -> None:
        await original(*values, **named)

    @wraps(original)
    def called(*values: Any, **named: Any) -> None:
        original(*values, **named)

    test: Callable[..., Any] = awaited if inspect.iscoroutinefunction(original) else called
    marked: Callable[..., Any] = pytest.mark.xfail(strict=True, reason=reason)(test)
    return marked


class TestStandardSandbox(SandboxIntegrationTests):
    folder: ClassVar[str] = ""

    locals().update({name: _expected_to_fail(name, reason) for name, reason in DIFFERENT.items()})

    @property
    def sandbox_root_dir(self) -> str:
        return self.folder

    @pytest.fixture(scope="class")
    def sandbox(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkspaceSandbox]:
        root = tmp_path_factory.mktemp("sandbox")
        (root / "bin").mkdir()
        (root / "bin" / "python").write_text(PYTHON)
        (root / "bin" / "python").chmod(0o755)
        type(self).folder = str(root / "ops")
        path = f"{root}/bin:/usr/local/bin:/usr/bin:/bin"
        with room(root, environment=(("PATH", path),)) as workspace:
            yield WorkspaceSandbox(workspace, virtual_mode=False)

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"
