"""Folders with secrets of every kind that is judged, in every form of file, and an ear for what leaves.

Two folders of one layout differ in nothing but the values of secrets, whose kinds and lengths are equal.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import io
import json
import os
import random
import re
import string
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import re2
from msgspec.structs import replace

from readroom import Workspace
from readroom.core import config
from readroom.core.limits import Limits
from readroom.core.secrets import SecretPolicy
from readroom.core.stores.local import LocalStore
from tests.contracts.cases import ROOT

RUN_CHARS = 8
"""So many characters of a secret in a row are no accident."""

TIME = 1_700_000_000
"""The time of every file, so that it tells no two folders apart."""

_DIGITS, _HEX = string.digits, "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
_LOWER = string.ascii_lowercase + string.digits
_ALNUM = string.ascii_letters + string.digits
_WORD = _ALNUM + "_-"
_BASE64 = _ALNUM + "+/"

Shape: TypeAlias = "tuple[str | tuple[str, int], ...]"
"""A secret: what each of its kind has, and how many characters of which letters are its own."""

SHAPES: Mapping[str, tuple[tuple[str, Shape], ...]] = {
    "AWS key": (
        ("aws_access_key_id: {}", ("AKIA", (_UPPER, 16))),
        ("aws_secret_access_key = {}", ((_BASE64, 40),)),
    ),
    "Azure storage key": (
        ("storage: DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=x", ((_BASE64, 86), "==")),
    ),
    "Discord token": (("bot {}", ("M", (_ALNUM, 23), ".", (_ALNUM, 6), ".", (_ALNUM, 27))),),
    "GitHub token": (
        ('github = "{}"', ("ghp_", (_ALNUM, 36))),
        ("- push with {} please", ("github_pat_", (_ALNUM, 60))),
    ),
    "GitLab token": (("gitlab: {}", ("glpat-", (_ALNUM, 20))),),
    "IBM key": (
        ('ibm_cloud_iam_key = "{}"', ((_ALNUM, 44),)),
        ('ibm_cos_secret_access_key = "{}"', ((_HEX, 48),)),
    ),
    "JSON web token": (
        ("jwt: {}", ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", (_ALNUM, 20), "In0.", (_WORD, 43))),
    ),
    "Mailchimp key": (("mailchimp {}", ((_HEX, 32), "-us7")),),
    "npm token": (("//registry.npmjs.org/:_authToken={}", ("npm_", (_ALNUM, 36))),),
    "OpenAI key": (("openai: {}", ("sk-proj-", (_ALNUM, 60))),),
    "PyPI token": (("upload {}", ("pypi-AgEIcHlwaS5vcmc", (_WORD, 80))),),
    "SendGrid key": (("mailer {}", ("SG.", (_ALNUM, 22), ".", (_ALNUM, 43))),),
    "Slack token": (("slack: {}", ("xoxb-", (_DIGITS, 12), "-", (_DIGITS, 12), "-", (_ALNUM, 24))),),
    "Square secret": (("square {}", ("sq0csp-", (_ALNUM, 43))),),
    "Stripe key": (("stripe: '{}'", ("sk_live_", (_ALNUM, 24))),),
    "Telegram token": (("telegram {}", ((_DIGITS, 9), ":", "aB", (_WORD, 33))),),
    "Twilio key": (("twilio {}", ("SK0", (_LOWER, 31))),),
    "Artifactory key": (("artifactory {}", ("AKC1aB", (_ALNUM, 60))),),
    "password in an address": (("database_url: postgres://bob:{}@db:5432/shop", ((_ALNUM, 14), "7")),),
    "password or key": (
        ("password: {}", ((_ALNUM, 13), "7")),
        ('api_key = "{}"', ((_ALNUM, 21), "7")),
        ("connect with db_password={} failed", ((_ALNUM, 17), "7")),
        ("machine example.org login bob password {}", ((_ALNUM, 12), "7")),
    ),
    "Google key": (("maps: {}", ("AIza", (_ALNUM, 35))),),
    "Anthropic key": (("anthropic: {}", ("sk-ant-api03-", (_ALNUM, 93), "AA")),),
    "token": (("hub {}", ("hf_", (string.ascii_letters, 34))), ("vault {}", ("hvs.", (_ALNUM, 30)))),
    "bearer token": (("Authorization: Bearer {}", ((_ALNUM, 39), "7")),),
}
"""Lines by kind: where the secret is, and what it is made of. Private keys have lines of their own."""

KEY_BYTES = 610
"""The body of a private key, in bytes."""


class Secrets:
    """The secrets of one folder."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"values {seed}")
        self.lines: list[tuple[str, str, str]] = []
        """Kind, line and secret."""
        self.own: list[str] = []
        """The random parts of its secrets, which only this folder has."""
        for kind, shapes in SHAPES.items():
            for line, shape in shapes:
                secret = self._made(shape)
                self.lines.append((kind, line.format(secret), secret))
        body = base64.b64encode(self._random.randbytes(KEY_BYTES)).decode()
        self.key_lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        self.own += self.key_lines

    def _made(self, shape: Shape) -> str:
        """Long random parts are the folder's own."""
        parts = []
        for part in shape:
            if isinstance(part, str):
                parts.append(part)
                continue
            letters, size = part
            made = self._some(letters, size)
            parts.append(made)
            if size >= RUN_CHARS:
                self.own.append(made)
        return "".join(parts)

    def _some(self, letters: str, size: int) -> str:
        """Letters as real secrets have them: where there may be digits, some are."""
        while True:
            made = "".join(self._random.choices(letters, k=size))
            if size < RUN_CHARS or letters == _DIGITS or not set(letters) & set(_DIGITS):
                return made
            if any(char.isdigit() for char in made) and any(char.isalpha() for char in made):
                return made

    @property
    def pem(self) -> str:
        """A private key, without a line end."""
        return "\n".join(
            ["-----BEGIN RSA PRIVATE KEY-----", *self.key_lines, "-----END RSA PRIVATE KEY-----"]
        )

    @property
    def guesses(self) -> tuple[str, ...]:
        """Some secrets and parts of them, as a caller would guess them."""
        return (
            self.of("AWS key"),
            self.of("password or key"),
            self.of("GitHub token")[4:16],
            self.of("password in an address"),
            self.key_lines[2],
        )

    def of(self, kind: str) -> str:
        """The first secret of a kind."""
        return next(secret for own, _, secret in self.lines if own == kind)

    @cached_property
    def _forms(self) -> Any:
        """A regex that each run of a secret matches, in the forms that texts have elsewhere."""
        runs: set[bytes] = set()
        for own in self.own:
            for form in {own, quote(own, safe=""), html.escape(own), json.dumps(own)[1:-1]}:
                runs |= {form[at : at + RUN_CHARS].encode() for at in range(len(form) - RUN_CHARS + 1)}
            for skipped in range(3):  # the three ways in which bytes meet the letters of base64
                whole = own[skipped : skipped + (len(own) - skipped) // 3 * 3]
                for encode in (base64.b64encode, base64.urlsafe_b64encode):
                    coded = encode(whole.encode())
                    runs |= {coded[at : at + 12] for at in range(len(coded) - 11)}
            hexed = binascii.hexlify(own.encode())
            runs |= {hexed[at : at + 2 * RUN_CHARS] for at in range(0, len(hexed) - 2 * RUN_CHARS + 1, 2)}
        options = re2.Options()
        options.max_mem = 512 * 1024 * 1024
        options.literal = False
        return re2.compile(b"|".join(sorted(re2.escape(run) for run in runs)), options)

    def heard(self, body: bytes) -> list[str]:
        """Runs of secrets in bytes that leave, in any of those forms; NULs are those of a wide encoding."""
        found = [match.group() for match in self._forms.finditer(body)]
        if 0 in body or b"\\u0000" in body:
            found += [
                match.group()
                for match in self._forms.finditer(body.replace(b"\0", b"").replace(b"\\u0000", b""))
            ]
        return [one.decode() for one in found]


class Layout:
    """The parts that two folders share: the order of lines, what stands between them, and names."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def random(self, what: str) -> random.Random:
        return random.Random(f"layout {self._seed} {what}")

    def settings(self, secrets: Secrets, what: str) -> str:
        """Lines with secrets of all kinds among others."""
        rng = self.random(what)
        lines = [line for _, line, _ in secrets.lines]
        rng.shuffle(lines)
        made = ["name: service"]
        for line in lines:
            made += [f"plain{rng.randrange(1000)}: word"] * rng.randrange(3)
            made.append(rng.choice(("", "", "  ")) + line)
        return "\n".join([*made, "last: line", ""])


def code(secrets: Secrets) -> str:
    """A module of Python with secrets beside, above and within symbols."""
    return (
        '"""Talks to the shop."""\n\nimport os\n\n\n'
        f'GITHUB = "{secrets.of("GitHub token")}"\n\n\n'
        f'def connect(password: str = "{secrets.of("password or key")}") -> str:\n'
        f'    """Connect with password={secrets.of("password or key")}."""\n'
        f'    api_key = "{secrets.of("password or key")}"\n'
        "    return api_key + password\n\n\n"
        f'KEY = """{secrets.pem}\n"""\n\n\nclass Shop:\n    """Sells."""\n\n'
        f'    token = "{secrets.of("Stripe key")}"\n\n    def close(self) -> None:\n        """Close."""\n'
    )


def page(secrets: Secrets, layout: Layout) -> str:
    """Markdown with secrets in a heading, a table, a link and code."""
    return (
        f"---\ntitle: shop\npassword: {secrets.of('password or key')}\n---\n\n"
        f"# Deploy with {secrets.of('GitHub token')}\n\n"
        f"| name | value |\n|---|---|\n| key | {secrets.of('Stripe key')} |\n\n"
        f"See [the map](https://maps.example/?key={secrets.of('Google key')}&x=1).\n\n"
        f"```yaml\n{layout.settings(secrets, 'page')}```\n\n## Last\n\nwords\n"
    )


def notebook(secrets: Secrets) -> str:
    output = {
        "output_type": "stream", "name": "stdout", "text": [f"password: {secrets.of('password or key')}\n"]
    }  # fmt: skip
    source = [f'token = "{secrets.of("GitHub token")}"\n', "print(token)\n"]
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": source, "outputs": [output]},
        {"cell_type": "markdown", "metadata": {}, "source": [f"# Use {secrets.of('Anthropic key')}\n"]},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _zipped(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return made.getvalue()


def _tarred(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(made.getvalue(), mtime=0)


def mail(secrets: Secrets, layout: Layout) -> bytes:
    """A mail whose text is in base64, and one line of whose head has a secret."""
    body = base64.encodebytes(layout.settings(secrets, "mail").encode()).decode()
    return (
        "From: a@example.org\nTo: b@example.org\n"
        f"Subject: access with {secrets.of('GitHub token')}\n"
        f"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n{body}\n"
    ).encode()


def quoted_mail(secrets: Secrets, layout: Layout) -> bytes:
    """A mail whose lines are broken where they are too long."""
    import quopri

    body = quopri.encodestring(layout.settings(secrets, "quoted").encode()).decode()
    return (
        "From: a@example.org\nTo: b@example.org\nSubject: access\nContent-Type: text/plain; charset=utf-8\n"
        f"Content-Transfer-Encoding: quoted-printable\n\n{body}\n"
    ).encode()


Made: TypeAlias = Callable[[Secrets, Layout], bytes]


def _text(encoding: str, before: str = "", mark: bytes = b"", end: str = "\n") -> Made:
    def made(secrets: Secrets, layout: Layout) -> bytes:
        text = before + layout.settings(secrets, f"{encoding} {end}")
        return mark + text.replace("\n", end).encode(encoding)

    return made


def _one_line(secrets: Secrets, layout: Layout) -> bytes:
    """All secrets in one line of JSON that is longer than what is judged at once."""
    rng = layout.random("one line")
    pairs: list[tuple[str, object]] = []
    for number, (_, _, secret) in enumerate(secrets.lines):
        pairs += [(f"w{number}_{at}", at) for at in range(rng.randrange(20, 150))]
        pairs += [(f"password{number}", secret)]
    return json.dumps(dict(pairs)).encode()


def _log(secrets: Secrets, layout: Layout) -> bytes:
    """A log above one megabyte, with secrets here and there."""
    rng = layout.random("log")
    lines = [f"line {number} of a log that is long enough to be indexed" for number in range(24_000)]
    for number, (_, line, _) in enumerate(secrets.lines):
        lines[500 * number + rng.randrange(500)] = line
    at = rng.randrange(16_000, 23_000)
    lines[at:at] = secrets.pem.splitlines()
    return ("\n".join(lines) + "\n").encode()


def _diff(secrets: Secrets, layout: Layout) -> bytes:
    return "".join(f"+{line}\n" for line in code(secrets).splitlines()).encode()


def _html(secrets: Secrets, layout: Layout) -> bytes:
    text = html.escape(layout.settings(secrets, "html"))
    return f"<html><h1>Shop</h1><pre>{text}</pre></html>".encode()


def _account(secrets: Secrets, layout: Layout) -> bytes:
    account = {"type": "service_account", "private_key": secrets.pem + "\n", "n": 1}
    return json.dumps(account, indent=1).encode()


def _table(secrets: Secrets, layout: Layout) -> bytes:
    rows = [line.replace('"', "'") for _, line, _ in secrets.lines]
    return ("user,line\n" + "".join(f'bob,"{row}"\n' for row in rows)).encode()


def _rows(secrets: Secrets, layout: Layout) -> bytes:
    rows = [{"n": number, "line": line} for number, (_, line, _) in enumerate(secrets.lines)]
    rows.append({"n": -1, "line": layout.settings(secrets, "rows")})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


PLAIN: Mapping[str, Made] = {
    "conf.yaml": _text("utf-8"),
    "wide.ini": _text("utf-16-le", mark=b"\xff\xfe"),
    "wide32.ini": _text("utf-32-le", mark=b"\xff\xfe\0\0"),
    "unmarked.ini": _text("utf-16-be"),
    "latin.ini": _text("latin-1", "# Stra\xdfe in K\xf6ln, sch\xf6n\n" * 3),
    "sjis.ini": _text("shift_jis", "# \u65e5\u672c\u8a9e\u306e\u8a2d\u5b9a\n" * 3),
    "crlf.ini": _text("utf-8", end="\r\n"),
    "cr.ini": _text("utf-8", end="\r"),
    "src/app.py": lambda secrets, layout: code(secrets).encode(),
    "src/app.py.diff": _diff,
    "docs/page.md": lambda secrets, layout: page(secrets, layout).encode(),
    "docs/page.html": _html,
    "deploy.txt": lambda secrets, layout: f"Deploy with this:\n{secrets.pem}\nThen wait.\n".encode(),
    "account.json": _account,
    "one_line.json": _one_line,
    "table.csv": _table,
    "rows.jsonl": _rows,
    "book.ipynb": lambda secrets, layout: notebook(secrets).encode(),
    "app.log": _log,
}
"""Files whose bytes have the secrets as they are."""


def _gz(secrets: Secrets, layout: Layout) -> bytes:
    return gzip.compress(layout.settings(secrets, "gz").encode(), mtime=0)


def _inner(secrets: Secrets, layout: Layout) -> Mapping[str, str]:
    texts = {"conf.yaml": layout.settings(secrets, "inner"), "app.py": code(secrets)}
    return {f"inner/{name}": text for name, text in {**texts, "page.md": page(secrets, layout)}.items()}


STORED: Mapping[str, Made] = {
    "mail.eml": mail,
    "quoted.eml": quoted_mail,
    "conf.yaml.gz": _gz,
    "files.zip": lambda secrets, layout: _zipped(_inner(secrets, layout)),
    "files.tar.gz": lambda secrets, layout: _tarred(_inner(secrets, layout)),
}
"""Files that store them in another form, which hashes and sizes of what is stored tell apart."""

MEMBERS = ("files.zip!/inner/conf.yaml", "files.zip!/inner/page.md", "files.tar.gz!/inner/app.py")


def plant(root: Path, layout: Layout, secrets: Secrets, files: Mapping[str, Made]) -> None:
    """Write the files, with one time for all."""
    root.mkdir(parents=True, exist_ok=True)
    for name, made in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made(secrets, layout))
    for found in (*root.rglob("*"), root):
        os.utime(found, (TIME, TIME))


def dumped(value: object) -> bytes:
    """An object as it is sent."""
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")


_PATIENT = Limits(
    grep_timeout_s=600,
    list_timeout_s=600,
    read_timeout_s=600,
    change_timeout_s=600,
    document_timeout_s=600,
)
"""A busy machine does not find the same twice in a given time."""


def masking(root: Path, **more: Any) -> Workspace:
    """A workspace whose operator masks secrets; callers call its root by the name they all use."""
    store = LocalStore(str(root))
    store.roots = (ROOT, *store.roots)
    settings = replace(config.load(store), secrets=SecretPolicy(mask=True), limits=_PATIENT, **more)
    return Workspace(store, settings=settings)


def without(body: bytes, *roots: Path) -> bytes:
    """Bytes without what tells two runs apart: the names of their folders, and the time that cursors keep."""
    for root in roots:
        body = body.replace(str(root).encode(), b"ROOT")
    return re.sub(rb"\b([0-9a-f]{6}\.0_0_0_)\d+", rb"\1TIME", body)
