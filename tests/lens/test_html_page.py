"""The page of an audit: the numbers of the terminal, the context over time, names, and nothing secret."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom.core import context
from readroom.lens.audit import Options
from readroom.lens.findings.secrets import is_harmless
from readroom.lens.normal_form import Call, Lines, Session, Turn
from readroom.lens.report import Totals
from readroom.lens.report import statements as said
from readroom.lens.report.courses import CALLS_LISTED, COURSES_DRAWN, course_of
from readroom.lens.report.html import page
from readroom.lens.report.screen import screen
from readroom.lens.sessions import Audited, summed
from tests.browsing import chromium, needs_chromium
from tests.cli.running import Cli
from tests.each import each
from tests.lens.ground_truth import audited
from tests.lens.making import called, record, returned
from tests.lens.making import said as ended

NAMES = ("claude-code/tools", "claude-code/long", "codex/long", "gemini-cli/tools", "qwen-code/tools")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Audited]:
    """Recorded sessions of four clients, some with compactions."""
    folder = tmp_path_factory.mktemp("recorded")
    return [part for name in NAMES for part in audited(name, folder / name, Options())]


@pytest.fixture(scope="module")
def totals(parts: list[Audited]) -> Totals:
    found = Totals()
    found.courses.harmless = is_harmless
    for part in parts:
        found.add(part)
    return found


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


def text_of(markup: str) -> str:
    """The words of a page, each gap one blank."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", markup)))


def test_the_page_says_what_the_terminal_says(totals: Totals) -> None:
    """Money by model, project and day, sessions by name, habits with what ends them, secrets once, losses."""
    shown = text_of("".join(page(totals, True)))
    for name, rows in said.tables(totals):
        assert f"By {name}" in shown
        for entry, bill in rows:
            assert " ".join([entry, *said.cells(bill)]) in shown, entry
    assert " ".join(["In all", *said.cells(totals.spending.whole)]) in shown
    assert said.about_prices(totals) in shown
    habits = list(said.habits(totals))
    assert len(habits) == said.HABITS_SHOWN
    for habit in habits:
        assert f"{habit.name} : {habit.often} {habit.advice} {habit.ends}" in shown
    secrets = totals.spending.ordered_secrets()
    assert said.secrets_heading(secrets) in shown
    for secret in secrets:
        assert f"{secret.what} {said.secret_places(secret)} {said.secret_times(secret)}" in shown
    for loss in said.lost(totals):
        assert loss.sentence in shown
    wide = re.sub(r"\s+", " ", screen(totals, 120, True))
    assert secrets
    for words in (
        said.about_prices(totals),
        said.secrets_heading(secrets),
        *(habit.ends for habit in habits),
    ):
        assert words in wide


def test_a_page_without_sessions_says_so_and_has_no_empty_tables() -> None:
    shown = text_of("".join(page(Totals(), True)))
    assert "No session is in what was audited." in shown
    assert "<table" not in "".join(page(Totals(), True))


def test_a_long_place_keeps_its_lines() -> None:
    """The path of a call may be long: the lines are behind it."""
    part = _long(3)
    path = "src/" + "a_folder_of_a_long_name/" * 9 + "a.py"
    lines = [Lines("s", call.call, path, 7, 41) for call in part.calls]
    found = Totals()
    found.add(Audited(part.session, part.turns, part.calls, lines, []))
    assert f"<code>{path}:7-41</code>" in "".join(page(found, False))


def test_sessions_are_named_and_no_id_stands_alone(totals: Totals, parts: list[Audited]) -> None:
    """Wherever a session is, its first prompt and its client come before what is left of its id."""
    markup = "".join(page(totals, True))
    titles = {said.title_of(part.session.title) for part in parts}
    for part in parts:
        id = part.session.session
        for at in [match.start() for match in re.finditer(re.escape(id[:7]), markup)]:
            before = markup[max(0, at - 400) : at]
            assert any(title in before for title in titles), markup[at - 100 : at + 60]
    assert "Make rule 117 give 0.883" in markup


