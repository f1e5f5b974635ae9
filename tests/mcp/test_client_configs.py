"""What is printed when the server starts can be pasted as it stands."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.mcp.client_configs import (
    Entry,
    curl_line,
    json_config,
    shell_word,
    startup_text,
    toml_config,
)
from tests.each import each

URL = "http://127.0.0.1:8137/mcp"
COMMAND = ["/opt/read room/bin/readroom", "mcp", "/home/me/my project's files"]


TOKEN = "rr_0123456789ab_secret"
OPEN = Entry(needs_token=False, who="Open to all.")
KEPT = Entry(token=TOKEN, command="/opt/bin/readroom token")
MADE = Entry()
ENTRIES = pytest.mark.parametrize("entry", [OPEN, KEPT, MADE], ids=["open", "kept", "made"])


def _text(command: list[str] = COMMAND, entry: Entry = OPEN) -> str:
    return startup_text(url=URL, root=command[-1], command=command, entry=entry)


def _line(start: str) -> str:
    return next(line.strip() for line in _text().split("\n") if line.strip().startswith(start))


def test_it_says_where_the_server_is_and_what_it_serves() -> None:
    first, *rest = _text().split("\n")
    assert COMMAND[-1] in first
    assert f"  URL    {URL}" in rest


def test_it_says_who_can_use_it() -> None:
    assert "Open to all." in _text()
    assert "readroom token create NAME" in _text(entry=MADE)
    assert TOKEN not in _text(entry=MADE)


def test_it_says_how_to_show_the_token_again_and_how_to_replace_it() -> None:
    lines = [shlex.split(line) for line in _text(entry=KEPT).split("\n") if "readroom token" in line]
    assert lines == [
        ["show", "it", "/opt/bin/readroom", "token", "show", COMMAND[-1]],
        ["replace", "it", "/opt/bin/readroom", "token", "renew", COMMAND[-1]],
    ]


def test_the_command_for_claude_code_sends_the_token() -> None:
    line = next(line for line in _text(entry=KEPT).split("\n") if "--transport" in line)
    assert shlex.split(line)[-2:] == ["--header", f"Authorization: Bearer {TOKEN}"]


def test_the_call_for_a_shell_shows_the_token_to_no_other_account() -> None:
    """Arguments of programs are in the process list; what a builtin of the shell writes is not."""
    line = curl_line("http://127.0.0.1:8137", KEPT)
    first, second = line.split(" | ")
    assert shlex.split(first) == ["printf", "%s", f"Authorization: Bearer {TOKEN}"]
    assert TOKEN not in second
    assert "-H @-" in second


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


@ENTRIES
def test_the_json_is_json(entry: Entry) -> None:
    server: dict[str, object] = {"type": "http", "url": URL}
    if entry.header:
        server["headers"] = {"Authorization": entry.header.removeprefix("Authorization: ")}
    assert json.loads(json_config(URL, entry)) == {"mcpServers": {"readroom": server}}
    indented = "\n".join(f"  {line}" for line in json_config(URL, entry).split("\n"))
    assert indented in _text(entry=entry)


@pytest.mark.parametrize(
    ("entry", "more"),
    [
        (OPEN, {}),
        (KEPT, {"http_headers": {"Authorization": f"Bearer {TOKEN}"}}),
        (MADE, {"bearer_token_env_var": "READROOM_TOKEN"}),
    ],
    ids=["open", "kept", "made"],
)
def test_the_toml_is_toml(entry: Entry, more: dict[str, object]) -> None:
    assert tomllib.loads(toml_config(URL, entry)) == {"mcp_servers": {"readroom": {"url": URL, **more}}}
    assert "\n".join(f"  {line}" for line in toml_config(URL, entry).split("\n")) in _text(entry=entry)


@given(name=st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_a_folder_of_any_name_is_printable_text(name: bytes) -> None:
    """A folder's name cannot write to the terminal, and one that is not UTF-8 can be printed."""
    path = "/" + name.decode("utf-8", "surrogateescape")
    text = _text(["/bin/readroom", "mcp", path])
    assert all(line.isprintable() for line in text.encode("utf-8").decode("utf-8").split("\n"))


@each("name", [b"plain", b"with space", b"it's", b"a\nb", b"\x1b[31m", b"\\n", b"\xff\xfe", "ünï".encode()])
def test_a_shell_reads_a_word_back(name: bytes) -> None:
    word = shell_word(name.decode("utf-8", "surrogateescape"))
    done = subprocess.run(
        ["bash", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True, env={"LC_ALL": "C"}
    )
    assert done.stdout == name


UV, PIPX = "/home/me/.cache/uv/archive-v0/a", "/home/me/.cache/pipx/b"
CLONE = {"url": "file:///my%20clone", "dir_info": {}}
GIT = {"url": "https://git.example/x/readroom.core.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}


@pytest.mark.parametrize(
    ("prefix", "record", "command"),
    [
        (UV, GIT, ["uvx", "--from", f"git+{GIT['url']}", "readroom"]),
        (UV, CLONE, ["uvx", "--from", "/my clone", "readroom"]),
        (UV, None, ["uvx", "readroom"]),
        (PIPX, GIT, ["pipx", "run", "--spec", f"git+{GIT['url']}", "readroom"]),
        (PIPX, None, ["pipx", "run", "readroom"]),
    ],
)  # fmt: skip
def test_a_temporary_environment_is_made_again_from_where_it_came(
    tmp_path: Path, prefix: str, record: object, command: list[str]
) -> None:
    """Otherwise a client starts what an index has under that name."""
    about = tmp_path / "readroom-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: readroom\nVersion: 9\n", encoding="utf-8")
    if record is not None:
        (about / "direct_url.json").write_text(json.dumps(record), encoding="utf-8")
    code = (
        "import json, sys; from readroom.mcp import client_configs;"
        f"sys.path.insert(0, {str(tmp_path)!r}); sys.prefix = {prefix!r};"
        "print(json.dumps(client_configs.program()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == command
