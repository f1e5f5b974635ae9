"""Which contract fits a recorded client, and its calls for what is asked natively."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from readroom.contracts import NAMES
from readroom.contracts.base import Contract
from readroom.errors import ReadroomError
from readroom.lens.evidence import tools
from readroom.lens.records.events import Called
from readroom.values import Call, ReadRequest, Request
from readroom.workspace import Workspace

NATIVE = "native"


class Fit(Struct, frozen=True):
    """A contract, and what it has in common with the tools of a client."""

    contract: str
    why: str


FITTING: Mapping[str, Fit] = {
    "Claude Code": Fit("inspect_agents", "`file_path`, `offset` and `limit`; lines numbered before a tab"),
    "Gemini CLI": Fit("inspect_agents", "`read_file` with `file_path`, `offset` from 0 and `limit`"),
    "Qwen Code": Fit("inspect_agents", "`read_file` with `file_path`, `offset` from 0 and `limit`"),
    "Inspect AI": Fit("inspect_agents", "made for it"),
    "opencode": Fit("kilo", "Kilo Code is built on it; lines numbered before a mark and a blank"),
    "Codex": Fit("rnd", "text as it stands in the file, without numbers, as `cat` and `sed -n` print it"),
    "SWE-agent": Fit("everruns", "a window of a file with numbered lines"),
}
"""The contract for each client whose tools are always the same."""


def fitting(client: str, called: Called) -> str | None:
    """The contract that fits; where the client is a framework, one that takes the call as it stands."""
    fit = FITTING.get(client)
    if fit is not None:
        return fit.contract
    name, server = tools.bare_name(called.tool)
    if "readroom" in (called.server, server):
        return None
    return next((other for other in NAMES if other != NATIVE and _takes(other, name, called)), None)


def _takes(contract_name: str, tool: str, called: Called) -> bool:
    from readroom.contracts import contract

    try:
        contract(contract_name).bind(tool, called.arguments)
    except ReadroomError:
        return False
    return True


def call_in(workspace: Workspace, contract_name: str, tool: str, arguments: dict[str, Any]) -> Call | None:
    """The call of a contract that means a native one; None where it has none.

    Raises:
        ReadroomError: The arguments mean nothing.
    """
    if contract_name == NATIVE:
        return Call(tool, arguments)
    request = workspace.contract(NATIVE).bind(tool, arguments).request
    record = workspace.contract(contract_name)
    call = record.to_call(request)
    return call if call is not None and _means(record, call, request) else None


def _means(record: Contract, call: Call, request: Request) -> bool:
    # A contract without searches answers with the list of files, which is another question.
    meant = record.bind(call.tool, call.arguments).request
    return type(meant) is type(request) and getattr(meant, "path", "") == getattr(request, "path", "")


def narrowed(workspace: Workspace, contract_name: str, call: Call, last: int) -> Call:
    """A call that goes on reading, for no more than the lines up to `last`."""
    record = workspace.contract(contract_name)
    request = record.bind(call.tool, call.arguments).request
    if not isinstance(request, ReadRequest) or (request.offset or 0) < 1 or request.column > 1:
        return call
    if request.pages is not None or request.symbol is not None or (request.limit or 1) < 1:
        return call
    count = max(1, last - (request.offset or 1) + 1)
    return record.to_call(msgspec.structs.replace(request, limit=count)) or call
