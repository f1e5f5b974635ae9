"""Run real MCP clients against a server of this checkout and record what reached their models.

    CLIENTS_HOME=FOLDER python -m scripts.record_clients RUNNERS [--client NAME ...] [--output FILE]

RUNNERS is a folder with a program `run_CLIENT.py` for each client: it starts the
client with a scripted model on loopback and prints one JSON object per call, with
the text that the model was given; CLIENTS_HOME is where the clients are installed.
One script of calls is played through each client over stdio and over HTTP, and
judged by the files on disk: whether each call was answered, each reply whole,
each line of a long file there once, and each change made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docs_src import demo

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "benchmarks" / "runs"

CLIENTS: Mapping[str, tuple[str, str]] = {
    "codex": ("Codex CLI", "@openai/codex"),
    "claude": ("Claude Code", "@anthropic-ai/claude-code"),
    "opencode": ("opencode", "opencode-ai"),
    "gemini": ("Gemini CLI", "@google/gemini-cli"),
    "qwen": ("Qwen Code", "@qwen-code/qwen-code"),
    "inspector": ("MCP Inspector", "@modelcontextprotocol/inspector"),
    "openai_agents": ("OpenAI Agents SDK", "openai-agents"),
    "pydantic_ai": ("Pydantic AI", "pydantic-ai-slim"),
}
"""By the name of its runner: what people call it, and its package in npm or PyPI."""

LIBRARIES = {"openai_agents", "pydantic_ai"}
"""Run with the Python beside the clients, where they are installed."""

COMMAND_ONLY = {"inspector"}
"""Clients whose runner knows servers only as commands."""

LONG_LINES = 3000
PAGES = 60
TIMEOUT_S = 240

STEPS: Sequence[Any] = [
    {"tool": "list_directory", "args": {}},
    {"tool": "read_file", "args": {"path": "long.txt"}},
    {"follow": True, "max": PAGES},
    {"tool": "read_file", "args": {"path": "wide.txt"}},
    {"follow": True, "max": PAGES},
    {"tool": "grep_files", "args": {"pattern": "row", "path": "long.txt", "limit": 500}},
    {"tool": "read_file", "args": {"path": "picture.png"}},
    {"tool": "read_file", "args": {"path": ".env"}},
    {"tool": "read_file", "args": {"path": "README.md", "lines": 3}},
    [
        {"tool": "read_file", "args": {"path": "src/orders.py"}},
        {"tool": "list_directory", "args": {"path": "src"}},
    ],
    {"tool": "read_file", "args": {"path": "README.md"}},
    {
        "tool": "edit_file",
        "args": {
            "path": "README.md",
            "expected_hash": "$hash",
            "edits": [{"old_text": "receipts", "new_text": "invoices"}],
        },
    },
]
"""What the scripted model does: everything that a client has been seen to treat in a way of its own."""

_LINE = re.compile(r"^(\d+)\t(.*)$", re.MULTILINE)


def make_folder(folder: Path) -> None:
    """The demo, a long file, one of wide lines, and a picture."""
    from PIL import Image

    demo.make(folder)
    rows = "".join(
        f"row {number} of a file that takes more than one reply\n" for number in range(1, LONG_LINES + 1)
    )
    (folder / "long.txt").write_text(rows, encoding="utf-8")
    wide = "\n".join("".join(f"{line}:{piece} " for piece in range(1500)) for line in range(1, 7))
    (folder / "wide.txt").write_text(wide + "\n", encoding="utf-8")
    Image.new("RGB", (40, 30), (200, 30, 30)).save(folder / "picture.png")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the folder that asks for no token: runners cannot send one."""
    command = [sys.executable, "-m", "readroom", "serve", "--open", "--port", "0", "--", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        seen = []
        for line in process.stdout:
            seen.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+/mcp", line):
                yield found[0]
                return
        raise SystemExit("the server did not start:\n" + "".join(seen))
    finally:
        process.terminate()
        process.communicate(timeout=30)


def play(runners: Path, client: str, way: str, folder: Path) -> list[dict[str, Any]]:
    """What the model was given, one object per call, in the order of the calls."""
    script = folder.parent / f"{client}-{way}.json"
    steps = [step for step in STEPS if client != "inspector" or not _follows(step)]
    script.write_text(json.dumps({"steps": steps, "final": "done"}), encoding="utf-8")
    home = Path(os.environ["CLIENTS_HOME"])
    python = str(home / "venv/bin/python") if client in LIBRARIES else sys.executable
    words = [python, str(runners / f"run_{client}.py"), "--script", str(script), "--show", "0", "--json"]
    words += ["--timeout", str(TIMEOUT_S)]

    def run(place: Sequence[str]) -> list[dict[str, Any]]:
        done = subprocess.run([*words, *place], capture_output=True, text=True, check=False, cwd=runners)
        if client == "inspector":
            return _inspected(done.stdout)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    if way == "stdio":
        return run(["--", sys.executable, "-m", "readroom", "mcp", str(folder)])
    with served(folder) as url:
        return run(["--url", url])


def _follows(step: Any) -> bool:
    return isinstance(step, dict) and (step.get("follow") or "$hash" in json.dumps(step))


def _inspected(printed: str) -> list[dict[str, Any]]:
    """The inspector has no model: it prints each result as it arrived."""
    rows = []
    for piece in re.split(r"^== ", printed, flags=re.MULTILINE)[1:]:
        head, _, body = piece.partition("\n")
        tool, _, rest = head.partition(" ")
        found = re.match(r"(\{.*?\}) rc", rest)
        start = body.find("{")
        result = json.JSONDecoder().raw_decode(body, start)[0] if start >= 0 else {"content": []}
        texts = [part["text"] for part in result["content"] if part["type"] == "text"]
        parts = [{"type": part["type"]} for part in result["content"]]
        text = "\n".join(texts)
        args = json.loads(found[1]) if found else {}
        rows.append({"tool": tool, "args": args, "text": text, "chars": len(text), "parts": parts})
    return rows


def judge(rows: Sequence[Mapping[str, Any]], folder: Path, client: str) -> dict[str, Any]:
    """What became of the calls: figures and yes or no, each from the files on disk."""
    recorded = [row for row in rows if not row.get("missing")]
    long = [row for row in recorded if row["args"].get("path") == "long.txt" and row["tool"] == "read_file"]
    wide = [row for row in recorded if row["args"].get("path") == "wide.txt"]
    refused = [row for row in recorded if row["args"].get("path") == ".env"]
    misnamed = [row for row in recorded if "lines" in row["args"]]
    pictures = [row for row in recorded if row["args"].get("path") == "picture.png"]
    edited = (folder / "README.md").read_text(encoding="utf-8")
    expected = (folder / "long.txt").read_text(encoding="utf-8").splitlines()
    seen = [line for row in long for line in _LINE.findall(row["text"])]
    return {
        "calls": len(recorded),
        "answered": all("text" in row for row in recorded),
        "whole": sum(_is_whole(row["text"]) for row in long + wide),
        "pages": len(long) + len(wide),
        "long_file": None
        if client == "inspector"
        else [(int(number), text) for number, text in seen] == list(enumerate(expected, 1)),
        "wide_file": None if client == "inspector" else _wide_is_whole(wide, folder),
        "largest": max((row["chars"] for row in recorded), default=0),
        "image": any(part["type"] != "text" for row in pictures for part in row["parts"]),
        "refusal_chars": refused[0]["chars"] if refused else None,
        "refusal_says_why": any("denied by the rule" in row["text"] for row in refused),
        "wrong_argument": any("takes no argument 'lines'" in row["text"] for row in misnamed),
        "edit": None if client == "inspector" else "invoices" in edited,
    }


def _is_whole(text: str) -> bool:
    """Its first and its last line are ours: nothing was cut on the way, at any place of it."""
    # Claude Code puts words of its own behind a result, and others frame it.
    text = re.sub(r"<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL)
    first = re.search(r"\| (?:line|lines|rest of lines?)\b.*\| sha256:", text)
    return bool(first) and bool(re.search(r"\n\[[^\n]*\]\s*(?:</\w+>)?\s*\"?\}?\s*$", text))


def _wide_is_whole(rows: Sequence[Mapping[str, Any]], folder: Path) -> bool:
    """Each character of each wide line arrived once: what a page shows of it, and its rests."""
    pieces: dict[int, list[tuple[int, str]]] = {}
    for row in rows:
        for line, column, text in re.findall(r"^(\d+)(?::(\d+))?\t(.*)$", row["text"], re.MULTILINE):
            shown = re.sub(r" \[\+\d+ chars\]$", "", text)
            pieces.setdefault(int(line), []).append((int(column or 1), shown))
    joined = ["".join(text for _, text in sorted(pieces[line])) for line in sorted(pieces)]
    return joined == (folder / "wide.txt").read_text(encoding="utf-8").splitlines()


def installed(client: str) -> str:
    """The version of a client in CLIENTS_HOME."""
    home, package = Path(os.environ["CLIENTS_HOME"]), CLIENTS[client][1]
    if client in LIBRARIES:
        words = [
            str(home / "venv/bin/python"),
            "-c",
            f"import importlib.metadata as m; print(m.version({package!r}))",
        ]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    manifest = home / "npm" / client / "node_modules" / package / "package.json"
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])


def main() -> None:
    """Play the script through the clients, and write the record."""
    parser = argparse.ArgumentParser(description="Record what reaches the models of real MCP clients.")
    parser.add_argument("runners", type=Path)
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only these; may be repeated")
    parser.add_argument("--output", type=Path, default=None)
    given = parser.parse_args()
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    results = []
    for client in given.client or CLIENTS:
        for way in ("stdio", "http"):
            if way == "http" and client in COMMAND_ONLY:
                continue
            with TemporaryDirectory(prefix="readroom-clients-") as above:
                folder = Path(above, "shop")
                folder.mkdir()
                make_folder(folder)
                row = judge(play(given.runners.resolve(), client, way, folder), folder, client)
            results.append({"client": client, "version": installed(client), "way": way, **row})
            print(json.dumps(results[-1]), flush=True)
    output = given.output or RUNS / f"{day}-clients" / "results.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    record = {"date": day, "readroom": version("readroom"), "results": results}
    output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
