"""The same name written otherwise in Unicode is the first suggestion."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.errors import NotFound


def test_a_decomposed_accent_finds_the_composed_name_first(tmp_path: Path) -> None:
    for name in ("é_nfc.txt", "e_nfc.txt", "é_nfd.txt"):
        (tmp_path / name).write_text("x\n")
    with Workspace(tmp_path) as workspace, pytest.raises(NotFound) as caught:
        workspace.read(unicodedata.normalize("NFD", "é_nfc.tx"))
    assert caught.value.facts["near"][0] == "é_nfc.txt"  # type: ignore[index]
