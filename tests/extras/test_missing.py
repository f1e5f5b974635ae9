"""Each extra in an environment without it: what needs it says how to install it, on every face."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from readroom.core.extras import install, typed
from tests.documents.reading.making import pdf, png
from tests.extras.lacking import EXTRAS, ROOT, command, environment
from tests.suites import daily

PIP = Path(sys.executable).with_name("pip")

KOTLIN = "class Order(val sum: Int) {\n    fun total(): Int = sum\n}\n"


class Case(NamedTuple):
    """A call that needs an extra."""

    extra: str
    package: str
    name: str
    content: bytes
    arguments: Mapping[str, str] = MappingProxyType({})


CASES = [
    Case("documents", "pypdfium2", "a.pdf", pdf([["Paper"]])),
    Case("images", "Pillow", "a.png", png(8, 8)),
    Case("grammars", "tree-sitter-kotlin", "a.kt", KOTLIN.encode(), {"view": "outline"}),
    Case("data", "fastavro", "a.avro", b"Obj\x01" + bytes(64)),
    Case("data", "pyarrow", "a.parquet", b"PAR1" + bytes(64) + b"PAR1"),
]
OF_FILES = [*(case.extra for case in CASES), "documents", "serve", "terminal"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The base alone."""
    # Of frameworks and services, each has its own tests; these are what `make run` installs beside the base.
    return environment(tmp_path_factory.mktemp("bare") / "packages", OF_FILES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for case in CASES:
        (tmp_path / case.name).write_bytes(case.content)
    return tmp_path


def _library(case: Case, folder: Path, variables: dict[str, str]) -> str:
    code = (
        "import sys, json, readroom\n"
        "with readroom.Workspace('.') as workspace:\n"
        "    print(workspace.call('read_file', json.loads(sys.argv[1])).text)"
    )
    call = json.dumps({"path": case.name, **case.arguments})
    return _output([sys.executable, "-S", "-c", code, call], folder, variables)


def _command_line(case: Case, folder: Path, variables: dict[str, str]) -> str:
    options = [word for name, value in case.arguments.items() for word in (f"--{name}", str(value))]
    return _output(command("read", case.name, *options), folder, variables)


def _mcp(case: Case, folder: Path, variables: dict[str, str]) -> str:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "read_file", "arguments": {"path": case.name, **case.arguments}},
        },
    ]  # fmt: skip
    with subprocess.Popen(
        command("mcp", "."), cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        server.stdin.flush()
        # Its end of input is the end of a call that still runs, so that it comes behind the answer.
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    (result,) = [answer["result"] for answer in answers if answer.get("id") == 2]
    assert result["isError"]
    text: str = result["content"][0]["text"]
    return text


def _output(words: list[str], folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout.strip()


@daily(3, "face", [_library, _command_line, _mcp])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.extra)
def test_a_missing_extra_is_one_sentence_with_the_command_that_installs_it(
    case: Case, face: Callable[[Case, Path, dict[str, str]], str], folder: Path, bare: dict[str, str]
) -> None:
    said = face(case, folder, bare)
    assert "Traceback" not in said
    assert len(said.replace("\nTry: ", " ").split("\n")) == 1
    assert f"it needs the package {case.package}, which is not installed" in said
    assert f"pip install 'readroom[{case.extra}]'" in said
    # A reply names no place outside the folder; what is printed for a person may.
    assert face is _command_line or str(PIP) not in said


def test_a_server_that_is_not_installed_says_how_to_install_it(folder: Path, bare: dict[str, str]) -> None:
    said = _output(command("serve", "."), folder, bare)
    assert said.endswith(f"is not installed. Install it: {typed(install('serve'))}")


@pytest.mark.skipif(not PIP.exists(), reason="this environment has no pip")
def test_the_pip_of_this_environment_is_named_where_a_shell_has_another(
    tmp_path: Path, bare: dict[str, str]
) -> None:
    for path, pip in (("/usr/bin", str(PIP)), (str(PIP.parent), "pip")):
        said = _output(command("serve", "."), tmp_path, {**bare, "PATH": path})
        assert said.endswith(f"Install it: {pip} install 'readroom[serve]'"), path


def test_a_terminal_without_colours_gets_the_same_text(folder: Path, bare: dict[str, str]) -> None:
    plain = _output(command("read", "a.kt"), folder, bare)
    reader, writer = pty.openpty()
    subprocess.run(command("read", "a.kt"), cwd=folder, env=bare, stdout=writer, check=True, timeout=60)
    os.close(writer)
    shown = os.read(reader, 65536).decode().replace("\r\n", "\n")
    os.close(reader)
    assert shown.strip() == plain
    assert "\x1b" not in shown


def test_a_search_of_documents_names_what_it_lacks(folder: Path, bare: dict[str, str]) -> None:
    said = _output(command("grep", "Paper", "--documents"), folder, bare)
    assert "it needs the package pypdfium2, which is not installed" in said


def test_texts_notebooks_and_rtf_need_no_extra(tmp_path: Path, bare: dict[str, str]) -> None:
    cell = {"cell_type": "code", "source": "print(6)", "outputs": [], "metadata": {}, "execution_count": 1}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (tmp_path / "a.rtf").write_text("{\\rtf1 Letter}", encoding="ascii")
    (tmp_path / "a.html").write_text("<h1>Page</h1>", encoding="utf-8")
    (tmp_path / "a.py").write_text("def total(): ...\n", encoding="utf-8")
    expected = {
        "a.ipynb": "print(6)",
        "a.rtf": "Letter",
        "a.html": "<h1>Page",
        "a.py": "def",
    }
    for name, shown in expected.items():
        assert shown in _output(command("read", name), tmp_path, bare), name
    assert "1-1 def total()" in _output(command("outline", "a.py"), tmp_path, bare)


def test_doctor_names_what_is_missing(folder: Path, bare: dict[str, str]) -> None:
    said = _output(command("doctor", "."), folder, bare)
    assert re.search(r"no grammar for [a-z, ]*\bkotlin\b", said)
    assert "pip install 'readroom[grammars]' installs the rest" in said


def test_all_is_every_extra_but_those_of_frameworks() -> None:
    (everything,) = EXTRAS["all"]
    adapters = (ROOT / "src/readroom/adapters").glob("[a-z]*")  # modules and folders
    frameworks = {path.stem.replace("_", "-") for path in adapters}
    named = set(everything.removeprefix("readroom[").rstrip("]").split(","))
    assert named == set(EXTRAS) - frameworks - {"all", "inspect"}
