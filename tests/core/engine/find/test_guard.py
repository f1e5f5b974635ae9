"""What may not be seen neither appears in a reply nor moves a score in it, whatever way leads there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from readroom import Workspace
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.each import each

SEEN = {
    "a/one.py": "def open_door(key):\n    return key.turns\n",
    "a/two.py": "def close_door():\n    return 'shut'\n",
    "b/three.md": "# Doors\n\nA door has a key.\n",
    "b/four.py": "KEY = 'door'\n",
}
SECRET = "def canary7f3a_door(key):\n    return 'door key canary7f3a'\n" * 30


def on_disk(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        os.utime(root / path, (1_700_000_000, 1_700_000_000))
    return root


def everything(root: Path, question: str = "door key") -> str:
    """All that replies say of a tree, in every form."""
    with Workspace(root) as room:
        replies = [
            room.find(question, explain=True),
            room.find(question, output="files", explain=True),
            room.find(question, output="outline", budget_tokens=100),
            room.find("canary7f3a_door"),
            room.find(question),  # from what is kept
        ]
    return json.dumps([[reply.text, dict(reply.facts)] for reply in replies], sort_keys=True)


def _link_out(root: Path) -> None:
    outside = on_disk(root.parent / "outside", {"door.py": SECRET})
    (root / "a/door.py").symlink_to(outside / "door.py")
    (root / "a/folder").symlink_to(outside)


def _link_to_denied(root: Path) -> None:
    on_disk(root, {".env": SECRET})
    (root / "a/door.py").symlink_to("../.env")


def _hard_link_to_denied(root: Path) -> None:
    on_disk(root, {".env": SECRET})
    os.link(root / ".env", root / "a/door.py")


HIDDEN: dict[str, Callable[[Path], object]] = {
    "denied by defaults": lambda root: on_disk(root, {".env": SECRET, "a/server.pem": SECRET}),
    "below a denied folder": lambda root: on_disk(root, {".ssh/door.py": SECRET, ".git/door.py": SECRET}),
    "a link out": _link_out,
    "a link to what is denied": _link_to_denied,
    "a hard link to what is denied": _hard_link_to_denied,
    "a link to what is seen": lambda root: (root / "a/again.py").symlink_to("one.py"),
}


@each("way", HIDDEN)
def test_what_may_not_be_seen_changes_no_byte_of_any_reply(way: str, tmp_path: Path) -> None:
    plain = on_disk(tmp_path / "plain" / "root", SEEN)
    other = on_disk(tmp_path / "other" / "root", SEEN)
    HIDDEN[way](other)
    found = everything(other)
    assert "canary7f3a" not in found.replace("canary7f3a_door", "", found.count('"canary7f3a_door"'))
    assert found == everything(plain)


RULES = {
    ".readroomignore": "private/\n*.vault\n",
    "readroom.toml": '[policy]\ndeny = ["hushed/**"]\n',
}


def test_rules_of_the_workspace_hide_their_files_from_scores(tmp_path: Path) -> None:
    plain = on_disk(tmp_path / "plain", {**SEEN, **RULES})
    other = on_disk(
        tmp_path / "other",
        {**SEEN, **RULES, "private/door.py": SECRET, "a/door.vault": SECRET, "hushed/door.py": SECRET},
    )
    assert everything(other) == everything(plain)


_PLACES = st.sampled_from(
    ["private/door.py", "private/key/a.md", "a/key.vault", ".env", "b/id_rsa", ".git/door"]
)
_TEXTS = st.text("dorkey \n_(){}", max_size=200) | st.just(SECRET)


@given(
    st.dictionaries(_PLACES, _TEXTS, max_size=4),
    st.sampled_from(["door", "key door", "open_door", "turns shut"]),
)
def test_no_content_of_denied_files_moves_a_score(hidden: dict[str, str], question: str) -> None:
    rules = {".readroomignore": b"private/\n*.vault\n"}

    def replies(files: dict[str, str]) -> list[object]:
        stored = {path: text.encode() for path, text in files.items()}
        with Workspace(MemoryStore({**stored, **rules})) as room:
            found: list[Reply] = [
                room.find(question, explain=True, output=output)
                for output in ("passages", "outline", "files")
            ]
            return [(one.text, dict(one.facts)) for one in found]

    assert replies({**SEEN, **hidden}) == replies(SEEN)


def test_rules_that_change_between_calls_hold_at_once(tmp_path: Path) -> None:
    """Also for what is kept: a text that was readable before answers nothing any more."""
    plain = on_disk(tmp_path / "plain", {**SEEN, ".readroomignore": "private/\n"})
    root = on_disk(tmp_path / "root", {**SEEN, "private/door.py": SECRET})
    with Workspace(root) as room, Workspace(plain) as without:
        assert "private/door.py" in room.find("door key").text
        assert "private/door.py" in room.find("door key").text
        (root / ".readroomignore").write_text("private/\n")
        for _ in range(2):
            assert room.find("door key", explain=True).text == without.find("door key", explain=True).text
        (root / ".readroomignore").unlink()
        assert "private/door.py" in room.find("door key").text


def test_a_file_that_becomes_denied_by_another_name_is_not_kept(tmp_path: Path) -> None:
    root = on_disk(tmp_path, {**SEEN, "a/door.py": SECRET})
    with Workspace(root) as room:
        assert "a/door.py" in room.find("door key").text
        os.link(root / "a/door.py", root / "a/server.pem")
        (root / ".readroomignore").write_text("*.pem\n")
        assert "canary7f3a" not in room.find("door key").text


def test_a_folder_that_becomes_a_link_out_is_not_followed(tmp_path: Path) -> None:
    root = on_disk(tmp_path / "root", {**SEEN, "c/door.py": "def door(key): pass\n"})
    outside = on_disk(tmp_path / "outside", {"door.py": SECRET})
    with Workspace(root) as room:
        assert "c/door.py" in room.find("door key").text
        (root / "c/door.py").unlink()
        (root / "c").rmdir()
        (root / "c").symlink_to(outside)
        reply = room.find("door key")
    assert "c/door.py" not in str(reply.facts["files"])
    assert reply.text.endswith("[No longer a file that can be read here: c/door.py]")
    assert "canary7f3a" not in reply.text


def test_what_is_hidden_in_shown_lines_and_other_names_of_files_are_told(tmp_path: Path) -> None:
    root = on_disk(
        tmp_path, {"a.py": "def door(key):\n    return '\u202ekey\u202c'\n", "b.py": "door = 'key'\n"}
    )
    os.link(root / "b.py", root / "c.py")
    with Workspace(root) as room:
        codes = {one["code"] for one in room.find("door key").facts["warnings"]}  # type: ignore[union-attr,index,call-overload]
    assert "hard_link" in codes
    assert len(codes) == 2