def test_every_table_names_its_columns_and_its_rows(totals: Totals) -> None:
    markup = "".join(page(totals, True))
    tables = re.findall(r"<table>.*?</table>", markup, re.DOTALL)
    assert len(tables) > 20
    for table in tables:
        heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
        assert all(heads), table[:300]
        for row in re.findall(r"<tr[^>]*>(<t[hd].*?)</tr>", table.partition("<tbody>")[2], re.DOTALL):
            assert row.startswith('<th scope="row">')


def _results(course: context.Course, point: context.Point) -> int:
    rest = ("instructions", "conversation")
    return sum(value for band, value in zip(context.BANDS, point.values, strict=True) if band not in rest)


def test_the_context_is_the_results_that_requests_carried(parts: list[Audited]) -> None:
    """Over all requests of a session they are what its results cost in all requests."""
    compacted = 0
    for part in parts:
        course, _ = course_of(part)
        assert [point.at for point in course.points] == list(range(1, len(part.turns) + 1))
        carried = sum(_results(course, point) for point in course.points)
        assert sum(point.compactions for point in course.points) <= part.session.compactions
        if not part.session.compactions:
            assert carried == part.session.carried_tokens
            continue
        compacted += 1
        summaries = sum(call.tokens for call in part.calls)  # the request for a summary is no answer
        assert 0 <= part.session.carried_tokens - carried <= summaries * part.session.compactions
        for before, point in zip(course.points, course.points[1:], strict=False):
            if point.compactions:
                assert _results(course, point) < _results(course, before)
    assert compacted


def test_with_the_recorded_input_the_context_is_whole(parts: list[Audited]) -> None:
    """The bands are as much as the client says that a request had, or else the results that are counted."""
    for part in parts:
        course, _ = course_of(part)
        for point, turn in zip(course.points, part.turns, strict=True):
            recorded = turn.input_tokens + turn.cache_read_tokens + turn.cache_write_tokens
            assert point.tokens == max(recorded, _results(course, point))


