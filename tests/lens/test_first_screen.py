"""`readroom audit` without arguments: sessions of this machine, money, habits, secrets once each."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from readroom.cli.exits import ExitCode
from readroom.core.rows import FINDINGS, Finding
from readroom.lens.findings.secrets import SecretScanner, mark_of
from readroom.lens.money import Above, PriceList, Prices, plain_name, price_list
from readroom.lens.normal_form import Session, Turn
from readroom.lens.records import VARIABLES, of_folder, records
from readroom.lens.report import Totals
from readroom.lens.report.habits import HABITS, setting
from readroom.lens.report.screen import columns, screen
from readroom.lens.sessions import Audited, summed
from tests.cli.running import Cli
from tests.each import each
from tests.lens.ground_truth import unpacked
from tests.lens.making import called, record, returned, said

PLACES = {
    "claude-code": ("claude", ".claude"),
    "codex": ("codex", ".codex"),
    "gemini-cli": ("gemini", ".gemini"),
    "qwen-code": ("qwen", ".qwen"),
    "copilot-cli": ("copilot", ".copilot"),
    "pi": ("pi", ".pi"),
    "kilo": ("local", ".local"),
    "opencode": ("local", ".local"),
    "continue": ("continue", ".continue"),
    "cline": ("cline", ".cline"),
}
"""The folder of each client in the recorded sessions, and below a person's home."""

