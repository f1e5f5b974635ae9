"""The cases of Kilo Code: its settings, and the check behind its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from readroom.contracts.kilo import KiloSettings
from readroom.core.config import Settings
from readroom.core.errors import ReadroomError, RefusedError
from readroom.core.policy.guard import Guard
from tests.contracts.cases import Adapter, Answer, Case, Room


class KiloAdapter(Adapter):
    """`config` holds settings under their own names; `validateAccess` asks the guard."""

    def settings(self, case: Case, settings: Settings) -> Settings:
        given = case.data.get("config", {})
        assert set(given) <= {"maxReadFileLine"}
        if not given:
            return settings
        return replace(settings, contracts={"kilo": KiloSettings(given["maxReadFileLine"])})

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        if op == "validateAccess":
            return Answer(value=_is_allowed(room.workspace.guard, call["path"]))
        return super().answer(room, op, call, body)

    def lines(self, answer: Answer) -> list[str]:
        found = (re.fullmatch(r" *\d+ \| (.*)", line, re.DOTALL) for line in answer.text.split("\n"))
        return [one[1] for one in found if one]

    def check_failure(self, tool: str, text: str) -> None:
        assert text.startswith(("Error: ", "Error reading file: "))
        assert "\n" not in text


def _is_allowed(guard: Guard, path: str) -> bool:
    """Whether a read of it would not be refused; it need not be there."""
    try:
        guard.open(guard.parse(path)).close()
    except RefusedError:
        return False
    except ReadroomError:
        return True
    return True


ADAPTER = KiloAdapter("kilo")
