"""The shell that runs a command, the files it reads first, and bash commands on a machine without bash."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from readroom.core.engine.command import shell
from readroom.core.policy.commands import PATH
from readroom.core.values.commands import Confinement
from tests.core.engine.command.running import codes, lines, room
from tests.core.sandbox.cells import in_each_confinement
from tests.each import each

BASH = shell.found().name == "bash"

needs_bash = pytest.mark.skipif(not BASH, reason="NOT TESTED: no bash here")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "out").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def only_sh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system without bash."""
    monkeypatch.setattr(shell, "_BASH", ("/no/bash",))


@needs_bash
@in_each_confinement
@pytest.mark.parametrize(
    ("command", "code", "out"),
    [
        ("(echo seen; exit 3) &> out/log; echo $?; cat out/log", 0, ["3", "seen"]),
        ("(echo seen; exit 3) &> out/log", 3, []),
        ("(exit 4) |& cat; echo ${PIPESTATUS[0]}", 0, ["4"]),
        ("set -o pipefail; false | true", 1, []),
        ("[[ abc == a* ]] && echo {a,b}{1..2}", 0, ["a1 a2 b1 b2"]),
        (
            "echo 'x=7' > out/s; source out/s; echo $x; cat <<< here; cat <(echo made)",
            0,
            ["7", "here", "made"],
        ),
        ("function f { local -a l=(1 2 3); echo ${#l[@]} ${1^^}; }; f up", 0, ["3 UP"]),
        ("echo -e 'a\\tb'; echo $'c\\td'", 0, ["a\tb", "c\td"]),
        ("no-such-program", 127, []),
        ("-x", 127, []),
    ],
)
def test_forms_of_bash_do_what_they_do_in_bash(
    root: Path, confinement: Confinement, command: str, code: int, out: list[str]
) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run(command)
    assert (reply.facts["exit_code"], lines(reply)) == (code, out), reply.text
    assert reply.facts["shell"] == "bash"
    assert f"| bash, {confinement}," in reply.text.split("\n")[0]


@needs_bash
@in_each_confinement
def test_bash_reads_nothing_before_the_command(root: Path, confinement: Confinement) -> None:
    """Not the files of its home, nor what variables name, and bash of the workspace is not taken for it."""
    said = "echo read-before"
    for name in (".bashrc", ".bash_profile", ".profile", ".bash_login", "env"):
        (root / name).write_text(f"{said}\n", encoding="utf-8")
    own = root / "bash"
    own.write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
    own.chmod(0o755)
    passed = {
        "BASH_ENV": str(root / "env"), "ENV": str(root / "env"), "PATH": f"{root}:{PATH}",
        "BASH_FUNC_ls%%": f"() {{ {said}; }}", "SHELLOPTS": "xtrace", "SSH_CLIENT": "1 2 3",
    }  # fmt: skip
    with room(root, confinement, environment=tuple(passed.items())) as workspace:
        workspace.run(f"cp {root}/.bashrc ~/.bashrc; cp ~/.bashrc ~/.profile; cp ~/.bashrc ~/.bash_profile")
        reply = workspace.run("echo ran; ls")
    assert "read-before" not in reply.text
    assert "stderr" not in reply.text
    assert lines(reply)[0] == "ran"


MISREAD = {
    "prog &> log": "&>",
    "make test &>log; tail log": "&>",
    "cd a && prog -x 2>&1 &>> log": "&>",
    "prog |& tee log": "|&",
    "if [[ -f a ]]; then echo b; fi": "[[ ]]",
    "cp file{,.bak}": "{a,b}",
    "echo {1..3}": "{a,b}",
    "source venv/bin/activate": "source",
    "a && source b": "source",
    "set -euo pipefail; a": "pipefail",
    "set -o pipefail\na | b": "pipefail",
    "cat <<< text": "<<<",
    "diff <(a) <(b)": "<( )",
    "tee >(wc -l)": "<( )",
    "a=(1 2); b": "arrays",
    "echo ${a[0]}": "arrays",
    "function f { a; }": "function",
    "echo -e 'a\\n'": "echo -e",
    "a | b; echo ${PIPESTATUS[0]}": "PIPESTATUS",
    "printf '%s' $'a\\n'": "$'...'",
    "((i++)); echo $i": "(( ))",
    "echo ${a//b/c}": "${x/a/b}",
    "[ $a == b ] && c": "==",
    "declare -A x": "builtin",
}

