"""The server card: public where the operator names a public address, and nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.errors import BadConfig
from readroom.server import settings
from readroom.server.http.card import ABOUT, name_of, server_card
from tests.mcp.serving import initialize
from tests.server.http.serving import Agent, agent, open_agent

CARD, CATALOG = "/mcp/server-card", "/.well-known/ai-catalog.json"
ELSEWHERE = {"Host": "files.example", "Origin": "https://page.example"}
"""A page of another origin, through the proxy of the public name."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    root = tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    config = root.parent / "operator.toml"
    served_as = '[serve]\nauth = "required"\npublic_url = "https://files.example/"\n'
    text = f'{served_as}[workspaces.docs]\nroot = "{root}"\n'
    config.write_text(text, encoding="utf-8")
    with agent(tmp_path_factory.mktemp("state"), "--config", str(config)) as found:
        yield found


def check_form(card: dict[str, Any]) -> None:
    """The rules of the schema, in our words: no other field, and each of its form."""
    known = {"$schema", "name", "title", "description", "version", "remotes"}
    assert set(card) == known
    assert card["$schema"] == "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert 3 <= len(card["name"]) <= 200
    assert 1 <= len(card["description"]) <= 100
    assert 1 <= len(card["title"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", card["version"])
    for remote in card["remotes"]:
        assert set(remote) <= {"type", "url", "headers", "variables", "supportedProtocolVersions"}
        assert remote["type"] == "streamable-http"
        assert re.fullmatch(r"https?://\S+", remote["url"])


def test_the_card_says_where_the_server_is(served: Agent) -> None:
    answer = served.request("GET", CARD, headers={**ELSEWHERE, "Accept": "application/mcp-server-card+json"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/mcp-server-card+json")
    card = answer.json
    check_form(card)
    assert card["name"] == "example.files/readroom"
    (remote,) = card["remotes"]
    assert remote["url"] == "https://files.example/mcp"
    (header,) = remote["headers"]
    assert (header["name"], header["value"], header["isSecret"]) == ("Authorization", "Bearer {token}", True)
    assert "docs" not in answer.body.decode()  # the names of workspaces are nobody's business


def test_what_it_says_is_what_a_client_meets(served: Agent) -> None:
    card, token = served.request("GET", CARD).json, served.make_token("client")
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for version in card["remotes"][0]["supportedProtocolVersions"]:
        if version == "2026-07-28":  # it has no handshake
            continue
        sent = json.dumps(initialize("somebody", version)).encode()
        answer = served.request("POST", "/mcp", sent, token=token, headers=headers)
        assert answer.status == 200, answer
        (line,) = [one for one in answer.body.decode().splitlines() if version in one]
        found = json.loads(line.removeprefix("data: "))["result"]
        assert found["protocolVersion"] == version
        assert found["serverInfo"]["version"] == card["version"]
        assert found["serverInfo"]["title"] == card["title"]


def test_the_catalog_of_the_domain_leads_to_it(served: Agent) -> None:
    answer = served.request("GET", CATALOG, headers=ELSEWHERE)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/ai-catalog+json")
    (entry,) = answer.json["entries"]
    assert entry == {
        "identifier": "urn:air:files.example:mcp:readroom",
        "type": "application/mcp-server-card+json",
        "url": "https://files.example/mcp/server-card",
    }


@pytest.mark.parametrize("path", [CARD, CATALOG])
def test_pages_and_caches_can_use_it(served: Agent, path: str) -> None:
    answer = served.request("GET", path, headers=ELSEWHERE)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "public, max-age=3600"
    again = served.request("GET", path, headers={**ELSEWHERE, "If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    other = served.request("GET", path, headers={**ELSEWHERE, "If-None-Match": '"other"'})
    assert other.body == answer.body
    asked = served.request("OPTIONS", path, headers={**ELSEWHERE, "Access-Control-Request-Method": "GET"})
    assert asked.status == 204
    assert "If-None-Match" in asked.headers["access-control-allow-headers"]
    assert served.request("HEAD", path, headers=ELSEWHERE).body == b""
    assert served.request("POST", path, b"{}", headers=ELSEWHERE).status == 405


def test_only_they_are_public(served: Agent) -> None:
    assert served.request("GET", CARD, headers={"Host": "rebound.example"}).status == 421
    assert served.request("GET", "/openapi.json", headers={"Host": "files.example"}).status == 401
    assert served.request("GET", "/healthz", headers=ELSEWHERE).status == 403
    for path in ("/w/docs/mcp/server-card", "/mcp/server-card/x", "/.well-known/other", "/%6dcp/server-card"):
        assert served.request("GET", path, headers={"Host": "files.example"}).status in (401, 404), path
    token = served.make_token("other")
    assert served.request("GET", "/w/docs/mcp/server-card", token=token).status == 404


def test_without_a_public_address_there_is_none(tmp_path: Path) -> None:
    with open_agent(tmp_path / "state", str(tmp_path)) as found:
        assert found.request("GET", CARD).status == 404
        assert found.request("GET", CATALOG).status == 404


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("files.example", "example.files/readroom"),
        ("localhost", "localhost/readroom"),
        ("10.0.0.1", "10.0.0.1/readroom"),
        ("::1", "--1/readroom"),
    ],
)
def test_the_name_is_that_of_the_host(host: str, name: str) -> None:
    assert name_of(host) == name


@pytest.mark.parametrize(
    "url",
    ["files.example", "ftp://files.example", "https://me:pw@files.example", "https://a b", "https://a?b", ""],
)
def test_another_address_is_an_error(tmp_path: Path, url: str) -> None:
    file = tmp_path / "operator.toml"
    file.write_text(f'[serve]\npublic_url = "{url}"\n', encoding="utf-8")
    with pytest.raises(BadConfig, match="public_url"):
        settings.load(str(file))


def test_the_words_are_those_of_the_registry() -> None:
    listed = json.loads((Path(__file__).parents[3] / "server.json").read_text(encoding="utf-8"))
    assert listed["description"] == ABOUT


def test_a_server_without_tokens_asks_for_none() -> None:
    from readroom.mcp.protocol.card import Card

    card = Card("readroom", "1.2.3", "readroom", "", frozenset(), frozenset(), {}, 1)
    found = server_card(card, "http://localhost:8000", token=False)
    check_form(found)
    assert "headers" not in found["remotes"][0]
