"""Cases of inspect_agents: an `op` is a command of `files`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from readroom.contracts.inspect_agents.calls import path_of_key
from tests.contracts.cases import Adapter, Answer, Room


class InspectAgents(Adapter):
    """Reads are played with both tools."""

    def answer(self, room: Room, op: str, call: Mapping[str, Any], body: object) -> Answer:
        found = room.call("files", {"params": {"command": op, **call}})
        if op == "read":
            again = room.call("read_file", call)
            assert again.is_error == found.is_error
            assert found.text == again.text or found.text.startswith("Invalid parameters: ")
        return found

    def lines(self, answer: Answer) -> list[str]:
        """Those with a number; a reminder has none."""
        found = (re.fullmatch(r" *\d+\t(.*)", line, re.DOTALL) for line in answer.text.split("\n"))
        return [one[1] for one in found if one]

    def path(self, name: str) -> str:
        """Names are keys."""
        return path_of_key(name)

    def content(self, room: Room, path: str) -> bytes | None:
        """What is in a store beside a folder is known to its tools alone."""
        if room.store.folder is None or room.case.data["env"]["INSPECT_AGENTS_FS_MODE"] == "sandbox":
            return room.content(path)
        found = room.call("read_file", {"file_path": path})
        if found.is_error:
            return None
        lines = found.json["lines"] if found.text.startswith("{") else found.text.split("\n")
        return "\n".join(line.partition("\t")[2] for line in lines).encode()


ADAPTER = InspectAgents("inspect_agents")
