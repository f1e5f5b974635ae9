"""Addresses: what is one, what is refused, and that nothing of it can be an option or a second word."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.cli.remote import transport
from readroom.cli.remote.address import Address, is_address, parsed
from readroom.core.errors import BadValue
from tests.each import each

GOOD = {
    "ssh://host/srv/shop": Address("ssh", "host", "/srv/shop"),
    "ssh://me@host:2222/srv/shop": Address("ssh", "host", "/srv/shop", "me", 2222),
    "SSH://me%2Bx@host/~": Address("ssh", "host", "~", "me+x"),
    "ssh://host/~/my%20shop": Address("ssh", "host", "~/my shop"),
    "ssh://host/a%2520b": Address("ssh", "host", "/a%20b"),
    "ssh://host/-rf": Address("ssh", "host", "/-rf"),
    "ssh://host/%FF": Address("ssh", "host", "/\udcff"),
    "ssh://host//srv": Address("ssh", "host", "//srv"),
    "ssh://[::1]:22/x": Address("ssh", "::1", "/x", port=22),
    "ssh://[fe80::1%25eth0]/x": Address("ssh", "fe80::1%eth0", "/x"),
    "docker://app-1/srv": Address("docker", "app-1", "/srv"),
    "podman://me@app/srv": Address("podman", "app", "/srv", "me"),
}


@each("text", GOOD)
def test_an_address_is_decoded_once_and_written_as_one_that_means_the_same(text: str) -> None:
    address = parsed(text)
    assert address == GOOD[text]
    assert parsed(str(address)) == address


BAD = [
    "ssh://-oProxyCommand=id/x", "ssh://%2DoProxyCommand=id/x", "ssh://-l@host/x", "ssh://%2Dx@host/x",
    "docker://-it/x", "podman://--privileged/x", "docker://%2Dit/x", "ssh://a b/x", "ssh://a%20b/x",
    "ssh://a%0Ab/x", "ssh://host/a b", "ssh://host/a\tb", "ssh://host/a%0Ab", "ssh://host/a%00b",
    "ssh://host/a%7Fb", "ssh://me;id@host/x", "ssh://$(id)@host/x", "ssh://`id`/x", "ssh://a;id/x",
    "ssh://a%24b/x", "ssh://a|b/x", "ssh://a'b/x", 'ssh://a"b/x', "ssh:///x", "ssh://host", "ssh://host/",
    "ssh://@host/x", "ssh://host:/x", "ssh://host:0/x", "ssh://host:65536/x", "ssh://host:22a/x",
    "ssh://host:+22/x", "ssh://host:٢٢/x", "ssh://host:1e3/x", "ssh://[::1/x", "ssh://::1/x", "ssh://[::g]/x",
    "ssh://[::1]x/x", "ssh://[-o]/x", "ssh://[fe80::1%25-o]/x", "ssh://x[::1]/x", "ssh://host/x?y",
    "ssh://host/x#y",
    "ssh://host/%", "ssh://host/%zz", "ssh://ho%st/x", f"ssh://host/{'a' * 256}",
    f"ssh://host/{'a/' * 3000}",
    "docker://app:80/x", "docker://[::1]/x", "docker://a/b\x00", "http://host/x",
    "kubectl://pod/x", "wsl://d/x",
    "ssh:/host/x", "host:/x", "",
]  # fmt: skip


@each("text", BAD)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(BadValue) as refused:
        parsed(text)
    assert refused.value.advice


@each("userinfo", ["me:hunter2", "me%3Ahunter2", ":hunter2", "hunter2:", "a b:hunter2", "a;hunter2"])
def test_a_password_is_refused_and_never_shown(userinfo: str) -> None:
    with pytest.raises(BadValue) as refused:
        parsed(f"ssh://{userinfo}@host/x")
    assert "hunter2" not in f"{refused.value} {refused.value.facts} {refused.value.args}"


def test_files_of_this_machine_are_no_addresses() -> None:
    assert not any(map(is_address, ("/srv", "shop", "file:///srv", "a:b", "://x", "C:\\x", ".")))
    assert is_address("ssh://host/x")
    assert is_address("ftp://host/x")


_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(_NAMES, _NAMES, _NAMES)
def test_no_address_gives_a_program_more_than_its_own_words(user: str, host: str, folder: str) -> None:
    """A law: whatever is accepted is one word after `--`, or the value of -l, and no shell sees it."""
    try:
        address = parsed(f"ssh://{user}@{host}/{folder}")
    except BadValue:
        return
    words = transport.started(address, asks=False)
    at = words.index("--")
    assert words[at + 1 : at + 2] == [address.host]
    assert len(words) == at + 3
    assert not address.host.startswith("-")
    assert (
        address.folder not in words[at + 2]
        or address.folder in transport.started(parsed("ssh://h/q"), asks=False)[-1]
    )
    assert not set(address.user + address.host) & set(" \t\n;|&$`'\"\\<>(){}*?!#")


SHELLS = [
    shell
    for shell in ("sh", "dash", "bash", "zsh", "fish", "csh", "tcsh", "ksh", "mksh")
    if shutil.which(shell)
]

AWKWARD = [
    "/srv/shop", "/a b", "/a'b", '/a"b', "/a\\b", "/a$b", "/$(id)", "/`id`", "/!x", "/a!", "/ü", "/\udcff5",
    "/a;b",
    "/*", "/%s%d", "/a%20b", "/~", "~/x", "/a\\0101", "/[x]", "/{a,b}", "/a#b", "/(x)", "/&", "/|", "/a\\",
    "/'\\''",
    "/^x", "/a=b", "/>x", "/é'ü\"$!\\",
]  # fmt: skip


@each("shell", SHELLS)
def test_a_folder_arrives_as_it_is_through_every_shell(shell: str, tmp_path: Path) -> None:
    """The command line that a client has in its settings, as sshd gives it to the account's shell."""
    program = tmp_path / "readroom"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for folder in AWKWARD:
        command = transport.direct(Address("ssh", "host", folder))[-1]
        done = subprocess.run([shell, "-c", command], env=environment, capture_output=True, check=False)
        assert done.stdout == b"mcp\n" + os.fsencode(folder) + b"\n", (folder, done)


@each("shell", SHELLS)
def test_the_far_end_is_started_and_looked_for_through_every_shell(shell: str, tmp_path: Path) -> None:
    command = transport.started(Address("ssh", "host", "/x"), asks=False)[-1]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    absent = subprocess.run([shell, "-c", command], env=environment, capture_output=True, check=False)
    assert absent.stdout.startswith(b"readroom-absent "), absent
    assert absent.returncode == 127
    program = tmp_path / ".local/bin/readroom"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "its own: $@"\n')
    program.chmod(0o755)
    own = subprocess.run([shell, "-c", command], env=environment, capture_output=True, check=False)
    assert own.stdout == b"its own: remote\n"


@each(
    "words", [transport.started(parsed("ssh://me@h:1/x"), asks=True), transport.direct(parsed("ssh://h/x"))]
)
def test_nothing_of_this_machine_is_lent_to_the_other(words: list[str]) -> None:
    options = words[: words.index("--")]
    assert {"-T", "-a", "-x"} <= set(options)
    assert "ClearAllForwardings=yes" in options
    assert "$" not in transport.direct(parsed("ssh://h/x"))[-1], "clients replace variables in their settings"
