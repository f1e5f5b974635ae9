"""Every contract over every face: the same tools, and the same reply to the same call."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from readroom import Workspace
from readroom.cli.main import main
from readroom.core.contracts import NAMES
from readroom.core.contracts.base import tool_result
from tests.contracts.cases import ROOT, adapter
from tests.mcp.serving import Stdio, plain, request
from tests.server.http.serving import Agent, agent, open_agent

every_contract = pytest.mark.parametrize("contract", NAMES)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("contracts")
    (found / "a.py").write_text("one\ntwo\n", encoding="utf-8")
    (found / ".env").write_text("KEY=1\n", encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with open_agent(tmp_path_factory.mktemp("state"), str(root)) as found:
        yield found


def calls(contract: str, root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """A read that is answered, one that is refused, and one of nothing."""
    for path in ("a.py", ".env", "gone.py"):
        asked = adapter(contract).reading(path)
        if asked is not None:
            tool, arguments = asked
            given = str(arguments["path"]) if "path" in arguments else None
            yield tool, arguments if given is None else {**arguments, "path": given.replace(ROOT, str(root))}


def without_tokens(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what a ledger adds to its facts."""
    facts = result["_meta"]["readroom/facts"]
    kept = {name: value for name, value in facts.items() if name not in ("tokens", "counter", "budget")}
    return {"content": result["content"], "isError": result["isError"], "facts": kept}


def post(served: Agent, contract: str, tool: str, arguments: object, token: str | None = None) -> Any:
    data, headers = json.dumps(arguments).encode(), {"Content-Type": "application/json"}
    return served.request("POST", f"/v1/{contract}/{tool}", data, token=token, headers=headers)


@every_contract
def test_the_library_offers_tools_with_handlers(contract: str, root: Path) -> None:
    with Workspace(root) as workspace:
        offers = {offer.name: offer for offer in workspace.tools(contract)}
        for offer in offers.values():
            jsonschema.Draft202012Validator.check_schema(offer.input_schema)
            assert offer.description
        for tool, arguments in calls(contract, root):
            expected = workspace.call(tool, arguments, contract_name=contract)
            assert offers[tool].handler(**arguments).text == expected.text


@every_contract
def test_http_and_the_command_line_answer_like_the_library(contract: str, root: Path, served: Agent) -> None:
    with Workspace(root) as workspace:
        for tool, arguments in calls(contract, root):
            expected = without_tokens(tool_result(workspace.call(tool, arguments, contract_name=contract)))
            answer = post(served, contract, tool, arguments)
            assert without_tokens(answer.json) == expected
            assert (answer.status == 200) is not expected["isError"]
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
                main(["call", "--contract", contract, "--root", str(root), tool, json.dumps(arguments)])
                assert without_tokens(json.loads(out.buffer.getvalue())) == expected


@every_contract
def test_mcp_lists_and_answers_as_the_library(contract: str, root: Path) -> None:
    with Stdio(root, "--contract", contract) as client, Workspace(root) as workspace:
        listed = client.ask(request("l", "tools/list"))["result"]["tools"]
        assert [(one["name"], one["inputSchema"]) for one in listed] == [
            (offer.name, offer.input_schema) for offer in workspace.tools(contract)
        ]
        for tool, arguments in calls(contract, root):
            expected = workspace.call(tool, arguments, contract_name=contract)
            found = plain(client.call(tool, arguments))
            assert without_tokens(found) == without_tokens(tool_result(expected))
            assert "structuredContent" not in found


def test_the_description_lists_the_tools_of_all_contracts(served: Agent, root: Path) -> None:
    paths = served.request("GET", "/openapi.json").json["paths"]
    page = served.request("GET", "/docs").body.decode()
    with Workspace(root) as workspace:
        for contract in NAMES:
            for offer in workspace.tools(contract):
                schema = paths[f"/v1/{contract}/{offer.name}"]["post"]["requestBody"]["content"]
                assert schema["application/json"]["schema"] == offer.input_schema
                assert f"/v1/{contract}/{offer.name}" in page


def test_a_token_may_grant_a_tool_of_another_contract(root: Path, tmp_path: Path) -> None:
    with agent(tmp_path / "state", str(root), "--require-token") as found:
        token = found.make_token("bot", "--tool", "read")
        assert post(found, "rnd", "read", {"path": "a.py"}, token).status == 200
        refused = post(found, "native", "read_file", {"path": "a.py"}, token)
        assert (refused.status, refused.code) == (403, "not_granted")


def test_settings_of_a_contract_reach_every_face(root: Path, tmp_path: Path) -> None:
    own = tmp_path / "read.md"
    own.write_text("---\nlimits: {max_lines: 1}\n---\n", encoding="utf-8")
    option = ("--front-matter", str(own))
    with Stdio(root, "--contract", "rnd", *option) as client:
        found = client.call("read", {"path": "a.py"})
        assert json.loads(found["content"][0]["text"])["lines_read"] == 1
        assert "at most 1 line" in client.ask(request("l", "tools/list"))["result"]["tools"][0]["description"]
    with open_agent(tmp_path / "state", str(root), *option) as served:
        answer = post(served, "rnd", "read", {"path": "a.py"})
        assert json.loads(answer.json["content"][0]["text"])["lines_read"] == 1
