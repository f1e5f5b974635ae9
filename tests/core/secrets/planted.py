"""Folders with secrets of the same kinds and lengths and different values, and calls that show them."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import random
import string
import zipfile
from pathlib import Path

from msgspec.structs import replace

from readroom import Workspace
from readroom.core import config
from readroom.core.secrets import SecretPolicy
from readroom.core.stores.local import LocalStore

LETTERS = string.ascii_letters + string.digits
TIME = 1_700_000_000


class Secrets:
    """The secrets of one folder."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.aws_id = "AKIA" + self._some(16, string.ascii_uppercase + string.digits)
        self.aws = self._some(40, LETTERS + "/+")
        self.github = "ghp_" + self._some(36)
        self.password = self._some(6) + "7a" + self._some(6)
        self.database = self._some(5) + "9Z" + self._some(5)
        self.slack = "xoxb-" + "".join(self._random.choices(string.digits, k=12)) + "-" + self._some(24)
        body = base64.b64encode(self._random.randbytes(1590)).decode()
        self.key_lines = [body[at : at + 64] for at in range(0, len(body), 64)]

    def _some(self, size: int, letters: str = LETTERS) -> str:
        while True:
            found = "".join(self._random.choices(letters, k=size))
            if any(char.isdigit() for char in found) and any(char.isalpha() for char in found):
                return found

    @property
    def pem(self) -> str:
        return "\n".join(
            ["-----BEGIN RSA PRIVATE KEY-----", *self.key_lines, "-----END RSA PRIVATE KEY-----"]
        )

    @property
    def every(self) -> list[str]:
        return [
            self.aws_id, self.aws, self.github, self.password, self.database, self.slack, *self.key_lines
        ]  # fmt: skip

    def in_text(self, text: str) -> list[str]:
        """Parts of secrets that are in a text: eight characters are no accident."""
        found = []
        for secret in self.every:
            plain = secret.removeprefix("AKIA").removeprefix("ghp_").removeprefix("xoxb-")
            found += [plain[at : at + 8] for at in range(len(plain) - 7) if plain[at : at + 8] in text]
        return found


def settings_text(secrets: Secrets) -> str:
    return (
        "name: service\n"
        f"aws_access_key_id: {secrets.aws_id}\n"
        f"aws_secret_access_key: {secrets.aws}\n"
        f"password: {secrets.password}\n"
        f"database_url: postgres://bob:{secrets.database}@db:5432/shop\n"
        f'slack: "{secrets.slack}"\n'
        "last: line\n"
    )


def code(secrets: Secrets) -> str:
    return (
        '"""Talks to the shop."""\n\nimport os\n\n\n'
        f'GITHUB = "{secrets.github}"\n\n\n'
        "def connect(password: str) -> str:\n"
        '    """Connect."""\n'
        f'    api_key = "{secrets.password}"\n'
        "    return api_key + password\n\n\n"
        f'KEY = """{secrets.pem}\n"""\n\n\ndef close() -> None:\n    """Close."""\n'
    )


STORED = ("mail.eml", "conf.yaml.gz", "files.zip")
"""Files that hold their texts in another form: their hashes and sizes are those of what is stored."""


