"""Findings as annotations of a pull request: workflow commands of GitHub, a line each.

A workflow shows ten errors and ten warnings of a step, so only the dearest are printed. Every character that
could begin another command or another property is escaped: texts of records are foreign.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from readroom.core.quoting import plain
from readroom.core.rows import FINDINGS, Finding, FindingKind
from readroom.lens.report import Totals
from readroom.lens.report.terminal import said

_SHOWN = 10
"""How many of a level a step shows."""


def commands(totals: Totals, failing: Collection[FindingKind]) -> Iterator[str]:
    """The commands: errors for kinds that make the check fail, warnings for the others."""
    left = {"error": _SHOWN, "warning": _SHOWN}
    for kind in totals.ordered_kinds():
        level = "error" if kind in failing else "warning"
        for finding in totals.dearest(kind)[: left[level]]:
            left[level] -= 1
            yield _command(level, finding, totals.called(finding.session))


def _command(level: str, finding: Finding, session: str) -> str:
    properties = {"title": f"{finding.kind}: {FINDINGS[finding.kind]}"}
    # A name that is not below the folder of the session is of no file of the repository.
    if finding.file and not finding.file.startswith(("/", "..", "~")) and finding.file != ".":
        properties = {"file": plain(finding.file, 400)} | properties
        if finding.first:
            properties |= {"line": str(finding.first), "endLine": str(max(finding.first, finding.last))}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::{level} {listed}::{_data(said(finding, session))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