def _long(turns: int, name: str = "s") -> Audited:
    """A session whose every request reads a file, and of which each hundredth is compacted."""
    rows = [Turn(name, at, (at - 1) // 100, "", "m", 1) for at in range(1, turns + 1)]
    calls = [
        Call(name, at, f"t{at}", at, (at - 1) // 100, "Read", "", "read", f"src/{at % 50}.py", "{}", "",
             answered=True, tokens=at, sent_in_requests=max(0, min(turns, -(-at // 100) * 100) - at))
        for at in range(1, turns + 1)
    ]  # fmt: skip
    session = Session(name, "r.jsonl", "A Client", title="A long one", compactions=(turns - 1) // 100)
    return Audited(summed(session, rows, calls), rows, calls, [], [])


def test_thousands_of_calls_are_grouped_and_the_largest_of_each_group_is_shown() -> None:
    part = _long(5_000)
    course, _ = course_of(part)
    assert len(course.points) <= context.MOST_POINTS
    assert sum(point.compactions for point in course.points) == part.session.compactions
    assert [point.last + 1 for point in course.points[:-1]] == [point.first for point in course.points[1:]]
    largest = max(point.tokens for point in course.points)
    assert largest == sum(range(4_901, 5_000))
    totals = Totals()
    for number in range(COURSES_DRAWN + 2):
        totals.add(replace_name(part, f"s{number}"))
    markup = "".join(page(totals, False))
    assert markup.count('<svg class="course"') == COURSES_DRAWN
    assert markup.count(">from request") <= COURSES_DRAWN * CALLS_LISTED
    assert len(markup) < 4_000_000


def replace_name(part: Audited, name: str) -> Audited:
    return Audited(replace(part.session, session=name), part.turns, part.calls, part.lines, part.findings)


def test_a_point_leads_to_its_numbers_and_these_to_calls_with_their_lines(totals: Totals) -> None:
    markup = "".join(page(totals, True))
    ids = set(re.findall(r' id="([^"]*)"', markup))
    links = set(re.findall(r'href="#([^"]*)"', markup))
    assert links <= ids
    assert len(ids) == len(re.findall(r' id="[^"]*"', markup))
    assert len([link for link in links if re.fullmatch(r"c\d+-\d+", link)]) > 50
    called = markup.partition('id="c1-1-calls"')[2].partition("</table>")[0]
    assert re.search(r"<code>app/pricing\.py:\d+-\d+</code>", called)


@each(
    "command",
    [
        "mysql -pkX9mQ2v7Lp-4tz shop", "curl -u ada:hunter2 https://x.example", "login --password=hunter2",
        "export API_KEY=abcdef1234567890", "git clone https://ada:hunter2@x.example/r", "psql -p hunter2",
        "deploy --token hunter2", "echo AKIAIOSFODNN7EXAMPLQ", "SERVICE_PASSWORD='kX9mQ2v7Lp-4tz' make",
        "ssh d41d8cd98f00b204e9800998ecf8427e",
    ],
)  # fmt: skip
def test_no_command_with_a_secret_is_on_the_page(command: str, tmp_path: Path, cli: Cli) -> None:
    """The words of a command line are shown only if none may be a secret."""
    rows = [called(1, "Bash", {"command": command}), returned(1, "ok"), ended("so")]
    out = tmp_path / "page.html"
    cli.bare("audit", str(record(tmp_path / "r.jsonl", rows)), "--html", str(out))
    markup = out.read_text(encoding="utf-8")
    for secret in ("hunter2", "kX9mQ", "abcdef1234567890", "AKIAIOS", "d41d8cd98"):
        assert secret not in markup
    assert "Bash" in markup


def test_a_harmless_command_is_found(tmp_path: Path, cli: Cli) -> None:
    rows = [called(1, "Bash", {"command": "pytest -q tests/test_prices.py"}), returned(1, "ok"), ended("so")]
    out = tmp_path / "page.html"
    path = record(tmp_path / "r.jsonl", rows)
    cli.bare("audit", str(path), "--html", str(out))
    assert "pytest -q tests/test_prices.py" in out.read_text(encoding="utf-8")
    cli.bare("audit", str(path), "--html", str(out), "--force", "--no-secrets")
    assert "pytest -q" not in out.read_text(encoding="utf-8")


@needs_chromium
def test_a_search_finds_sessions_by_files_commands_and_findings(totals: Totals, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("".join(page(totals, True)), encoding="utf-8")
    with chromium() as browser:
        shown = browser.new_page()
        shown.goto(file.as_uri())
        rows = shown.locator("#sessions ~ div tbody tr").count()
        box = shown.get_by_label("Search sessions")
        for words, some in (
            ("app/pricing.py", True), ("PRICING qwen", True), ("error lines in the truncated", True),
            ("nothing-has-this", False), ("", True),
        ):  # fmt: skip
            box.fill(words)
            found = shown.locator("#sessions ~ div tbody tr:visible").count()
            assert (found > 0) is some, words
            assert found < rows or words in ("", "app/pricing.py")
        box.fill("app/pricing.py")
        assert "app/pricing.py" in str(shown.locator(".why").first.text_content())
        box.fill("")
        assert shown.locator("#sessions ~ div tbody tr:visible").count() == rows
        shown.locator("svg.course a").nth(3).evaluate("link => link.dispatchEvent(new MouseEvent('click'))")
        shown.evaluate("location.hash = document.querySelector('svg.course a').getAttribute('href')")
        assert shown.locator("tr:target").is_visible()


def test_the_page_is_whole_without_its_script(totals: Totals, tmp_path: Path) -> None:
    """The search is hidden until there is one, and nothing else needs it."""
    markup = "".join(page(totals, True))
    assert '<div class="search" role="search" hidden>' in markup
    before = markup.partition("<script>")[0]
    assert before.rstrip().endswith("</main>")
