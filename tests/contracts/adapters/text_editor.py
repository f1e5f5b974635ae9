"""The cases of text_editor: paths are absolute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.contracts.cases import ROOT, Adapter, Answer

EDITOR = "str_replace_based_edit_tool"


class EditorAdapter(Adapter):
    """A view has a line above its lines, which have numbers."""

    expands_tabs = True

    def reading(self, path: str) -> tuple[str, dict[str, Any]] | None:
        return EDITOR, {"command": "view", "path": f"{ROOT}/{path}"}

    def lines(self, answer: Answer) -> list[str]:
        rows = answer.text.split("\n")
        return [row.partition("\t")[2] for row in rows if row[:6].strip().isdigit() and "\t" in row]

    def following(self, answer: Answer, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
        following = answer.facts["next"]
        return None if following is None else {**following["arguments"]}


ADAPTER = EditorAdapter("text_editor")
