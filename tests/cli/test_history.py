"""history, diff and undo as commands: what they print, what they ask, and that every hint works."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from readroom.cli.exits import ExitCode
from tests.cli.running import COMMAND, Cli, Done
from tests.each import each

README = "# Title\nneedle\nthird\n"


def edit(cli: Cli, old: str, new: str, path: str = "README.md") -> None:
    assert cli("edit", path, "--now", "--old", old, "--new", new).code == ExitCode.OK


def forget(cli: Cli, what: str) -> Done:
    return cli("history", "forget", what)


def changes(cli: Cli, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("history", "--json", *options).facts["changes"]
    return found


def text(cli: Cli, path: str = "README.md") -> str:
    return Path(cli.root, path).read_text(encoding="utf-8")


def test_a_change_is_listed_with_who_when_and_its_lines(cli: Cli) -> None:
    empty = cli("history")
    assert (empty.code, empty.out.split("\n")[0]) == (ExitCode.NOTHING_FOUND, "no changes")
    edit(cli, "needle", "pin")
    assert cli("rm", "src/main.py", "--now").code == ExitCode.OK
    done = cli("history")
    assert done.code == ExitCode.OK
    heads, newest, oldest, _ = done.out.rstrip("\n").split("\n")
    assert heads.split() == ["change", "time", "(UTC)", "who", "session", "tool", "files"]
    assert newest.endswith(" src/main.py")
    assert "change_files  deleted" in newest
    assert oldest.endswith("edit_file     changed +1 -1 README.md")
    assert "cli" in oldest.split()
    assert [change["change"] for change in changes(cli)] == [int(row.split()[0]) for row in (newest, oldest)]
    assert len(changes(cli, "src")) == 1
    assert len(changes(cli, "--since", "5m")) == 2
    assert cli("history", "--since", "2099-01-01").code == ExitCode.NOTHING_FOUND
    assert len(changes(cli, "--limit", "1")) == 1


def test_a_diff_and_an_undo_that_can_be_undone(cli: Cli) -> None:
    edit(cli, "needle", "pin")
    number = str(changes(cli)[0]["change"])
    shown = cli("diff", number)
    assert "-needle\n+pin\n" in shown.out
    assert cli("diff", number, "README.md").out == shown.out
    assert cli("diff", number, "src").code == ExitCode.NOT_FOUND
    plan = cli("undo", number, "--dry-run")
    assert (plan.code, "+needle" in plan.out, "nothing was changed" in plan.out) == (ExitCode.OK, True, True)
    assert text(cli) == README.replace("needle", "pin")
    done = cli("undo", number)
    assert (done.code, text(cli)) == (ExitCode.OK, README)
    again = cli("undo", number)
    assert again.code == ExitCode.NOT_FOUND
    hint = done.out.rstrip("]\n").rpartition(": ")[2]
    assert cli.bare(*shlex.split(hint)[1:]).code == ExitCode.OK
    assert text(cli) == README.replace("needle", "pin")


def test_the_last_change_of_a_file_then_the_one_before(cli: Cli) -> None:
    edit(cli, "needle", "pin")
    edit(cli, "third", "last")
    assert cli("undo", "README.md").code == ExitCode.OK
    assert text(cli) == README.replace("needle", "pin")
    assert cli("undo", "README.md").code == ExitCode.OK
    assert text(cli) == README
    assert cli("undo", "README.md").code == ExitCode.NOT_FOUND


def test_a_file_that_is_called_like_a_number_is_no_change(cli: Cli) -> None:
    Path(cli.root, "7").write_text("seven\n", encoding="utf-8")
    edit(cli, "seven", "7", "7")
    assert cli("undo", "./7").code == ExitCode.OK
    assert text(cli, "7") == "seven\n"
    assert cli("undo", "999999").code == ExitCode.NOT_FOUND


def test_what_was_changed_since_is_shown_and_the_hint_takes_what_still_fits(cli: Cli) -> None:
    Path(cli.root, "README.md").write_text("".join(f"line {at}\n" for at in range(40)), encoding="utf-8")
    pairs = [word for at in (3, 30) for word in ("--old", f"line {at}\n", "--new", f"LINE {at}\n")]
    assert cli("edit", "README.md", "--now", *pairs).code == ExitCode.OK
    number = str(changes(cli)[0]["change"])
    edit(cli, "LINE 3\n", "LINE three\n")
    before = text(cli)
    refused = cli("undo", number)
    assert (refused.code, text(cli)) == (ExitCode.FAILED, before)
    assert "+LINE 30" in refused.err
    assert "+LINE three" in refused.err
    assert "--parts" in refused.err
    assert cli("undo", number, "--parts").code == ExitCode.OK
    assert "line 30\n" in text(cli)
    assert "LINE three\n" in text(cli)


def test_a_time_chooses_everything_since(cli: Cli) -> None:
    edit(cli, "needle", "pin")
    assert cli("mv", "src/main.py", "src/program.py", "--now").code == ExitCode.OK
    done = cli("undo", "--since", "10m")
    assert done.code == ExitCode.OK
    assert text(cli) == README
    assert Path(cli.root, "src/main.py").exists()
    assert cli("undo", "--since", "10m").code in (ExitCode.OK, ExitCode.NOT_FOUND)


@each(
    ("words", "code", "said"),
    [
        (["undo"], ExitCode.USAGE, "Give CHANGE, PATH, --session or --since"),
        (["undo", "1", "--session", "s"], ExitCode.USAGE, "Give one of them"),
        (["undo", "--session", "s", "--since", "1h"], ExitCode.USAGE, "Give one of them"),
        (["undo", "a", "b"], ExitCode.USAGE, "Give one"),
        (["undo", "--since", "soon"], ExitCode.USAGE, "Use 30m"),
        (["undo", ".env"], ExitCode.REFUSED, "denied"),
        (["undo", "../x"], ExitCode.REFUSED, "outside"),
        (["history", ".env"], ExitCode.REFUSED, "denied"),
        (["history", "--limit", "0"], ExitCode.USAGE, "0"),
        (["history", "--cursor", "-1"], ExitCode.USAGE, "-1"),
        (["diff", "999"], ExitCode.NOT_FOUND, "999"),
        (["diff", "x"], ExitCode.USAGE, "x"),
        (["history forget"], ExitCode.USAGE, "Give a path, or all"),
        (["history forget", "a", "--all"], ExitCode.USAGE, "Give a path, or all"),
    ],
)
def test_a_mistake_is_refused_in_words_of_a_shell(
    words: list[str], code: ExitCode, said: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = Cli(root, capsys).bare(*words[0].split(), *words[1:], "--root", str(root))
    assert done.code == code, done.err
    assert said in done.err
    for line in done.err.split("\n"):
        if line.startswith("Try: "):
            assert Cli(root, capsys).bare(*shlex.split(line)[2:]).code in (
                ExitCode.OK,
                ExitCode.NOTHING_FOUND,
            )


def test_what_is_forgotten_is_gone_at_once(cli: Cli) -> None:
    edit(cli, "needle", "hunter2")
    edit(cli, "return", "yield", "src/main.py")
    assert forget(cli, "README.md").code == ExitCode.OK
    assert [change["files"][0]["path"] for change in changes(cli)] == ["src/main.py"]
    assert text(cli) == README.replace("needle", "hunter2")
    assert forget(cli, "--all").code == ExitCode.OK
    assert changes(cli) == []
    Path(cli.root, "forget").write_text("a file of that name\n", encoding="utf-8")
    edit(cli, "a file", "one", "forget")
    assert len(changes(cli, "./forget")) == 1


def test_the_past_of_a_file_that_is_denied_since_can_be_forgotten(cli: Cli) -> None:
    edit(cli, "needle", "hunter2")
    Path(cli.root, ".readroomignore").write_text("README.md\n", encoding="utf-8")
    assert changes(cli) == []
    forgotten = cli.bare("history", "forget", "README.md", "--json", "--root", cli.root)
    assert forgotten.facts["names"] == 1
    Path(cli.root, ".readroomignore").unlink()
    assert changes(cli) == []


def test_hostile_names_and_contents_reach_a_terminal_as_escapes(cli: Cli) -> None:
    name = "odd\x1b[2J\u202e\n<b>.txt"
    Path(cli.root, name).write_text("one\n", encoding="utf-8")
    edit(cli, "one", "\x1b]0;pwned\x07\u202e<script>", name)
    number = str(changes(cli)[0]["change"])
    for words in (["history"], ["diff", number], ["undo", number, "--dry-run"], ["undo", number]):
        out = at_terminal(cli, words, b"y\n")
        assert "\x1b[2J" not in out.replace("\x1b[2K", "")
        for bad in ("\x1b]0;", "\x07", "\u202e"):
            assert bad not in out, words


def at_terminal(cli: Cli, words: list[str], answer: bytes) -> str:
    """What a person sees who types an answer."""
    mine, theirs = pty.openpty()
    line = [*COMMAND, *words, "--root", cli.root]
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as process:
        os.close(theirs)
        os.write(mine, answer)
        parts = []
        with suppress(OSError):  # the other end is closed
            while data := os.read(mine, 65536):
                parts.append(data)
        process.wait(timeout=60)
    os.close(mine)
    return b"".join(parts).decode("utf-8", "replace")


def test_a_person_sees_the_plan_and_is_asked(cli: Cli) -> None:
    edit(cli, "needle", "pin")
    number = str(changes(cli)[0]["change"])
    said_no = at_terminal(cli, ["undo", number], b"n\n")
    assert "Undo this? [y/N]" in said_no
    assert "Nothing was changed." in said_no
    assert text(cli) == README.replace("needle", "pin")
    assert "Undo this?" in at_terminal(cli, ["undo", number], b"y\n")
    assert text(cli) == README
    edit(cli, "needle", "pin")
    assert "Undo this?" not in at_terminal(cli, ["undo", "README.md", "--yes"], b"")
    assert text(cli) == README
    assert "Forget it? [y/N]" in at_terminal(cli, ["history", "forget", "--all"], b"n\n")
    assert len(changes(cli)) > 0
    at_terminal(cli, ["history", "forget", "--all"], b"y\n")
    assert changes(cli) == []
