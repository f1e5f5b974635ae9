"""Secrets in lines of text, found by the detect-secrets library if it is installed.

Its detectors run only on lines with a word or a shape that one of them needs, so that a million lines of code
cost no more than a search. Detectors that go by entropy alone are left out: hashes and minified code are not
secrets. Nothing is verified, so nothing leaves the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

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


class SecretScanner:
    """Finds the kinds of secrets in a line."""

    def __init__(self) -> None:
        """Load the library. Raises MissingProgram."""
        self._detectors = _detectors()
        self._answers: dict[int, tuple[str, ...]] = {}

    def kinds(self, file: str, line: str) -> tuple[str, ...]:
        """The kinds of secrets in one line of `file`, each once."""
        if not _MAYBE.search(line):
            return ()
        key = hash((file, line)) if len(line) < _WINDOW else None
        if key is not None and key in self._answers:
            return self._answers[key]
        kinds = tuple(dict.fromkeys(kind for piece in _pieces(line) for kind in self._of(file, piece)))
        if key is not None and len(self._answers) < 10_000:
            self._answers[key] = kinds
        return kinds

    def _of(self, file: str, text: str) -> list[str]:
        kinds = []
        for detector in self._detectors:
            # `analyze_string` never verifies: that would send keys to the services that they are for.
            # The detector of keywords needs the name of the file, and cannot verify.
            if type(detector).__name__ == "KeywordDetector":
                secrets = detector.analyze_line(filename=_name(file), line=text, line_number=1)
                real = any(_is_real(secret.secret_value or "", text) for secret in secrets)
            else:
                shape = _SHAPES.get(type(detector).__name__)
                real = any(shape is None or shape.search(secret) for secret in detector.analyze_string(text))
            if real:
                kinds.append(str(detector.secret_type))
        return kinds


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
        r"\A(?!(?:[A-Z_]+|(?i:pass(?:word)?|passwd|secret|user|root|admin|postgres|mysql|example|test))\Z)[^<{$%]"
    ),
}
"""Patterns of real secrets of these kinds."""


def _is_real(secret: str, line: str) -> bool:
    from detect_secrets.filters import heuristic

    if len(secret) < 6 or not re.search(r"[0-9]|[^\w]", secret):
        return False
    return not (
        heuristic.is_indirect_reference(line)
        or heuristic.is_templated_secret(secret)
        or heuristic.is_prefixed_with_dollar_sign(secret)
        or heuristic.is_not_alphanumeric_string(secret)
        or heuristic.is_sequential_string(secret)
    )


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
