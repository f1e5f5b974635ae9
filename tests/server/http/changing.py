"""People with tokens who change files over HTTP, and ask for their history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.server.http.serving import Agent, Answer

PATH = "/v1/history"


def shop(folder: Path) -> Path:
    found = folder / "shop"
    (found / "hr").mkdir(parents=True)
    (found / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (found / "hr" / "pay.txt").write_text("ada 1\n", encoding="utf-8")
    return found


class Client:
    """Somebody with a token."""

    def __init__(self, running: Agent, token: str, at: str = "", **headers: str) -> None:
        self.running, self.token, self._at, self._headers = running, token, at, headers

    def get(self, rest: str = "", /, **query: object) -> Answer:
        asked = f"?{urlencode(query)}" if query else ""
        path = f"{self._at}{PATH}{rest}{asked}"
        return self.running.request("GET", path, token=self.token, headers=self._headers)

    def post(self, rest: str, body: object) -> Answer:
        headers = {"Content-Type": "application/json", **self._headers}
        data = json.dumps(body).encode()
        return self.running.request(
            "POST", f"{self._at}{PATH}{rest}", data, token=self.token, headers=headers
        )

    def call(self, tool: str, **arguments: object) -> Mapping[str, Any]:
        headers = {"Content-Type": "application/json", **self._headers}
        data = json.dumps(arguments).encode()
        path = f"{self._at}/v1/native/{tool}"
        answer = self.running.request("POST", path, data, token=self.token, headers=headers)
        assert answer.status == 200, answer.body
        facts: Mapping[str, Any] = answer.json["_meta"]["readroom/facts"]
        return facts

    def edit(self, path: str, old: str, new: str) -> None:
        known = self.call("read_file", path=path)["content_hash"]
        self.call("edit_file", path=path, expected_hash=known, edits=[{"old_text": old, "new_text": new}])

    def changes(self, **query: object) -> list[dict[str, Any]]:
        answer = self.get(**query)
        assert answer.status == 200, answer.body
        found: list[dict[str, Any]] = answer.json["changes"]
        return found


def whole(running: Agent, name: str = "ada", at: str = "", **headers: str) -> Client:
    return Client(running, running.make_token(name), at, **headers)


def restricted(running: Agent, name: str, *options: str, **headers: str) -> Client:
    return Client(running, running.make_token(name, *options), **headers)


def tools(*names: str) -> list[str]:
    return [word for name in names for word in ("--tool", name)]
