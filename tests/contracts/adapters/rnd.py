"""The cases of the `read` command."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.contracts.cases import Adapter, Answer


class RndAdapter(Adapter):
    """Its operation is its tool; failures are objects with a reason or suggestions."""

    def reading(self, path: str) -> tuple[str, dict[str, Any]]:
        return "read", {"path": path, "offset": 1}

    def lines(self, answer: Answer) -> list[str]:
        content: str = answer.json["content"]
        return content.removesuffix("\n").split("\n") if answer.json["lines_read"] else []

    def following(self, answer: Answer, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
        for one in answer.json.get("warnings", ()):
            found = re.search(r"continue with offset=(\d+)", one)
            if found:
                return {**before, "offset": int(found[1])}
        return None

    def check_failure(self, tool: str, text: str) -> None:
        value = json.loads(text)
        assert value["ok"] is False
        assert value["error"]
        assert value.get("reason") or value.get("suggestions")


ADAPTER = RndAdapter("rnd")
