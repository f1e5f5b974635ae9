"""The end of a file and its line ends in the contract of rnd."""

from __future__ import annotations

from readroom.core.workspace import Workspace
from tests.core.engine.read.test_ends_of_files import FILES
from tests.laws.driving import stored


def test_the_contract_rnd_shows_the_end_and_warns_of_mixed_ends() -> None:
    with stored("memory", {f"{name}.md": data for name, data in FILES.items()}) as made:
        with Workspace(made) as workspace:
            mixed = workspace.call("read", {"path": "mixed.md"}, contract_name="rnd")
            both = workspace.call("read", {"path": "both.md"}, contract_name="rnd")
    assert "mixed line ends (2 CRLF, 1 LF); all are shown as LF" in mixed.text
    assert '"content":"one\\ntwo\\nthree\\n"' in mixed.text.replace('": "', '":"')
    assert '"content":"one\\ntwo\\nthree"' in both.text.replace('": "', '":"')
