"""What is released says one version, and files that start readroom start it with options that there are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from copy import copy
from pathlib import Path
from typing import Any

import yaml

from readroom.cli import early
from readroom.cli.commands import COMMANDS
from readroom.core import config
from readroom.core.limits import HTTP_PORT
from readroom.core.release import VERSION
from readroom.core.stores.local import LocalStore
from readroom.server.commands import servers
from readroom.server.ledger.settings import policy_of
from tests.each import each

ROOT = Path(__file__).parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def served(words: list[str]) -> dict[str, Any]:
    """The options of a `readroom serve` line, as the command reads them."""
    assert words[0] == "serve"
    # A copy: a command keeps the help that it is first asked for, and this one is not asked by the group.
    found: dict[str, Any] = copy(servers.serve).make_context("serve", list(words[1:])).params
    return found


def test_every_file_says_the_version() -> None:
    server = json.loads(text("server.json"))
    assert server["version"] == VERSION
    assert [one["version"] for one in server["packages"]] == [VERSION]
    bundle = tomllib.loads(text("deploy/mcpb/pyproject.toml"))["project"]
    assert (bundle["version"], bundle["dependencies"]) == (
        VERSION,
        [f"readroom[documents,grammars]=={VERSION}"],
    )
    assert json.loads(text("deploy/mcpb/manifest.json"))["version"] == VERSION
    assert tomllib.loads(text("pyproject.toml"))["project"]["version"] == VERSION
    assert f"ARG VERSION={VERSION}\n" in text("Dockerfile")
    assert f"image: readroom:{VERSION}\n" in text("deploy/kubernetes.yaml")


def test_the_card_of_the_server_keeps_the_rules_of_the_registry() -> None:
    """Those of its schema of 2025-12-11 that concern this card, in our words."""
    card = json.loads(text("server.json"))
    assert card["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert set(card) <= {"$schema", "name", "title", "description", "version", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert 3 <= len(card["name"]) <= 200
    assert 1 <= len(card["title"]) <= 100
    assert 1 <= len(card["description"]) <= 100
    for package in card["packages"]:
        assert {"registryType", "identifier", "version", "transport"} <= set(package)
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"])
        assert package["transport"] == {"type": "stdio"}
        for argument in package["packageArguments"]:
            assert argument["type"] == "positional"
            assert {"value", "valueHint"} & set(argument)
            assert argument.get("format", "string") in ("string", "number", "boolean", "filepath")


def test_what_the_card_starts_is_a_command() -> None:
    (package,) = json.loads(text("server.json"))["packages"]
    name = json.loads(text("server.json"))["name"]
    assert f"<!-- mcp-name: {name} -->" in text("README.md"), "the registry looks for it in the package"
    words = [one.get("value", ".") for one in package["packageArguments"]]
    assert package["identifier"] == tomllib.loads(text("pyproject.toml"))["project"]["name"]
    assert words[0] in COMMANDS
    assert early.understood(words[1:]) == early.Plain(".")


def test_the_image_is_labelled_as_the_registry_names_it() -> None:
    name = json.loads(text("server.json"))["name"]
    assert f'io.modelcontextprotocol.server.name="{name}"' in text("Dockerfile")


def test_containers_listen_where_they_say() -> None:
    (words,) = re.findall(r"^CMD (\[.*\])$", text("Dockerfile"), re.MULTILINE)
    assert served(json.loads(words))["host"] == "0.0.0.0"
    assert f"EXPOSE {HTTP_PORT}\n" in text("Dockerfile")
    compose = yaml.safe_load(text("deploy/compose.yaml"))["services"]["readroom"]
    assert served(compose["command"])["config"] == "/etc/readroom.toml"
    assert compose["ports"] == [f"127.0.0.1:{HTTP_PORT}:{HTTP_PORT}"]
    _, deployment, service = yaml.safe_load_all(text("deploy/kubernetes.yaml"))
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert served(container["args"])["allow_host"] == (service["metadata"]["name"],)
    assert container["ports"][0]["containerPort"] == service["spec"]["ports"][0]["port"] == HTTP_PORT


def test_the_unit_starts_a_command_that_there_is() -> None:
    (line,) = re.findall(
        r"^ExecStart=/opt/readroom/bin/readroom (.*)$", text("deploy/readroom.service"), re.M
    )
    assert served(line.split())["folder"] == "/srv/shared"


def test_the_operators_file_of_compose_is_one(tmp_path: Path) -> None:
    settings = config.load(LocalStore(tmp_path), ROOT / "deploy" / "readroom.toml")
    assert policy_of(settings).enabled
    assert settings.hardlinks == "refuse"


def test_the_bundle_starts_a_server_for_the_folder_that_was_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    manifest = json.loads(text("deploy/mcpb/manifest.json"))["server"]
    words = manifest["mcp_config"]["args"]
    assert words[words.index(manifest["entry_point"]) + 1 :] == ["${user_config.folder}"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "deploy" / "mcpb" / "server.py"), str(tmp_path)],
        input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


EXTRAS = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]


@each("name", EXTRAS)
def test_every_extra_is_explained(name: str) -> None:
    assert f"| `{name}` |" in text("docs/how-to/install.md")


def test_shells_can_complete_commands_without_more(tmp_path: Path) -> None:
    asked = {"_READROOM_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "readroom con"}
    command = [sys.executable, "-c", "from readroom.cli.main import main; main([])"]
    done = subprocess.run(
        command, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60, check=False
    )
    assert "plain,connect" in done.stdout.split("\n")
