"""What a person at a shell meets: commands to paste, short ways, several paths, hints, colours."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.cli.output import painted, visible
from tests.cli.running import COMMAND, Cli, Done, run
from tests.suites import daily

_ADVISED = re.compile(r"(?:Next|Before): (readroom [^\n]*)\]$")


def follow(cli: Cli, done: Done) -> Done | None:
    """The command that the last line of a reply names, run as a shell would run it."""
    last = done.out.rstrip("\n").rpartition("\n")[2]
    found = _ADVISED.search(last)
    return None if found is None else cli.bare(*shlex.split(found[1])[1:])


@daily(
    1,
    "line",
    [
        ("read", "many lines.txt", "--limit", "40"),
        ("read", "-dash.txt", "--limit", "40"),
        ("grep", "row", "--limit", "30"),
        ("grep", "it's", "--limit", "1", "--glob", "*.txt"),
        ("ls", ".", "--limit", "2"),
    ],
)
def test_the_next_step_of_a_reply_is_a_command_that_works_when_pasted(
    cli: Cli, root: Path, line: tuple[str, ...]
) -> None:
    for name in ("many lines.txt", "-dash.txt"):
        (root / name).write_text("".join(f"row {n} it's\n" for n in range(100)), encoding="utf-8")
    options = ("--", *line[1:2], *line[2:]) if line[1].startswith("-") else line[1:]
    first = cli(line[0], *line[2:], "--", line[1]) if line[1].startswith("-") else cli(line[0], *options)
    assert "{" not in first.out.rpartition("[")[2]
    pages = [first]
    while (page := follow(cli, pages[-1])) is not None:
        assert (page.code, page.err) == (0, "")
        pages.append(page)
    assert len(pages) > 2
    seen = [row for page in pages for row in page.out.split("\n")[1:] if "\t" in row]
    assert len(seen) == len(set(seen)) >= 3 or line[0] == "grep"


def test_a_call_beside_the_next_one_is_a_command_that_works_when_pasted(cli: Cli, root: Path) -> None:
    body = "".join(f"    zebra = compute({number})  # giraffe\n" for number in range(200))
    (root / "it's long.py").write_text("def page():\n" + body, encoding="utf-8")
    first = cli("find", "zebra giraffe", "--budget-tokens", "300")
    second = follow(cli, first)
    assert second is not None
    beside = re.search(r"Outlines now show more than further pages \((readroom find [^()]*)\)\.", second.out)
    assert beside is not None
    done = cli.bare(*shlex.split(beside[1])[1:])
    assert (done.code, done.err) == (0, "")
    assert "signature" in done.out.split("\n")[0]


def test_the_result_for_programs_still_names_tools(cli: Cli, root: Path) -> None:
    (root / "rows").write_text("row\n" * 9, encoding="utf-8")
    done = cli("read", "rows", "--limit", "2", "--json")
    assert 'Next: read_file {"path":"rows"' in done.result["content"][0]["text"]


def test_a_change_without_a_hash_names_the_option_and_the_hash_of_now(cli: Cli, root: Path) -> None:
    for line in (
        ["edit", "README.md", "--old", "needle", "--new", "pin"],
        ["write", "README.md", "--content", "x"],
    ):
        refused = cli(*line)
        assert (refused.code, refused.out) == (2, "")
        advised = re.search(r"add `--expected-hash ([0-9a-f]{12})`, or `--now`", refused.err)
        assert advised is not None
        assert cli(*line, "--expected-hash", advised[1]).code == 0


def test_now_changes_the_file_as_it_is(cli: Cli, root: Path) -> None:
    assert cli("edit", "README.md", "--old", "needle", "--new", "pin", "--now").code == 0
    assert (root / "README.md").read_text(encoding="utf-8") == "# Title\npin\nthird\n"
    assert cli("write", "README.md", "--content", "all new", "--now").code == 0
    assert (root / "README.md").read_text(encoding="utf-8") == "all new"


def test_new_only_creates(cli: Cli, root: Path) -> None:
    missing = cli("write", "new/f", "--content", "x")
    assert missing.code == 2
    assert "`--new`" in missing.err
    assert cli("write", "new/f", "--content", "x", "--new").code == 0
    assert cli("write", "new/f", "--content", "y", "--new").code == 5
    assert (root / "new/f").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["write", "f", "--content", "x", "--new", "--now"], 2, "both given"),
        (["write", "none", "--content", "x", "--now"], 4, "no file"),
        (["edit", "none", "--old", "x", "--new", "y", "--now"], 4, "no file"),
        (["edit", "none", "--old", "x", "--new", "y"], 4, "no file"),
        (["edit", ".env", "--old", "SECRET", "--new", "y", "--now"], 3, "denied"),
        (["write", ".env", "--content", "y"], 3, "denied"),
        (["edit", ".env", "--old", "SECRET", "--new", "y"], 3, "denied"),
    ],
)
def test_short_ways_open_no_door(cli: Cli, root: Path, line: list[str], code: int, said: str) -> None:
    done = cli(*line)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert (root / ".env").read_text(encoding="utf-8") == "SECRET=canary\n"


def test_several_paths_are_answered_one_below_the_other(cli: Cli) -> None:
    done = cli("read", "README.md", "src/main.py")
    assert done.code == 0
    assert re.findall(r"^(\S+) \| lines", done.out, re.MULTILINE) == ["README.md", "src/main.py"]
    listed = cli("ls", "src", "empty")
    assert (listed.code, listed.out.count("\n\n")) == (0, 1)
    rows = cli("read", "README.md", "src/main.py", "--json").out.splitlines()
    assert len(rows) == 2


def test_one_path_that_fails_stops_no_other_and_decides_the_code(cli: Cli) -> None:
    done = cli("grep", "needle", "none", ".env", "README.md")
    assert done.code == 4
    assert "2\tneedle" in done.out
    assert done.err.count("readroom: ") == 2
    assert cli("grep", "absent-word", "README.md", "src").code == 1
    assert cli("grep", "needle", "empty", "README.md").code == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["raed", "README.md"], "Did you mean 'read'?"),
        (["gerp", "x"], "'grep'"),
        (["read", "--ofset", "3", "README.md"], "--offset"),
    ],
)
def test_misspelt_words_get_the_right_one(cli: Cli, line: list[str], said: str) -> None:
    done = cli.bare(*line)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_options_before_the_command_get_the_line_that_works(cli: Cli) -> None:
    done = cli.bare("--root", cli.root, "read", "README.md", "--limit", "1")
    assert done.code == 2
    advised = re.search(r"Options come after the command: (readroom .*)", done.err)
    assert advised is not None
    assert cli.bare(*shlex.split(advised[1])[1:]).out.startswith("README.md | lines 1-1 of 3")
    assert "Name a command first" in cli.bare("--root", cli.root).err


def test_the_ledger_says_which_folder_a_call_was_in(tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "two"]
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[ledger]\nenabled = true\nfile = "{tmp_path}/ledger.sqlite3"\n', encoding="utf-8")
    for place in places:
        place.mkdir()
        (place / "f").write_text("x\n", encoding="utf-8")
        call = ["call", "read_file", '{"path":"f"}', "--root", str(place), "--config", str(settings)]
        assert run(*call, cwd=tmp_path).returncode == 0
    shown = ["ledger", "--file", str(tmp_path / "ledger.sqlite3")]
    every = run(*shown, cwd=tmp_path).stdout.decode()
    assert " folder " in every.split("\n")[0]
    assert all(place.name in every for place in places)
    here = run(*shown, "--workspace", ".", cwd=places[0]).stdout.decode()
    assert "/one " in here
    assert "/two " not in here
    sums = run(*shown[:1], "totals", *shown[1:], "--by", "workspace", cwd=tmp_path).stdout.decode()
    assert sums.count("  1  ") >= 2


def on_terminal(root: Path, *arguments: str, **environment: str) -> str:
    """What a person's terminal receives."""
    ours, theirs = pty.openpty()
    kept = {"PATH": os.environ["PATH"], "HOME": str(root), "TERM": "xterm-256color", **environment}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=root, stdin=theirs, stdout=theirs, stderr=theirs, env=kept
    ) as process:
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 65536):
                pieces.append(piece)
        except OSError:  # how Linux says that the other side has closed
            pass
        finally:
            os.close(ours)
        assert process.wait(60) == 0
    return b"".join(pieces).decode().replace("\r\n", "\n")


