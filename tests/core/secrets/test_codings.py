"""Secrets in texts that stand in others: escaped, declared with a type, or in the codings of mails."""

from __future__ import annotations

import base64
import html
import json
import quopri
from pathlib import Path
from typing import Any

import pytest

from readroom.core.secrets import mails
from readroom.core.secrets.view import SIGN, masked
from tests.core.secrets.planted import Secrets, masking, settings_text

TEXT = settings_text(Secrets(3)) + 'api_key = "Zx81kQ03mmL2p"\n'
OWN = [*Secrets(3).every[:6], "Zx81kQ03mmL2p"]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_text_in_a_string_is_judged_as_it_stands(times: int) -> None:
    made = TEXT
    for _ in range(times):
        made = json.dumps({"text": made})
    view = masked(made.encode()).decode()
    assert len(view) == len(made.encode())
    for secret in OWN:
        assert secret not in view, secret


def test_entities_are_quotes() -> None:
    view = masked(html.escape(TEXT).encode()).decode()
    assert not [secret for secret in OWN if secret in view]
    assert "&quot;" in view


def test_escapes_that_hold_no_secret_stay() -> None:
    for line in (r'{"password": "see \"the manual\" \n"}', r"C:\new\token = name", "key=&quot;&quot;"):
        assert masked(line.encode()) == line.encode()


@pytest.mark.parametrize(
    "line",
    [
        'def connect(password: str = "Zx81kQ03mmL2p") -> str:',
        'password: Optional[str] = "Zx81kQ03mmL2p"',
        "const password: string = 'Zx81kQ03mmL2p';",
        'static DB_PASSWORD: &\'static str = "Zx81kQ03mmL2p";',
        'private val apiKey: String? = "Zx81kQ03mmL2p"',
    ],
)
def test_a_declaration_may_have_a_type(line: str) -> None:
    assert "Zx81kQ03mmL2p" not in masked(line.encode()).decode()


def mail(coding: str, body: bytes, end: str = "\n") -> bytes:
    head = f"From: a@b\nContent-Type: text/plain\nContent-Transfer-Encoding: {coding}\n\n"
    return (head + body.decode()).replace("\n", end).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_parts_of_mails_are_judged_as_they_read(end: str) -> None:
    for coding, body in (
        ("base64", base64.encodebytes(TEXT.encode())),
        ("Quoted-Printable", quopri.encodestring(TEXT.encode())),
    ):
        data = mail(coding, body, end)
        view = masked(data)
        assert len(view) == len(data)
        assert [line.count(b"\x7f") for line in view.splitlines()].count(0) >= 5
        kept = view if coding == "base64" else view.replace(b"=" + end.encode(), b"")
        for secret in OWN:
            assert secret.encode() not in kept, (coding, secret)
        assert view.count(b"\n") == data.count(b"\n")
    assert base64.b64encode(OWN[0].encode()[2:14]) not in masked(
        mail("base64", base64.b64encode(TEXT.encode()))
    )


def test_what_is_no_base64_is_left_alone() -> None:
    for body in (b"", b"====", b"Zg", b"not base64 at all!\n", b"QUJD\nQ"):
        data = mail("base64", body)
        assert masked(data) == data
        assert not SIGN.search(masked(data))
    assert not list(mails.coded_parts(b"Content-Transfer-Encoding: base64"))


def test_the_end_of_a_private_key_is_one_without_its_beginning() -> None:
    secrets = Secrets(3)
    tail = "\n".join(secrets.pem.splitlines()[-8:])
    marks = ("", "+", "> ", "    ")
    for text in (*(tail.replace("\n", f"\n{mark}") for mark in marks), json.dumps(tail)):
        view = masked(f"before these\n{text}\nand after\n".encode()).decode()
        assert not secrets.in_text(view), text
        assert view.startswith("before these\n")
    told = b"Copy it all until\n-----END RSA PRIVATE KEY-----\n"
    assert masked(told) == told


@pytest.mark.parametrize("name", ["cp037", "cp500", "cp1026", "cp1140", "cp273", "cp424"])
def test_letters_in_which_no_secrets_are_looked_for_are_refused(tmp_path: Path, name: str) -> None:
    """EBCDIC has other bytes for letters, so what is read by them was never judged."""
    (tmp_path / "a.txt").write_bytes("name: x\npassword: Q7rx4Kd2m8Tz5w\n".encode(name))
    with masking(tmp_path) as workspace:
        reply = workspace.call("read_file", {"path": "a.txt", "encoding": name})
        error: Any = reply.facts["error"]
        assert error["code"] == "bad_encoding"
        assert "Q7rx" not in reply.text
