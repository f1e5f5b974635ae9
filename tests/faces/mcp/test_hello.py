"""What is printed when the server starts can be pasted as it stands."""

from __future__ import annotations

import json
import shlex
import subprocess
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.mcp.hello import json_config, shell_word, startup_text, toml_config

URL = "http://127.0.0.1:8137/mcp"
COMMAND = ["/opt/read room/bin/readroom", "mcp", "/home/me/my project's files"]


def _text(command: list[str] = COMMAND) -> str:
    return startup_text(url=URL, root=command[-1], command=command)


def _line(start: str) -> str:
    return next(line.strip() for line in _text().split("\n") if line.strip().startswith(start))


def test_it_says_where_the_server_is_and_what_it_serves() -> None:
    first, *rest = _text().split("\n")
    assert COMMAND[-1] in first
    assert f"  URL    {URL}" in rest


def test_it_says_who_can_use_it() -> None:
    assert "account on this machine" in _text()


def test_the_stdio_command_is_one_line_for_a_shell() -> None:
    assert shlex.split(_line("stdio")) == ["stdio", *COMMAND]


def test_the_command_for_claude_code_names_the_url() -> None:
    assert shlex.split(_line("claude mcp add --transport")) == [
        *("claude", "mcp", "add", "--transport", "http", "readroom", URL)
    ]


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_client_can_start_the_server_itself(client: str) -> None:
    assert shlex.split(_line(f"{client} mcp add readroom")) == [
        *(client, "mcp", "add", "readroom", "--"),
        *COMMAND,
    ]


def test_the_json_is_json() -> None:
    assert json.loads(json_config(URL)) == {"mcpServers": {"readroom": {"type": "http", "url": URL}}}
    indented = "\n".join(f"  {line}" for line in json_config(URL).split("\n"))
    assert indented in _text()


def test_the_toml_is_toml() -> None:
    assert tomllib.loads(toml_config(URL)) == {"mcp_servers": {"readroom": {"url": URL}}}
    assert "\n".join(f"  {line}" for line in toml_config(URL).split("\n")) in _text()


@given(name=st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_a_folder_of_any_name_is_printable_text(name: bytes) -> None:
    """A folder's name cannot write to the terminal, and one that is not UTF-8 can be printed."""
    path = "/" + name.decode("utf-8", "surrogateescape")
    text = _text(["/bin/readroom", "mcp", path])
    assert all(line.isprintable() for line in text.encode("utf-8").decode("utf-8").split("\n"))


@pytest.mark.parametrize(
    "name", [b"plain", b"with space", b"it's", b"a\nb", b"\x1b[31m", b"\\n", b"\xff\xfe", "ünï".encode()]
)
def test_a_shell_reads_a_word_back(name: bytes) -> None:
    word = shell_word(name.decode("utf-8", "surrogateescape"))
    done = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True, env={"LC_ALL": "C"}
    )
    assert done.stdout == name
