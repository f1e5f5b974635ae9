"""The search that comes first loses nothing, and a place is judged alike however much is read with it."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from readroom.core.paths import WorkPath
from readroom.core.secrets import judge
from readroom.core.secrets.view import MaskedSource, masked
from readroom.core.stores.local import LocalStore
from tests.core.secrets.planted import Secrets, code, plant, settings_text


def lines() -> list[bytes]:
    """Lines with secrets, and lines of code that talk of them."""
    found = []
    for seed in range(20):
        found += settings_text(Secrets(seed)).encode().splitlines()
        found += code(Secrets(seed)).encode().splitlines()
    for path in sorted((Path(judge.__file__).parents[2]).rglob("*.py"))[:150]:
        found += path.read_bytes().splitlines()
    return found


def test_every_line_with_a_secret_passes_the_search_that_comes_first() -> None:
    for line in lines():
        if len(line) <= judge.LINE_BYTES:
            judged = judge.merged(judge.in_text(line.decode("latin-1"), 0))
            assert judge.places(line) == judged, line


def test_lines_that_are_looked_at_together_are_those_with_a_secret_alone() -> None:
    every = [line.decode("latin-1") for line in lines()]
    mixed = [text for line in every for text in ("plain words", line, "x = 1\r", "é" * 50)]
    with_secret = {at for at, line in enumerate(mixed) if judge.found(line)}
    together = judge.suspicious(mixed)
    assert with_secret <= set(together)
    assert together == sorted(set(together))
    assert not {at for at in together if at % 4 in (0, 3)}


def test_every_detector_passes_its_own_condition() -> None:
    every = [line.decode("latin-1") for line in lines()]
    for _, _, condition, regexes, _ in judge.detectors():
        for text in every:
            if any(regex.search(text) for regex, _ in regexes):
                assert condition.search(text.encode("latin-1")) is not None, text


@pytest.mark.parametrize("name", ["big.log", "one_line.json"])
def test_the_view_of_a_part_is_that_part_of_the_view(tmp_path: Path, name: str) -> None:
    plant(tmp_path / "a", 1)
    data = (tmp_path / "a" / name).read_bytes()
    if len(data) < 1024 * 1024:
        data = data.replace(b'"word0"', b'"word0"') * (1 + 1024 * 1024 // len(data))
        (tmp_path / "a" / name).write_bytes(data)
    whole, r = masked(data), random.Random(1)
    store = LocalStore(str(tmp_path / "a"))
    with closing(store), MaskedSource(store.open(WorkPath(name))) as view:
        for _ in range(60):
            at, size = r.randrange(len(data)), r.choice((1, 60, 5_000, 300_000))
            assert view.read_at(at, size) == whole[at : at + size], (at, size)


def test_a_sign_is_as_long_as_its_secret() -> None:
    for seed in range(10):
        data = settings_text(Secrets(seed)).encode()
        assert len(masked(data)) == len(data)
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-8", "shift_jis"):
            wide = data.decode().encode(encoding)
            made = masked(wide)
            assert len(made) == len(wide)
            assert not Secrets(seed).in_text(made.decode(encoding))


MISSED = (
    ('{"password": "+qsydNbonrzxlM7AeBtc9KSLSdgExpERDkmCcUM2"}', "+qsydNbonrzxlM7AeBtc9KSLSdgExpERDkmCcUM2"),
    ('token: "/qsydNbonrzxlM7AeBtc9KSLSdgExpER=="', "/qsydNbonrzxlM7AeBtc9KSLSdgExpER=="),
    (
        '    "github.com": "0123456789abcdef0123456789abcdef01234567"',
        "0123456789abcdef0123456789abcdef01234567",
    ),
    ("PASSWORD=QWERTZ987654", "QWERTZ987654"),
    (r'{"url":"postgres:\/\/bob:hunter22pw@db\/x"}', "hunter22pw"),
    (r"say {\"auth\": \"Ym9iOnNlY3JldA==\"}", "Ym9iOnNlY3JldA=="),
    (r"export PASSWORD\u003dQgc0ZA3oWMmT", "Qgc0ZA3oWMmT"),
    ('password = "h\xfcn" + "\xe4" == secret + "x1234567"; password = "hunter2223"', "hunter2223"),
)


@pytest.mark.parametrize(("line", "secret"), MISSED)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_forms_that_were_once_missed(line: str, secret: str, encoding: str) -> None:
    assert secret.encode() not in masked(line.encode(encoding))


@pytest.mark.parametrize(
    "line",
    [
        'INFO msg="the password was wrong" user="bob" in 12 ms',
        "INFO password: ok, token: 12 in 5 ms",
        '{"password_attempts":3,"tokens":120,"level":"info"}',
        "password = get_password(user, key)",
        "token = SHA256",
        'password: "/run/secrets/db_password1"',
    ],
)
def test_words_that_speak_of_secrets_are_shown(line: str) -> None:
    assert masked(line.encode()) == line.encode()