def test_matches_and_code_have_colours_on_a_terminal(root: Path) -> None:
    assert "\x1b[1;31mneedle\x1b[0m" in on_terminal(root, "grep", "ne+dle", "README.md")
    assert "\x1b[1;31mNEE\x1b[0m" not in on_terminal(root, "grep", "needle", "README.md")
    code = on_terminal(root, "read", "src/main.py")
    assert re.search(r"\x1b\[[0-9;]+mdef\x1b\[0m", code)
    assert re.search(r"\x1b\[[0-9;]+mneedle\x1b\[0m", code)
    plain = on_terminal(root, "read", "src/main.py", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m|\x1b\[[0-9;]*9[0-9]m", plain)


def test_what_is_piped_has_no_colour(root: Path) -> None:
    for line in (["grep", "needle"], ["read", "src/main.py"]):
        assert b"\x1b" not in run(*line, cwd=root).stdout


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20), max_size=6),
    st.sampled_from(
        [{"path": "a.py"}, {"path": "a.html"}, {"path": "x"}, {"pattern": "a|b"}, {"pattern": "["}]
    ),
)
def test_colours_add_and_move_no_character(lines: list[str], arguments: dict[str, str]) -> None:
    text = "\n".join(["head", *(f"{at}\t{line}" for at, line in enumerate(lines)), "[end of file]"])
    assert painted(visible(text), arguments).plain == visible(text)


def test_a_name_in_several_classes_is_listed_with_the_names_to_type(root: Path, cli: Cli) -> None:
    text = "class A:\n    def run(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n"
    (root / "a.py").write_text(text, encoding="utf-8")
    refused = cli("read", "a.py", "--symbol", "run").err
    assert "\n2-3 A.run: def run(self)\n7-8 B.run: def run(self)\n" in refused
    assert cli("read", "a.py", "--symbol", "B.run").code == 0