SECRET = "SERVICE_PASSWORD = 'kX9mQ2v7Lp-4tz'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a person who uses several clients."""
    home = tmp_path / "home"
    home.mkdir()
    for name in set(VARIABLES) - {"PWD"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    return home


def _with_records(home: Path, tmp_path: Path, *names: str) -> None:
    for name in names:
        client = name.partition("/")[0]
        unpacked(name, tmp_path / "unpacked")
        source, target = PLACES[client]
        shutil.copytree(tmp_path / "unpacked" / name / source, home / target, dirs_exist_ok=True)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


def test_every_client_is_found_where_it_keeps_its_sessions(home: Path, tmp_path: Path, cli: Cli) -> None:
    """Records of the machine, and of one folder; nothing next to a record is taken for one."""
    _with_records(home, tmp_path, *(f"{client}/tools" for client in PLACES))
    beside = next((home / ".copilot" / "session-state").iterdir()) / "rewind-file-snapshots"
    beside.mkdir()
    (beside / "tracking.json").write_text("{}")
    (home / ".local/share/kilo/storage").mkdir()
    (home / ".local/share/kilo/storage/migration.json").write_text("1")
    done = cli.bare("audit", "--all", "--json")
    assert done.code == ExitCode.OK, done.err
    told = json.loads(done.out)
    assert len(told["sessions"]) == len(PLACES)
    assert not told.get("skipped")
    assert len(list(records(of_folder(["/home/dev/shop"], home, {})))) == len(PLACES)


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_screen_has_money_habits_secrets_and_what_was_lost(
    width: int, home: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_records(home, tmp_path, "claude-code/tools", "codex/long", "gemini-cli/tools", "qwen-code/tools")
    monkeypatch.setenv("COLUMNS", str(width))
    done = cli.bare("audit", "--all")
    assert done.code == ExitCode.OK, done.err
    assert max(map(len, done.out.split("\n"))) <= width
    for words in (
        "~/.claude/projects: 1 record", "~/.gemini/tmp: 1 record", "not there: ", "claude-sonnet-4-5",
        "$3.87", "unknown", "/home/dev/shop", "2026-11-2", "in all", "Prices of 20", "Make rule 117",
        "1. Whole files read for a few lines", "BASH_MAX_OUTPUT_LENGTH", "readroom: read_file",
        "Secrets to rotate: 5", "password in an address in .env:2", "lost error lines", "check 0811 FAILED",
        "--details",
    ):  # fmt: skip
        assert words in done.out, words
    assert "correct-horse" not in done.out
    assert "tool   " not in done.out


def test_details_follow_where_they_are_asked_for(home: Path, tmp_path: Path, cli: Cli) -> None:
    _with_records(home, tmp_path, "codex/tools")
    out = cli.bare("audit", "--all", "--details").out
    assert "exec_command" in out
    assert "repeated: unchanged lines" in out
    assert "--details" not in out


def test_a_machine_without_sessions_is_told_where_was_looked(home: Path, cli: Cli) -> None:
    done = cli.bare("audit")
    assert done.code == ExitCode.NOTHING_FOUND
    assert "~/.claude/projects" in done.err
    assert "No sessions since" in done.err
    assert "input" not in done.out


def _answer(
    number: int, time: str, *, read: int = 1000, out: int = 10, model: str = "gpt-5"
) -> dict[str, Any]:
    usage = {"input_tokens": read, "output_tokens": out, "cache_read_input_tokens": 0}
    message = {"id": f"m{number}", "role": "assistant", "model": model, "usage": usage, "content": []}
    head = {"sessionId": "s1", "cwd": "/home/dev/shop", "version": "9", "timestamp": time}
    return {"type": "assistant", "uuid": f"a{number}", **head, "message": message}


def test_days_are_cut_by_answers_and_not_by_sessions(tmp_path: Path, cli: Cli) -> None:
    """A session of three days is in each of them with what it used there."""
    times = [f"2026-03-0{day}T12:00:00Z" for day in (1, 2, 3)]
    path = record(tmp_path / "r.jsonl", [_answer(at, time, read=10**at) for at, time in enumerate(times, 1)])

    def days(*arguments: str) -> dict[str, int]:
        done = cli.bare("audit", str(path), "--json", *arguments)
        return {day: bill["input_tokens"] for day, bill in json.loads(done.out)["days"].items()}

    assert days() == {"2026-03-01": 10, "2026-03-02": 100, "2026-03-03": 1000}
    assert days("--since", "2026-03-02") == {"2026-03-02": 100, "2026-03-03": 1000}
    assert days("--until", "2026-03-02") == {"2026-03-01": 10, "2026-03-02": 100}
    assert days("--since", "2026-03-02", "--until", "2026-03-02") == {"2026-03-02": 100}
    assert days("--since", "2026-03-04") == {}


@each("value", ["yesterdayish", "7", "2026-13-01", "-3d", "99999999d"])
def test_what_is_no_time_is_refused(value: str, cli: Cli, tmp_path: Path) -> None:
    done = cli.bare("audit", str(tmp_path), f"--since={value}")
    assert done.code == ExitCode.USAGE
    assert "is not a time" in done.err


def test_records_that_were_not_written_since_are_not_read(home: Path, tmp_path: Path, cli: Cli) -> None:
    _with_records(home, tmp_path, "codex/tools", "claude-code/tools")
    (old,) = (home / ".claude").rglob("*.jsonl")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    out = cli.bare("audit", "--since", "2026-11-01").out
    assert "~/.claude/projects: 0 records" in out
    assert "~/.codex/sessions: 1 record" in out


@each(
    ("project", "found"),
    [
        ("shop", True), ("/home/dev/shop", True), ("/home/dev", True), ("dev", True), ("hop", False),
        ("/home/de", False), ("/home/dev/shop/app", False),
    ],
)  # fmt: skip
def test_a_project_is_a_folder_or_its_name(project: str, found: bool, tmp_path: Path, cli: Cli) -> None:
    path = record(tmp_path / "r.jsonl", [_answer(1, "2026-03-01T00:00:00Z")])
    done = cli.bare("audit", str(path), "--project", project, "--json")
    assert bool(json.loads(done.out)["sessions"]) is found


@each(
    ("name", "plain"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("claude-opus-4-5[1m]", "claude-opus-4-5"),
        ("openai/gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("gpt-5-mini", "gpt-5-mini"),
    ],
)
def test_a_model_has_its_price_under_every_name(name: str, plain: str) -> None:
    """Its row in the table of models is that of the price as well."""
    assert plain_name(name) == price_list(None).name(name) == plain
    assert price_list(None).of(name) is not None


@each(
    "name", ["gpt-5-of-mine", "claude-sonnet-4-5-tuned", "fake-model", "", "gpt", "claude", "local/llama:8b"]
)
def test_a_model_without_a_price_is_not_given_that_of_another(name: str) -> None:
    assert price_list(None).of(name) is None
    assert price_list(None).name(name) == name


def test_cached_input_is_apart_and_long_requests_cost_their_own() -> None:
    prices = PriceList({"m": Prices(2.0, 10.0, 0.5, 2.5, (Above(1000, input=4.0, output=20.0),))})

    def cost(read: int, out: int, cached: int = 0, written: int = 0) -> float | None:
        turn = Turn(
            "s", 1, 0, input_tokens=read, output_tokens=out, cache_read_tokens=cached,
            cache_write_tokens=written,
        )  # fmt: skip
        return prices.cost(turn, "m")

    assert cost(100, 10) == pytest.approx(300e-6)
    assert cost(0, 0, 100) == pytest.approx(50e-6)
    assert cost(0, 0, 0, 100) == pytest.approx(250e-6)
    assert cost(1001, 1) == pytest.approx((4004 + 20) * 1e-6)
    assert cost(501, 1, 500) == pytest.approx((4 * 501 + 0.5 * 500 + 20) * 1e-6)
    bare = PriceList({"m": Prices(2.0, 10.0)})
    assert bare.cost(Turn("s", 1, 0, cache_read_tokens=100), "m") == pytest.approx(200e-6)


def test_unknown_stays_unknown_until_the_operator_names_a_price(tmp_path: Path, cli: Cli) -> None:
    path = record(tmp_path / "r.jsonl", [_answer(1, "2026-03-01T00:00:00Z", model="house-model-1")])
    out = cli.bare("audit", str(path)).out
    assert "unknown" in out
    assert "$" not in out
    own = tmp_path / "prices.json"
    own.write_text('{"dated": "2026-02-01", "models": {"House-Model-1": {"input": 500, "output": 0}}}')
    out = cli.bare("audit", str(path), "--prices", str(own)).out
    assert "$0.50" in out
    assert "Prices of 2026-02-01" in out
    own.write_text('{"models": {"m": {"input": "free"}}}')
    assert cli.bare("audit", str(path), "--prices", str(own)).code == ExitCode.USAGE


def _prompted(text: str) -> dict[str, Any]:
    head = {"sessionId": "s1", "cwd": "/w", "version": "9", "timestamp": "2026-01-01T00:00:00Z"}
    return {"type": "user", "uuid": "p1", **head, "message": {"role": "user", "content": text}}


def test_a_session_is_named_by_its_first_prompt_unless_that_holds_a_secret(tmp_path: Path, cli: Cli) -> None:
    for text, title in (
        ("Mend the\n rounding   of prices", "Mend the rounding of prices"),
        (f"use {SECRET}", ""),
        ("<command-name>/clear</command-name>", ""),
        ("x" * 500, "x" * 100),
    ):
        path = record(tmp_path / "r.jsonl", [_prompted(text), _answer(1, "2026-03-01T00:00:00Z")])
        (session,) = json.loads(cli.bare("audit", str(path), "--json").out)["sessions"]
        assert session["title"] == title


def test_a_secret_is_to_be_rotated_once(tmp_path: Path, cli: Cli) -> None:
    """Wherever it was read, however it was written, in any session; another one is another."""
    lines = {"a.py": SECRET, "b.yaml": SECRET.replace(" = ", ": "), "c.env": SECRET.replace("'", '"')}
    for number, (file, line) in enumerate(lines.items(), 1):
        entries = [called(1, "Read", {"file_path": file}), returned(1, f"7\t{line}"), said("so")]
        text = "\n".join(map(json.dumps, entries)).replace('"s1"', f'"s{number}"')
        (tmp_path / f"{number}.jsonl").write_text(text.replace("2026-01-01T00", f"2026-01-0{number}T12"))
    other = SECRET.replace("kX9", "kX8")
    entries = [called(1, "Bash", {"command": "make"}), returned(1, other), said("so")]
    (tmp_path / "9.jsonl").write_text("\n".join(map(json.dumps, entries)).replace('"s1"', '"s9"'))
    out = cli.bare("audit", str(tmp_path), "--json").out
    one, two = json.loads(out)["secrets"]
    assert (one["places"], one["times"]) == (["a.py:7", "b.yaml:7", "c.env:7"], 3)
    assert (one["first"], one["last"]) == ("2026-01-01", "2026-01-03")
    assert (two["places"], two["times"]) == ([], 1)
    screen = cli.bare("audit", str(tmp_path)).out
    assert "Secrets to rotate: 2" in screen
    assert "no certain place" in screen
    assert "kX9mQ" not in screen + out


def test_secrets_at_one_place_in_two_projects_are_told_apart(tmp_path: Path, cli: Cli) -> None:
    for day, project in enumerate(("shop", "bakery"), 1):
        line = SECRET.replace("kX9", f"kX{day}")
        entries = [called(day, "Read", {"file_path": "a.py"}), returned(day, f"7\t{line}"), said("so")]
        text = "\n".join(map(json.dumps, entries)).replace("/home/dev/shop", f"/w/{project}")
        text = text.replace('"s1"', f'"{project}"').replace("2026-01-01T00", f"2026-01-0{day}T12")
        (tmp_path / f"{project}.jsonl").write_text(text)
    screen = cli.bare("audit", str(tmp_path)).out
    assert "a.py:7 (/w/shop)" in screen
    assert "a.py:7 (/w/bakery)" in screen


def test_a_mark_is_the_same_for_the_same_secret_and_does_not_tell_it() -> None:
    scanner = SecretScanner()
    marks = {scanner.found("a.py", line).mark for line in (SECRET, f"    {SECRET}  # here", f"x; {SECRET}")}
    assert marks == {mark_of("kX9mQ2v7Lp-4tz")}
    assert len({mark_of(f"secret-{number}") for number in range(500)}) == 500
    assert all(len(mark) == 8 for mark in marks)


def test_every_habit_has_advice_and_something_that_ends_it_in_any_client() -> None:
    assert HABITS.keys() <= FINDINGS.keys()
    for kind, habit in HABITS.items():
        assert habit.advice.endswith(".")
        assert setting(kind, ["a client nobody knows"]) == habit.tool
        for client, own in habit.settings.items():
            assert setting(kind, ["unknown", client]).startswith(f"{client}: {own}; ")


def test_a_time_ago_is_counted_from_now() -> None:
    from readroom.lens.wanted import moment

    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert [moment("--since", text, now).day for text in ("7d", "1w", "24h")] == [3, 3, 9]


@pytest.mark.parametrize("width", [20, 80, 120, 500])
def test_no_text_of_a_record_breaks_the_screen(width: int) -> None:
    """Control characters, scripts that are wide, huge numbers and impossible times."""
    bad = [
        "\x1b[2J",
        "\u202egpj",
        "a\nb",
        "\r",
        "\x00",
        "\u5b57" * 90,
        "x" * 500,
        "",
        "\ud800",
        "e\u0301" * 90,
    ]
    totals = Totals()
    for number in range(60):
        text = bad[number % len(bad)] + str(number % 3)
        times = ["2026-01-01T12:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "x", ""]
        turns = [
            Turn(f"s{number}", at, 0, time, text, 0, 10 ** (3 * at), 5, cost=1e11 if number % 2 else 0.0)
            for at, time in enumerate(times, 1)
        ]
        found = [Finding("", kind, 1, 1, text, 1, 2, 3, 10**12, text, text, text[-1]) for kind in FINDINGS]
        session = Session(f"s{number}{text}", "r", text, folder=text, title=text)
        totals.add(Audited(summed(session, turns, []), turns, [], [], found))
    shown = screen(totals, width, True)
    assert max(map(columns, shown.split("\n"))) <= max(72, min(120, width))
    assert not {*"\x1b\x00\r\u202e"} & {*shown}
    rows = [line for line in shown.split("\n") if line.endswith("+")]
    assert len({columns(line) for line in rows}) == 1
