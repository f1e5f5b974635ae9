"""What waits for review in Chromium: light and dark, wide and narrow, by keyboard, and for screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browsing import chromium, needs_chromium
from tests.server.http.changing import Client, restricted, shop, tools, whole
from tests.server.http.serving import Agent, agent
from tests.server.http.test_dashboard_browser import SHAPES, Visitor, press_until, violations

pytestmark = [pytest.mark.whole, pytest.mark.long, needs_chromium]

HOSTILE = "<img src=x onerror=\"document.title='pwned'\">\u202e.txt"

LONG_NAME = "nightly-review-of-the-whole-repository-and-all-of-its-branches"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = shop(tmp_path)
    (found / HOSTILE).write_text("one\n", encoding="utf-8")
    lines = (f"line {at} " + "x" * 90 + "\n" for at in range(200))
    (found / "long.py").write_text("".join(lines), encoding="utf-8")
    return found


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[Agent]:
    config = tmp_path / "server.toml"
    config.write_text("[history]\nreview = true\nreview_in_dashboard = true\n", encoding="utf-8")
    with agent(tmp_path / "state", "--require-token", "--config", str(config), "--", str(root)) as found:
        yield found


@pytest.fixture
def person(running: Agent, root: Path) -> str:
    """The token of somebody who decides about the changes of two conversations."""
    first = whole(running, "ada", **{"Readroom-Agent": "claude", "Readroom-Session": "s1"})
    first.edit("a.txt", "two", "2")
    listed = first.call("list_directory")["entries"]
    path = next(entry["path"] for entry in listed if "onerror" in entry["path"])
    first.edit(path, "one", "<script>document.title='pwned'</script>")
    first.edit("hr/pay.txt", "ada 1", "ada 2")
    (root / "hr/pay.txt").write_text("ada 3\n", encoding="utf-8")  # no longer fits
    second = Client(running, first.token, **{"Readroom-Agent": "codex", "Readroom-Session": LONG_NAME})
    second.edit("long.py", "line 7 ", "line seven ")
    second.call("write_file", path="new/deep/new.md", content="# New\n", expected_hash="absent")
    return restricted(running, "eva", *tools("review")).token


def visitor(
    browser: Browser, running: Agent, token: str, scheme: str = "light", width: int = 1280
) -> Visitor:
    found = Visitor(browser, running, scheme, width)
    found.sign_in(token)
    return found


def addresses(seen: Visitor) -> list[str]:
    seen.page.goto("/ui/review")
    links = seen.page.locator("tbody a[href^='/ui/waiting?']")
    found = [links.nth(at).get_attribute("href") for at in range(links.count())]
    assert len(found) == 2
    return [href for href in found if href is not None]


def is_well(seen: Visitor) -> None:
    page = seen.page
    assert violations(page) == [], page.url
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0, page.url
    assert "pwned" not in page.title()
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(("scheme", "width"), SHAPES)
def test_every_page_is_whole_accessible_and_quiet(
    browser: Browser, running: Agent, person: str, scheme: str, width: int
) -> None:
    seen = visitor(browser, running, person, scheme, width)
    page = seen.page
    both = addresses(seen)
    is_well(seen)
    for address in both:
        page.goto(address)
        is_well(seen)
    page.get_by_role("button", name="Reject the chosen").click()
    page.get_by_role("button", name="Reject", exact=True).wait_for()
    is_well(seen)
    page.get_by_role("button", name="Reject", exact=True).click()
    page.get_by_role("status").wait_for()
    is_well(seen)
    page.goto("/ui/review")
    is_well(seen)
    assert seen.complaints == []
    assert seen.elsewhere == []
    seen.close()


def test_a_keyboard_accepts_one_of_several(browser: Browser, running: Agent, person: str, root: Path) -> None:
    seen = visitor(browser, running, person)
    page = seen.page
    _, address = addresses(seen)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the content
    press_until(page, f"a[href='{address}']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")
    boxes = page.locator("main").get_by_role("checkbox")
    assert [boxes.nth(at).is_checked() for at in range(3)] == [True, True, False]
    press_until(page, "main input[type=checkbox]")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")  # as in any form, Enter asks the first question
    page.get_by_role("heading", name="Accept: set").wait_for()
    assert "Accept 1 change of claude?" in page.locator("main").inner_text()
    press_until(page, "main button")
    page.keyboard.press("Enter")
    page.get_by_text("1 change accepted, 2 left waiting.").wait_for()
    changed = [(root / name).read_text(encoding="utf-8") for name in ("a.txt", HOSTILE, "hr/pay.txt")]
    assert sum(text in ("one\n2\n", "<script>document.title='pwned'</script>\n") for text in changed) == 1
    assert changed[2] == "ada 3\n"
    assert seen.complaints == []
    seen.close()


def test_without_scripts_a_set_is_decided_as_well(
    browser: Browser, running: Agent, person: str, root: Path
) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=f"http://{running.host}:{running.port}")
    page = context.new_page()
    page.goto("/ui/sign-in")
    page.get_by_label("Token").fill(person)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Review", exact=True).click()
    page.locator("tbody a[href^='/ui/waiting?']").first.click()
    page.get_by_role("button", name="Accept the chosen").click()
    page.get_by_role("button", name="Accept", exact=True).click()
    page.get_by_role("status").wait_for()
    assert (root / "new/deep/new.md").read_text(encoding="utf-8") == "# New\n"
    context.close()


def test_a_form_on_a_page_of_somebody_else_decides_nothing(
    browser: Browser, running: Agent, person: str, root: Path
) -> None:
    seen = visitor(browser, running, person)
    page = seen.page
    _, address = addresses(seen)
    page.goto(address)
    box = page.locator("main").get_by_role("checkbox").first
    fields = {"set": address.rpartition("=")[2], "decision": "accept", "sure": "1"}
    fields["pick-1"] = box.get_attribute("value") or ""
    inputs = "".join(f"<input name={name} value={value}>" for name, value in fields.items())
    at = f"http://{running.host}:{running.port}/ui/waiting"
    page.goto(f"data:text/html,<form method=post action='{at}'>{inputs}<button>go</button></form>")
    page.get_by_role("button", name="go").click()
    page.wait_for_url(at)
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    assert "pwned" not in (root / HOSTILE).read_text(encoding="utf-8")
    seen.close()
