"""Look at the built site in Chromium, from its folder, as a reader without a network would.

    python -m scripts.website.look FOLDER [--required] [--all]

Every page is opened wide and narrow, and axe looks at it; at those named below, or with `--all`
every one, in all four of wide and narrow, light and dark.  Fails for an error on the console, a request that
fails or leaves the folder, a page wider than its window, a violation of axe, or a search that
finds nothing.  Without a Chromium it says so and is done; with `--required` that fails.
Screenshots of the pages named are beside the site, in `screens`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, sync_playwright

WIDTHS = {"wide": 1280, "narrow": 390}
SCHEMES = ("light", "dark")
NAMED = (
    "index", "benchmarks", "comparison", "how-to/install", "how-to/connect-clients", "reference/tools",
    "contracts/everruns", "search",
)  # fmt: skip
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OUTWARD = ("http://", "https://", "ws://", "wss://")


def chromium() -> str | None:
    """The browser of this machine."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


def look(folder: Path, browser: Browser, *, every: bool) -> Iterator[str]:
    """What is wrong, a line each."""
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    screens = folder.parent / "screens"
    screens.mkdir(exist_ok=True)
    pages = (path.relative_to(folder).with_suffix("") for path in sorted(folder.rglob("*.html")))
    names = [str(page) for page in pages if page.parts[0] not in ("_static", "_downloads")]
    for scheme in SCHEMES:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        # As the switch of the theme keeps it.
        context.add_init_script(
            f"localStorage.setItem('mode', '{scheme}'); localStorage.setItem('theme', '{scheme}')"
        )
        page = context.new_page()
        heard: list[str] = []
        _listen(page, heard)
        for name in names:
            closely = every or name in NAMED
            if not closely and scheme != SCHEMES[0]:
                continue
            page.goto(f"{(folder / name).as_uri()}.html", timeout=120_000)
            for size, width in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": 800})
                where = f"{name}, {size}, {scheme}"
                yield from (f"{where}: {words}" for words in _too_wide(page))
                if closely or size == "wide":
                    yield from (f"{where}: {words}" for words in _violations(page, axe))
                if name in NAMED:
                    shot = screens / f"{name.replace('/', '-')}-{size}-{scheme}.png"
                    page.screenshot(path=shot, timeout=120_000)
            yield from (f"{name}, {scheme}: {words}" for words in heard)
            heard.clear()
        context.close()
    yield from _search(folder, browser)


def _listen(page: Page, heard: list[str]) -> None:
    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            heard.append(message.text)

    def on_request(request: Request) -> None:
        if request.url.startswith(OUTWARD):
            heard.append(f"leaves the folder: {request.url}")

    page.on("console", on_console)
    page.on("request", on_request)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("requestfailed", lambda request: heard.append(f"failed: {request.url}"))


def _too_wide(page: Page) -> Iterator[str]:
    beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if beyond > 0:
        yield f"is {beyond} pixels wider than the window"


def _violations(page: Page, axe: str) -> Iterator[str]:
    page.evaluate(axe)
    # Without what it would fetch itself: styles are in the page, and a folder answers no such request.
    for found in page.evaluate("axe.run({preload: false}).then(result => result.violations)"):
        where = ", ".join(" ".join(map(str, node["target"])) for node in found["nodes"][:3])
        yield f"axe: {found['id']} ({found['impact']}), {len(found['nodes'])} times: {where}"


def _search(folder: Path, browser: Browser) -> Iterator[str]:
    """A word of a page finds it, without a server."""
    page = browser.new_page()
    page.goto(f"{(folder / 'search.html').as_uri()}?q=ledger", timeout=120_000)
    try:
        page.wait_for_selector("#search-results li a", timeout=60_000)
    except Error:
        yield "search, offline: a search for `ledger` finds nothing"
        return
    links = page.eval_on_selector_all("#search-results li a", "links => links.map(one => one.href)")
    if not any("how-to/ledger" in link for link in links):
        yield f"search, offline: the page on the ledger is not among {len(links)} results"
    page.close()


def main(arguments: list[str]) -> int:
    program = chromium()
    if program is None:
        print("look: no Chromium is here (apt install chromium), so that the pages were not looked at")
        return 1 if "--required" in arguments else 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        wrong = 0
        for line in look(Path(arguments[0]).absolute(), browser, every="--all" in arguments):
            print(line, flush=True)
            wrong += 1
        browser.close()
    print(f"look: {wrong or 'nothing'} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