def plant(root: Path, seed: int) -> Secrets:
    """A folder with secrets in all kinds of files."""
    secrets = Secrets(seed)
    root.mkdir(parents=True, exist_ok=True)
    text = settings_text(secrets)
    (root / "conf.yaml").write_text(text)
    (root / "wide.ini").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    (root / "wide32.ini").write_bytes(b"\xff\xfe\0\0" + text.encode("utf-32-le"))
    (root / "unmarked.ini").write_bytes(text.encode("utf-16-be"))
    (root / "latin.ini").write_bytes(("# Stra\xdfe in K\xf6ln, sch\xf6n\n" * 3 + text).encode("latin-1"))
    (root / "sjis.ini").write_bytes(
        ("# \u65e5\u672c\u8a9e\u306e\u8a2d\u5b9a\n" * 3 + text).encode("shift_jis")
    )
    (root / "crlf.ini").write_bytes(text.replace("\n", "\r\n").encode())
    (root / "app.py").write_text(code(secrets))
    (root / "deploy.txt").write_text(f"Deploy with this:\n{secrets.pem}\nThen wait.\n")
    (root / "account.json").write_text(
        json.dumps({"type": "service_account", "private_key": secrets.pem + "\n", "n": 1}, indent=1)
    )
    filler = ",".join(f'"word{number}":{number}' for number in range(3000))
    (root / "one_line.json").write_text(
        f'{{{filler},"password":"{secrets.password}",{filler},"t":"{secrets.github}",{filler}}}'
    )
    (root / "table.csv").write_text(f"user,token\nbob,{secrets.github}\nann,none\n")
    (root / "mail.eml").write_text(
        "From: a@example.org\nTo: b@example.org\nSubject: access\nContent-Type: text/plain\n"
        f"Content-Transfer-Encoding: base64\n\n{base64.b64encode(text.encode()).decode()}\n"
    )
    output = {"output_type": "stream", "name": "stdout", "text": [f"password: {secrets.password}\n"]}
    source = [f'token = "{secrets.github}"\n']
    cell = {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": source, "outputs": [output]}
    (root / "book.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    )
    (root / "conf.yaml.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("inner/conf.yaml"), text)
        archive.writestr(zipfile.ZipInfo("inner/app.py"), code(secrets))
    (root / "files.zip").write_bytes(made.getvalue())
    lines = [f"line {number} of a log that is long enough to be indexed" for number in range(60_000)]
    lines[30_000] = f"ERROR password={secrets.password}"
    lines[45_000:45_000] = secrets.pem.splitlines()
    (root / "big.log").write_text("\n".join(lines) + "\n")
    for path in root.iterdir():
        os.utime(path, (TIME, TIME))
    return secrets


def masking(root: Path, **more: object) -> Workspace:
    store = LocalStore(str(root))
    settings = config.load(store, **more)  # type: ignore[arg-type]
    return Workspace(store, settings=replace(settings, secrets=SecretPolicy(mask=True)))


TEXTS = (
    "conf.yaml", "wide.ini", "wide32.ini", "unmarked.ini", "latin.ini", "sjis.ini", "crlf.ini", "app.py",
    "deploy.txt",
    "account.json", "one_line.json", "table.csv", "mail.eml", "book.ipynb", "conf.yaml.gz",
    "files.zip!/inner/conf.yaml", "files.zip!/inner/app.py", "big.log",
)  # fmt: skip


def without_stored(root: Path) -> None:
    """Remove the files whose hashes differ with what is in them."""
    for name in STORED:
        (root / name).unlink()


def looks(secrets: Secrets) -> list[tuple[str, dict[str, object]]]:
    """Calls that look at everything; `secrets` are guesses, which may be right."""
    calls: list[tuple[str, dict[str, object]]] = []
    for path in TEXTS:
        calls += [
            ("read_file", {"path": path}),
            ("read_file", {"path": path, "offset": 4, "limit": 2}),
            ("read_file", {"path": path, "offset": -4}),
            ("read_file", {"path": path, "offset": 20, "limit": 5}),
            ("read_file", {"path": path, "offset": 1, "limit": 1, "column": 30}),
            ("read_file", {"path": path, "view": "outline"}),
        ]
    calls += [
        ("read_file", {"path": path, "encoding": name})
        for path in ("conf.yaml", "wide.ini")
        for name in ("latin-1", "utf-16-le", "utf-8", "cp437")
    ]
    calls += [("read_file", {"path": "big.log", "offset": at, "limit": 9}) for at in (29_998, 45_003, 45_020)]
    calls += [("read_file", {"path": "one_line.json", "offset": 1, "column": at})
              for at in (45_000, 53_700, 53_745, 60_000, 110_000)]  # fmt: skip
    calls += [("read_file", {"path": "app.py", "symbol": name}) for name in ("connect", "KEY", "close")]
    for guess in (
        secrets.aws_id,
        secrets.aws[:12],
        secrets.password,
        secrets.key_lines[3],
        secrets.github[4:14],
    ):
        for output in ("content", "files", "count"):
            calls.append(("grep_files", {"pattern": guess, "fixed": True, "output": output}))
        calls.append(("grep_files", {"pattern": guess, "fixed": True, "path": "conf.yaml"}))
        calls.append(("find_relevant", {"query": guess}))
        calls.append(("find_relevant", {"query": f"password {guess}"}))
    for pattern in (
        "password",
        "AKIA[A-Z0-9]+",
        "[a-zA-Z0-9/+]{40}",
        "(?s)BEGIN.{200}",
        ".",
        "^.{10}",
        "[0-9]{3}",
    ):
        calls.append(("grep_files", {"pattern": pattern, "include": ["compressed", "archives"]}))
        calls.append(("grep_files", {"pattern": pattern, "before": 3, "after": 3, "path": "deploy.txt"}))
    calls += [
        ("grep_files", {"pattern": "(?s)BEGIN.*?END", "multiline": True, "path": "deploy.txt"}),
        ("grep_files", {"pattern": "api_key", "output": "references"}),
        ("find_relevant", {"query": "how does it connect to the database"}),
        ("find_relevant", {"query": "private key deploy"}),
        ("list_directory", {"path": "."}),
        ("read_file", {"path": secrets.password}),
        ("read_file", {"path": "conf.yml"}),
    ]
    return calls
