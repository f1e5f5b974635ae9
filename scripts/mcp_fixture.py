"""The server that the MCP conformance suite is run against: our HTTP agent, with the tools it asks for.

    python -m scripts.mcp_fixture FOLDER

Each of these tools is a request to our engine that shows what the suite wants to see: text, an image, an
error, progress.  They are added to the native contract, so that the whole face is under test, with kept
outputs as resources.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from PIL import Image

from readroom import Workspace
from readroom.core import config
from readroom.core import contracts as registry
from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import NATIVE
from readroom.core.values import ReadRequest, Request
from readroom.core.values.commands import RunRequest
from readroom.server.admission import Admission
from readroom.server.http.server import Served, listening, serve_http
from readroom.server.settings import Serving


class _Nothing(msgspec.Struct, frozen=True):
    """Arguments of a tool that takes none."""


class _Person(msgspec.Struct, frozen=True):
    """Arguments of the tool with a schema that the suite wants to find again, whole."""

    name: str | None = None


class _WholeSchema(Tool, frozen=True):
    """A tool whose schema has what our own never need."""

    @property
    def input_schema(self) -> dict[str, Any]:
        street = {"type": "object", "$anchor": "address", "properties": {"street": {"type": "string"}}}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": street},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
            "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
            "if": {"required": ["address"]},
            "then": {"required": ["name"]},
            "else": {},
            "additionalProperties": False,
        }


def _asking(name: str, request: Request) -> Tool:
    return Tool(name, name, "Of the conformance suite", _Nothing, lambda arguments: request)


TOOLS = (
    _asking("test_simple_text", ReadRequest("simple.txt")),
    _asking("test_image_content", ReadRequest("pixel.png")),
    _asking("test_error_handling", ReadRequest("missing.txt")),
    # A command tells every second that it runs; the suite wants to hear it three times.
    _asking("test_tool_with_progress", RunRequest("sleep 4; echo done")),
    _WholeSchema(
        "json_schema_2020_12_tool",
        "Whole schema",
        "Tool with JSON Schema 2020-12 features",
        _Person,
        lambda arguments: ReadRequest("simple.txt"),
    ),
)

CONTRACT = replace(NATIVE, tools=(*NATIVE.tools, *TOOLS))


def fill(folder: Path) -> None:
    """Make the files that the tools read."""
    (folder / "simple.txt").write_text("This is a simple text response for testing.\n", encoding="utf-8")
    Image.new("RGB", (1, 1), "red").save(folder / "pixel.png")


def main(folder: str) -> None:
    """Serve until a signal comes; the URL is printed when the server is ready."""
    fill(Path(folder))
    registry.ROWS["native"] = registry.Registered(f"{__spec__.name}:CONTRACT")
    settings = config.load(config.open_store(folder), allow_commands=True)
    with (
        Workspace(folder, settings=settings) as workspace,
        listening("127.0.0.1", 0, None) as (bound, url),
    ):
        workspace.run("echo kept")  # there has to be a resource
        served = Served({"default": workspace}, Serving(), Admission(None, auth="open"), "native", None)
        serve_http(served, bound, on_ready=lambda: print(f"{url}/mcp", flush=True))


if __name__ == "__main__":
    main(sys.argv[1])
