"""The dashboard in Chromium: views in light and dark, wide and narrow, by keyboard, for screen readers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from readroom.server.ledger import LedgerPolicy, open_book
from scripts import demo_ledger
from tests.browsing import chromium, needs_chromium
from tests.server.http.serving import Agent, agent
from tests.server.ledger.events import event

pytestmark = [pytest.mark.whole, pytest.mark.long, needs_chromium]

SHAPES = [("dark", 390), ("light", 1280), ("light", 390), ("dark", 1280)]

HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, str]]:
    """A server whose ledger has the demonstration, and a hostile session."""
    where = tmp_path_factory.mktemp("demo")
    made = demo_ledger.make(where, sessions=6, days=3)
    state = where / "state"
    (state / "readroom").mkdir(parents=True, mode=0o700)
    shutil.copy(made.ledger, state / "readroom" / "ledger.sqlite3")
    book = open_book(LedgerPolicy(file=str(state / "readroom" / "ledger.sqlite3")))
    book.append(event(workspace=str(made.folder), agent=HOSTILE, session=HOSTILE, tool=HOSTILE, path=HOSTILE))
    book.close()
    with agent(state, "--require-token", "--", str(made.folder)) as found:
        yield found, found.make_token("ada")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


class Visitor:
    """Somebody with a browser, and what it complained about."""

    def __init__(self, browser: Browser, running: Agent, scheme: str = "light", width: int = 1280) -> None:
        self._context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            base_url=f"http://{running.host}:{running.port}",
        )
        self.page: Page = self._context.new_page()
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._own = (f"http://{running.host}:{running.port}/", "data:", "blob:")
        self.page.on("request", self._sent)

    def _said(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.complaints.append(said.text)

    def _sent(self, sent: Request) -> None:
        if not sent.url.startswith(self._own):
            self.elsewhere.append(sent.url)

    def sign_in(self, token: str) -> None:
        self.page.goto("/ui")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Overview", level=1).wait_for()

    def views(self) -> list[str]:
        """Every sort of page, at an address that has something."""
        found = [
            "/ui",
            "/ui/calls?outcome=refused",
            "/ui/map",
            "/ui/ledger",
            "/ui/refused",
            "/ui/search?q=src",
        ]
        for page, address in (("session", "/ui/sessions"), ("file", "/ui/files"), ("call", "/ui/calls")):
            self.page.goto(address)
            links = self.page.locator(f"tbody a[href^='/ui/{page}?']")
            href = (
                links.last.get_attribute("href") if page == "session" else links.first.get_attribute("href")
            )
            assert href is not None
            found += [address, href]
        return found

    def close(self) -> None:
        self._context.close()


@pytest.mark.parametrize(("scheme", "width"), SHAPES)
def test_every_view_is_whole_accessible_and_quiet(
    browser: Browser, running: tuple[Agent, str], scheme: str, width: int
) -> None:
    visitor = Visitor(browser, running[0], scheme, width)
    page = visitor.page
    page.goto("/ui/sign-in")
    assert violations(page) == []
    visitor.sign_in(running[1])
    for address in visitor.views():
        page.goto(address)
        drawn(page)
        for summary in page.locator("summary").all()[:3]:
            summary.click()
        assert violations(page) == [], address
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, address
        for chart in page.locator("[data-chart]").all():
            assert chart.locator("canvas").count() == 1, address
    assert visitor.complaints == []
    assert visitor.elsewhere == []
    visitor.close()


def drawn(page: Page) -> None:
    """Wait until every chart is there."""
    page.wait_for_function(
        "[...document.querySelectorAll('[data-chart]')].every(one => one.querySelector('canvas'))"
    )


def violations(page: Page) -> list[str]:
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


def test_a_hostile_session_is_shown_and_does_nothing(browser: Browser, running: tuple[Agent, str]) -> None:
    visitor = Visitor(browser, running[0])
    visitor.sign_in(running[1])
    page = visitor.page
    for address in ("/ui", "/ui/sessions", "/ui/calls", "/ui/files"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert "pwned" not in page.title()
        assert page.locator("main img, main script").count() == 0
    page.goto("/ui/sessions")
    page.locator("tbody a", has_text="onerror").first.click()
    page.get_by_role("heading", level=1).filter(has_text="onerror").wait_for()
    assert page.title() != "pwned"
    assert visitor.complaints == []
    visitor.close()


def test_a_keyboard_leads_from_the_overview_to_a_line(browser: Browser, running: tuple[Agent, str]) -> None:
    visitor = Visitor(browser, running[0])
    visitor.sign_in(running[1])
    page = visitor.page
    page.goto("/ui/map")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    press_until(page, "a[href^='/ui/map?path=src']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/map?path=src")
    press_until(page, "a[href*='path=src%2Fcore']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/map?path=src%2Fcore")
    press_until(page, "a[href*='path=src%2Fcore%2Fengine']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/map?path=src%2Fcore%2Fengine")
    press_until(page, "tbody a[href^='/ui/file']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/file?path=**")
    press_until(page, ".gutter a")
    page.keyboard.press("Enter")
    page.wait_for_url("**line=**")
    assert page.get_by_role("heading", name="Calls that showed line").count() == 1
    visitor.close()


def press_until(page: Page, wanted: str) -> None:
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"no key leads to {wanted}")


def test_filters_and_exports_are_of_what_is_shown(
    browser: Browser, running: tuple[Agent, str], tmp_path: Path
) -> None:
    visitor = Visitor(browser, running[0])
    visitor.sign_in(running[1])
    page = visitor.page
    page.get_by_label("Agent", exact=True).select_option("codex")
    page.get_by_label("Chart by").select_option("agent")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url("**agent=codex**")
    assert '"names":["codex"]' in str(page.locator("[data-chart]").get_attribute("data-chart"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    picture = tmp_path / "chart.png"
    saved.value.save_as(picture)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    with page.expect_download() as saved:
        page.locator("#of-sessions ~ p a, a[href*='table=sessions']").first.click()
    sheet = tmp_path / "sessions.csv"
    saved.value.save_as(sheet)
    lines = sheet.read_text(encoding="utf-8").rstrip().split("\n")
    assert lines[0].startswith("Session,State,Agent")
    assert all(",codex," in line for line in lines[1:])
    assert len(lines) > 1
    visitor.close()


def test_a_view_that_was_sent_opens_for_who_is_signed_in(
    browser: Browser, running: tuple[Agent, str]
) -> None:
    """A link on a page of somebody else leads to the view itself, and a form of theirs can do nothing."""
    served, token = running
    visitor = Visitor(browser, served)
    visitor.sign_in(token)
    at = f"http://{served.host}:{served.port}/ui"
    page = visitor.page
    page.goto(f"data:text/html,<a href='{at}/calls?outcome=refused'>see</a>")
    page.get_by_role("link", name="see").click()
    page.get_by_role("heading", name="Calls", level=1).wait_for()
    assert page.url == f"{at}/calls?outcome=refused"
    page.goto(f"data:text/html,<form method=post action='{at}/sign-out'><button>go</button></form>")
    page.get_by_role("button", name="go").click()
    page.wait_for_url(f"{at}/sign-out")
    page.goto("/ui")
    page.get_by_role("heading", name="Overview", level=1).wait_for()
    visitor.close()
