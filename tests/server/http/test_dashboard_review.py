"""Changes that wait, in the dashboard over HTTP: who sees them, who decides, what comes unseen."""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.each import each
from tests.server.http.changing import Client, restricted, shop, tools, whole
from tests.server.http.serving import Agent, Answer, agent
from tests.server.http.test_dashboard import get, ledger_of, origin, posted, signed_in

HOSTILE = "<img src=x onerror=alert(1)>\u202e&amp;'\"]]>.txt"

BEFORE = "one\ntwo\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shop(tmp_path)


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[Agent]:
    """A server where changes wait, and whose operator lets people decide in the dashboard."""
    with served(tmp_path, root, "review = true\nreview_in_dashboard = true\n") as found:
        yield found


def served(tmp_path: Path, root: Path, settings: str) -> AbstractContextManager[Agent]:
    config = tmp_path / "server.toml"
    config.write_text(f"[history]\n{settings}", encoding="utf-8")
    options = ("--require-token", "--allow-origin", "http://localhost:3000", "--config", str(config))
    return agent(tmp_path / "state", *options, "--", str(root))


@pytest.fixture
def ada(running: Agent) -> Client:
    """Somebody whose agent changes a file, creates two in a folder, and deletes one."""
    return scribe(running)


def scribe(running: Agent, name: str = "ada", session: str = "s1") -> Client:
    found = whole(running, name, **{"Readroom-Agent": "claude", "Readroom-Session": session})
    found.edit("a.txt", "two", "2")
    for path in ("new/one.txt", "new/two.txt"):
        found.call("write_file", path=path, content=f"{path}\n", expected_hash="absent")
    return found


@pytest.fixture
def person(running: Agent) -> dict[str, str]:
    return reviewer(running)


def reviewer(running: Agent, *options: str) -> dict[str, str]:
    return signed_in(running, restricted(running, "person", *tools("review"), *options).token)


def address(running: Agent, cookie: dict[str, str]) -> str:
    """The address of the one set that is listed."""
    (found,) = sets(running, cookie)
    return found


def sets(running: Agent, cookie: dict[str, str]) -> list[str]:
    listed = get(running, "/ui/review", cookie)
    assert listed.status == 200
    return [html.unescape(one) for one in re.findall(r'href="(/ui/waiting\?set=\w+)"', listed.body.decode())]


def fields(page: Answer) -> dict[str, str]:
    """The hidden fields of the form that a page has."""
    pairs = re.findall(r'<input type="hidden" name="([\w-]+)" value="([^"]*)">', page.body.decode())
    return {name: html.unescape(value) for name, value in pairs}


def picks(page: Answer) -> dict[str, str]:
    """The marks of the changes on a page, by the names of the files."""
    found = re.findall(
        r'type="checkbox" name="pick-\d+" value="(\w+)"(?: checked)?> Chosen<span class="unseen">: ([^<]*)',
        page.body.decode(),
    )
    return {html.unescape(name): mark for mark, name in found}


def checked(page: Answer) -> int:
    return page.body.decode().count(" checked>")


def form(page: Answer, decision: str, *names: str) -> dict[str, str]:
    """The form as a browser sends it, with these files chosen."""
    marks = picks(page)
    chosen = {f"pick-{at}": marks[name] for at, name in enumerate(names)}
    return {**fields(page), **chosen, "decision": decision}


def decided(running: Agent, cookie: dict[str, str], decision: str, *names: str) -> Answer:
    """The answer to the form, and after it to the question."""
    page = get(running, address(running, cookie), cookie)
    question = posted(running, "/ui/waiting", form(page, decision, *names), **cookie)
    assert question.status == 200
    assert f"<button>{decision.capitalize()}</button>".encode() in question.body
    return posted(running, "/ui/waiting", fields(question), **cookie)


