"""The estimate of tokens against the o200k vocabulary itself."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.tokens import estimate
from tests.core.text.encodings.languages import TEXTS
from tests.each import each
from tests.vocabulary import tokens_of

LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = [
    "argparse",
    "ast",
    "bisect",
    "calendar",
    "csv",
    "dataclasses",
    "difflib",
    "functools",
    "heapq",
    "inspect",
]
MORE = [
    "ipaddress",
    "json/decoder",
    "logging/__init__",
    "os",
    "random",
    "shutil",
    "statistics",
    "tempfile",
    "typing",
]


def ratio(text: str) -> float:
    return estimate(text) / tokens_of(text)


def source(module: str) -> str:
    return (LIBRARY / f"{module}.py").read_text("utf-8")


@each("module", MODULES + MORE)
def test_code_is_within_a_tenth(module: str) -> None:
    assert 0.9 <= ratio(source(module)) <= 1.1


def test_code_altogether_is_within_a_twentieth() -> None:
    sources = list(map(source, MODULES + MORE))
    exact = sum(map(tokens_of, sources))
    assert 0.95 <= sum(map(estimate, sources)) / exact <= 1.05


@each("module", MODULES + MORE)
def test_numbered_lines_are_within_a_tenth(module: str) -> None:
    lines = source(module).split("\n")
    assert 0.9 <= ratio("\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))) <= 1.1


@each("run", ["a", "A", "7", "-", " ", "\n", "\r\n", "é", "ACGT", "aB", "f7"])
def test_a_run_of_anything_costs_no_less_when_it_is_longer(run: str) -> None:
    costs = [estimate(run * times) for times in range(1, 200)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_within_a_fifth(indent: int | None) -> None:
    records = [
        {
            "id": n,
            "name": f"user {n}",
            "createdAt": "2026-01-01T00:00:00Z",
            "active": n % 2 == 0,
            "score": n / 7,
        }
        for n in range(200)
    ]
    assert 0.8 <= ratio(json.dumps(records, indent=indent)) <= 1.2


def test_logs_are_within_a_fifth() -> None:
    lines = [
        f"2026-01-31T12:{n % 60:02d}:07.{n:03d}Z INFO [http-{n % 7}] GET /v1/items/{n * 37} 200 {n % 90} ms"
        for n in range(500)
    ]
    assert 0.8 <= ratio("\n".join(lines)) <= 1.2


def test_tables_are_within_a_fifth() -> None:
    rows = [
        f"{n},Alice Smith,alice{n}@example.com,{n * 3.17:.2f},2026-03-{n % 28 + 1:02d},true"
        for n in range(300)
    ]
    assert 0.8 <= ratio("\n".join(rows)) <= 1.2


@each("language", TEXTS)
def test_prose_in_any_language_is_within_two_fifths(language: str) -> None:
    assert 0.6 <= ratio(TEXTS[language] * 20) <= 1.4


@given(st.text(st.characters(categories=None)))
def test_any_text_has_an_estimate_and_only_the_empty_one_has_none(text: str) -> None:
    assert (estimate(text) == 0) == (text == "")
