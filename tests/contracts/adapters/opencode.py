"""The cases of opencode: paths are absolute, in a folder below its real name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from readroom.contracts.opencode.requests import OpencodeSettings
from readroom.core.config import Settings
from tests.contracts.cases import ROOT, Adapter, Answer, Case, Room


class OpencodeAdapter(Adapter):
    """`config` says whose tools they are."""

    def settings(self, case: Case, settings: Settings) -> Settings:
        given = case.data.get("config", {})
        assert set(given) <= {"kilo"}
        return replace(settings, contracts={"opencode": OpencodeSettings(**given)}) if given else settings

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        found = room.call(op, call)
        real = room.store.folder
        if real is None:
            return found
        return Answer(found.text.replace(real, ROOT), found.is_error, found.images, found.facts)

    def reading(self, path: str) -> tuple[str, dict[str, Any]] | None:
        return "read", {"filePath": path}

    def lines(self, answer: Answer) -> list[str]:
        """Those between the first three lines and the last three."""
        rows = answer.text.split("\n")[3:-3]
        found = (re.fullmatch(r"\d+: (.*)", line, re.DOTALL) for line in rows)
        return [one[1] for one in found if one]


ADAPTER = OpencodeAdapter("opencode")
