"""Chromium as the system brings it, for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"), reason="Chromium is not installed; CI has it"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    assert CHROMIUM is not None, "Chromium is required here: see .ci/run"
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield opened
        opened.close()
