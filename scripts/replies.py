"""Record what every tool of every contract answers, over every face, and compare two records.

    python -m scripts.replies record FILE      make some 3,000 calls and write their replies
    python -m scripts.replies compare A B      print each call that is answered otherwise

The calls are drawn from the schemas that the tools publish, with paths of one folder
that holds something of everything, and from wrong ones.  Drawing depends on nothing
but the schemas: a change that is meant to change no reply leaves the record as it is.
Only what users can reach is used (the library, the command, the servers), so that a
record can be made of any version.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import httpx2

from docs_src import demo
from readroom import Workspace

Call: TypeAlias = "tuple[str, str, dict[str, Any]]"
"""Contract, tool and arguments."""

CONTRACTS = ("native", "everruns", "kilo", "rnd", "coder", "inspect_agents", "opencode")
DRAWS, FACE_DRAWS = 90, 8
"""Calls of each tool in the library, and over each of the other faces."""

ROOT = "<root>"
"""Stands for the folder in calls and replies."""

LONG_AGO = 1_700_000_000

_PATHS = [
    "README.md", "src/orders.py", "data/orders.csv", "logs/orders.log", ".", "src", "notes.docx", "wide.txt",
    "latin.txt", "crlf.txt", "picture.png", "blob.bin", "empty", "log.gz", "[id].tsx", "sums.xlsx",
    ".env", "none.txt", "../outside", "/etc/passwd", "link", "src/", "", "src//orders.py", "nul\0byte",
    "broken.c",
]  # fmt: skip
_WORDS = ["shipping", "row", "def total", "receipts", "needle", "(", "x" * 300, "größe", "", "order 1199"]
_NUMBERS = [1, 2, 3, 10, 100, 0, -1, -5, 2001, 10**9]
_COMMANDS = ["echo one; echo two >&2; exit 3", "cat README.md", "true"]


def make_folder(folder: Path) -> None:
    """The demo and files of other kinds, all of the same age."""
    from docx import Document
    from openpyxl import Workbook
    from PIL import Image

    demo.make(folder)
    (folder / "wide.txt").write_text("".join(f"{n}:{'word ' * 900}\n" for n in range(5)), encoding="utf-8")
    (folder / "latin.txt").write_bytes("größe = 'Nadel'\nneedle\n".encode("latin-1") * 30)
    (folder / "crlf.txt").write_bytes(b"one\r\ntwo\r\nthree needle")
    (folder / "blob.bin").write_bytes(bytes(range(256)) * 4)
    (folder / "empty").write_bytes(b"")
    (folder / "[id].tsx").write_text("export const Page = () => <p>needle</p>;\n", encoding="utf-8")
    (folder / "broken.c").write_text(
        "int a(void) {\n  return 1;\n}\nint b(void) {\n  if (x) {\n", encoding="utf-8"
    )
    Image.new("RGB", (64, 48), "teal").save(folder / "picture.png")
    import gzip

    (folder / "log.gz").write_bytes(gzip.compress(b"".join(b"row %d\n" % n for n in range(900)), mtime=0))
    document = Document()
    document.add_heading("Title", 1)
    document.add_paragraph("Text with a needle.")
    document.save(str(folder / "notes.docx"))
    book = Workbook()
    assert book.active is not None
    for n in range(30):
        book.active.append([n, f"needle {n}"])
    book.save(folder / "sums.xlsx")
    for name in ("notes.docx", "sums.xlsx"):
        _dateless(folder / name)
    (folder / "link").symlink_to("README.md")
    for path in sorted(folder.rglob("*")):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def _dateless(file: Path) -> None:
    """Write an office file again without the moment at which it was made."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2023-11-14T22:13:20Z", data)
            archive.writestr(zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20)), data)


def drawn(schema: Mapping[str, Any], name: str, chance: random.Random) -> Any:
    """A value for one argument, mostly one that makes sense."""
    options = schema.get("anyOf")
    if options:
        return drawn(chance.choice([one for one in options if one.get("type") != "null"]), name, chance)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "integer":
        return chance.choice(_NUMBERS)
    if kind == "number":
        return chance.choice([5, 20.5, 0, -1])
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "array":
        return [drawn(schema.get("items", {}), name, chance) for _ in range(chance.randint(0, 2))]
    if kind == "object":
        return _object(schema, chance)
    if "command" in name:
        return chance.choice(_COMMANDS)
    if any(word in name for word in ("path", "file", "folder", "dir", "cwd", "source", "destination")):
        return chance.choice(_PATHS)
    return chance.choice(_WORDS)


