"""Questions of a lead to the dashboard: sessions by name, their context, refusals, places of a word."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest

from readroom.core.context import BANDS, MOST_POINTS
from readroom.core.rows import Audit, AuditTable, Finding, PastCall, PastSession, recorded
from readroom.server.http.ui.courses import of_steps
from readroom.server.http.ui.queries import Questions, Slice, Step
from readroom.server.http.ui.refused import next_step
from readroom.server.http.ui.view import is_id
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.imported import fill
from readroom.server.ledger.ledger import Ledger
from tests.each import each
from tests.server.http.serving import Agent, open_agent
from tests.server.ledger.events import book, close_books, event
from tests.suites import needs

needs("lens")

ID = "3f9a1c07d2e44b6c8d10aa52ee7703bd"


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_books()


def shop(folder: Path) -> Path:
    root = folder / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src" / "prices.py").write_text("PRICE = 1\n" * 20, encoding="utf-8")
    (root / "big.log").write_text("x" * 90_000, encoding="utf-8")
    (root / "scan.bin").write_bytes(b"\0\n\n")
    (root / ".env").write_text("PASSWORD=hunter2\n", encoding="utf-8")
    return root


def empty_ledger(state: Path) -> Ledger:
    (state / "readroom").mkdir(parents=True, mode=0o700)
    return open_book(LedgerPolicy(file=str(state / "readroom" / "ledger.sqlite3")))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A dashboard over a ledger with a named session, one with an id, and requests that became no call."""
    folder = tmp_path_factory.mktemp("lead")
    root, state = shop(folder), folder / "state"
    now = time.time_ns() // 1000
    with closing(empty_ledger(state)) as ledger:

        def add(**fields: object) -> None:
            ledger.append(event(workspace=str(root), time_us=now, **fields))

        shown = json.dumps([["src/prices.py", "sha256:aa", 1, 20]])
        add(session="nightly-review", agent="codex", path="src/prices.py", shown=shown)
        for epoch in (0, 0, 1):
            add(session=ID, agent="claude-code", path="src/prices.py", shown=shown, tokens=100, epoch=epoch)
        later = {"session": ID, "agent": "claude-code", "epoch": 1, "shown": "[]"}
        asked = json.dumps({"command": "pytest -q tests/test_prices.py"})
        add(**later, tool="run_command", arguments=asked, path=None)
        hidden = {"path": ".env", "arguments": json.dumps({"path": ".env"}), "rule": ".env"}
        add(**later, **hidden, decision="refused", outcome="denied")
        early = {"session": "", "agent": "", "contract": "", "path": None, "face": "http", "shown": "[]"}
        for address in ("10.0.0.1", "10.0.0.2"):
            sent = {"method": "POST", "status": 401, "address": address, "times": 7}
            said = {"decision": "refused", "outcome": "unauthorized", "arguments": json.dumps(sent)}
            add(**early, **said, tool="/v1/native/read_file", tokens=0)
    with open_agent(state, "--", str(root)) as found:
        yield found


def shown(served: Agent, address: str) -> str:
    answer = served.request("GET", f"/ui{address}")
    assert answer.status == 200, address
    return answer.body.decode()


