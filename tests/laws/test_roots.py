"""The law that a built-in rule holds wherever the root lies: above it, at it, or below it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom.core import config
from readroom.core.errors import Denied, Protected, ReadroomError
from readroom.core.policy.executed import RULES as EXECUTED
from readroom.core.policy.rules import RULES, Rule
from readroom.core.policy.rules.gitignore import patterns
from readroom.core.workspace import Workspace
from tests.each import each
from tests.suites import parts


def _place(rule: Rule) -> str:
    """A path that a pattern names."""
    (pattern,) = patterns([rule.pattern])
    path = pattern.glob.removeprefix("**/").replace("[0-9]", "1").replace("*", "x")
    return f"home/{path}/file" if pattern.folder_only else f"home/{path}"


def _roots(top: Path, path: str) -> Iterator[tuple[str, str]]:
    """Each folder above a file as a root, under several names, with the path from there."""
    parts = path.split("/")
    for at in range(1, len(parts)):
        folder, rest = top / "/".join(parts[:at]), "/".join(parts[at:])
        link = top / f"link{at}"
        link.symlink_to(folder)
        again = top / f"again{at}"
        again.symlink_to(link.name)
        for name in (folder, link, again, Path(f"/proc/self/root{folder}"), folder / ".." / folder.name):
            yield str(name), rest


def _made(top: Path, path: str) -> None:
    (top / path).parent.mkdir(parents=True)
    (top / path).write_text("secret\n")


@pytest.mark.parametrize("rules", parts(rule for rule in RULES if not rule.pattern.startswith("!")))
@each("rule", "rules", ids=lambda rule: rule.pattern)
def test_a_denied_file_is_denied_wherever_the_root_is(rule: Rule, tmp_path: Path) -> None:
    path = _place(rule)
    _made(tmp_path, path)
    for root, rest in _roots(tmp_path, path):
        with pytest.raises(Denied) as caught, Workspace(root) as workspace:
            workspace.read(rest)
        assert caught.value.facts["reason"] == rule.reason or rule.pattern == ".git"
        with pytest.raises(Denied), Workspace(root) as workspace:
            workspace.write(rest, "x", "absent")
    assert (tmp_path / path).read_text() == "secret\n"


@pytest.mark.parametrize("rules", parts(EXECUTED))
@each("rule", "rules", ids=lambda rule: rule.pattern)
def test_an_executed_file_is_protected_wherever_the_root_is(rule: Rule, tmp_path: Path) -> None:
    path = _place(rule)
    _made(tmp_path, path)
    for root, rest in _roots(tmp_path, path):
        with pytest.raises((Protected, Denied)), Workspace(root) as workspace:
            workspace.write(rest, "x", "absent")
        with pytest.raises((Protected, Denied)), Workspace(root) as workspace:
            workspace.write(
                os.path.dirname(rest) + "/new/" + os.path.basename(rest)
                if rest.count("/") and rule.pattern.endswith("/")
                else rest,
                "x",
                "absent",
            )


def test_a_folder_of_a_bare_repository_is_protected(tmp_path: Path) -> None:
    for name in ("bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    with pytest.raises(Protected), Workspace(tmp_path / "bare/hooks") as workspace:
        workspace.write("post-checkout", "x", "absent")


_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"},
}
_HANDSHAKE = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": _CLIENT},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "readroom", *words],
        capture_output=True,
        text=True,
        check=False,
        input=_HANDSHAKE,
        timeout=60,
    )


def test_every_face_refuses_a_root_in_a_denied_folder_and_says_how_to_allow_it(tmp_path: Path) -> None:
    root = tmp_path / ".ssh/more"
    root.mkdir(parents=True)
    (root / "config").write_text("Host x\n")
    (root / "id_rsa").write_text("KEY\n")
    setting = f"[policy] roots = {json.dumps([str(root)])}"
    for words in (
        ("read", "config", "--root", str(root)),
        ("explain", "config", "--root", str(root)),
        ("call", "read_file", '{"path":"config"}', "--root", str(root)),
        ("mcp", str(root)),
        ("serve", str(root), "--open", "--port", "0"),
    ):
        done = _run(*words)
        assert done.returncode, words
        said = done.stdout + done.stderr
        assert "is denied by the rule '.ssh/'" in said, words
        assert setting in said.replace('\\"', '"'), words
    allowed = tmp_path / "op.toml"
    allowed.write_text(setting.replace("] roots", "]\nroots"))
    assert "Host x" in _run("read", "config", "--root", str(root), "--config", str(allowed)).stdout
    assert "allowed" in _run("explain", "config", "--root", str(root), "--config", str(allowed)).stdout
    assert (
        "denied by the rule 'id_rsa'"
        in _run("read", "id_rsa", "--root", str(root), "--config", str(allowed)).stderr
    )
    # For that folder only, and not by the folder itself.
    assert (
        "'.ssh/'" in _run("read", "more/config", "--root", str(root.parent), "--config", str(allowed)).stderr
    )
    (root / "readroom.toml").write_text(setting.replace("] roots", "]\nroots"))
    assert "cannot take back built-in denials" in _run("read", "config", "--root", str(root)).stderr


@each("spelled", ["{} ", "{}.", "{}. .", "{}\t", "{}::$INDEX_ALLOCATION", "\u200c{}"])
def test_spellings_of_other_systems_hold_above_the_root(spelled: str, tmp_path: Path) -> None:
    """As they do for the same names below it."""
    for folder, rest in ((".SSH", "more/config"), (".claude", "hooks/x.sh"), (".vscode", "tasks.json")):
        path = f"{spelled.format(folder)}/{rest}"
        _made(tmp_path, path)
        for at in range(len(path.split("/")) - 1):
            parts = path.split("/")
            root, name = tmp_path.joinpath(*parts[:at]), "/".join(parts[at:])
            with pytest.raises((Denied, Protected)), Workspace(root) as workspace:
                workspace.write(f"{name}.new" if name.endswith("x.sh") else name, "x", "absent")


def test_explain_says_which_rule_denies_a_file_below_a_folder_above(tmp_path: Path) -> None:
    _made(tmp_path, ".config/gh/hosts.yml")
    done = _run("explain", "gh/hosts.yml", "--root", str(tmp_path / ".config"))
    assert "refused" in done.stdout
    assert "**/.config/gh/hosts.yml" in done.stdout
    _made(tmp_path, ".claude/hooks/x.sh")
    done = _run("explain", "x.sh", "--root", str(tmp_path / ".claude/hooks"))
    assert "clients of agents start the servers and hooks it names" in done.stdout


def test_exceptions_of_the_operator_hold_below_a_denied_folder(tmp_path: Path) -> None:
    _made(tmp_path, ".config/gh/hosts.yml")
    (tmp_path / "op.toml").write_text('[policy]\nexceptions = ["/gh/hosts.yml"]\n')
    store = config.open_store(tmp_path / ".config")
    with Workspace(store, settings=config.load(store, tmp_path / "op.toml")) as workspace:
        assert "secret" in workspace.read("gh/hosts.yml").text


_MOUNTED = """
import os, sys
from readroom.core.errors import ReadroomError
from readroom.core.workspace import Workspace
try:
    with Workspace(sys.argv[1]) as workspace:
        print(workspace.read(sys.argv[2]).text)
except ReadroomError as error:
    print(error.code)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root mounts")
@pytest.mark.parametrize(
    ("above", "rest"), [(".config", "gh/hosts.yml"), (".aws", "credentials"), (".ssh", "config")]
)
def test_a_folder_that_is_mounted_elsewhere_is_still_that_folder(
    above: str, rest: str, tmp_path: Path
) -> None:
    _made(tmp_path, f"{above}/{rest}")
    (tmp_path / "mnt").mkdir()
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2" "$5"'
    words = (str(tmp_path / above), str(tmp_path / "mnt"), sys.executable, _MOUNTED, rest)
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False
    )
    if "denied" not in done.stdout:
        assert done.returncode, done.stdout  # containers may forbid mounts


def test_a_root_with_an_ordinary_name_is_not_refused(tmp_path: Path) -> None:
    for name in ("config", "ssh", "aws", ".config/nvim", ".claude", "work.env"):
        root = tmp_path / name
        root.mkdir(parents=True)
        (root / "a.txt").write_text("a\n")
        try:
            with Workspace(root) as workspace:
                assert "a" in workspace.read("a.txt").text
        except ReadroomError as error:
            raise AssertionError(name) from error
