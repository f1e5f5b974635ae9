"""Whose tools they are: [contracts.opencode]."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import BadConfig
from readroom.core.stores.local import LocalStore
from readroom.core.workspace import Workspace
from tests.contracts.opencode.calling import refused


@pytest.mark.clause("opencode.kilo.suggests-nothing")
@pytest.mark.parametrize("kilo", [False, True])
def test_an_operator_chooses_kilo(kilo: bool, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("x")
    operator = tmp_path / "operator.toml"
    operator.write_text(f"[contracts.opencode]\nkilo = {str(kilo).lower()}\n")
    store = LocalStore(tmp_path / "root")
    with Workspace(store, settings=config.load(store, operator)) as space:
        assert ("Did you mean" in refused(space, "read", filePath="a")) is not kilo


def test_a_file_of_the_workspace_cannot(tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").write_text("[contracts.opencode]\nkilo = true\n")
    with pytest.raises(BadConfig, match="cannot choose how files are read"):
        config.load(LocalStore(tmp_path))


@pytest.mark.parametrize("text", ["kilo = 1", 'kilo = "yes"', "klio = true"])
def test_a_wrong_key_or_value_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    operator = tmp_path / "operator.toml"
    operator.write_text(f"[contracts.opencode]\n{text}\n")
    with pytest.raises(BadConfig):
        config.load(LocalStore(tmp_path / "root"), operator)
