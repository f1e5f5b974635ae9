"""Files of a revision through every reading tool, and which of them may be seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.repository import process
from tests.core.git.making import Ask, Repo, asking, git, needs_git
from tests.suites import needs

pytestmark = needs_git

ONE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    made = Repo(tmp_path_factory.mktemp("repo"))
    made.commit({"src/app.py": ONE, "docs/a.md": "# Title\n\nwords\n", "gone.txt": "gone\n"}, "first")
    made.git("tag", "v1")
    made.git("branch", "team/topic/x")
    made.commit({"src/app.py": ONE.replace("2", "22"), "gone.txt": None}, "second")
    return made


@pytest.fixture
def ask(repo: Repo) -> Iterator[Ask]:
    with asking(repo.folder) as made:
        yield made


@pytest.mark.parametrize(
    "path",
    [
        "@v1/src/app.py", "src/app.py@v1", "src@v1/app.py", "v1:src/app.py", "HEAD~1:src/app.py",
        "src/app.py@HEAD~1", "@team/topic/x/src/app.py", "src/app.py@team/topic/x", "@HEAD^/src/app.py",
        "@v1^{commit}/src/app.py", "./src/app.py@v1",
    ],
)  # fmt: skip
def test_every_spelling_means_the_file_then(ask: Ask, path: str) -> None:
    text = ask.text("read_file", path=path)
    assert "6\t    return 2\n" in text
    assert text.startswith("@")


def test_an_absolute_path_takes_a_revision(repo: Repo, ask: Ask) -> None:
    assert "return 2\n" in ask.text("read_file", path=f"{repo.folder}/src/app.py@v1")


def test_the_reply_names_the_commit(repo: Repo, ask: Ask) -> None:
    commit = repo.git("rev-parse", "v1").strip()
    assert commit[:10] in ask.text("read_file", path="src/app.py@v1")


def test_a_file_that_is_gone_is_read(ask: Ask) -> None:
    assert "1\tgone" in ask.text("read_file", path="HEAD~1:gone.txt")
    assert "1\tgone" in ask.text("read_file", path="@v1/gone.txt")


def test_the_other_views_and_tools_work_there(ask: Ask) -> None:
    assert "5-6 def two()" in ask.text("read_file", path="@v1/src/app.py", view="outline")
    assert "5\tdef two" in ask.text("read_file", path="@v1/src/app.py", symbol="two")
    assert "gone.txt" in ask.text("list_directory", path="@v1")
    assert "src/app.py" in ask.text("list_directory", path="@v1", depth=2)
    found = ask.text("grep_files", pattern="return", path="@v1")
    assert found.startswith("2 matches in 1 file")
    assert "@v1/src/app.py" in found
    assert "@v1/docs/a.md" in ask.text("grep_files", pattern="words", path="@v1", glob="*.md")
    assert "@v1/src/app.py" in ask.text("find_relevant", query="function two", path="@v1")


def test_the_next_page_is_of_the_same_revision(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"long.txt": "".join(f"line {n}\n" for n in range(3000))})
    made.commit({"long.txt": "short\n"})
    with asking(made.folder) as ask:
        reply = ask("read_file", path="@HEAD~1/long.txt")
        following = reply.facts["next"]
        assert isinstance(following, dict)
        second = ask.text(following["tool"], **following["arguments"])
        assert second.startswith("@HEAD~1/long.txt")


def test_a_name_on_disk_has_precedence(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "old\n"})
    made.write({"a.txt@HEAD": "a file\n", "@HEAD/a.txt": "below a folder\n"})
    with asking(made.folder) as ask:
        assert "a file" in ask.text("read_file", path="a.txt@HEAD")
        assert "below a folder" in ask.text("read_file", path="@HEAD/a.txt")


def test_a_name_with_a_sign_is_missing_as_any_other(ask: Ask) -> None:
    ask.fails("not_found", "read_file", path="icon@2x.png")
    ask.fails("not_found", "read_file", path="src/none.py@v1")
    assert "src/app.py" in ask("read_file", path="src/app.py:3").text


def test_a_file_with_a_sign_can_be_made(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "old\n"})
    with asking(made.folder) as ask:
        ask.text("write_file", path="icon@2x.txt", content="x", expected_hash="absent")


def test_nothing_is_written_at_a_revision(repo: Repo, ask: Ask) -> None:
    ask.fails("protected", "write_file", path="@v1/new.txt", content="x", expected_hash="absent")
    assert not (repo.folder / "@v1").exists()


def test_an_unknown_revision_is_named(ask: Ask) -> None:
    assert "no revision v9" in ask.fails("no_such_revision", "read_file", path="@v9/src/app.py")
    assert "team/topic/x" in ask.fails("no_such_revision", "read_file", path="@team/topik/x/a")
    for odd in ("@--all/a", "@:/first/a", "@HEAD@{1}x/a"):
        assert ask("read_file", path=odd).is_error


def test_what_was_seen_at_a_revision_is_never_news(ask: Ask) -> None:
    ask.text("read_file", path="src/app.py@v1")
    assert "since you saw" not in ask.text("read_file", path="src/app.py")


def test_without_a_repository_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with asking(tmp_path) as ask:
        ask.fails("no_repository", "read_file", path="@HEAD/a.txt")
        ask.fails("not_found", "read_file", path="a.txt@HEAD")
        ask.fails("no_repository", "git", show="log")


# -----------------------------------------------------------------------------
# Policy.
# -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """`.env` and a copy of it, then renamed, then changed, then gone."""
    made = Repo(tmp_path_factory.mktemp("secret"))
    words = "".join(f"KEY_{n} = secret {n}\n" for n in range(20))
    made.commit({".env": words, "copy.txt": words, "a.txt": "a\n"}, "first")
    made.git("tag", "v1")
    made.commit({"copy.txt": None}, "copy goes")
    made.git("mv", ".env", "renamed.txt")
    made.commit({"renamed.txt": words + "MORE = 1\n"}, "renamed")
    made.git("tag", "v3")
    made.commit({"renamed.txt": None}, "gone")
    return made


def test_a_denied_name_is_denied_at_every_revision(secret: Repo) -> None:
    with asking(secret.folder) as ask:
        for path in ("@v1/.env", ".env@v1", "v1:.env", "@v1/.ENV", "@v1/./.env"):
            reply = ask("read_file", path=path)
            assert reply.is_error, path
            assert "secret" not in reply.text, path


def test_the_same_bytes_under_another_name_stay_unseen(secret: Repo) -> None:
    with asking(secret.folder) as ask:
        ask.fails("denied_content", "read_file", path="@v1/copy.txt")
        ask.fails("denied_content", "read_file", path="@v3/renamed.txt")
        assert "0 matches" in ask.text("grep_files", pattern="secret", path="@v1", include=["hidden"])
        found = ask("find_relevant", query="KEY_3 secret 3", path="@v1")
        assert "= secret" not in found.text


def test_an_ignore_file_of_today_holds_for_the_past(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"notes/private.txt": "mine\n", "a.txt": "a\n"})
    made.commit({".readroomignore": "private.txt\n"})
    with asking(made.folder) as ask:
        ask.fails("denied", "read_file", path="@HEAD~1/notes/private.txt")
        assert "private" not in ask.text("list_directory", path="@HEAD~1/notes")


def test_an_old_ignore_file_opens_nothing(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({".readroomignore": "!.env\n", ".env": "K=1\n", "a.txt": "a\n"})
    with asking(made.folder) as ask:
        ask.fails("denied", "read_file", path="@HEAD/.env")


def test_ignored_names_are_left_out_of_searches(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({".gitignore": "build/\n", "build/x.txt": "needle\n", "a.txt": "needle\n"})
    with asking(made.folder) as ask:
        assert "1 match in 1 file" in ask.text("grep_files", pattern="needle", path="@HEAD")
        assert "2 matches" in ask.text("grep_files", pattern="needle", path="@HEAD", include=["ignored"])


def test_links_stay_in_the_revision(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    (made.folder / "inner").symlink_to("docs/a.txt")
    (made.folder / "out").symlink_to("/etc/passwd")
    (made.folder / "up").symlink_to("../../../etc/passwd")
    (made.folder / "loop").symlink_to("loop")
    (made.folder / "env").symlink_to(".env")
    made.commit({"docs/a.txt": "inside\n", ".env": "K=1\n"})
    with asking(made.folder) as ask:
        assert "inside" in ask.text("read_file", path="@HEAD/inner")
        for name in ("out", "up", "loop", "env"):
            reply = ask("read_file", path=f"@HEAD/{name}")
            assert reply.is_error, name
            assert "root:" not in reply.text
            assert "K=1" not in reply.text


def test_several_folders_have_their_own_repositories(tmp_path: Path) -> None:
    first, second = Repo(tmp_path / "a"), Repo(tmp_path / "b")
    first.commit({"x.txt": "first\n"})
    second.commit({"x.txt": "second\n", ".env": "K=1\n"})
    with Workspace(str(first.folder), f"B={second.folder}") as workspace:
        ask = Ask(workspace)
        assert "first" in ask.text("read_file", path="@HEAD/x.txt")
        for path in ("B/@HEAD/x.txt", "B/x.txt@HEAD"):
            assert "second" in ask.text("read_file", path=path)
        ask.fails("denied", "read_file", path="B/@HEAD/.env")
        assert "B/x.txt" not in ask.text("git", show="changes")
        second.write({"x.txt": "third\n"})
        assert "B/x.txt" in ask.text("git", show="changes", path="B")


def test_a_nested_repository_has_its_own_revisions(tmp_path: Path) -> None:
    outer, inner = Repo(tmp_path / "r"), Repo(tmp_path / "r/sub")
    inner.commit({"x.txt": "inner\n"})
    outer.write({"y.txt": "outer\n"})
    git(outer.folder, "add", "y.txt")
    outer.record("outer")
    with asking(outer.folder) as ask:
        text = ask.text("read_file", path="sub/x.txt@HEAD")
        assert text.startswith("@HEAD/sub/x.txt")
        assert "inner" in text
        assert "outer" in ask.text("read_file", path="y.txt@HEAD")


def test_submodules_and_pointers_are_named(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    made.commit({"big.bin": pointer, "a.txt": "a\n"})
    commit = made.git("rev-parse", "HEAD").strip()
    made.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
    made.record("with a submodule")
    with asking(made.folder) as ask:
        assert "git LFS" in ask.text("read_file", path="@HEAD/big.bin")
        assert "submodule" in ask("read_file", path="@HEAD/lib").text
        assert "submodule" in ask.text("git", show="changes", revision="HEAD~1..HEAD")


@needs("documents")
def test_a_file_in_an_archive_at_a_revision(tmp_path: Path) -> None:
    import io
    import zipfile

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("in.txt", "zipped\n")
        archive.writestr(".env", "K=1\n")
    made = Repo(tmp_path / "r")
    made.commit({"lib.zip": data.getvalue()})
    made.commit({"lib.zip": None})
    with asking(made.folder) as ask:
        assert "zipped" in ask.text("read_file", path="@HEAD~1/lib.zip!/in.txt")
        assert ask("read_file", path="@HEAD~1/lib.zip!/.env").is_error


def test_without_the_package_the_reply_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n"})
    paths, _ = process.libraries_of_python()
    bare = [path for path in paths if not (Path(path) / "pygit2").is_dir()]
    monkeypatch.setattr(process, "libraries_of_python", lambda: (bare, bare))
    with asking(made.folder) as ask:
        for tool, arguments in (("read_file", {"path": "a.txt@HEAD"}), ("git", {"show": "log"})):
            text = ask.fails("missing_program", tool, **arguments)
            assert "pip install 'readroom[git]'" in text
        assert "a" in ask.text("read_file", path="a.txt")
