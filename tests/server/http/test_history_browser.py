"""The history in Chromium: light and dark, wide and narrow, by keyboard, and for screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browsing import chromium, needs_chromium
from tests.server.http.changing import Client, shop, whole
from tests.server.http.serving import Agent, agent
from tests.server.http.test_dashboard_browser import SHAPES, Visitor, press_until, violations

pytestmark = [pytest.mark.whole, pytest.mark.long, needs_chromium]

HOSTILE = "<img src=x onerror=\"document.title='pwned'\">\u202e.txt"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = shop(tmp_path)
    (found / HOSTILE).write_text("one\n", encoding="utf-8")
    (found / "long.py").write_text(
        "".join(f"line {at} " + "x" * 90 + "\n" for at in range(200)), encoding="utf-8"
    )
    return found


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[Agent]:
    config = tmp_path / "server.toml"
    config.write_text("[history]\nundo_in_dashboard = true\n", encoding="utf-8")
    with agent(tmp_path / "state", "--require-token", "--config", str(config), "--", str(root)) as found:
        yield found


@pytest.fixture
def ada(running: Agent) -> Client:
    """Somebody whose agent changed some files, in two conversations."""
    first = whole(running, "ada", **{"Readroom-Agent": "claude", "Readroom-Session": "s1"})
    first.edit("a.txt", "two", "2")
    listed = first.call("list_directory")["entries"]
    path = next(entry["path"] for entry in listed if "onerror" in entry["path"])
    first.edit(path, "one", "<script>document.title='pwned'</script>")
    second = Client(running, first.token, **{"Readroom-Agent": "codex", "Readroom-Session": HOSTILE_NAME})
    second.edit("long.py", "line 7 ", "line seven ")
    second.call("write_file", path="new.md", content="# New\n", expected_hash="absent")
    return first


HOSTILE_NAME = "nightly-review-of-the-whole-repository-and-all-of-its-branches"
"""A long name of a conversation; other characters are refused at the door."""


def visitor(
    browser: Browser, running: Agent, ada: Client, scheme: str = "light", width: int = 1280
) -> Visitor:
    found = Visitor(browser, running, scheme, width)
    found.sign_in(ada.token)
    return found


@pytest.mark.parametrize(("scheme", "width"), SHAPES)
def test_every_page_is_whole_accessible_and_quiet(
    browser: Browser, running: Agent, ada: Client, scheme: str, width: int
) -> None:
    seen = visitor(browser, running, ada, scheme, width)
    page = seen.page
    numbers = [change["change"] for change in ada.changes()]
    addresses = ["/ui/history", *(f"/ui/change?number={number}" for number in numbers)]
    addresses += [f"/ui/undo?change={numbers[0]}", f"/ui/undo?change={numbers[2]}"]
    for address in addresses:
        page.goto(address)
        assert violations(page) == [], address
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, address
        assert "pwned" not in page.title()
        assert page.locator("main img, main script").count() == 0
    assert seen.complaints == []
    assert seen.elsewhere == []
    seen.close()


def test_a_keyboard_takes_a_change_back(browser: Browser, running: Agent, ada: Client, root: Path) -> None:
    seen = visitor(browser, running, ada)
    page = seen.page
    number = ada.changes(path="a.txt")[0]["change"]
    page.goto("/ui/history")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skips to the content
    press_until(page, f"a[href='/ui/change?number={number}']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/change?number={number}")
    press_until(page, f"a[href='/ui/undo?change={number}']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/undo?change={number}")
    press_until(page, "main button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/change?number=*")
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    page.get_by_text(f"undo of {number}").first.wait_for()
    assert seen.complaints == []
    seen.close()


def test_without_scripts_a_change_is_taken_back_as_well(
    browser: Browser, running: Agent, ada: Client, root: Path
) -> None:
    number = ada.changes(path="a.txt")[0]["change"]
    context = browser.new_context(java_script_enabled=False, base_url=f"http://{running.host}:{running.port}")
    page = context.new_page()
    page.goto("/ui/sign-in")
    page.get_by_label("Token").fill(ada.token)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"/ui/change?number={number}")
    page.get_by_role("link", name="Undo this change").click()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.wait_for_url("**/ui/change?number=*")
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    context.close()


def test_both_sides_are_next_to_each_other_or_below(browser: Browser, running: Agent, ada: Client) -> None:
    number = ada.changes(path="a.txt")[0]["change"]
    for width, beside in ((1280, True), (390, False)):
        seen = visitor(browser, running, ada, "light", width)
        seen.page.goto(f"/ui/change?number={number}")
        old, new = (box(seen.page, f"td.{kind}") for kind in ("gone", "come"))
        assert (old["y"] == new["y"]) is beside
        assert (old["x"] < new["x"]) is beside
        seen.close()


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"]}


def test_a_form_on_a_page_of_somebody_else_takes_nothing_back(
    browser: Browser, running: Agent, ada: Client, root: Path
) -> None:
    number = ada.changes(path="a.txt")[0]["change"]
    seen = visitor(browser, running, ada)
    page = seen.page
    at = f"http://{running.host}:{running.port}/ui/undo"
    fields = f"<input name=change value={number}><input name=plan value=x>"
    page.goto(f"data:text/html,<form method=post action='{at}'>{fields}<button>go</button></form>")
    page.get_by_role("button", name="go").click()
    page.wait_for_url(at)
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"
    seen.close()
