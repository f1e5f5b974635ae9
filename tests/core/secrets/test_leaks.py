"""No part of a secret leaves, and no two secrets of one kind and length can be told apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

from readroom import Workspace
from tests.core.secrets.planted import Secrets, looks, masking, plant, without_stored


def said(workspace: Workspace, tool: str, arguments: object, contract: str = "native") -> str:
    reply = workspace.call(tool, arguments, contract_name=contract)
    facts = json.dumps(reply.build_facts(), default=str, ensure_ascii=False)
    return f"{reply.text}\n{facts}"


def test_nothing_that_looks_shows_a_part_of_a_secret(tmp_path: Path) -> None:
    secrets = plant(tmp_path / "a", 1)
    leaks = []
    with masking(tmp_path / "a") as workspace:
        for tool, arguments in looks(Secrets(2)):
            text = said(workspace, tool, arguments)
            assert "\x7f" not in text, (tool, arguments, text[:3000])
            if found := secrets.in_text(text):
                leaks.append((tool, arguments, found[:3]))
    assert not leaks


def test_two_folders_with_other_secrets_say_the_same(tmp_path: Path) -> None:
    first = plant(tmp_path / "a", 1)
    plant(tmp_path / "b", 2)
    for name in "ab":
        without_stored(tmp_path / name)
    differing = []
    with masking(tmp_path / "a") as one, masking(tmp_path / "b") as other:
        for tool, arguments in looks(first):
            texts = [said(workspace, tool, arguments) for workspace in (one, other)]
            same = [_without_places(text, tmp_path) for text in texts]
            if same[0] != same[1]:
                differing.append((tool, arguments))
    assert not differing


def _without_places(text: str, folder: Path) -> str:
    text = re.sub(rf"{re.escape(str(folder))}/[ab]", "ROOT", text)
    return re.sub(r'"(?:mtime|changed|elapsed|duration)[a-z_]*": "?[0-9.T:+-]+"?', "", text)
