"""The call that continues a reply is another one; one that repeats the call would be sent for ever."""

from __future__ import annotations

from readroom.core.contracts import NAMES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import GrepRequest, ListRequest, ReadRequest, Request
from readroom.core.workspace import Workspace
from tests.each import each

FILES = {f"d/f{number:04}.py": "a needle\n" * 3 for number in range(1_500)} | {"long.txt": "words\n" * 9_000}

ASKED: dict[str, Request] = {
    "search": GrepRequest("needle", "d"),
    "files that match": GrepRequest("needle", "d", output="files"),
    "list": ListRequest("d"),
    "glob": ListRequest("d", glob=("*.py",), files=True),
    "read": ReadRequest("long.txt"),
}


@each("name", NAMES)
@each("kind", ASKED)
def test_a_call_that_continues_differs_from_the_one_before(name: str, kind: str) -> None:
    with Workspace(MemoryStore(FILES)) as workspace:
        call = workspace.contract(name).to_call(ASKED[kind])
        for _ in range(3):
            if call is None:
                return
            reply = workspace.call(call.tool, call.arguments, contract_name=name)
            following = reply.facts.get("next")
            if reply.is_error or not isinstance(following, dict):
                return
            assert (following["tool"], following["arguments"]) != (call.tool, call.arguments)
            call = type(call)(following["tool"], following["arguments"])
