"""Output that was cut or has NULs, in the contract of everruns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.core.workspace import Workspace
from tests.core.engine.command.running import room
from tests.core.engine.command.test_nuls import FAILED, FEW


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "out").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture(params=[False, True], ids=["kept", "one shot"])
def workspace(root: Path, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    with room(root, one_shot=request.param) as found:
        yield found


def test_everruns_shows_it_as_well(workspace: Workspace) -> None:
    arguments = {"command": f"{FEW['one'][0]}; exit 1"}
    reply = workspace.call("bash", arguments, contract_name="everruns")
    assert FAILED in json.loads(reply.text)["stdout"]
    assert "U+0000" in reply.text


def test_all_of_an_output_is_not_offered_again_by_the_same_call(root: Path) -> None:
    with room(root, one_shot=True) as workspace:
        brief = workspace.run("seq 50000")
        whole = workspace.run("seq 50000", output="full")
        everruns = workspace.call(
            "bash", {"command": "seq 50000", "output": "full"}, contract_name="everruns"
        )
    assert 'output="full"' in brief.text
    for reply in (whole, everruns):
        assert 'output="full"' not in reply.text
        assert "write it to a file" in reply.text
