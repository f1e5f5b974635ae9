"""Files that are attached to messages are under policy as members of archives are: by their names."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace

SECRET = "TOKEN=opensesame"


def message(subject: str, **files: str) -> EmailMessage:
    letter = EmailMessage()
    letter["From"], letter["Subject"] = "ann@example.org", subject
    letter.set_content("See what is attached.")
    for name, text in files.items():
        letter.add_attachment(text.encode(), "application", "octet-stream", filename=NAMES[name])
    return letter


NAMES = {"env": ".env", "notes": "notes.txt", "key": "id_rsa", "letter": "inner.eml"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = message("Inner", key=f"{SECRET} of the inner one", notes="inner words")
    outer = message("Outer", env=SECRET, notes="public words")
    outer.add_attachment(inner)
    (tmp_path / "mail.eml").write_bytes(bytes(outer))
    boxed = b"".join(b"From ann Mon Jan  1 00:00:00 2024\n" + bytes(each) + b"\n" for each in (outer, inner))
    (tmp_path / "all.mbox").write_bytes(boxed)
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.write(tmp_path / "mail.eml", "box/mail.eml")
    return tmp_path


@pytest.mark.parametrize("path", ["mail.eml", "all.mbox", "old.zip!/box/mail.eml"])
def test_an_attached_file_that_policy_denies_is_neither_shown_nor_named(folder: Path, path: str) -> None:
    """Not in its message, not as a part, not in the contents, not by a search; its neighbours are there."""
    with Workspace(folder) as workspace:
        replies = [workspace.read(path)]
        document: Any = replies[0].facts["document"]
        total = document["total_parts"]
        replies += [workspace.read(path, pages=str(number)) for number in range(1, total + 1)]
        replies.append(workspace.read(path, pages="contents"))
        replies.append(workspace.grep("opensesame", path=path, documents=True))
        replies.append(workspace.grep("words|env|id_rsa", path=path, documents=True))
        text = "\n".join(reply.text + str(reply.facts) for reply in replies)
        assert "opensesame" not in text.replace("pattern': 'opensesame", "").replace('"opensesame"', "")
        assert "[attachment: .env" not in text
        assert "id_rsa," not in text
        assert "'.env'" not in text
        assert "public words" in text or path == "all.mbox"
        assert "inner words" in text
        assert "attached file is denied by policy" in text
        assert "It is denied by policy" in text


def test_rules_of_the_folder_hold_and_only_for_those_who_have_them(folder: Path) -> None:
    """What one workspace keeps of a document does not decide what another shows; rules may change, too."""
    with Workspace(folder) as workspace:
        assert "public words" in workspace.read("mail.eml").text
        (folder / ".readroomignore").write_text("notes.txt\n")
        text = workspace.read("mail.eml").text
        assert "public words" not in text
        assert "notes.txt" not in text
        (folder / ".readroomignore").write_text("inner.eml\n")
    with Workspace(folder) as workspace:
        text = workspace.read("mail.eml").text
        assert "public words" in text


def test_an_attached_message_that_is_denied_takes_what_it_carries_with_it(folder: Path) -> None:
    """Names of what is attached to a denied message are inside of it."""
    letter = message("Outer", notes="public words")
    inner = message("Private matters", notes="inner words")
    letter.add_attachment(inner, filename="dump.eml")
    (folder / "mail.eml").write_bytes(bytes(letter))
    (folder / ".readroomignore").write_text("dump.eml\n")
    with Workspace(folder) as workspace:
        text = workspace.read("mail.eml").text
        assert "public words" in text
        assert "Private matters" not in text
        assert "inner words" not in text


def test_a_name_that_is_too_long_to_be_asked_about_is_denied(folder: Path) -> None:
    letter = EmailMessage()
    letter["From"], letter["Subject"] = "ann@example.org", "Long"
    letter.set_content("See below.")
    letter.add_attachment(SECRET.encode(), "text", "plain", filename="x" * 5_000 + ".pem")
    (folder / "mail.eml").write_bytes(bytes(letter))
    with Workspace(folder) as workspace:
        text = workspace.read("mail.eml").text
        assert "See below." in text
        assert "opensesame" not in text
        assert "xxxx" not in text


def _everything(workspace: Workspace, path: str) -> str:
    """All parts of a mail, one by one, and what a search finds in it."""
    document: Any = workspace.read(path).facts["document"]
    replies = [workspace.read(path, pages=str(at)) for at in range(1, document["total_parts"] + 1)]
    found = workspace.grep("TOKEN", path=path, documents=True)
    assert not found.facts["files"]
    return "\n".join(reply.text for reply in replies)


def test_mail_in_mail_never_shows_the_source_of_what_it_carries(folder: Path) -> None:
    """However deep it lies, and whether it is attached as a message, as a file or in an archive."""
    letter = message("Innermost", env=SECRET, notes="deep words")
    for depth in range(7):
        outer = message(f"Level {depth}", notes=f"words {depth}")
        outer.add_attachment(letter)
        letter = outer
    (folder / "deep.eml").write_bytes(bytes(letter))
    carried = bytes(message("Carried", env=SECRET, notes="carried words"))
    box = b"From ann Mon Jan  1 00:00:00 2024\n" + carried
    with zipfile.ZipFile(folder / "pack.zip", "w") as archive:
        archive.writestr("saved.eml", carried)
    files = {"saved.eml": carried, "all.mbox": box, "pack.zip": (folder / "pack.zip").read_bytes()}
    letter = message("Outer")
    for name, data in files.items():
        letter.add_attachment(data, "application", "octet-stream", filename=name)
    (folder / "files.eml").write_bytes(bytes(letter))
    with Workspace(folder) as workspace:
        text = _everything(workspace, "deep.eml")
        assert "words 3" in text
        assert "It is a nested message that is not opened" in text
        text += _everything(workspace, "files.eml")
        assert text.count("carried words") == 2
        assert "opensesame" not in text


def test_files_in_an_attached_archive_are_parts_under_the_same_rules(folder: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("notes.txt", "innermost words")
        archive.writestr("id_rsa", SECRET)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/page.html", "<p>packed words</p>")
        archive.writestr("a/.env", SECRET)
        archive.writestr("in.zip", inner.getvalue())
        archive.writestr("../out.txt", "outside")
    letter = message("Outer", notes="public words")
    letter.add_attachment(data.getvalue(), "application", "zip", filename="pack.zip")
    letter.add_attachment(b"PK\3\4", "application", "zip", filename="cut.zip")
    (folder / "mail.eml").write_bytes(bytes(letter))
    with Workspace(folder) as workspace:
        reply = workspace.read("mail.eml")
        assert "- a/page.html (part 5)" in reply.text
        assert "[file: a/page.html, 19 bytes: part 5]" in reply.text
        assert "1 file with an unusable name" in reply.text
        assert "Its files cannot be listed: it has no end" in reply.text
        assert "packed words" in workspace.read("mail.eml", pages="5").text
        found: Any = workspace.grep("words", path="mail.eml", documents=True).facts["files"]
        assert [line["part"] for line in found[0]["lines"]] == [2, 5, 7 + 1]
        text = _everything(workspace, "mail.eml")
        assert "opensesame" not in text
        assert ".env" not in text
        assert "id_rsa" not in text
