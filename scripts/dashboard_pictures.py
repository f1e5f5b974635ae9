"""Make the pictures of the dashboard in the documentation, from the demonstration's ledger and a session.

    python -m scripts.dashboard_pictures

It needs Chromium (`chromium`) and Playwright, which is in the group `dev`.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from docs_src import demo
from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.workspace import Workspace
from readroom.server.ledger import LedgerPolicy
from scripts import demo_ledger

PICTURES = Path(__file__).parents[1] / "docs" / "how-to" / "images"
SIZE = (1280, 860)
MOST_BYTES = 150_000


@contextmanager
def dashboard(made: demo_ledger.Demo) -> Iterator[str]:
    """The address of a dashboard of the demonstration."""
    allowed = made.folder.parent / "allowed.toml"
    allowed.write_text("[history]\nundo_in_dashboard = true\n", encoding="utf-8")
    options = ["--root", str(made.folder), "--config", str(allowed), "--open"]
    line = [sys.executable, "-m", "readroom", "ui", str(made.ledger), *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().split()[4]
        finally:
            process.send_signal(signal.SIGTERM)


def renamed(where: Path) -> demo_ledger.Demo:
    """The folder of the documentation after an agent was to rename a function, and did more than that."""
    folder, ledger = where / "shop", where / "ledger.sqlite3"
    folder.mkdir()
    demo.make(folder)
    settings = config.load(config.open_store(folder))
    settings = replace(settings, ledger=LedgerPolicy(enabled=True, file=str(ledger)))
    with Workspace(folder, settings=settings) as workspace:
        review = Caller("codex", "nightly-review", face="mcp")
        notes = {"path": "NOTES.md", "content": "# Notes\n\n- Round prices?\n", "expected_hash": "absent"}
        workspace.perform("write_file", notes, caller=review)
        agent = Caller("claude-code", "rename-total", face="mcp")
        for edits in RENAMED:
            known = {path: str(workspace.read(path).facts["content_hash"]) for path, _, _ in edits}
            sent = [
                {"path": path, "expected_hash": known[path], "old_text": old, "new_text": new}
                for path, old, new in edits
            ]
            workspace.perform("edit_file", {"edits": sent}, caller=agent)
    return demo_ledger.Demo(folder, ledger)


ORDERS, RECEIPTS = "src/orders.py", "src/receipts.py"
RENAMED = (
    (
        (ORDERS, "def total(", "def order_total("),
        (RECEIPTS, "import total", "import order_total"),
        (RECEIPTS, "{total(items", "{order_total(items"),
    ),
    (
        (ORDERS, '"priority": 12', '"priority": 15'),
        (ORDERS, '    if weight <= 0:\n        raise ValueError("a parcel has a weight")\n', ""),
    ),
)
"""The edits of each call: the rename, and what nobody asked for."""


def history(page: Page, address: str) -> None:
    page.goto(f"{address}/history")


def change(page: Page, address: str) -> None:
    page.goto(f"{address}/history")
    page.locator(".made a").first.click()


def overview(page: Page, address: str) -> None:
    page.goto(address)


def session(page: Page, address: str) -> None:
    page.goto(f"{address}/sessions")
    page.locator("tbody tr").nth(1).locator("a").first.click()
    good = page.locator(".waterfall summary", has=page.locator(".tag.good"))
    good.filter(has_text="read_file").first.click()
    page.locator(".waterfall").scroll_into_view_if_needed()


def folder(page: Page, address: str) -> None:
    page.goto(f"{address}/map?path=src")


def file(page: Page, address: str) -> None:
    page.goto(f"{address}/files")
    page.locator("tbody a").first.click()


VIEWS = {
    "overview-light": overview,
    "session-dark": session,
    "map-dark": folder,
    "file-light": file,
}


OF_THE_HISTORY = {"history-light": history, "change-dark": change}


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as place, sync_playwright() as tools:
        # What is kept of the demonstration is not for the history of whoever makes the pictures.
        os.environ["XDG_STATE_HOME"] = f"{place}/state"
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for name, make, views in (
            ("demo", demo_ledger.make, VIEWS),
            ("renamed", renamed, OF_THE_HISTORY),
        ):
            where = Path(place, name)
            where.mkdir()
            taken(browser, make(where), views)
        browser.close()


def taken(browser: Browser, made: demo_ledger.Demo, views: Mapping[str, Callable[[Page, str], None]]) -> None:
    with dashboard(made) as address:
        for name, show in views.items():
            page = browser.new_page(
                viewport={"width": SIZE[0], "height": SIZE[1]},
                color_scheme="dark" if name.endswith("dark") else "light",
                reduced_motion="reduce",
            )
            show(page, address)
            page.wait_for_load_state("networkidle")
            save(page.screenshot(), PICTURES / f"{name}.webp")
            page.close()


def save(data: bytes, path: Path) -> None:
    Image.open(io.BytesIO(data)).convert("RGB").save(path, "WEBP", quality=82, method=6)
    assert path.stat().st_size < MOST_BYTES, path


if __name__ == "__main__":
    main()
