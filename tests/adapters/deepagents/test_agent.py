"""Deep agents on the backend of a workspace: the tools they know, and the files that policy lets them see."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from tests.adapters.calls import FRAMEWORKS, Call, Seen, make_folder, needs, picture

pytestmark = [
    needs("deepagents", FRAMEWORKS["deepagents"]),
    pytest.mark.filterwarnings("ignore"),  # those of frameworks are not ours
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "work")


@pytest.fixture(params=[True, False], ids=["awaited", "in a thread"])
def awaited(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def run(
    folder: Path, calls: Sequence[Call], *, awaited: bool = True, tools: Sequence[Any] = ()
) -> list[Seen]:
    agent = import_module("tests.adapters.agents.deepagents")
    with Workspace(folder) as workspace:
        shown: list[Seen] = agent.run(workspace, calls, awaited=awaited, tools=tools)
    return shown


def test_reads_show_the_lines_and_say_where_to_go_on(folder: Path, awaited: bool) -> None:
    calls: list[Call] = [
        ("read_file", {"file_path": "/odd.txt"}),
        ("read_file", {"file_path": "/long.txt", "offset": 2990, "limit": 5}),
        ("read_file", {"file_path": "/long.txt", "offset": 5000}),
    ]
    odd, window, past = run(folder, calls, awaited=awaited)
    assert odd.text.endswith("tab\there\nü \U0001f600 <tag> {brace} %s \\n\nthree")
    assert window.text.endswith("\n" + "\n".join(f"line {number}" for number in range(2991, 2996)))
    assert "next offset 2995" in window.text
    assert past.failed
    assert "3000" in past.text


def test_every_page_of_a_file_together_is_the_file(folder: Path) -> None:
    calls: list[Call] = [
        ("read_file", {"file_path": "/long.txt", "offset": at, "limit": 700}) for at in range(0, 3000, 700)
    ]
    pages = [one.text.split("\n")[1:] for one in run(folder, calls)]
    assert [line for page in pages for line in page] == (folder / "long.txt").read_text().split("\n")[:-1]


def test_listings_globs_and_searches_see_the_same_files(folder: Path, awaited: bool) -> None:
    calls: list[Call] = [
        ("ls", {"path": "/"}),
        ("glob", {"pattern": "*.py"}),
        ("glob", {"pattern": "/*.txt"}),
        ("grep", {"pattern": "return", "output_mode": "content"}),
        ("grep", {"pattern": "return", "glob": "*.md"}),
    ]
    shown = run(folder, calls, awaited=awaited)
    assert [one.text for one in shown] == [
        "['/.deepagents/', '/logo.png', '/long.txt', '/odd.txt', '/src/']",
        "['/src/orders.py']",
        "['/long.txt', '/odd.txt']",
        "/src/orders.py:\n  2:     return weight * 2\n  6:     return sum(items)",
        "No matches found",
    ]


@pytest.mark.clause("deepagents.denied")
def test_what_policy_denies_is_in_no_reply_of_any_tool(folder: Path, awaited: bool) -> None:
    (folder / "link").symlink_to("/etc")
    calls: list[Call] = [
        ("read_file", {"file_path": "/.env"}),
        ("read_file", {"file_path": "/link/passwd"}),
        ("write_file", {"file_path": "/.env", "content": "x"}),
        ("edit_file", {"file_path": "/.env", "old_string": "hunter2", "new_string": "x"}),
        ("delete", {"file_path": "/.env"}),
        ("grep", {"pattern": "hunter2", "output_mode": "content"}),
        ("glob", {"pattern": ".env"}),
        ("ls", {"path": "/"}),
    ]
    shown = run(folder, calls, awaited=awaited)
    assert [one.failed for one in shown[:5]] == [True] * 5
    assert "denied by the rule '.env'" in shown[0].text
    assert all("hunter2" not in one.text and "root:" not in one.text for one in shown)
    assert all(".env'" not in one.text for one in shown[6:])
    assert (folder / ".env").read_text() == "SECRET=hunter2\n"


def test_changes_keep_line_ends_and_a_text_that_stands_twice_is_refused(folder: Path, awaited: bool) -> None:
    calls: list[Call] = [
        ("edit_file", {"file_path": "/odd.txt", "old_string": "three", "new_string": "3\nfour"}),
        ("edit_file", {"file_path": "/src/orders.py", "old_string": "return", "new_string": "yield"}),
        ("write_file", {"file_path": "/new/a.txt", "content": "x\n"}),
        ("delete", {"file_path": "/src"}),
    ]
    edited, twice, _, _ = run(folder, calls, awaited=awaited)
    assert not edited.failed
    assert (folder / "odd.txt").read_bytes().endswith(b"3\r\nfour\r\n")
    assert twice.failed
    assert "2 times" in twice.text
    assert (folder / "new" / "a.txt").read_text() == "x\n"
    assert not (folder / "src").exists()


def test_an_image_arrives_as_it_is_and_a_large_file_is_refused_in_words(folder: Path, awaited: bool) -> None:
    (folder / "film.mp4").write_bytes(bytes(9 * 1024 * 1024))
    calls: list[Call] = [("read_file", {"file_path": "/logo.png"}), ("read_file", {"file_path": "/film.mp4"})]
    image, film = run(folder, calls, awaited=awaited)
    assert image.images == [picture()]
    assert film.failed
    assert "8388608 bytes" in film.text


def novel() -> str:
    """A long story."""
    return "word " * 200_000


def test_what_deepagents_keeps_for_itself_is_not_in_the_folder(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    (shown,) = run(folder, [("novel", {})], tools=[novel])
    assert "/.deepagents/large_tool_results/" in shown.text
    assert sorted(folder.rglob("*")) == before
