"""Make the pictures of the dashboard in the documentation, from the demonstration's ledger.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from scripts import demo_ledger

PICTURES = Path(__file__).parents[1] / "docs" / "how-to" / "images"
SIZE = (1280, 860)
MOST_BYTES = 150_000


@contextmanager
def dashboard(made: demo_ledger.Demo) -> Iterator[str]:
    """The address of a dashboard of the demonstration."""
    line = [sys.executable, "-m", "readroom", "ui", str(made.ledger), "--root", str(made.folder), "--open"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().split()[4]
        finally:
            process.send_signal(signal.SIGTERM)


def overview(page: Page, address: str) -> None:
    page.goto(address)


def session(page: Page, address: str) -> None:
    page.goto(f"{address}/sessions")
    page.locator("tbody tr").nth(1).locator("a").first.click()
    page.locator(".waterfall summary", has_text="read_file").nth(1).click()
    page.locator(".waterfall").scroll_into_view_if_needed()


def folder(page: Page, address: str) -> None:
    page.goto(f"{address}/map?path=src")


def file(page: Page, address: str) -> None:
    page.goto(f"{address}/files")
    page.locator("td a", has_text="guard.py").first.click()


VIEWS = {
    "overview-light": overview,
    "session-dark": session,
    "map-dark": folder,
    "file-light": file,
}


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as place, sync_playwright() as tools:
        made = demo_ledger.make(Path(place))
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        with dashboard(made) as address:
            for name, show in VIEWS.items():
                page = browser.new_page(
                    viewport={"width": SIZE[0], "height": SIZE[1]},
                    color_scheme="dark" if name.endswith("dark") else "light",
                    reduced_motion="reduce",
                )
                show(page, address)
                page.wait_for_load_state("networkidle")
                save(page.screenshot(), PICTURES / f"{name}.webp")
                page.close()
        browser.close()


def save(data: bytes, path: Path) -> None:
    Image.open(io.BytesIO(data)).convert("RGB").save(path, "WEBP", quality=82, method=6)
    assert path.stat().st_size < MOST_BYTES, path


if __name__ == "__main__":
    main()