def table(markup: str, name: str) -> list[str]:
    """The rows of a table as texts."""
    body = markup.partition(f'aria-labelledby="of-{name}"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2], re.DOTALL)
    return [re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", row))).strip() for row in rows]


def test_sessions_have_names_and_requests_that_became_no_call_are_none(served: Agent) -> None:
    rows = table(shown(served, "/sessions"), "sessions")
    assert len(rows) == 2
    named, by_id = sorted(rows, key=lambda row: "claude" in row)
    assert named.startswith("nightly-review ")
    assert re.match(r"claude-code, 20\d\d-\d\d-\d\d \d\d:\d\d 3f9a1c0… ", by_id)
    assert ID not in by_id
    overview = shown(served, "")
    assert len(table(overview, "sessions")) == 2
    tools = table(overview, "tool")
    assert [row for row in tools if "/v1/" in row] == []
    assert [row for row in tools if row.startswith("(requests that became no call) 2 ")]
    assert 'value="/v1/' not in overview


def test_what_was_refused_has_a_table_with_code_who_what_when_and_next_step(served: Agent) -> None:
    rows = table(shown(served, "/refused"), "refused")
    assert len(rows) == 3
    assert [row for row in rows if row.startswith("denied")] == [rows[-1]]
    assert "claude-code" in rows[-1]
    assert "(hidden by policy)" in rows[-1]
    assert ".env" not in "".join(rows)
    assert "ask the user to change the policy" in rows[-1]
    for row, address in zip(rows[:2], ("10.0.0.2", "10.0.0.1"), strict=True):
        for words in ("unauthorized", address, "POST /v1/native/read_file", " 7 ", "Authorization: Bearer"):
            assert words in row


@each("code", ["unauthorized", "denied", "too_many_requests", "not_granted", "budget_spent", "nobody_knows"])
def test_a_next_step_is_a_whole_sentence_without_gaps(code: str) -> None:
    step = next_step(code)
    assert step.endswith(".")
    assert "{" not in step


def test_the_context_of_a_session_is_drawn_with_its_compaction_and_leads_to_calls(served: Agent) -> None:
    markup = shown(served, f"/session?id={ID}&agent=claude-code")
    assert markup.count('class="compacted"') == 1
    assert "up to 200 tokens" in markup
    links = re.findall(r'<a href="(/ui/call\?number=\d+)" tabindex="-1">', markup)
    assert len(links) == 5
    call = shown(served, links[0].removeprefix("/ui"))
    assert "lines 1 to 20" in call
    assert 'href="/ui/file?path=src%2Fprices.py' in call
    numbers = markup.partition("As a table")[2].partition("</table>")[0]
    assert re.findall(r"Call \d", numbers) == [f"Call {at}" for at in range(1, 6)]
    with_csv = re.search(r'href="(/ui/session[^"]*table=context)"', markup)
    assert with_csv is not None
    sheet = shown(served, unescape(with_csv[1]).removeprefix("/ui"))
    assert sheet.splitlines()[0] == "Call,Files,Commands,Shown again,In all,Compactions before"
    assert sheet.splitlines()[2].startswith("Call 2,100,0,100,200")


@each(
    ("words", "found"),
    [
        ("NIGHTLY", {"sessions": 1, "files": 0, "asked": 0}),
        ("pytest test_prices", {"sessions": 1, "files": 0, "asked": 1}),
        ("prices.py", {"sessions": 2, "files": 1, "asked": 1}),
        ("claude", {"sessions": 1, "files": 0, "asked": 0}),
        (".env", {"sessions": 0, "files": 0, "asked": 0}),
        ("%", {"sessions": 0, "files": 0, "asked": 0}),
        ("_", {"sessions": 0, "files": 0, "asked": 2}),
        ("no-such-word", {"sessions": 0, "files": 0, "asked": 0}),
    ],
)
def test_a_search_finds_names_files_and_commands_and_nothing_hidden(
    words: str, found: dict[str, int], served: Agent
) -> None:
    from urllib.parse import quote

    markup = shown(served, f"/search?q={quote(words)}")
    counts = {name: len(table(markup, name)) for name in found}
    if words == "_":
        assert counts["asked"] > 0
        return
    if words == "prices.py":
        assert counts["sessions"] == 2
        assert counts["files"] == 1
        return
    assert counts == found


def test_the_map_has_boxes_by_root_of_size_and_marks_what_was_never_looked_at(served: Agent) -> None:
    markup = shown(served, "/map")
    chart = json.loads(unescape(re.search(r'data-chart="([^"]*)"', markup)[1]))  # type: ignore[index]
    assert chart["area"] == ""
    assert "root of the size" in markup
    rows = table(markup, "folder")
    assert [row for row in rows if "never" in row] == ["big.log 90,000 1 never 0 0", "scan.bin 3 1 never 0 0"]
    assert (
        json.loads(unescape(re.search(r'data-chart="([^"]*)"', shown(served, "/map?area=size"))[1]))[  # type: ignore[index]
            "area"
        ]
        == "size"
    )


def test_the_map_by_lines_counts_texts_and_says_what_is_not_counted(served: Agent) -> None:
    markup = shown(served, "/map?area=lines")
    chart = json.loads(unescape(re.search(r'data-chart="([^"]*)"', markup)[1]))  # type: ignore[index]
    assert {one["name"] for one in chart["children"]} == {"big.log", "src"}
    rows = table(markup, "folder")
    assert next(row for row in rows if row.startswith("src/")).startswith("src/ 200 20 1 ")
    assert [row for row in rows if "never" in row] == [
        "big.log 90,000 1 1 never 0 0",
        "scan.bin 3 - 1 never 0 0",
    ]
    assert "Drawn without 1 of 3 files, whose lines are not counted: not text" in markup
    assert "not counted" not in shown(served, "/map")


def test_every_row_that_is_named_by_a_number_is_a_link(served: Agent) -> None:
    twice = shown(served, f"/session?id={ID}&agent=claude-code").partition('"of-twice"')[2]
    assert len(re.findall(r'<a href="/ui/call\?number=\d+">\d+</a>', twice.partition("</table>")[0])) == 2


def test_every_table_names_its_first_column(served: Agent) -> None:
    for address in ("", "/sessions", "/calls", "/files", "/map", "/refused", "/search?q=prices", "/ledger"):
        for head in re.findall(r"<thead[^>]*><tr><th[^>]*>(.*?)</th>", shown(served, address)):
            assert head.strip(), address


@each(
    ("name", "made"),
    [
        (ID, True), (f"3f9a1c07d2e4:{ID}", True), ("1702027f-b226-4a4f-b497-9e6912473efd", True),
        ("ses_4b6c8d10aa52ee", True), ("87ff9f6f-d995-4cf6-82a6-cd6d74632393/agent-1", True),
        ("nightly-review", False), ("codex-03", False), ("deadbeef", False), ("release-2026-11-26", False),
        ("", False),
    ],
)  # fmt: skip
def test_the_name_of_a_person_is_no_id(name: str, made: bool) -> None:
    assert is_id(name) is made


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Sessions whose ids begin alike, one of a sub-agent, one of another token; the last has no times."""
    folder = tmp_path_factory.mktemp("alike")
    root, state = shop(folder), folder / "state"
    now = time.time_ns() // 1000
    with closing(empty_ledger(state)) as ledger:
        for at, session in enumerate(ALIKE):
            for call in range(3):
                apart = call * (1 if session == ALIKE[-1] else 700_000)
                when = now - 60_000_000 * at + apart
                ledger.append(event(workspace=str(root), time_us=when, session=session, agent="codex"))
    with open_agent(state, "--", str(root)) as found:
        yield found


ALIKE = (
    "019f2b9c-3111-7000-8000-aaaaaaaaaaaa",
    "019f2b9c-3122-7000-8000-bbbbbbbbbbbb",
    "3f9a1c07d2e4:019f2b9c-4000-7000-8000-cccccccccccc",
    "019f2b9c-3122-7000-8000-bbbbbbbbbbbb/agent-1",
    ID,
)


def test_ids_that_begin_alike_are_shown_as_long_as_they_differ(alike: Agent) -> None:
    page = shown(alike, "/sessions")
    found = re.findall(r'<small class="under">([^<]+)</small>', page)
    assert sorted(found) == sorted(
        ["019f2b9c-311…", "019f2b9c-312…", "019f2b9c-4…", "019f2b9c-312…/agent-1", "3f9a1c0…"]
    )


def test_a_session_without_times_lasted_for_an_unknown_time(alike: Agent) -> None:
    assert "<dt>Lasted</dt><dd>1.4 s" in shown(alike, f"/session?id={ALIKE[0]}&agent=codex")
    assert "<dt>Lasted</dt><dd>unknown</dd>" in shown(alike, f"/session?id={ID}&agent=codex")


def test_of_many_calls_the_chart_is_bounded_and_sums_up(tmp_path: Path) -> None:
    """The points of a chart have the largest of their calls; repeats are counted by lines."""
    steps = [
        Step(at, at // 1000, ("read_file", "grep_files", "bash")[at % 3], 10,
             json.dumps([["a.py", "sha256:aa", at % 1000 + 1, at % 1000 + 1]]))
        for at in range(5_000)
    ]  # fmt: skip
    course = of_steps(steps)
    assert len(course.points) <= MOST_POINTS
    assert max(point.tokens for point in course.points) == 10_000
    assert sum(point.compactions for point in course.points) == 4
    assert "repeats" not in course.bands
    again = of_steps([steps[0], steps[0], Step(3, 0, "read_file", 10, "broken")])
    assert [dict(zip(BANDS, point.values, strict=True))["repeats"] for point in again.points] == [0, 10, 10]


def test_a_flood_of_requests_is_no_session(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    facts = {"contract": "", "tool": "/mcp", "decision": "refused", "outcome": "unauthorized", "shown": "[]"}
    ledger.append_all([event(session=f"made-up-{at}", agent="x", **facts) for at in range(300)])
    ledger.append(event(session="real", decision="refused", outcome="denied", shown="[]"))
    ledger.sum_up(10)
    questions = Questions(ledger)
    assert [one.session for one in questions.sessions(Slice("/w"), limit=50)] == ["real"]
    assert len(questions.refused(Slice("/w"), limit=400)) == 301
    assert sum(one.refused for one in questions.sums(Slice("/w"))) == 301


def test_an_audit_beside_the_ledger_has_names_money_and_the_context_of_its_report(tmp_path: Path) -> None:
    """The same numbers in the same words as the terminal and the page have."""
    from readroom.lens.report import Totals, statements
    from readroom.lens.report.courses import course_of
    from tests.lens.ground_truth import audited, unpacked

    unpacked("claude-code/long", tmp_path / "a")
    rows = list(recorded(tmp_path / "a", "/home/dev/shop"))
    beside = Audit()
    for row in rows:
        if not isinstance(row, PastCall):
            beside.add(row, 10_000)
    parts = audited("claude-code/long", tmp_path / "b")
    part = max(parts, key=lambda one: one.session.compactions)
    assert part.session.compactions
    past = beside.sessions[part.session.session]
    assert past.title == part.session.title
    assert past.course == course_of(part)[0]
    totals = Totals()
    for one in parts:
        totals.add(one)
    tables = {one.name: one for one in beside.tables}
    for name, bills in statements.tables(totals):
        assert [list(row) for row in tables[f"by-{name}"].rows][: len(bills)] == [
            [entry, *statements.cells(bill)] for entry, bill in bills
        ]
    assert {row[0] for row in tables["habits"].rows} >= {
        one.name for one in statements.habits(totals) if one.kind not in ("secrets", "denied")
    }
    assert isinstance(rows[-1], AuditTable)
    assert any(isinstance(row, Finding) for row in rows)
    assert any(isinstance(row, PastSession) for row in rows)
    ledger = book(tmp_path)
    assert fill(ledger, iter(rows), "a", "/home/dev/shop").tables == beside.tables


def test_no_command_with_a_secret_comes_into_the_ledger_of_a_record(tmp_path: Path) -> None:
    from tests.lens.making import called, record, returned, said

    lines = [called(1, "Bash", {"command": "mysql -pkX9mQ2v7Lp-4tz"}), returned(1, "ok"),
             called(2, "Bash", {"command": "make"}), returned(2, "ok"), said("so")]  # fmt: skip
    rows = recorded(record(tmp_path / "r.jsonl", lines), "/w")
    told = [json.dumps(row.arguments) for row in rows if isinstance(row, PastCall)]
    assert "kX9mQ" not in "".join(told)
    assert "make" in told[1]
