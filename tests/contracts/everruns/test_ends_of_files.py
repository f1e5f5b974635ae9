"""Unusual ends of lines and files are in the notes of a reply."""

from __future__ import annotations

import pytest

from tests.core.engine.read.test_ends_of_files import ENDS, room
from tests.laws.driving import fact


@pytest.mark.parametrize("path", ["open", "both", "mixed"])
def test_the_contract_everruns_says_so_in_its_notes(path: str) -> None:
    with room("memory") as workspace:
        reply = workspace.call("read_file", {"path": f"/workspace/{path}"}, contract_name="everruns")
        usual = workspace.call("read_file", {"path": "/workspace/usual"}, contract_name="everruns")
    assert f"The file has {ENDS[path][2].replace(' | ', ' and ')}." in reply.text
    assert (fact(reply, "final_newline"), fact(reply, "line_ends")) == ENDS[path][:2]
    assert "The file has" not in usual.text
