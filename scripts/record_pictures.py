"""Let real MCP clients look at pictures of pages, and record what of them reached their models.

    CLIENTS_HOME=FOLDER python -m scripts.record_pictures RUNNERS [--client NAME ...] [--output FILE]

RUNNERS and CLIENTS_HOME are as for `scripts.record_clients`. One script of calls is played over stdio: the
text of a page that has a chart, its picture, a region of it, a TIFF and a region of a PNG. What a client
sends to its model is searched for pictures; each is compared with what the server gave: bytes, type, size.
The tokens that the text of the page promised stand beside those that the vendor of the model documents for
the picture that arrived.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import hashlib
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image as pillow
from PIL import ImageDraw

from readroom.core.contracts.base import picture_tokens
from readroom.core.workspace import Workspace
from scripts.record_clients import RUNS, TIMEOUT_S, installed

CLIENTS = ("claude", "codex", "gemini", "opencode", "qwen")
CALLS: Sequence[Mapping[str, Any]] = [
    {"path": "report.pdf"},
    {"path": "report.pdf", "pages": "1", "view": "image"},
    {"path": "report.pdf", "pages": "1!0,50,100,100", "view": "image"},
    {"path": "scan.tif", "pages": "2"},
    {"path": "photo.png", "pages": "50,0,100,50"},
]
"""Reads whose pictures are looked at; the first is the text that tells what its picture costs."""

_DATA = re.compile(r"data:(image/[a-z+.-]+);base64,")
_TOLD = re.compile(r"about ([\d,]+) tokens")


def _tiles(width: int, height: int, side: int) -> int:
    return math.ceil(width / side) * math.ceil(height / side)


def _of_openai(width: int, height: int) -> int:
    """By its guide for pictures: fitted into 2,048, the short side to 768, then 170 for each tile of 512."""
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return 85 + 170 * _tiles(math.ceil(width * scale), math.ceil(height * scale), 512)


VENDORS: Mapping[str, Callable[[int, int], int]] = {
    "claude": lambda width, height: math.ceil(width * height / 750),
    "codex": _of_openai,
    "opencode": _of_openai,
    "gemini": lambda width, height: 258 * _tiles(width, height, 768),
}
"""Tokens of a picture as the vendor of the model documents them; an estimate, as ours is."""


def make_folder(folder: Path) -> None:
    """A report with words and a chart on its page, a TIFF of two pages, and a photo."""
    bars = "".join(f"0.2 0.4 0.8 rg {60 + 12 * at} 100 9 {30 + 7 * at} re f " for at in range(36))
    content = f"BT /F 14 Tf 60 780 Td (Sales by month) Tj ET {bars}".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj\n%s\nendobj\n" % pair for pair in enumerate(objects, 1))
    (folder / "report.pdf").write_bytes(body + b"trailer\n<</Size 6/Root 1 0 R>>\n%%EOF\n")
    pages = [pillow.new("1", (1200, 900), 1) for _ in range(2)]
    for at, page in enumerate(pages, 1):
        ImageDraw.Draw(page).text((200, 200), f"page {at} of a scan", fill=0)
    pages[0].save(folder / "scan.tif", save_all=True, append_images=pages[1:], compression="group4")
    photo = pillow.new("RGB", (800, 600), "white")
    ImageDraw.Draw(photo).ellipse((420, 20, 780, 280), fill="red")
    photo.save(folder / "photo.png")


def given(folder: Path) -> list[dict[str, Any] | None]:
    """The picture that the server gives for each call; None where it gives only text."""
    found: list[dict[str, Any] | None] = []
    with Workspace(folder) as workspace:
        for arguments in CALLS:
            reply = workspace.call("read_file", dict(arguments))
            assert not reply.is_error, reply.text
            found.append(_about(reply.images[0].data) if reply.images else None)
    return found


def _about(data: bytes) -> dict[str, Any]:
    with pillow.open(io.BytesIO(data)) as picture:
        width, height, form = *picture.size, f"image/{str(picture.format).lower()}"
    digest = hashlib.sha256(data).hexdigest()[:12]
    return {"type": form, "bytes": len(data), "width": width, "height": height, "sha256": digest}


def pictures_in(value: object) -> Iterator[bytes]:
    """Every picture in a request to a model, in the form of any of their interfaces."""
    if isinstance(value, str) and (found := _DATA.match(value)):
        yield from _decoded(value[found.end() :])
    elif isinstance(value, list):
        for item in value:
            yield from pictures_in(item)
    elif isinstance(value, dict):
        kind = value.get("media_type") or value.get("mimeType") or value.get("mime_type") or ""
        if str(kind).startswith("image/") and isinstance(value.get("data"), str):
            yield from _decoded(value["data"])
            return
        for item in value.values():
            yield from pictures_in(item)


def _decoded(text: str) -> Iterator[bytes]:
    try:
        yield base64.b64decode(text)
    except (ValueError, binascii.Error):
        return


def play(runners: Path, client: str, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The text that the model was given for each call, and what its client sent to it, in order."""
    with TemporaryDirectory(prefix="readroom-pictures-") as above:
        script, kept = Path(above, "script.json"), Path(above, "kept")
        steps = [{"tool": "read_file", "args": dict(arguments)} for arguments in CALLS]
        script.write_text(json.dumps({"steps": steps, "final": "done"}), encoding="utf-8")
        words = [sys.executable, str(runners / f"run_{client}.py"), "--script", str(script), "--json"]
        words += ["--show", "0", "--keep", str(kept), "--timeout", str(TIMEOUT_S)]
        server = [sys.executable, "-m", "readroom", "mcp", str(folder)]
        done = subprocess.run(
            [*words, "--", *server], capture_output=True, text=True, check=False, cwd=runners
        )
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        log = (kept / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    return rows, [json.loads(line) for line in log if line.strip()]


def judge(
    client: str,
    rows: Sequence[Mapping[str, Any]],
    sent: Sequence[Mapping[str, Any]],
    expected: Sequence[Mapping[str, Any] | None],
) -> dict[str, Any]:
    """The outcome of each call: its picture as it arrived, or the words in its place."""
    arrived: dict[str, dict[str, Any]] = {}
    for request in sent:
        for data in pictures_in(request.get("body")):
            about = _about(data)
            arrived.setdefault(about["sha256"], about)
    texts = {row["step"]: row for row in rows if "text" in row and not row.get("rewritten")}
    told = _TOLD.search(texts.get(0, {}).get("text", ""))
    calls = []
    left = [about for about in arrived.values() if not any(_is(about, one) for one in expected)]
    for at, (arguments, picture) in enumerate(zip(CALLS, expected, strict=True)):
        if picture is None:
            continue
        there = next((about for about in arrived.values() if _is(about, picture)), None)
        text = texts.get(at, {}).get("text", "")
        row: dict[str, Any] = {"call": arguments, "given": picture, "arrived": there is not None}
        if there is None:
            row["refused_with_call_for_text"] = "read_file {" in text and "does not pass on images" in text
            row["says"] = text[:300]
        else:
            width, height = there["width"], there["height"]
            row["tokens_ours"] = picture_tokens(width, height)
            row["tokens_of_vendor"] = VENDORS[client](width, height)
        calls.append(row)
    return {
        "tokens_told_beforehand": int(told[1].replace(",", "")) if told else None,
        "count_requests": sum("count" in str(request.get("path", "")).lower() for request in sent),
        "pictures_of_other_bytes": left,
        "calls": calls,
    }


def _is(about: Mapping[str, Any], picture: Mapping[str, Any] | None) -> bool:
    return picture is not None and about["sha256"] == picture["sha256"]


def main() -> None:
    """Play the script through the clients, and write the record."""
    parser = argparse.ArgumentParser(description="Record which pictures reach the models of MCP clients.")
    parser.add_argument("runners", type=Path)
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only these; may be repeated")
    parser.add_argument("--output", type=Path, default=None)
    chosen = parser.parse_args()
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    results = []
    with TemporaryDirectory(prefix="readroom-pictures-") as above:
        folder = Path(above, "office")
        folder.mkdir()
        make_folder(folder)
        expected = given(folder)
        for client in chosen.client or CLIENTS:
            rows, sent = play(chosen.runners.resolve(), client, folder)
            row = judge(client, rows, sent, expected)
            results.append({"client": client, "version": installed(client), **row})
            print(json.dumps(results[-1]), flush=True)
    output = chosen.output or RUNS / f"{day}-pictures" / "results.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    record = {"date": day, "readroom": version("readroom"), "results": results}
    output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
