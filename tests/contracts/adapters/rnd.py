"""The cases of the `read` command."""

from __future__ import annotations

import json

from tests.contracts.cases import Adapter


class RndAdapter(Adapter):
    """Its operation is its tool; failures are objects with a reason or suggestions."""

    def check_failure(self, tool: str, text: str) -> None:
        value = json.loads(text)
        assert value["ok"] is False
        assert value["error"]
        assert value.get("reason") or value.get("suggestions")


ADAPTER = RndAdapter("rnd")
