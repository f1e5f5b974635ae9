"""A workspace whose policy allows commands, as a `SandboxBackendProtocol`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from readroom.adapters.deepagents.backend import CALLER, WorkspaceBackend, awaited
from readroom.core.caller import Caller
from readroom.core.extras import needs
from readroom.core.limits import RUN_MAX_TIMEOUT_S
from readroom.core.workspace import Workspace

with needs("deepagents"):
    from deepagents.backends.protocol import ExecuteResponse, FileData, ReadResult, SandboxBackendProtocol

_TIMED_OUT: Final = 124
"""The exit code of `timeout`, which the backends of deepagents give a command that they end."""


class WorkspaceSandbox(WorkspaceBackend, SandboxBackendProtocol):
    """The files of a workspace, and commands in it, confined as its policy says."""

    def __init__(self, workspace: Workspace, *, virtual_mode: bool = True, caller: Caller = CALLER) -> None:
        """Serve a workspace; arguments as of `WorkspaceBackend`.

        Commands see paths of this machine: with `virtual_mode` they use relative ones.

        Raises:
            CommandsOff: Its policy does not allow commands.
            NoFolder: The workspace is not in a folder.
        """
        if not workspace.runs_commands:
            raise workspace.engine.services.commands_off()
        super().__init__(workspace, virtual_mode=virtual_mode, caller=caller)
        self._id = f"readroom-{uuid4().hex[:8]}"

    @property
    def id(self) -> str:
        """Names this backend."""
        return self._id

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """As of `WorkspaceBackend`; as pages of a `BaseSandbox`, those of a text end without a line feed."""
        result = super().read(file_path, offset, limit)
        data = result.file_data
        if data is None or result.start_line is None:
            return result
        content = data["content"].removesuffix("\n")
        return replace(result, file_data=FileData(content=content, encoding="utf-8"))

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command; `timeout` in seconds, None for the limit of the workspace.

        Raises:
            ValueError: The timeout is not positive.
        """
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout must be positive, got {timeout}")
        if not command:
            return ExecuteResponse("Error: Command must be a non-empty string.", exit_code=1)
        seconds = self._workspace.limits.run_timeout_s if timeout is None else min(timeout, RUN_MAX_TIMEOUT_S)
        reply = self._call("execute", command=command, timeout_s=seconds)
        if reply.is_error:
            return ExecuteResponse(f"Error executing command: {reply.text}", exit_code=1)
        ran: Any = reply.build_facts()
        output, code = reply.text or "<no output>", ran["exit_code"]
        if ran["timed_out"]:
            code = _TIMED_OUT
            output += f"\n\n{_timed_out(seconds, custom=timeout is not None)}"
        if code:
            output = f"{output.rstrip()}\n\nExit code: {code}"
        return ExecuteResponse(output, exit_code=code, truncated=ran["truncated"])

    aread, aexecute = awaited(read), awaited(execute)


def _timed_out(seconds: float, *, custom: bool) -> str:
    begin = f"Error: Command timed out after {seconds:g} seconds"
    if custom:
        return f"{begin} (custom timeout). The command may be stuck or require more time."
    return f"{begin}. For long-running commands, re-run using the timeout parameter."
