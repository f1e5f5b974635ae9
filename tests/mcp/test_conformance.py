"""The protocol's own test suite, against our HTTP agent in both eras of the protocol."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from scripts import mcp_conformance as conformance


@pytest.mark.whole
@pytest.mark.skipif(
    sys.platform != "linux"
    or not (conformance.installed() or (os.environ.get("CI") and not conformance.unreached())),
    reason="NOT TESTED: needs Linux, where commands are confined, and the suite, which `make test` fetches "
    "from an npm registry",
)
def test_what_readroom_offers_conforms_and_the_page_says_so() -> None:
    """What the suite renames is looked at again, instead of passing for absent."""
    results = {revision: conformance.run(revision) for revision in conformance.REVISIONS}
    assert [line for outcomes in results.values() for line in conformance.failures(outcomes)] == []
    names = {one.scenario for outcomes in results.values() for one in outcomes}
    assert [start for start in conformance.ABSENT if not any(name.startswith(start) for name in names)] == []
    assert {scenario for scenario, _ in conformance.PARTLY} <= names
    assert conformance.page(results) == conformance.PAGE.read_text(encoding="utf-8")


def test_a_check_that_fails_is_told_with_its_message(tmp_path: Path) -> None:
    folder = tmp_path / "server-tools-list-2026-11-21T12-06-19-664Z"
    folder.mkdir()
    checks = [
        {"id": "good", "status": "SUCCESS"},
        {"id": "odd", "status": "WARNING"},
        {"id": "bad", "status": "FAILURE", "errorMessage": "No tools"},
    ]
    (folder / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    outcome = conformance.outcome(folder)
    assert (outcome.scenario, outcome.passed) == ("tools-list", 1)
    assert conformance.failures([outcome]) == ["tools-list: **failed**: odd: WARNING; bad: No tools"]
