"""readroom review: what waits, shown, accepted and rejected from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Cli, Done


@pytest.fixture(autouse=True)
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = tmp_path / "operator.toml"
    found.write_text("[history]\nreview = true\n")
    return found


@pytest.fixture
def agent(cli: Cli, operator: Path) -> None:
    """An agent's changes, which wait."""
    for tool, arguments in (
        ("write_file", {"path": "new.txt", "content": "new\n", "expected_hash": "absent"}),
        ("change_files", {"changes": [{"action": "move", "path": "src", "to": "lib", "entries": 2}]}),
    ):
        done = cli("call", tool, json.dumps(arguments), "--session", "talk", "--config", str(operator))
        assert done.code == 0, done.out + done.err


def review(cli: Cli, operator: Path, *arguments: str) -> Done:
    return cli("review", *arguments, "--config", str(operator))


def test_nothing_waits_at_first(cli: Cli, operator: Path) -> None:
    done = review(cli, operator)
    assert (done.code, done.out) == (1, "Nothing waits.\n")


def test_it_says_where_it_is_turned_on(cli: Cli) -> None:
    done = cli("review")
    assert done.code == 5
    assert "review = true" in done.err


@pytest.mark.usefixtures("agent")
def test_a_set_is_listed_shown_and_accepted(cli: Cli, operator: Path, root: Path) -> None:
    listed = review(cli, operator)
    assert listed.code == 0
    assert "talk" in listed.out
    (one,) = json.loads(review(cli, operator, "list", "--json").out)["sets"]
    shown = review(cli, operator, "show", one["id"])
    assert "created new.txt\n" in shown.out
    assert "+new\n" in shown.out
    assert "moved src/ -> lib/ and 2 more in it" in shown.out
    assert not (root / "new.txt").exists()
    assert review(cli, operator, "accept", one["id"]).code == 0
    assert (root / "new.txt").read_text() == "new\n"
    assert (root / "lib/main.py").exists()
    assert not (root / "src").exists()
    assert review(cli, operator).code == 1


@pytest.mark.usefixtures("agent")
def test_a_part_is_accepted_and_the_rest_rejected(cli: Cli, operator: Path, root: Path) -> None:
    (one,) = json.loads(review(cli, operator, "--json").out)["sets"]
    accepted = review(cli, operator, "accept", one["id"][:5], "new.txt")
    assert accepted.code == 0, accepted.err
    assert "[1 change accepted, 1 left waiting]" in accepted.out
    assert (root / "src").exists()
    rejected = review(cli, operator, "reject", one["id"], "--json")
    assert [row["path"] for row in json.loads(rejected.out)["changes"]] == ["lib"]
    assert (root / "src").exists()


@pytest.mark.usefixtures("agent")
def test_what_no_longer_fits_is_shown_and_refused(cli: Cli, operator: Path, root: Path) -> None:
    (root / "new.txt").write_text("a person's\n")
    shown = review(cli, operator, "show")
    assert "created new.txt | no longer fits: it was changed since" in shown.out.replace(
        "changed new", "created new"
    )
    (one,) = json.loads(review(cli, operator, "--json").out)["sets"]
    refused = review(cli, operator, "accept", one["id"])
    assert refused.code == 5
    assert "no longer fit" in refused.err
    assert (root / "src").exists()
    assert (root / "new.txt").read_text() == "a person's\n"


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    "words", [("accept", "ffff"), ("accept", "new.txt"), ("reject", "0", "new.txt"), ("accept", "../..")]
)
def test_a_set_has_to_be_named_rightly(cli: Cli, operator: Path, root: Path, words: tuple[str, ...]) -> None:
    done = review(cli, operator, *words)
    assert done.code == 4
    assert not (root / "new.txt").exists()
    assert review(cli, operator).code == 0


@pytest.mark.usefixtures("agent")
def test_people_at_the_command_line_see_the_files_as_they_are(cli: Cli, operator: Path) -> None:
    assert cli("read", "new.txt", "--config", str(operator)).code == 4
    assert "src/main.py" in cli("ls", "--depth", "2", "--config", str(operator)).out
