"""Score the judgement of secrets: recall on a labelled corpus, false alarms in real code, and its time.

    python -m benchmarks.secrets FOLDER...

The labelled corpus is made here, from the published formats of keys, in lines of settings and code of several
languages; each value is random.  The folders hold real code: each line that is judged to hold a secret is
listed, so that a person can say which of them are false alarms.  The library alone, with all of its detectors
and the filters that it has by default, is scored beside it.
"""

from __future__ import annotations

import json
import random
import string
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from readroom.core.secrets import judge

_ALNUM = string.ascii_letters + string.digits
_SEED = 20261126
_EACH = 20

_FORMATS: dict[str, Callable[[random.Random], str]] = {
    "AWS access key id": lambda r: "AKIA" + _of(r, 16, string.ascii_uppercase + string.digits),
    "AWS secret access key": lambda r: _of(r, 40, _ALNUM + "/+"),
    "GitHub token": lambda r: "ghp_" + _of(r, 36),
    "GitHub fine-grained token": lambda r: "github_pat_" + _of(r, 22) + "_" + _of(r, 59),
    "GitLab token": lambda r: "glpat-" + _of(r, 20, _ALNUM + "-_"),
    "Slack bot token": lambda r: f"xoxb-{_of(r, 12, string.digits)}-{_of(r, 12, string.digits)}-{_of(r, 24)}",
    "Stripe key": lambda r: "sk_live_" + _of(r, 24),
    "Google API key": lambda r: "AIza" + _of(r, 35, _ALNUM + "-_"),
    "OpenAI project key": lambda r: "sk-proj-" + _of(r, 48, _ALNUM + "-_"),
    "Anthropic key": lambda r: "sk-ant-api03-" + _of(r, 93, _ALNUM + "-_") + "AA",
    "npm token": lambda r: "npm_" + _of(r, 36),
    "SendGrid key": lambda r: f"SG.{_of(r, 22, _ALNUM + '-_')}.{_of(r, 43, _ALNUM + '-_')}",
    "Telegram token": lambda r: f"{_of(r, 10, '123456789')}:{_of(r, 35, _ALNUM + '-_')}",
    "Hugging Face token": lambda r: "hf_" + _of(r, 34, string.ascii_letters),
    "password": lambda r: _of(r, 6) + r.choice(string.digits) + _of(r, 5),
    "password with signs": lambda r: _of(r, 5) + r.choice("!#%?*") + _of(r, 6),
}

_NAMES = {
    "AWS access key id": "aws_access_key_id",
    "AWS secret access key": "aws_secret_access_key",
    "password": "password",
    "password with signs": "db_password",
}

_LINES = {
    "yaml": "{name}: {value}",
    "yaml quoted": '{name}: "{value}"',
    "ini": "{name} = {value}",
    "env": "export {upper}={value}",
    "json": '  "{name}": "{value}",',
    "toml": '{name} = "{value}"',
    "python": '    {upper} = "{value}"',
    "javascript": "const {name} = '{value}';",
    "go": '\t{name} := "{value}"',
    "java": '  private static final String {upper} = "{value}";',
    "ruby": "config.{name} = '{value}'",
    "php": "  '{name}' => '{value}',",
    "log": "2026-11-26 10:00:00 ERROR connect {name}={value} failed",
}

_SUFFIXES = {
    ".py",
    ".js",
    ".ts",
    ".go",
    ".java",
    ".rb",
    ".php",
    ".c",
    ".h",
    ".rs",
    ".yaml",
    ".yml",
    ".toml",
    ".json",
}


def _of(r: random.Random, size: int, letters: str = _ALNUM) -> str:
    return "".join(r.choices(letters, k=size))


def labelled() -> Iterator[tuple[str, str, str, str]]:
    """The corpus: kind of secret, kind of line, the line, and the secret in it."""
    r = random.Random(_SEED)
    for kind, make in _FORMATS.items():
        for form, line in _LINES.items():
            for _ in range(_EACH):
                value, name = make(r), _NAMES.get(kind, "token")
                yield kind, form, line.format(name=name, upper=name.upper(), value=value), value


def _found(line: str, secret: str) -> bool:
    data = line.encode()
    start = data.index(secret.encode())
    end = start + len(secret)
    return any(place.start <= start and place.end >= end for place in judge.places(data))


def _by_library(line: str, secret: str) -> bool:
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    with default_settings():
        return any(
            secret in (one.secret_value or "") or (one.secret_value or " ") in secret
            for one in scan_line(line)
        )


def recall() -> dict[str, object]:
    """How many secrets of the corpus are found whole, by kind and by line, and how many the library finds."""
    kinds: dict[str, list[int]] = {}
    forms: dict[str, list[int]] = {}
    ours = library = every = 0
    for kind, form, line, secret in labelled():
        found = _found(line, secret)
        every += 1
        ours += found
        library += _by_library(line, secret)
        for table, key in ((kinds, kind), (forms, form)):
            count = table.setdefault(key, [0, 0])
            count[0] += found
            count[1] += 1
    return {
        "secrets": every,
        "found": ours,
        "found by the library alone": library,
        "by kind": kinds,
        "by line": forms,
    }


def alarms(folders: list[str]) -> dict[str, object]:
    """Lines of real code in which something is found, and the time that took."""
    lines = size = 0
    spent = 0.0
    found: list[str] = []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix not in _SUFFIXES or not path.is_file() or path.stat().st_size > 1_000_000:
                continue
            data = path.read_bytes()
            lines += data.count(b"\n")
            size += len(data)
            began = time.process_time()
            places = judge.places(data)
            spent += time.process_time() - began
            for place in places:
                start, stop = data.rfind(b"\n", 0, place.start) + 1, data.find(b"\n", place.end)
                text = data[start : stop if stop >= 0 else len(data)].decode("utf-8", "replace").strip()
                found.append(f"{place.letter} {path.name}: {text[:160]}")
    per = 10_000 * len(found) / max(1, lines)
    return {
        "lines": lines,
        "bytes": size,
        "places": len(found),
        "per 10,000 lines": round(per, 2),
        "seconds": round(spent, 2),
        "list": found,
    }


if __name__ == "__main__":
    print(json.dumps({"recall": recall(), "alarms": alarms(sys.argv[1:])}, indent=1, ensure_ascii=False))