def test_a_set_is_listed_shown_and_accepted_after_a_question(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    listed = get(running, "/ui/review", person).body.decode()
    assert '<a href="/ui/review" aria-current="page">Review</a>' in listed
    for said in ("claude", "s1", "a.txt, new, new/one.txt, 1 more", "fits"):
        assert said in listed
    at = address(running, person)
    shown = get(running, at, person)
    assert "<del>two</del>" in shown.body.decode() or "two</code>" in shown.body.decode()
    assert checked(shown) == len(picks(shown)) == 4
    names = list(picks(shown))
    question = posted(running, "/ui/waiting", form(shown, "accept", *names), **person)
    assert b"Accept 4 changes of claude?" in question.body
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE
    done = posted(running, "/ui/waiting", fields(question), **person)
    assert b"4 changes accepted, 0 left waiting." in done.body
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\n2\n"
    assert (root / "new/two.txt").read_text(encoding="utf-8") == "new/two.txt\n"
    newest = ada.changes()[0]
    assert newest["face"] == "ui"
    assert "accepted by" in newest["agent"]
    assert sets(running, person) == []
    assert posted(running, "/ui/waiting", fields(question), **person).status == 404  # the same form again


def test_chosen_files_alone_are_accepted_and_rejected(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    done = decided(running, person, "accept", "new/one.txt")
    assert b"left waiting." in done.body
    assert (root / "new/one.txt").exists()
    assert not (root / "new/two.txt").exists()
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE
    done = decided(running, person, "reject", "a.txt")
    assert b"1 change rejected, 1 left waiting." in done.body
    assert ada.call("read_file", path="a.txt")["content_hash"]
    assert list(picks(get(running, address(running, person), person))) == ["new/two.txt"]
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_what_arrives_while_somebody_reads_is_shown_first(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    page = get(running, address(running, person), person)
    sent = form(page, "accept", "a.txt")
    question = posted(running, "/ui/waiting", sent, **person)
    ada.edit("a.txt", "2", "something nobody saw")
    ada.call("write_file", path="evil.txt", content="x\n", expected_hash="absent")
    for form_ in (sent, fields(question)):
        again = posted(running, "/ui/waiting", form_, **person)
        assert b"look again" in again.body
        assert b"something nobody saw" in again.body
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE
    # All that was on the page is decided, and what came since waits on.
    done = decided(running, person, "accept", "a.txt", "new/", "new/one.txt", "new/two.txt")
    assert b"4 changes accepted, 1 left waiting." in done.body
    assert not (root / "evil.txt").exists()


def test_a_file_that_came_into_a_chosen_folder_is_not_accepted_with_it(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    question = posted(
        running,
        "/ui/waiting",
        form(get(running, address(running, person), person), "accept", "new/", "new/one.txt"),
        **person,
    )
    ada.call("write_file", path="new/evil.txt", content="x\n", expected_hash="absent")
    posted(running, "/ui/waiting", fields(question), **person)
    assert [path.name for path in (root / "new").iterdir()] == ["one.txt"]


def test_what_no_longer_fits_is_shown_with_both_sides_and_never_forced(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    question = posted(
        running,
        "/ui/waiting",
        form(get(running, address(running, person), person), "accept", "a.txt"),
        **person,
    )
    (root / "a.txt").write_text("one\nof somebody\n", encoding="utf-8")
    assert b"look again" in posted(running, "/ui/waiting", fields(question), **person).body
    assert b"1 no longer fit" in get(running, "/ui/review", person).body
    page = get(running, address(running, person), person)
    for said in (b"no longer fits", b"It no longer fits: it was changed since", b"of somebody", b"There now"):
        assert said in page.body
    assert checked(page) == len(picks(page)) - 1
    done = decided(running, person, "accept", "a.txt", "new/one.txt", "new/")
    assert b"1 of these changes no longer fit the files, and none was made" in done.body
    assert not (root / "new").exists()
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\nof somebody\n"
    assert b"1 change rejected" in decided(running, person, "reject", "a.txt").body
    assert (root / "a.txt").read_text(encoding="utf-8") == "one\nof somebody\n"


def test_the_same_deletion_of_another_content_is_asked_about_again(
    running: Agent, root: Path, person: dict[str, str]
) -> None:
    eva = whole(running, "eva", **{"Readroom-Session": "s2"})

    def delete() -> None:
        known = eva.call("read_file", path="a.txt")["content_hash"]
        eva.call("change_files", changes=[{"action": "delete", "path": "a.txt", "expected_hash": known}])

    delete()
    page = get(running, address(running, person), person)
    assert b"deleted <code>a.txt" in page.body
    question = posted(running, "/ui/waiting", form(page, "accept", "a.txt"), **person)
    decided(running, person, "reject", "a.txt")
    (root / "a.txt").write_text("worth keeping\n", encoding="utf-8")
    delete()
    assert b"look again" in posted(running, "/ui/waiting", fields(question), **person).body
    assert (root / "a.txt").exists()


def test_without_a_choice_nothing_is_decided(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    page = get(running, address(running, person), person)
    for decision in ("accept", "reject"):
        assert b"Choose at least one" in posted(running, "/ui/waiting", form(page, decision), **person).body
        sure = {**form(page, decision), "sure": "1"}
        assert b"Choose at least one" in posted(running, "/ui/waiting", sure, **person).body
    for decision in ("drop", "forget", ""):
        sure = {**form(page, decision, "a.txt"), "sure": "1"}
        assert b"look again" in posted(running, "/ui/waiting", sure, **person).body
    forged = {**fields(page), "decision": "accept", "sure": "1", "pick-1": "0" * 64}
    assert b"look again" in posted(running, "/ui/waiting", forged, **person).body
    assert len(picks(get(running, address(running, person), person))) == 4
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


@each(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        # Pages that the operator allows to use the server's tools are still pages of somebody else.
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_a_page_of_a_stranger_decides_nothing(
    running: Agent, root: Path, ada: Client, person: dict[str, str], headers: dict[str, str]
) -> None:
    page = get(running, address(running, person), person)
    sure = {**form(page, "accept", "a.txt"), "sure": "1"}
    assert posted(running, "/ui/waiting", sure, **person, **headers).status == 403
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_a_form_without_an_origin_a_cookie_or_a_post_decides_nothing(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    page = get(running, address(running, person), person)
    sure = {**form(page, "accept", "a.txt"), "sure": "1"}
    data, kind = urlencode(sure).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    assert running.request("POST", "/ui/waiting", data, headers={**kind, **person}).status == 400
    assert posted(running, "/ui/waiting", sure).status == 303  # to sign in
    assert get(running, f"/ui/waiting?{urlencode(sure)}", person).status == 200
    own = {**person, "Origin": origin(running)}
    assert running.request("PUT", "/ui/waiting", data, headers=own).status == 405
    assert running.request("POST", "/ui/review", data, headers={**kind, **own}).status == 405
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_the_agent_sees_its_own_set_and_decides_nothing(
    running: Agent, root: Path, ada: Client, person: dict[str, str]
) -> None:
    scribe(running, "bob", "s2")
    every = sets(running, person)
    assert len(every) == 2
    own = signed_in(running, ada.token)
    (mine,) = sets(running, own)
    (other,) = set(every) - {mine}
    page = get(running, mine, own)
    assert page.status == 200
    assert b"decides nothing" in page.body
    assert picks(page) == fields(page) == {}
    assert get(running, other, own).status == 404
    sure = {**form(get(running, mine, person), "accept", "a.txt"), "sure": "1"}
    for cookie in (own, signed_in(running, restricted(running, "reader", *tools("read_file")).token)):
        assert posted(running, "/ui/waiting", sure, **cookie).status == 404
    blind = signed_in(running, restricted(running, "blind", *tools("list_directory")).token)
    assert sets(running, blind) == []
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_without_the_operators_word_the_right_shows_and_decides_nothing(tmp_path: Path, root: Path) -> None:
    with served(tmp_path, root, "review = true\n") as running:
        scribe(running)
        person = reviewer(running)
        at = address(running, person)
        page = get(running, at, person)
        assert b"The operator lets nobody decide here" in page.body
        assert picks(page) == fields(page) == {}
        sent = {"set": at.rpartition("=")[2], "decision": "reject", "sure": "1", "pick-1": "0" * 64}
        assert posted(running, "/ui/waiting", sent, **person).status == 404
        assert len(sets(running, person)) == 1


def test_where_review_is_off_there_is_no_page(tmp_path: Path, root: Path) -> None:
    with served(tmp_path, root, "review_in_dashboard = true\n") as running:
        person = reviewer(running)
        for at in ("/ui", "/ui/history"):
            assert b"/ui/review" not in get(running, at, person).body
        for at in ("/ui/review", "/ui/waiting?set=00000000", "/ui/waiting"):
            assert get(running, at, person).status == 404
        assert posted(running, "/ui/waiting", {"set": "00000000"}, **person).status == 404


def test_what_policy_denies_has_no_name_here(
    running: Agent, root: Path, ada: Client, person: dict[str, str], tmp_path: Path
) -> None:
    ada.edit("hr/pay.txt", "ada 1", "ada 2")
    policy = tmp_path / "no-hr.toml"
    policy.write_text('[policy]\ndeny = ["hr/"]\n', encoding="utf-8")
    narrow = signed_in(
        running, restricted(running, "narrow", *tools("review"), "--policy", str(policy)).token
    )
    mark = picks(get(running, address(running, person), person))["hr/pay.txt"]
    page = get(running, address(running, narrow), narrow)
    listed = get(running, "/ui/review", narrow)
    for answer in (page, listed, get(running, "/ui/review?format=csv&table=review", narrow)):
        for secret in (b"pay.txt", b"ada 1", b"ada 2"):
            assert secret not in answer.body
    assert b"1 more are of names that policy denies" in page.body
    forged = {**form(page, "accept", "a.txt"), "pick-9": mark}
    asked = posted(running, "/ui/waiting", forged, **narrow)
    assert b"look again" in asked.body
    sure = posted(running, "/ui/waiting", {**forged, "sure": "1"}, **narrow)
    assert b"pay.txt" not in sure.body
    assert (root / "hr/pay.txt").read_text(encoding="utf-8") == "ada 1\n"
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE
    # A rule that was added since counts as well.
    question = posted(
        running,
        "/ui/waiting",
        form(get(running, address(running, person), person), "accept", "a.txt"),
        **person,
    )
    (root / ".readroomignore").write_text("a.txt\n", encoding="utf-8")
    after = posted(running, "/ui/waiting", fields(question), **person)
    assert b"accepted" not in after.body
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_hostile_names_and_contents_are_text(running: Agent, root: Path, person: dict[str, str]) -> None:
    (root / HOSTILE).write_text("one\n", encoding="utf-8")
    ada = whole(running, **{"Readroom-Session": "s1"})
    listed = ada.call("list_directory")["entries"]
    path = next(entry["path"] for entry in listed if "onerror" in entry["path"])
    ada.edit(path, "one", "<script>document.title='pwned'</script>\x1b[31m\u202e")
    at = address(running, person)
    page = get(running, at, person)
    (mark,) = picks(page).values()
    sent = {**fields(page), "decision": "accept", "pick-1": mark}
    question = posted(running, "/ui/waiting", sent, **person)
    done = posted(running, "/ui/waiting", fields(question), **person)
    exported = get(running, "/ui/review?format=csv&table=review", person)
    assert exported.status == 200
    for answer in (get(running, "/ui/review", person), page, question, done, exported):
        text = answer.body.decode()
        if "text/html" in answer.headers["content-type"]:
            assert "<img" not in text
            assert "<script>" not in text
        assert "\u202e" not in text
        assert "\x1b" not in text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert b"1 change accepted" in done.body
    assert "pwned" in (root / HOSTILE).read_text(encoding="utf-8")


def test_a_long_set_is_decided_page_by_page(running: Agent, root: Path, person: dict[str, str]) -> None:
    ada = whole(running, **{"Readroom-Session": "s1"})
    for number in range(120):
        ada.call("write_file", path=f"n{number:03}.txt", content="x\n" * 30, expected_hash="absent")
    at = address(running, person)
    page = get(running, at, person)
    assert list(picks(page)) == [f"n{number:03}.txt" for number in range(100)]
    assert b"Changes 1 to 100 of 120." in page.body
    # The lines of some had no room, and those are not chosen unless somebody does so.
    assert 0 < checked(page) < 100
    (alone, *_) = re.findall(r'href="([^"]*only=\w+)"', page.body.decode())
    one = get(running, html.unescape(alone), person)
    assert checked(one) == len(picks(one)) == 1
    rest = get(running, f"{at}&from=100", person)
    assert list(picks(rest)) == [f"n{number:03}.txt" for number in range(100, 120)]
    question = posted(running, "/ui/waiting?from=100", form(rest, "accept", *picks(rest)), **person)
    assert b"20 changes accepted, 100 left" in posted(running, "/ui/waiting", fields(question), **person).body
    assert not (root / "n099.txt").exists()
    assert (root / "n100.txt").exists()


def test_links_programs_and_bytes_say_what_they_are(
    running: Agent, root: Path, person: dict[str, str]
) -> None:
    (root / "run.sh").write_text("old\n", encoding="utf-8")
    (root / "run.sh").chmod(0o755)
    os.symlink("hr/pay.txt", root / "link")
    (root / "data.bin").write_bytes(bytes(range(256)))
    ada = whole(running, **{"Readroom-Session": "s1"})
    ada.edit("run.sh", "old", "new")
    ada.call("change_files", changes=[{"action": "move", "path": "link", "to": "other"}])
    known = f"sha256:{hashlib.sha256((root / 'data.bin').read_bytes()).hexdigest()}"
    move = {"action": "move", "path": "data.bin", "to": "moved.bin", "expected_hash": known}
    ada.call("change_files", changes=[move])
    text = get(running, address(running, person), person).body.decode()
    assert "mode 0755" in text
    assert "A link to hr/pay.txt." in text
    assert "moved <code>data.bin</code> to <code>moved.bin</code>" in text


def test_every_part_of_a_long_line_is_shown(running: Agent, root: Path, person: dict[str, str]) -> None:
    middle = "x" * 3000
    (root / "min.js").write_text(f"start;{middle};end\n", encoding="utf-8")
    (root / "bom.txt").write_text("same\n", encoding="utf-8")
    ada = whole(running, **{"Readroom-Session": "s1"})
    ada.edit("min.js", f"start;{middle};end", f"evil(1);{middle};evil(2)")
    ada.edit("bom.txt", "same", "same\u200b")
    text = get(running, address(running, person), person).body.decode()
    assert "evil(1)" in text
    assert "evil(2)" in text
    assert r"same<ins>\u200b</ins>" in text


def test_a_file_that_is_too_large_to_show_is_not_chosen(
    running: Agent, root: Path, person: dict[str, str]
) -> None:
    ada = whole(running, **{"Readroom-Session": "s1"})
    ada.call("write_file", path="large.txt", content="x\n" * 700_000, expected_hash="absent")
    ada.call("write_file", path="long.txt", content="line\n" * 3000, expected_hash="absent")
    page = get(running, address(running, person), person)
    assert list(picks(page)) == ["large.txt", "long.txt"]
    assert checked(page) == 0
    assert page.body.count(b"Not all of it is shown.") == 2
    assert b"1,400,000 bytes, SHA-256" in page.body
    assert b"at least" in get(running, "/ui/review", person).body
    # Whoever knows better can choose it all the same.
    assert b"1 change accepted" in decided(running, person, "accept", "long.txt").body


def test_a_damaged_set_can_only_be_dropped(
    running: Agent, root: Path, ada: Client, person: dict[str, str], tmp_path: Path
) -> None:
    (tree,) = (tmp_path / "state").rglob("review/*/*/tree")
    tree.write_bytes(b"\xff noise")
    assert b"unusable" in get(running, "/ui/review", person).body
    page = get(running, address(running, person), person)
    assert b"cannot be used" in page.body
    for decision in ("accept", "reject"):
        sent = {**fields(page), "decision": decision, "pick-1": "0" * 64, "sure": "1"}
        assert b"look again" in posted(running, "/ui/waiting", sent, **person).body
    question = posted(running, "/ui/waiting", {**fields(page), "decision": "drop"}, **person)
    assert len(sets(running, person)) == 1
    assert b"dropped" in posted(running, "/ui/waiting", fields(question), **person).body
    assert sets(running, person) == []
    assert (root / "a.txt").read_text(encoding="utf-8") == BEFORE


def test_who_looked_and_decided_is_in_the_ledger(running: Agent, ada: Client, person: dict[str, str]) -> None:
    decided(running, person, "accept", "a.txt")
    with closing(ledger_of(running.state)) as book:
        rows = [row for row in book.rows() if row.event.face == "ui"]
    assert [row.event.tool for row in rows] == ["show", "accept"]
    assert len({row.event.token for row in rows} - {ada.token.split("_")[1]}) == 1


def test_an_address_that_names_nothing_is_no_page(
    running: Agent, ada: Client, person: dict[str, str]
) -> None:
    for query in ("", "?set=zzzzzzzz", "?set=..", "?set=%00"):
        assert get(running, f"/ui/waiting{query}", person).status == 404, query
    at = address(running, person)
    for more in ("&from=9999", "&only=nothing"):
        assert get(running, at + more, person).status == 200
    assert get(running, at + "&from=x", person).status == 400
