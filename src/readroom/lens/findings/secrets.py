"""Secrets in lines of text, found by the detect-secrets library if it is installed.

Its detectors run only on lines with a word or a shape that one of them needs, so that a million lines of code
cost no more than a search. Detectors that go by entropy alone are left out: hashes and minified code are not
secrets. Nothing is verified, so nothing leaves the machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import msgspec
import re2

from readroom.core.errors import MissingProgram
from readroom.core.extras import install

_LEFT_OUT = frozenset(
    [
        "Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector", "SoftlayerDetector",
        "CloudantDetector",
    ]
)  # fmt: skip

_MAYBE = re2.compile(
    r"(?i)(?:pass|secret|token|api_?-?key|access_?key|private_?-?key|pwd|credential|auth|contrase)"
    r"[\w\]\"'.-]{0,40}\s{0,8}(?:[:=(>,]|!=)|[=(]\s{0,8}\w{0,40}(?:pass|secret|token|key)"
    r"|BEGIN [A-Z ]{0,20}PRIVATE|AccountKey"
    r"|AKIA|ASIA|ABIA|ACCA|gh[pousr]_|glpat-|gldt-|xox[a-z]-|sk-|sk_|rk_|sq0|npm_|pypi-|AC[0-9a-f]{32}|SK[0-9a-z]{32}"
    r"|-us[0-9]{1,2}\b|SG\.|eyJ|AKC|AP[0-9A-F]|hooks\.slack|://[^\s/:@]{1,200}:[^\s/@]{1,200}@|[MNO][A-Za-z\d_-]{23,25}\.|[0-9]{8,10}:[0-9A-Za-z_-]{35}"
)
"""A line must match this before detectors run; RE2 needs a few microseconds for it."""

_WINDOW = 400
"""Characters of a long line that are searched around a possible secret."""

_WINDOWS_OF_LINE = 200
"""Places searched in one line: a minified megabyte has thousands of possible secrets."""


_MARK_ROUNDS = 5_000
"""Rounds of hashing for a mark, which make guessing a secret by its mark slow."""

_MARK_BYTES = 4
_REMEMBERED = 10_000


@lru_cache(_REMEMBERED)
def mark_of(secret: str) -> str:
    """Digits by which a secret is known again, and from which it cannot be read."""
    data = secret.strip().strip("'\"`").encode("utf-8", "surrogatepass")
    return hashlib.pbkdf2_hmac("sha256", data, b"readroom", _MARK_ROUNDS, _MARK_BYTES).hex()


class Found(msgspec.Struct, frozen=True):
    """The secrets of one line: their kinds, each once, and the mark of the longest."""

    kinds: tuple[str, ...] = ()
    mark: str = ""


_NOTHING = Found()


class SecretScanner:
    """Finds the kinds of secrets in a line."""

    def __init__(self) -> None:
        """Load the library. Raises MissingProgram."""
        self._detectors = _detectors()
        self._answers: dict[int, Found] = {}

    def found(self, file: str, line: str) -> Found:
        """The secrets in one line of `file`."""
        if not _MAYBE.search(line):
            return _NOTHING
        key = hash((file, line)) if len(line) < _WINDOW else None
        if key is not None and key in self._answers:
            return self._answers[key]
        secrets = [secret for piece in _pieces(line) for secret in self._of(file, piece)]
        found = _NOTHING
        if secrets:
            longest = max((value for _, value in secrets), key=len)
            found = Found(tuple(dict.fromkeys(kind for kind, _ in secrets)), mark_of(longest))
        if key is not None and len(self._answers) < _REMEMBERED:
            self._answers[key] = found
        return found

    def _of(self, file: str, text: str) -> list[tuple[str, str]]:
        """The kinds and the texts of the secrets in a text."""
        found = []
        for detector in self._detectors:
            # `analyze_string` never verifies: that would send keys to the services that they are for.
            # The detector of keywords needs the name of the file, and cannot verify.
            if type(detector).__name__ == "KeywordDetector":
                secrets = detector.analyze_line(filename=_name(file), line=text, line_number=1)
                values = [secret.secret_value or "" for secret in secrets]
                real = [value for value in values if _is_real(value, text)]
            else:
                shape = _SHAPES.get(type(detector).__name__)
                real = [one for one in detector.analyze_string(text) if shape is None or shape.search(one)]
                real = [one for one in real if not _is_within(one, text)]
            if real:
                found.append((str(detector.secret_type), max(real, key=len)))
        return found


_CODE = re.compile(
    r"\.(?:py|js|mjs|cjs|ts|tsx|jsx|go|rs|java|c|h|cc|cpp|cs|rb|php|swift|kt|scala|lua|sh|bash|zsh|ex|m)$"
)


def _name(file: str) -> str:
    """The name that the library is given: in settings a value without quotes counts, in code it does not."""
    return file if _CODE.search(file) else "settings.yaml"


_SHAPES = {
    # 35 random characters have digits and capitals; a number before a long word has neither.
    "TelegramBotTokenDetector": re.compile(r":(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])"),
    # Documentation has `USER:PASS@HOST` and `postgres:postgres@localhost`.
    "BasicAuthDetector": re.compile(
        r"\A(?!(?:[A-Z_]+|(?i:pass(?:word)?|passwd|pwd|secret|user|root|admin|postgres|mysql|example|test))\Z)[^<{$%]"
    ),
}
"""Patterns of real secrets of these kinds."""


_PLACEHOLDER = re.compile(
    r"(?i)(?:\A|[^a-z])(?:fake|dummy|example|sample|placeholder|change-?me|your|secrets?|passw(?:or)?d|pwd"
    r"|tokens?|keys?|string|none|null)(?:[^a-z]|\Z)"
)
"""A value of words that is not a secret but speaks of one, as in `my-client-secret` and `"string?"`."""

_MASKED = re.compile(r"\[(?:masked|redacted)\b|\*{4}|x{6}", re.IGNORECASE)


def _is_real(secret: str, line: str) -> bool:
    from detect_secrets.filters import heuristic

    if _MASKED.search(secret) or (not re.search(r"[0-9]", secret) and _PLACEHOLDER.search(secret)):
        return False
    if len(secret) < 6 or not re.search(r"[0-9]|[^\w]", secret):
        return False
    return not (
        heuristic.is_indirect_reference(line)
        or heuristic.is_templated_secret(secret)
        or heuristic.is_prefixed_with_dollar_sign(secret)
        or heuristic.is_not_alphanumeric_string(secret)
        or heuristic.is_sequential_string(secret)
    )


_BLOB = re.compile(r"[A-Za-z0-9+/]{60,}")


def _is_within(secret: str, line: str) -> bool:
    """Whether a short secret only stands within the letters of something long, such as a picture as text."""
    return len(secret) < 60 and any(secret in blob[0] for blob in _BLOB.finditer(line))


def _pieces(line: str) -> list[str]:
    if len(line) <= 2 * _WINDOW:
        return [line]
    pieces: list[str] = []
    end = 0
    for match in _MAYBE.finditer(line):
        if match.start() < end:
            continue
        start = max(0, match.start() - _WINDOW // 4)
        end = start + _WINDOW
        pieces.append(line[start:end])
        if len(pieces) >= _WINDOWS_OF_LINE:
            break
    return pieces


@cache
def _detectors() -> tuple[Any, ...]:
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    except ImportError:
        raise MissingProgram("detect-secrets", install("audit")) from None
    classes: Iterable[Any] = get_mapping_from_secret_type_to_class().values()
    return tuple(made() for made in classes if made.__name__ not in _LEFT_OUT)


def installed() -> bool:
    """Whether secrets can be looked for."""
    try:
        _detectors()
    except MissingProgram:
        return False
    return True


_RANDOM = re.compile(r"(?=\S*[0-9])(?=\S*[a-z])(?=\S*[A-Z])[^\s/.]{8,}|[0-9a-fA-F]{32,}")
"""A word with digits and letters of both sizes that names no file: a password on a command line."""

_AFTER = re.compile(
    r"(?i)(?:^|\s)-{0,2}(?:p|pass\w*|pwd|secret\w*|token|auth\w*|user|u|api-?key|key)(?:[=:\s]|\Z)|://[^/\s]*@"
)
"""Options that are followed by one."""


def is_harmless(text: str) -> bool:
    """Whether a command line may be shown: it has no secret, nor anything that may be one."""
    if _RANDOM.search(text) or _AFTER.search(text) or re.search(r"(?:^|\s)-p\S", text):
        return False
    scanner = _own_scanner()
    return not any(scanner.found("", line).kinds for line in text.split("\n"))


@cache
def _own_scanner() -> SecretScanner:
    return SecretScanner()
