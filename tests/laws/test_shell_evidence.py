"""A law of audits: a place in a file is where the line really stands, or it is not named at all.

Generated command lines are run by a real shell, with files that share lines, lack a last line end, are absent
or change between calls.
"""

from __future__ import annotations

import random
from pathlib import Path

from readroom.lens.evidence import Known, evidence
from readroom.lens.records.events import Called, Returned
from tests.each import each
from tests.lens.shells import Told, session


def test_no_line_of_a_shell_session_has_a_wrong_place(tmp_path: Path) -> None:
    told = Told()
    sessions = 30
    for seed in range(sessions):
        session(tmp_path / str(seed) / "w", random.Random(seed), 3, told)
    assert told.wrong == []
    assert told.lines >= sessions, "what is certain is told"


@each(
    ("command", "text", "runs"),
    [
        ("cat .env; sed -n '10,14p' app.py", "a\nb\nc\nd\nx\ny\n", {".env": (1, 1)}),
        ("sed -n '10,14p' app.py; cat .env", "a\nb\nc\nd\nx\ny\n", {}),
        ("sed -n '1,2p' a; sed -n '7,9p' b", "a\nb\nc\nd\ne\n", {"a": (1, 2), "b": (7, 9)}),
        ("sed -n '1,2p' a; sed -n '7,9p' b", "a\nb\nc\nd\n", {"a": (1, 1)}),
        ("echo '== a'; cat a; echo '== b'; cat b", "== a\n1\n== b\n1\n2\n", {"a": (1, 1), "b": (1, 2)}),
        ("cat a; echo ---; cat b", "x---\ny\n---\nz\n", {}),
        ("head -n 2 a b", "==> a <==\n1\n2\n\n==> b <==\n1\n", {"a": (1, 2), "b": (1, 1)}),
        ("cd sub && cat a", "1\n2\n", {"sub/a": (1, 2)}),
        ("cd no; cat a", "bash: line 1: cd: no: No such file or directory\nx\n", {}),
        ("cat -s a", "1\n2\n", {}),
        ("cat *.py", "1\n2\n", {}),
        ("cat $F", "1\n2\n", {}),
        ("cat a # of b", "1\n2\n", {"a": (1, 2)}),
        ("cat a > b; cat c", "1\n2\n", {"c": (1, 2)}),
        (
            "head -3 missing; cat b",
            "head: cannot open 'missing' for reading: No such file or directory\nx\n",
            {},
        ),
    ],
)
def test_the_division_of_an_output_is_certain_or_left_out(
    command: str, text: str, runs: dict[str, tuple[int, int]]
) -> None:
    seen = evidence(Called("s", "c", "Bash", {"command": command}), Returned("s", "c", text), Known())
    assert {run.file: (run.first, run.last) for run in seen.runs} == runs
    assert seen.sole_file in (*runs, ""), "a secret without a line has the file of all the lines, or none"


def test_a_shell_that_lasts_is_where_it_was_led(tmp_path: Path) -> None:
    """After `cd` a name is below another folder, where the client keeps its shell."""
    known = Known(root="/w")

    def files(tool: str, **arguments: str) -> list[str]:
        seen = evidence(Called("s", "c", tool, {**arguments}), Returned("s", "c", "1\n"), known)
        return [run.file for run in seen.runs]

    assert files("Bash", command="cat a") == ["a"]
    assert files("Bash", command="cd /w && cat a") == ["a"]
    assert files("Bash", command="cd sub && cat a") == ["sub/a"]
    assert files("Bash", command="cat a") == []
    assert files("Bash", command="cat /w/a") == ["a"]
    assert files("exec_command", cmd="cat a") == ["a"]
    assert files("exec_command", cmd="cat a", workdir="/w/sub") == ["sub/a"]
