"""The history in the dashboard over HTTP: who sees it, who may undo, and what strangers cannot."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from tests.each import each
from tests.server.http.changing import restricted, shop, tools, whole
from tests.server.http.serving import Agent, Answer, agent
from tests.server.http.test_dashboard import get, origin, posted, signed_in

HOSTILE = "<img src=x onerror=alert(1)>\u202e&amp;'\"]]>.txt"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path)


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[Agent]:
    """A server whose operator lets the dashboard undo."""
    config = tmp_path / "server.toml"
    config.write_text("[history]\nundo_in_dashboard = true\n", encoding="utf-8")
    options = ("--require-token", "--allow-origin", "http://localhost:3000", "--config", str(config))
    with agent(tmp_path / "state", *options, "--", str(root)) as found:
        yield found


def fields(page: Answer) -> dict[str, str]:
    """The hidden fields of the form that a page has."""
    pairs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.body.decode())
    return {name: html.unescape(value) for name, value in pairs}


def pages(running: Agent, cookie: dict[str, str], number: int) -> list[Answer]:
    addresses = ["/ui/history", f"/ui/change?number={number}", "/ui/history?format=csv&table=changes"]
    return [get(running, address, cookie) for address in addresses]


def test_a_change_is_shown_side_by_side_and_taken_back_after_a_question(running: Agent, root: Path) -> None:
    ada = whole(running, **{"Readroom-Session": "s1", "Readroom-Agent": "claude"})
    ada.edit("a.txt", "two", "2")
    number = ada.changes()[0]["change"]
    cookie = signed_in(running, ada.token)
    listed = get(running, "/ui/history", cookie).body.decode()
    assert "claude" in listed
    assert f"/ui/change?number={number}" in listed
    shown = get(running, f"/ui/change?number={number}", cookie).body.decode()
    assert "<del>two</del>" in shown or "two</code>" in shown
    assert f"/ui/undo?change={number}" in shown
    question = get(running, f"/ui/undo?change={number}", cookie)
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"
    done = posted(running, "/ui/undo", fields(question), **cookie)
    assert done.status == 303
    assert done.headers["location"].startswith("/ui/change?number=")
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    assert get(running, done.headers["location"], cookie).status == 200
    newest = ada.changes()[0]
    assert (newest["face"], newest["undoes"]) == ("ui", number)
    # The same form again is about a change that is undone already.
    assert posted(running, "/ui/undo", fields(question), **cookie).status in (200, 404)
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"


def test_a_session_is_taken_back_from_the_list(running: Agent, root: Path) -> None:
    ada = whole(running, **{"Readroom-Session": "s1"})
    ada.edit("a.txt", "two", "2")
    ada.edit("hr/pay.txt", "ada", "eva")
    cookie = signed_in(running, ada.token)
    listed = get(running, "/ui/history", cookie).body.decode()
    (link,) = set(re.findall(r'href="(/ui/undo\?session=[^"]*)"', listed))
    question = get(running, html.unescape(link), cookie)
    ada.edit("a.txt", "one", "1")  # arrives while a person reads
    done = posted(running, "/ui/undo", fields(question), **cookie)
    assert (root / "hr/pay.txt").read_text(encoding="utf-8") in ("ada 1\n", "eva 1\n")
    assert (root / "a.txt").read_text(encoding="utf-8").startswith("1\n")
    assert done.status in (200, 303)


def test_a_plan_that_changed_is_asked_about_again(running: Agent, root: Path) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    number = ada.changes()[0]["change"]
    cookie = signed_in(running, ada.token)
    form = fields(get(running, f"/ui/undo?change={number}", cookie))
    (root / "a.txt").write_text("one\n2\nand a line of somebody\n", encoding="utf-8")
    answer = posted(running, "/ui/undo", form, **cookie)
    assert answer.status == 200
    assert b"look again" in answer.body
    assert b"and a line of somebody" in answer.body
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\nand a line of somebody\n"
    forged = posted(running, "/ui/undo", {"change": str(number), "plan": "0" * 64}, **cookie)
    assert b"look again" in forged.body
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\nand a line of somebody\n"


@each(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        # Pages that the operator allows to use the server's tools are still pages of somebody else.
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
    ],
)
def test_a_page_of_a_stranger_undoes_nothing(
    asked: tuple[Agent, dict[str, str], dict[str, str], Path], headers: dict[str, str], status: int
) -> None:
    running, cookie, form, root = asked
    answer = posted(running, "/ui/undo", form, **cookie, **headers)
    assert answer.status == status
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"


@pytest.fixture
def asked(running: Agent, root: Path) -> tuple[Agent, dict[str, str], dict[str, str], Path]:
    """A person who was asked."""
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    cookie = signed_in(running, ada.token)
    form = fields(get(running, f"/ui/undo?change={ada.changes()[0]['change']}", cookie))
    assert form["plan"]
    return running, cookie, form, root


def test_a_form_without_an_origin_a_cookie_or_a_post_undoes_nothing(
    asked: tuple[Agent, dict[str, str], dict[str, str], Path],
) -> None:
    running, cookie, form, root = asked
    data = urlencode(form).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert running.request("POST", "/ui/undo", data, headers={**kind, **cookie}).status == 400
    assert posted(running, "/ui/undo", form).status == 303  # to sign in
    assert get(running, f"/ui/undo?{urlencode(form)}", cookie).status == 200
    assert (
        running.request("PUT", "/ui/undo", data, headers={**cookie, "Origin": origin(running)}).status == 405
    )
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"


def test_without_the_operators_word_nothing_can_be_undone(tmp_path: Path, root: Path) -> None:
    (root / "readroom.toml").write_text("", encoding="utf-8")
    with agent(tmp_path / "state", "--require-token", "--", str(root)) as running:
        ada = whole(running)
        ada.edit("a.txt", "two", "2")
        number = ada.changes()[0]["change"]
        cookie = signed_in(running, ada.token)
        for page in pages(running, cookie, number):
            assert page.status == 200
            assert b"/ui/undo" not in page.body
        assert get(running, f"/ui/undo?change={number}", cookie).status == 404
        assert posted(running, "/ui/undo", {"change": str(number)}, **cookie).status == 404
        assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"


def test_a_token_without_the_right_to_write_undoes_nothing(running: Agent, root: Path) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    number = ada.changes()[0]["change"]
    form = fields(get(running, f"/ui/undo?change={number}", signed_in(running, ada.token)))
    for names in (("read_file", "list_directory"), ("list_directory",)):
        reader = restricted(running, f"reader-{len(names)}", *tools(*names))
        cookie = signed_in(running, reader.token)
        shown = get(running, f"/ui/change?number={number}", cookie)
        assert shown.status == (200 if "read_file" in names else 404)
        assert b"/ui/undo" not in shown.body
        assert get(running, f"/ui/undo?change={number}", cookie).status == 404
        assert posted(running, "/ui/undo", form, **cookie).status == 404
    (root / "c.txt").write_text("c\n", encoding="utf-8")
    known = ada.call("read_file", path="c.txt")["content_hash"]
    ada.call("change_files", changes=[{"action": "delete", "path": "c.txt", "expected_hash": known}])
    editor = restricted(running, "editor", *tools("read_file", "edit_file"))
    cookie = signed_in(running, editor.token)
    page = get(running, f"/ui/undo?change={ada.changes()[0]['change']}", cookie)
    assert b"does not include" in page.body
    assert fields(page) == {}
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"


def test_what_policy_denies_has_no_page(running: Agent, root: Path, tmp_path: Path) -> None:
    ada = whole(running, "ada", **{"Readroom-Agent": "adas-agent", "Readroom-Session": "salaries"})
    ada.edit("hr/pay.txt", "ada 1", "ada 2")
    number = ada.changes()[0]["change"]
    ada.edit("a.txt", "two", "2")
    policy = tmp_path / "no-hr.toml"
    policy.write_text('[policy]\ndeny = ["hr/"]\n', encoding="utf-8")
    bob = restricted(running, "bob", "--policy", str(policy))
    cookie = signed_in(running, bob.token)
    answers = [
        get(running, address, cookie)
        for address in (
            "/ui/history", "/ui/history?path=hr", "/ui/history?path=hr/pay.txt",
            "/ui/history?agent=adas-agent", "/ui/history?session=salaries",
            "/ui/history?format=csv&table=changes",
            f"/ui/change?number={number}", f"/ui/change?number={number}&path=hr", f"/ui/undo?change={number}",
            "/ui/undo?path=hr/pay.txt",
        )
    ]  # fmt: skip
    for answer in answers:
        for secret in (b"pay.txt</code>", b"ada 1", b"ada 2", b"adas-agent<", b"adas-agent,"):
            assert secret not in answer.body
    assert [answer.status for answer in answers[6:8]] == [404, 404]
    assert b"another agent" in answers[0].body
    (root / ".readroomignore").write_text("a.txt\n", encoding="utf-8")
    mine = signed_in(running, ada.token)
    assert b"a.txt" not in get(running, "/ui/history", mine).body


def test_hostile_names_and_contents_are_text(running: Agent, root: Path) -> None:
    (root / HOSTILE).write_text("one\n", encoding="utf-8")
    ada = whole(running)
    listed = ada.call("list_directory")["entries"]
    path = next(entry["path"] for entry in listed if "onerror" in entry["path"])
    ada.edit(path, "one", "<script>document.title='pwned'</script>\x1b[31m\u202e")
    number = ada.changes()[0]["change"]
    cookie = signed_in(running, ada.token)
    for page in (*pages(running, cookie, number), get(running, f"/ui/undo?change={number}", cookie)):
        text = page.body.decode()
        assert page.status == 200
        if "text/html" in page.headers["content-type"]:
            assert "<img" not in text
            assert "<script>" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "default-src 'none'" in page.headers["content-security-policy"]
    links = re.findall(
        r'href="(/ui/change\?[^"]*path=[^"]*)"', get(running, "/ui/history", cookie).body.decode()
    )
    assert get(running, html.unescape(links[0]), cookie).status == 200
    query = dict(parse_qsl(urlsplit(html.unescape(links[0])).query))
    assert "onerror" in query["path"]


def test_an_address_that_chooses_nonsense_is_no_page(running: Agent) -> None:
    ada = whole(running)
    ada.edit("a.txt", "two", "2")
    cookie = signed_in(running, ada.token)
    for query in (
        "",
        "?change=x",
        "?change=1&session=s",
        "?change=999",
        f"?session={quote(HOSTILE)}",
        "?path=../x",
    ):
        answer = get(running, f"/ui/undo{query}", cookie)
        assert answer.status in (200, 404), query
        assert fields(answer) == {}
    for query in ("", "?number=x", "?number=999", "?number=0"):
        assert get(running, f"/ui/change{query}", cookie).status in (400, 404), query


def test_a_long_history_is_shown_page_by_page(running: Agent, root: Path) -> None:
    ada = whole(running)
    for at in range(60):
        ada.call("write_file", path=f"n{at}.txt", content="x\n", expected_hash="absent")
    cookie = signed_in(running, ada.token)
    seen: list[str] = []
    address = "/ui/history"
    while address:
        text = get(running, address, cookie).body.decode()
        seen += re.findall(r"created .*?<code>(n\d+\.txt)</code>", text)
        older = re.search(r'href="([^"]*before=[^"]*)">Older changes', text)
        address = html.unescape(older[1]) if older else ""
    assert seen == [f"n{at}.txt" for at in reversed(range(60))]


def test_a_client_of_one_workspace_opens_the_history_of_another_in_no_way(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    for name in ("one", "two"):
        shop(tmp_path / name)
    config.write_text(
        "[history]\nundo_in_dashboard = true\n"
        + "".join(f'[workspaces.{name}]\nroot = "{tmp_path / name / "shop"}"\n' for name in ("one", "two")),
        encoding="utf-8",
    )
    with agent(tmp_path / "state", "--require-token", "--config", str(config)) as running:
        one = whole(running, "ada", "/w/one")
        one.edit("a.txt", "two", "2")
        number = one.changes()[0]["change"]
        cookie = signed_in(running, running.make_token("eva", "--workspace", "two"))
        assert get(running, f"/ui/w/two/change?number={number}", cookie).status == 404
        assert get(running, f"/ui/w/two/undo?change={number}", cookie).status == 404
        assert get(running, f"/ui/w/one/change?number={number}", cookie).status == 404
        form = fields(get(running, f"/ui/w/one/undo?change={number}", signed_in(running, one.token)))
        assert posted(running, "/ui/w/two/undo", form, **cookie).status == 404
        assert posted(running, "/ui/w/one/undo", form, **cookie).status == 404
        text = (tmp_path / "one/shop/a.txt").read_text(encoding="utf-8")
        assert text == "one\n2\n"
