"""Every contract words every failure of the tree in its own form, and none lets a traceback out."""

from __future__ import annotations

import json
import re

from readroom.core.contracts import NAMES
from readroom.core.errors import ReadroomError
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, Reply
from readroom.core.workspace import Workspace
from tests.contracts.cases import ROOT, adapter
from tests.contracts.failures import EXAMPLES, HOSTILE, classes
from tests.each import each


def store() -> MemoryStore:
    found = MemoryStore({"docs/a.md": "one\ntwo\n"})
    found.roots = (ROOT,)
    return found


def test_there_is_an_example_of_every_class() -> None:
    assert {type(error) for error in EXAMPLES} == set(classes())


def refusals(contract: str, error: ReadroomError) -> dict[str, tuple[Reply, int]]:
    """The reply and its cap, by tool; one tool is not there."""
    with Workspace(store()) as workspace:
        record = workspace.contract(contract)
        found = {}
        for size in (MIN_REPLY_BYTES, record.reply_bytes):
            for tool in [*(one.name for one in record.offered(commands=True)), "no_such_tool"]:
                said = record.worded(tool, {}).render_error(error, Cap(size, record.measure))
                found[f"{tool} {size}"] = (said, size)
        return found


@each("error", EXAMPLES, ids=lambda error: type(error).__name__)
@each("contract", NAMES)
def test_every_failure_has_words_and_facts(contract: str, error: ReadroomError) -> None:
    with Workspace(store()) as workspace:
        tools = {tool.name for tool in workspace.contract(contract).offered(commands=True)}
    for where, (said, size) in refusals(contract, error).items():
        assert said.is_error, where
        assert said.text.strip(), where
        assert "Traceback" not in said.text
        assert not re.search(r"object at 0x|readroom\.errors", said.text)
        assert len(said.text.encode()) <= size
        adapter(contract).check_failure(where.split()[0], said.text)
        facts = json.loads(json.dumps(said.facts, allow_nan=False))["error"]
        assert set(facts) == {"code", "message", "facts", "next"}
        assert facts["code"] == error.code
        # What a program is told is what a model is: in the words, numbers and names of the contract.
        assert contract == "native" or facts["message"] in _texts(said.text)
        assert facts["next"] is None or facts["next"]["tool"] in tools, facts["next"]


def _texts(said: str) -> list[str]:
    """A failure as it is, and its texts where it is an object."""
    return [said, *(json.loads(said).values() if said.startswith("{") else ())]


@each("error", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
@each("contract", NAMES)
def test_what_a_caller_sent_can_always_be_sent_back(contract: str, error: ReadroomError) -> None:
    for where, (said, size) in refusals(contract, error).items():
        assert len(said.text.encode()) <= size, where
        adapter(contract).check_failure(where.split()[0], said.text)


@each("contract", NAMES)
def test_a_failure_that_names_a_next_call_is_answered_by_it(contract: str) -> None:
    """Of the failures that an everyday call can have."""
    with Workspace(store()) as workspace:
        for tool in workspace.tools(contract):
            for arguments in ({"path": "docs/b.md"}, {"path": "docs/a.md", "offset": 100}):
                reply = workspace.call(tool.name, arguments, contract_name=contract)
                if reply.is_error and (call := reply.facts["error"]["next"]) is not None:  # type: ignore[index, call-overload] # a JSON object
                    after = workspace.call(call["tool"], call["arguments"], contract_name=contract)  # type: ignore[index, call-overload, arg-type] # a JSON object
                    assert not after.is_error, (call, after.text)
