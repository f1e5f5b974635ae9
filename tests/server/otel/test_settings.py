"""Who turns spans on and off: the operator's file and environment, and never a folder's own file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core import config
from readroom.core.errors import BadConfig, MissingProgram
from readroom.core.stores.memory import MemoryStore
from readroom.server import otel
from readroom.server.otel import OtelPolicy
from tests.core.config.test_config import own
from tests.server.otel.collector import END_S, collector, environment

needs_extra = pytest.mark.skipif(not otel.is_installed(), reason="the extra otel is not installed")


@pytest.fixture(autouse=True)
def _nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


def policy(tmp_path: Path, text: str) -> OtelPolicy | None:
    """What an operator's file says."""
    file = tmp_path / "operator.toml"
    file.write_text(text, encoding="utf-8")
    found = config.load(MemoryStore(), file).otel
    assert found is None or isinstance(found, OtelPolicy)
    return found


def test_nothing_is_sent_unless_somebody_says_so(tmp_path: Path) -> None:
    assert policy(tmp_path, "") is None
    only_paths = policy(tmp_path, "[otel]\npaths = true\n")
    assert only_paths is not None
    assert only_paths.off_because() == "no endpoint is named"


@pytest.mark.parametrize(
    ("text", "traces", "metrics"),
    [
        ('endpoint = "http://c:4318"', "http://c:4318/v1/traces", "http://c:4318/v1/metrics"),
        ('endpoint = "https://c/otlp/"', "https://c/otlp/v1/traces", "https://c/otlp/v1/metrics"),
        ("enabled = true", "http://localhost:4318/v1/traces", "http://localhost:4318/v1/metrics"),
    ],
)
def test_the_file_says_where(tmp_path: Path, text: str, traces: str, metrics: str) -> None:
    found = policy(tmp_path, f"[otel]\n{text}\n")
    assert found is not None
    assert (found.address("traces"), found.address("metrics")) == (traces, metrics)
    assert found.off_because() == ""


def test_the_file_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://env:1/")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://env:2/all")
    found = policy(tmp_path, '[otel]\nendpoint = "http://file:3"\n')
    assert found is not None
    assert found.address("metrics") == "http://file:3/v1/metrics"
    named = policy(tmp_path, "")
    assert named is not None
    assert (named.address("traces"), named.address("metrics")) == (
        "http://env:1/v1/traces",
        "http://env:2/all",
    )
    off = policy(tmp_path, "[otel]\nenabled = false\n")
    assert off is not None
    assert off.observer() is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
    ],
)
def test_variables_turn_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://env:1")
    monkeypatch.setenv(name, value)
    found = policy(tmp_path, "")
    assert found is not None
    assert name in found.off_because()
    assert found.observer() is None


@pytest.mark.parametrize(
    "endpoint",
    [
        "localhost:4318",
        "ftp://c",
        "http://",
        "http://c:99999",
        "http://c/a b",
        "http://c?x=1",
        "http://[::1",
        "grpc://c:4317",
        "http://c\u2028d",
    ],
)
def test_another_address_is_an_error(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(BadConfig, match=r"otel\.endpoint") as refused:
        policy(tmp_path, f"[otel]\nendpoint = {json.dumps(endpoint)}\n")
    assert "http://localhost:4318" in str(refused.value.advice)


def test_a_password_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as refused:
        policy(tmp_path, '[otel]\nendpoint = "http://me:hunter2@c:1"\n')
    assert "hunter2" not in str(refused.value) + str(refused.value.advice)
    assert "OTEL_EXPORTER_OTLP_HEADERS" in str(refused.value.advice)


@pytest.mark.parametrize("text", ["enabled = false", 'endpoint = "http://evil:1"', "paths = true"])
def test_a_folder_has_no_say(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://env:1")
    with pytest.raises(BadConfig, match="otel"):
        own(f"[otel]\n{text}\n")


def test_what_a_file_asks_for_and_is_not_installed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel, "_MODULE", "opentelemetry_that_is_not_there")
    file = tmp_path / "operator.toml"
    file.write_text('[otel]\nendpoint = "http://c:1"\n', encoding="utf-8")
    with pytest.raises(MissingProgram) as missing:
        Workspace(tmp_path, settings=config.load(MemoryStore(), file))
    assert "readroom[otel]" in str(missing.value.advice)


def test_what_only_the_environment_asks_for_is_left_out_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs of the same shell are meant, perhaps."""
    monkeypatch.setattr(otel, "_MODULE", "opentelemetry_that_is_not_there")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://env:1")
    with Workspace(tmp_path) as workspace:
        assert workspace.gatekeeper.observer is None


@needs_extra
def test_doctor_says_where_they_go(tmp_path: Path) -> None:
    def said(**more: str) -> dict[str, str]:
        line = [sys.executable, "-m", "readroom", "doctor", "--json", "--port", "1", str(tmp_path)]
        done = subprocess.run(line, env=environment(tmp_path, **more), capture_output=True, timeout=END_S)
        (found,) = [one for one in json.loads(done.stdout) if one["what"] == "otel"]
        assert isinstance(found, dict)
        return found

    assert said()["found"].startswith("off")
    with collector(tmp_path) as running:
        good = said(OTEL_EXPORTER_OTLP_ENDPOINT=running.url)
        assert (good["state"], good["found"]) == (
            "ok",
            f"{running.url}/v1/traces takes spans; they have no paths",
        )
    away = said(OTEL_EXPORTER_OTLP_ENDPOINT=running.url)
    assert (away["state"], "does not answer" in away["found"]) == ("note", True)
    other = said(OTEL_EXPORTER_OTLP_ENDPOINT=running.url, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert (other["state"], "OTEL_EXPORTER_OTLP_PROTOCOL=grpc" in other["found"]) == ("note", True)
    secret = said(OTEL_EXPORTER_OTLP_ENDPOINT=running.url.replace("//", "//me:hunter2@"))
    assert "hunter2" not in json.dumps(secret)