POSIX = (
    "prog > log 2>&1", "prog >log 2>&1 &", "a && b || c; d & wait", "[ -f a ] && . ./env",
    "echo ${a:-b} ${a%%.*}", "awk '{print $1,$2}' f", "case $a in (b) c;; esac",
    "echo 'a &> b' \"[[ x ]]\" '{a,b}'", "cat <<'E'\nsource x &> y\nE\necho $((1 + 2))", "f() { echo a; }; f",
    "find . -name '*.py' -exec grep -l 'a==b' {} +", "git log --format='%h,%s' HEAD~2",
    "# source a &> b\necho c", "printf '%b' 'a\\n' | sed -e s/a/b/", "echo ${#a} $# $@ # [[",
    "git stash list --pretty=%gd; git show stash@{0}", "env A=1 sh -c 'echo $A'", "echo a \\&\\> b",
)  # fmt: skip


@each("command", MISREAD)
def test_without_bash_a_form_that_only_bash_knows_is_named(command: str) -> None:
    said = " ".join(warn.detail for warn in shell.misread(command))
    assert MISREAD[command] in said


@each("command", POSIX)
def test_what_every_shell_knows_is_not_warned_of(command: str) -> None:
    assert list(shell.misread(command)) == []


@needs_bash
@each("command", POSIX)
def test_those_are_what_sh_takes(command: str) -> None:
    done = subprocess.run(["/bin/sh", "-n", "-c", command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_long_command_is_looked_at_in_a_moment() -> None:
    for part in (
        "<<A\n",
        "'",
        '"',
        "\\",
        "{a",
        "[ x",
        "a=(",
        "#",
        "$'",
        "${a[",
        "echo -",
        "&",
        "<<<<",
        "\n",
        " ",
        "\t;",
        "a+=",
        "((",
        "x ",
    ):
        list(shell.misread(part * (100_000 // len(part))))


def test_without_bash_a_failure_that_sh_hides_is_warned_of(root: Path, only_sh: None) -> None:
    with room(root) as workspace:
        reply = workspace.run("(echo seen; exit 3) &> out/log")
        plain = workspace.run("echo fine > out/log 2>&1; exit 3")
    assert reply.facts["shell"] == plain.facts["shell"] == "sh"
    assert "not_bash" in codes(reply)
    assert "write `> FILE 2>&1`" in reply.text
    assert (plain.facts["exit_code"], codes(plain)) == (3, [])


@in_each_confinement
@pytest.mark.skipif(shutil.which("git", path=PATH) is None, reason="NOT TESTED: no git that commands see")
def test_git_works_where_the_machine_has_settings_that_commands_cannot_read(
    root: Path, confinement: Confinement
) -> None:
    """/etc/gitconfig is another file on this machine, which the variable names."""
    settings = root.parent / "gitconfig"
    settings.write_text("[user]\nname = secret\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True, env={"PATH": os.environ["PATH"]})
    with room(root, confinement) as workspace:
        reply = workspace.run(
            f"GIT_CONFIG_SYSTEM={settings} git status --short --ignored; git log -1 2>/dev/null"
        )
        said = workspace.run(f"GIT_CONFIG_SYSTEM={settings} git config user.name || echo none")
    assert reply.facts["exit_code"] == 128, reply.text  # of git log, for there is no commit
    assert "stderr" not in reply.text
    assert lines(said) == ["none"]


@pytest.mark.skipif(
    shutil.which("python3", path=PATH) is None, reason="NOT TESTED: no Python that commands see"
)
@in_each_confinement
def test_what_python_printed_before_the_time_limit_is_there(root: Path, confinement: Confinement) -> None:
    with room(root, confinement) as workspace:
        reply = workspace.run("python3 -c 'import time; print(1); time.sleep(60)'", timeout_s=3)
    assert reply.facts["timed_out"]
    assert lines(reply) == ["1"]


def test_a_time_limit_in_milliseconds_is_told_the_unit(root: Path) -> None:
    with room(root) as workspace:
        reply = workspace.call("run_command", {"command": "true", "timeout_s": 120_000})
    assert "seconds" in reply.text