def _object(schema: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    required, properties = schema.get("required", ()), schema.get("properties", {})
    found = {
        name: drawn(value, name, chance)
        for name, value in sorted(properties.items())
        if name in required or chance.random() < 0.25
    }
    trick = chance.random()
    if trick < 0.03:
        found["surprise"] = 1
    elif trick < 0.06 and found:
        del found[chance.choice(sorted(found))]
    elif trick < 0.08 and found:
        found[chance.choice(sorted(found))] = {"of": ["another", "type"]}
    return found


def calls(contract: str, count: int) -> Iterator[Call]:
    """The same calls each time, for the same schemas; reading before changing."""
    with _workspace(".", contract) as workspace:
        tools = list(workspace.tools(contract))
    for tool in sorted(tools, key=lambda one: (not one.read_only, one.name)):
        chance = random.Random(f"{contract} {tool.name}")
        for _ in range(count):
            arguments = _object(tool.input_schema, chance)
            if chance.random() < 0.7:
                arguments = {name: _placed(contract, value) for name, value in arguments.items()}
            yield contract, tool.name, arguments


def _placed(contract: str, value: Any) -> Any:
    """A path as the contract wants it: absolute in some."""
    before = {"everruns": "/workspace/", "coder": f"{ROOT}/"}.get(contract)
    return f"{before}{value}" if before and value in _PATHS and not str(value).startswith("/") else value


def _workspace(folder: str, contract: str) -> Workspace:
    from readroom.core import config

    store = config.open_store(folder)
    return Workspace(store, settings=config.load(store, None))


_VOLATILE = (
    (re.compile(r"\.outputs/[0-9a-z]+"), ".outputs/<id>"),
    (re.compile(r"\.trash/\d+"), ".trash/<moment>"),
    (re.compile(r"<today>T[0-9:.]+Z"), "<now>"),
    (
        re.compile(r"\"(duration_ms|seconds|elapsed_ms|modified|modified_at|created_at|mtime)\": ?[^,}]+"),
        r'"\1": 0',
    ),
)


def settled(value: Any, folder: Path) -> Any:
    """The reply without what differs from run to run: places, times and random names."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False).replace(str(folder), ROOT)
    text = text.replace(datetime.now(UTC).strftime("%Y-%m-%d"), "<today>")
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return (
        text if len(text) < 4000 else f"{text[:3000]} ... sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    )


def sent(call: Call, folder: Path) -> dict[str, Any]:
    """The arguments with the real folder in them."""
    found: dict[str, Any] = json.loads(json.dumps(call[2]).replace(ROOT, str(folder)))
    return found


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """A folder of always the same name: its length is counted in tokens."""
    above = Path(tempfile.gettempdir(), "readroom-replies")
    above.mkdir()
    try:
        folder = above / "shop"
        folder.mkdir()
        make_folder(folder)
        yield folder
    finally:
        shutil.rmtree(above)


def by_library(contract: str, folder: Path) -> Iterator[tuple[Call, Any]]:
    with _workspace(str(folder), contract) as workspace:
        for call in calls(contract, DRAWS):
            reply = workspace.call(call[1], sent(call, folder), contract_name=contract)
            images = [hashlib.sha256(image.data).hexdigest() for image in reply.images]
            yield call, [reply.is_error, reply.text, images, reply.facts]


def by_command(contract: str, folder: Path) -> Iterator[tuple[Call, Any]]:
    for call in calls(contract, FACE_DRAWS):
        words = [
            sys.executable,
            "-m",
            "readroom",
            "call",
            call[1],
            json.dumps(call[2]),
            "--contract",
            contract,
        ]
        done = subprocess.run([*words, "--root", str(folder)], capture_output=True, text=True, check=False)
        yield call, [done.returncode, done.stdout, done.stderr]


def by_mcp(contract: str, folder: Path) -> Iterator[tuple[Call, Any]]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "readroom", "mcp", "--contract", contract, str(folder)],
        env=dict(os.environ),  # else PYTHONPATH, and with it the version that is recorded, would be lost
    )

    async def play() -> list[tuple[Call, Any]]:
        found = []
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            for call in calls(contract, FACE_DRAWS):
                try:
                    result = (await session.call_tool(call[1], sent(call, folder))).model_dump(mode="json")
                except Exception as error:  # a protocol error is an answer, too
                    result = {"error": str(error)}
                found.append((call, result))
        return found

    yield from asyncio.run(play())


def by_http(contract: str, folder: Path) -> Iterator[tuple[Call, Any]]:
    words = [sys.executable, "-m", "readroom", "serve", "--port", "0", "--contract", contract]
    words += [*(["--open"] if _has_open() else []), "--", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        url = next(
            found[0] for line in process.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line))
        )
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            for call in calls(contract, FACE_DRAWS):
                answer = client.post(f"/v1/{contract}/{call[1]}", json=sent(call, folder))
                yield call, [answer.status_code, answer.text]
    finally:
        process.terminate()
        process.communicate()


def _has_open() -> bool:
    words = [sys.executable, "-m", "readroom", "serve", "--help"]
    return "--open" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


FACES: Mapping[str, Callable[[str, Path], Iterator[tuple[Call, Any]]]] = {
    "library": by_library,
    "command": by_command,
    "mcp": by_mcp,
    "http": by_http,
}


def record(file: Path) -> int:
    """Play all calls; the number of them."""
    count = 0
    with file.open("w", encoding="utf-8") as out:
        for face, play in FACES.items():
            for contract in CONTRACTS:
                with fresh_folder() as folder:
                    for call, answer in play(contract, folder):
                        row = {"face": face, "call": call, "answer": settled(answer, folder)}
                        out.write(json.dumps(row, ensure_ascii=True) + "\n")
                        count += 1
    return count


def compare(before: Path, after: Path) -> int:
    """Print the calls that are answered otherwise, and how many only one record has; how many differ."""
    old, new = _answers(before), _answers(after)
    differing = [key for key, answer in old.items() if key in new and new[key] != answer]
    for key in differing:
        print(key[0], key[1], f"  - {old[key]}", f"  + {new[key]}", sep="\n")
    print(f"only in the first record: {len(old.keys() - new)}, only in the other: {len(new.keys() - old)}")
    print(f"{len(differing)} of {len(old.keys() & new)} calls are answered otherwise")
    return len(differing)


def _answers(file: Path) -> dict[tuple[str, str, int], Any]:
    """The answers by face, call, and how often the call was made before: a new tool moves no call."""
    answers: dict[tuple[str, str, int], Any] = {}
    times = Counter[tuple[str, str]]()
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = row["face"], json.dumps(row["call"])
        answers[*key, times[key]] = row["answer"]
        times[key] += 1
    return answers


def main() -> None:
    """Record or compare."""
    match sys.argv[1:]:
        case ["record", file]:
            print(record(Path(file)), "calls recorded")
        case ["compare", before, after]:
            sys.exit(bool(compare(Path(before), Path(after))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
