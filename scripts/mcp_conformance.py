"""Run the official MCP conformance suite against our server, and write its page of the documentation.

    python -m scripts.mcp_conformance            run it and write docs/reference/mcp-conformance.md
    python -m scripts.mcp_conformance --check    change nothing; exit with 1 when the page would differ
    python -m scripts.mcp_conformance --install  fetch the suite; `make test` does so before the tests

The suite is a program for Node.  Both come from package registries and stay in the build folder: Node and
npm as a Python package of the development group, the suite as `scripts/mcp-conformance` locks it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.locked import Locked, NotInstalled, node

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "mcp-conformance.md"
REVISIONS = ("2025-11-25", "2026-07-28")

_LOCKED = Locked("mcp-conformance", Path(".bin", "conformance"))
_SUITE = "@modelcontextprotocol/conformance"
_RUN_S = 120
_NAME = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")

_ASKS = "the server never asks the client for anything: no sampling, elicitation or roots"
_PARTS = "a reply is one text part, and images; several clients drop or reorder anything else"
_FIXED = "asks for `test://` addresses; the only resources are files that were shown and kept outputs"
_PROMPTS = "there are no prompts"
_LOGS = "log messages tell of failures of the server itself, not of tools; the protocol has deprecated them"
_TASKS = "an extension; long calls report progress instead"

ABSENT: Mapping[str, str] = {
    "tools-call-with-logging": _LOGS,
    "completion-complete": "there is nothing to complete: no prompts, no templates of resources",
    "tools-call-audio": _PARTS,
    "tools-call-embedded-resource": _PARTS,
    "tools-call-mixed-content": _PARTS,
    "tools-call-sampling": _ASKS,
    "tools-call-elicitation": _ASKS,
    "elicitation-": _ASKS,
    "input-required-": _ASKS,
    "resources-read-": _FIXED,
    "resources-templates-read": _FIXED,
    "resources-subscribe": _FIXED,
    "resources-unsubscribe": _FIXED,
    "prompts-": _PROMPTS,
    "tasks-": _TASKS,
    "server-sse-polling": "replies are not kept for clients that come back; a call can be sent again",
    "http-custom-header-": "no argument travels in a header",
}
"""Scenarios about what readroom does not offer, by their name or how it begins, and why it does not."""

PARTLY: Mapping[tuple[str, str], str] = {
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): _ASKS,
    ("server-stateless", "sep-2575-missing-capability-http-400"): _ASKS,
    ("caching", "sep-2549-prompts-list-caching-hints"): _PROMPTS,
}
"""The same for single checks of a scenario."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario: checks that passed, checks about what is not offered, messages of those that failed."""

    scenario: str
    passed: int
    absent: Sequence[str]
    failed: Sequence[str]

    @property
    def why_absent(self) -> str | None:
        """Why the scenario as a whole does not apply."""
        return next((why for name, why in ABSENT.items() if self.scenario.startswith(name)), None)

    @property
    def words(self) -> str:
        """The outcome as it stands in the page."""
        if self.why_absent is not None:
            return f"does not apply: {self.why_absent}"
        if self.failed:
            return f"**failed**: {'; '.join(self.failed)}"
        return f"passed, but for {len(self.absent)}: {self.absent[0]}" if self.absent else "passed"


def installed() -> bool:
    """Whether the suite is there, in the version that is locked."""
    return _LOCKED.installed()


def unreached() -> bool:
    """Whether the last try to fetch the suite found no registry that has it."""
    return _LOCKED.unreached()


def install() -> None:
    """Fetch the suite into the build folder when it is not there. Raises NotInstalled."""
    _LOCKED.install()


def run(revision: str) -> list[Outcome]:
    """Every scenario of a revision, in the suite's order of names. Raises NotInstalled."""
    install()
    with TemporaryDirectory() as folder, _fixture(Path(folder)) as url:
        results = Path(folder) / "results"
        done = subprocess.run(
            [node(), _LOCKED.program, "server", "--url", url, "--requirements", revision, "-o", results],
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,  # it fails for every scenario that does not apply
        )
        outcomes = [outcome(one) for one in sorted(results.glob("server-*"))]
    if not outcomes:
        raise AssertionError(done.stdout + done.stderr)
    return outcomes


@contextmanager
def _fixture(folder: Path) -> Iterator[str]:
    root = folder / "root"
    root.mkdir()
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    command = [sys.executable, "-m", "scripts.mcp_fixture", str(root)]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise AssertionError(process.communicate()[1])
            yield url
        finally:
            process.terminate()
            process.communicate()


def outcome(folder: Path) -> Outcome:
    """One scenario from the folder that the suite wrote."""
    found = _NAME.fullmatch(folder.name)
    assert found is not None, folder.name
    checks = json.loads((folder / "checks.json").read_text(encoding="utf-8"))
    passed, absent, failed = 0, [], []
    for check in checks:
        why = PARTLY.get((found[1], check["id"]))
        if check["status"] in ("SUCCESS", "INFO"):
            passed += 1
        elif why is not None:
            absent.append(why)
        elif check["status"] != "SKIPPED":
            failed.append(f"{check['id']}: {check.get('errorMessage', check['status'])}")
    return Outcome(found[1], passed, absent, failed)


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """What failed among that which applies."""
    return [f"{one.scenario}: {one.words}" for one in outcomes if one.why_absent is None and one.failed]


def page(results: Mapping[str, Sequence[Outcome]]) -> str:
    """The page of the documentation."""
    version = json.loads((_LOCKED.folder / "package.json").read_text(encoding="utf-8"))["dependencies"][
        _SUITE
    ]
    parts = [_HEAD.format(suite=_SUITE, version=version)]
    for revision, outcomes in results.items():
        applying = [one for one in outcomes if one.why_absent is None]
        passed = sum(not one.failed for one in applying)
        parts.append(
            f"## Revision {revision}\n\n"
            f"{len(outcomes)} scenarios, {len(applying)} about what readroom offers: {passed} pass.\n\n"
            "| scenario | result |\n| --- | --- |\n"
            + "\n".join(f"| {one.scenario} | {one.words} |" for one in outcomes)
        )
    return "\n\n".join(parts) + "\n"


_HEAD = """\
# MCP conformance

The protocol's own test suite, `{suite}` {version}, run against `readroom serve`, \
to whose tools those are added that the suite calls (`scripts/mcp_fixture.py`).
It wants every feature of the protocol from every server; readroom offers tools, progress, cancellation \
and files as resources, so many of its scenarios do not apply.
`python -m scripts.mcp_conformance` runs it and writes this page; a test says when it would differ."""


def main(options: Sequence[str]) -> int:
    """The exit code."""
    if "--install" in options:
        return _try_to_install()
    results = {revision: run(revision) for revision in REVISIONS}
    text = page(results)
    for line in (line for outcomes in results.values() for line in failures(outcomes)):
        print(line)
    if "--check" not in options:
        PAGE.write_text(text, encoding="utf-8")
    return int(any(map(failures, results.values())) or PAGE.read_text(encoding="utf-8") != text)


def _try_to_install() -> int:
    try:
        install()
    except NotInstalled as error:
        print(f"The MCP conformance suite is not run: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
