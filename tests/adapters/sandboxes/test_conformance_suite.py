"""The suite of Pydantic AI for workspace backends, as it is shipped."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace, WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from readroom.adapters.sandboxes.backend import GuardedWorkspace, ReadroomBackend
from readroom.core.config import Settings
from readroom.core.policy.changes import ChangePolicy
from readroom.core.policy.rules import denials

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestReadroomAsBackend(WorkspaceBackendSuite):
    """A folder under the guard; it runs no commands, so their rules skip."""

    @pytest.fixture
    def has_real_posix_shell(self) -> bool:
        """One rule skips inside a group of tasks otherwise, which makes a failure of it."""
        return False

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[WorkspaceBackend]:
        made = ReadroomBackend(tmp_path)
        yield made
        made.close()

    @pytest.fixture
    def fresh_backend(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[Callable[[], WorkspaceBackend]]:
        made: list[ReadroomBackend] = []

        def build() -> WorkspaceBackend:
            made.append(ReadroomBackend(tmp_path_factory.mktemp("fresh")))
            return made[-1]

        yield build
        for one in made:
            one.close()

    @pytest.fixture
    def attach_backend(self) -> Iterator[Callable[[WorkspaceRef], WorkspaceBackend]]:
        made: list[ReadroomBackend] = []

        def attach(ref: WorkspaceRef) -> WorkspaceBackend:
            made.append(ReadroomBackend(ref.id))
            return made[-1]

        yield attach
        for one in made:
            one.close()

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            shutil.rmtree(await backend.working_dir())

        return destroy


class TestGuardedLocalWorkspace(WorkspaceBackendSuite):
    """A local backend with the guard in front, commands passed on."""

    @pytest.mark.xfail(strict=True, reason="changes follow links only where an operator allows it")
    async def test_writes_go_through_a_symlink(self, backend: WorkspaceBackend) -> None:
        await super().test_writes_go_through_a_symlink(backend)

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[WorkspaceBackend]:
        made = GuardedWorkspace(Workspace(LocalWorkspaceBackend(tmp_path)), allow_commands=True)
        yield made
        made.close()


class TestGuardedThatFollowsLinks(WorkspaceBackendSuite):
    """The rule about links where an operator allows them."""

    locals().update(
        {
            name: None
            for name in vars(WorkspaceBackendSuite)
            if name.startswith("test_") and name != "test_writes_go_through_a_symlink"
        }
    )

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[WorkspaceBackend]:
        settings = Settings(layers=(denials(),), changes=ChangePolicy(follow_links=True))
        inner = Workspace(LocalWorkspaceBackend(tmp_path))
        made = GuardedWorkspace(inner, settings=settings, allow_commands=True)
        yield made
        made.close()
