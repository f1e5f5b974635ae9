"""The set-up: what `make` says and does before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites import daily

ROOT = Path(__file__).parents[1]


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # Without the variables of a make that runs the tests.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        words, cwd=ROOT, env={**clean, **variables}, capture_output=True, text=True, check=False, timeout=60
    )


def test_make_without_a_target_says_what_there_is() -> None:
    printed = run("make").stdout
    assert [line.split()[1] for line in printed.splitlines()] == [
        "run", "install", "test", "test-all", "bench", "docs", "clean",
    ]  # fmt: skip


def test_make_install_puts_the_command_where_it_is_asked_to(tmp_path: Path) -> None:
    done = run("make", "install", f"BIN={tmp_path}/bin")
    assert f"add {tmp_path}/bin to your PATH" in done.stdout
    assert subprocess.run([tmp_path / "bin/readroom", "--version"], capture_output=True, check=True).stdout
    assert (tmp_path / "share/man/man1/readroom.1").read_text(encoding="utf-8").startswith(".TH READROOM")
    again = run("make", "install", f"BIN={tmp_path}/bin", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert "readroom is on your PATH" in again.stdout


def test_make_run_serves_the_folder_as_named() -> None:
    printed = run("make", "-n", "run", "DIR=/tmp/a folder", "PORT=8123").stdout
    assert 'readroom serve --port "8123" -- "/tmp/a folder"' in printed
    assert 'readroom serve -- "."' in run("make", "-n", "run").stdout.replace("  ", " ")


def test_without_a_suitable_python_the_message_says_what_to_install(tmp_path: Path) -> None:
    done = run("scripts/make-venv", str(tmp_path / "venv"), PYTHON="/nonexistent/python")
    assert done.returncode == 1
    assert "needs Python 3.11 or newer, and none was found (tried: /nonexistent/python)" in done.stderr
    assert "apt install python3" in done.stderr


def test_a_python_without_venv_is_named_with_its_package(tmp_path: Path) -> None:
    """Debian splits venv from Python; this one is as new as needed and has none."""
    bare = tmp_path / "python"
    bare.write_text(
        f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n', encoding="utf-8"
    )
    bare.chmod(0o755)
    done = run("scripts/make-venv", str(tmp_path / "venv"), PYTHON=str(bare))
    assert done.returncode == 1
    assert re.search(r"apt install python3\.\d+-venv", done.stderr)


def test_an_old_python_is_passed_over(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    # It makes environments without pip, which is not looked at here and takes most of the time.
    fit = tmp_path / "python3.11"
    fit.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && set -- "$@" --without-pip\nexec {sys.executable} "$@"\n',
        encoding="utf-8",
    )
    fit.chmod(0o755)
    done = run("scripts/make-venv", str(tmp_path / "venv"), PYTHON=f"{old} {fit}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "venv/bin/python").exists()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in which `make run` was done before."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path)
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (tmp_path / ".venv/pyvenv.cfg").write_text(
        f"command = python -m venv {tmp_path}/.venv\n", encoding="utf-8"
    )
    (tmp_path / ".venv/installed").touch()
    return tmp_path


def installs(clone: Path) -> str:
    """What `make run` would do there before it serves."""
    return run("make", "-n", "-C", str(clone), ".venv/installed").stdout


def test_what_is_installed_is_not_installed_again(clone: Path) -> None:
    assert "pip install" not in installs(clone)


def test_changed_dependencies_are_installed(clone: Path) -> None:
    os.utime(clone / ".venv/installed", (0, 0))
    assert "pip install" in installs(clone)
    assert "make-venv" not in installs(clone)


def test_an_environment_without_its_python_is_made_anew(clone: Path) -> None:
    (clone / ".venv/bin/python").unlink()
    (clone / ".venv/bin/python").symlink_to("/nonexistent/python3.11")
    assert "make-venv" in installs(clone)


def test_an_environment_that_was_moved_is_made_anew(clone: Path) -> None:
    (clone / ".venv/pyvenv.cfg").write_text("command = python -m venv /elsewhere/.venv\n", encoding="utf-8")
    assert "make-venv" in installs(clone)


STEPS = [
    *("scripts/frameworks", "scripts/site", "scripts/package", "scripts/install-matrix"),
    *(".ci/newcomer", ".ci/as-user", ".ci/versions", ".ci/account"),
]

SAYS_THAT_IT_RUNS = """#!/usr/bin/env bash
echo "$0 runs" | tee --append "$CALLED"
[[ $1 == .venv/* || $0 != *"$FAILING" ]]
"""


@daily(2, "failing", [None, *STEPS])
def test_continuous_integration_takes_every_step_and_fails_with_each(
    tmp_path: Path, failing: str | None
) -> None:
    """`.ci/run` itself, among programs that only say that they run; what ran beside the tests is shown."""
    for name in ("bin/apt-get", "bin/make", *STEPS):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(SAYS_THAT_IT_RUNS, encoding="utf-8")
        program.chmod(0o755)
    shutil.copy2(ROOT / ".ci/run", tmp_path / ".ci/run")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    called = tmp_path / "called"
    done = run(str(tmp_path / ".ci/run"), PATH=path, CALLED=str(called), FAILING=failing or "none")
    ran = called.read_text(encoding="utf-8")
    assert [step for step in STEPS if f"{step} runs\n" not in ran] == []
    assert (done.returncode == 0) is (failing is None), done.stderr
    assert failing is None or f"{failing} runs\n" in done.stdout


@pytest.mark.parametrize("failing", [None, "ruff check", "ruff format", "mypy", "pytest"])
def test_everything_is_checked_and_each_fails_it(tmp_path: Path, failing: str | None) -> None:
    """`scripts/everything` itself, with a Python that only says what it is called with."""
    for name in ("scripts/everything", "scripts/test"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    program = tmp_path / ".venv/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$*"\ncase "$*" in *"$FAILING"*) exit 3;; esac\n', encoding="utf-8")
    program.chmod(0o755)
    chosen = ("-m", "not whole")
    done = run(str(tmp_path / "scripts/everything"), *chosen, FAILING=failing or "none")
    assert done.returncode == (0 if failing is None else 3)
    if failing in (None, "mypy", "pytest"):
        said = done.stdout.split("\n")
        ran = ("pytest -m not whole", "mypy", "ruff check .")
        assert [said.count(f"-m {name}") for name in ran] == [1, 1, 1]


def test_the_daily_tests_are_those_without_a_mark_and_the_others_are_all() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert 'test: .venv/developer\n\t@scripts/everything -m "not whole"\n' in rules
    assert "test-all: .venv/developer\n\t@scripts/everything\n" in rules
    assert "make test-all" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_no_file_names_a_package_host() -> None:
    for name in ("Makefile", "pyproject.toml", ".ci/run", "scripts/make-venv", "README.md"):
        assert not re.search(r"index-url|find-links|pypi\.", (ROOT / name).read_text(encoding="utf-8"))


def test_programs_of_integration_name_tests_that_are_there() -> None:
    for program in sorted((ROOT / ".ci").iterdir()):
        words = re.findall(r"tests/[\w/{},.]+", program.read_text(encoding="utf-8"))
        for word in words:
            before, brace, rest = word.partition("{")
            inner, _, after = rest.partition("}")
            for each in inner.split(",") if brace else [""]:
                assert (ROOT / f"{before}{each}{after}").exists(), f"{program.name}: {word}"
