"""Blocks of the documentation about audits: the clients, as read against what they really sent, findings
and rows.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from readroom.core.rows import FINDINGS
from readroom.lens import audit
from readroom.lens.audit import Options
from readroom.lens.normal_form import KINDS
from readroom.lens.replay import FITTING
from readroom.lens.report import Totals, terminal
from scripts.docs.tables import fenced, table
from tests.lens import truth
from tests.lens.ground_truth import SESSIONS, Compared, compare, unpacked
from tests.lens.project import restored


@cache
def _compared() -> tuple[Compared, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return tuple(compare(session, Path(folder)) for session in SESSIONS)


def audit_clients() -> str:
    """What the run over the ground truths shows of each client."""
    rows: dict[tuple[str, str], list[int]] = {}
    for one in _compared():
        sums = rows.setdefault((one.client, one.version), [0] * 5)
        for index, value in enumerate(
            (1, one.calls, one.ranges, one.characters, one.known + len(one.differences))
        ):
            sums[index] += value
    return table(
        ["Client", "Version", "Sessions", "Calls", "Line ranges", "Characters", "Not in the record"],
        [
            [client, version or "-", *(f"{value:,}" for value in sums)]
            for (client, version), sums in rows.items()
        ],
    )


def audit_findings() -> str:
    """Every kind of finding."""
    return table(["Finding", "Meaning"], [[f"`{kind}`", what] for kind, what in FINDINGS.items()])


def audit_rows() -> str:
    """Every kind of row with its fields, from what the classes say."""
    parts = []
    for name, kind in KINDS.items():
        said = re.sub(r"\s*\n\s*", " ", (kind.__doc__ or "").strip()).replace(". ", ".\n")
        fields = ", ".join(f"`{field}`" for field in kind.__struct_fields__)
        tag = kind.__struct_config__.tag
        parts.append(f"### {tag}\n\n{said}\nAs Parquet: `{name}.parquet`.\n\n{fields}")
    return "\n\n".join(parts)


def audit_example() -> str:
    """What an audit of one recorded session prints."""
    totals = Totals()
    with tempfile.TemporaryDirectory() as folder:
        for part in audit.one_by_one(unpacked("qwen-code/tools", Path(folder)), Options()):
            totals.add(part)
    text = terminal.report(totals, 100, 2, True)
    return fenced("$ readroom audit ~/.qwen/projects/-home-dev-shop --limit 2\n" + text)


def audit_fitting() -> str:
    """The contract for each client, and why that."""
    return table(
        ["Client", "Contract", "What they have in common"],
        [[client, f"`{fit.contract}`", fit.why] for client, fit in FITTING.items()],
    )


_WITH_FOLDER = ("opencode",)
"""Contracts whose replies name the temporary folder, so that their tokens differ from run to run."""


def audit_replays() -> str:
    """The recorded sessions made again: tokens then and now in each contract, and what is missing."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "shop")
        project.mkdir()
        options = Options(secrets=False, replay=str(restored(project, Path(folder, "sources"))))
        for session in (session for session in SESSIONS if session.endswith("/tools")):
            totals = Totals()
            for part in audit.one_by_one(unpacked(session, Path(folder, session)), options):
                totals.add(part)
            for contract, again in totals.replayed.items():
                if contract in _WITH_FOLDER:
                    continue
                calls = sum(again.states.get(state, 0) for state in ("same", "changed"))
                share = f"{100 * again.now_tokens / again.then_tokens:.0f} %"
                figures = [calls, again.then_lines, again.now_lines, again.then_tokens, again.now_tokens]
                texts = [f"{value:,}" for value in figures]
                rows.append([*totals.clients, f"`{contract}`", *texts, share, str(again.missing)])
    heads = ["Client", "Contract", "Calls", "Lines then", "Now", "Tokens then", "Now", "Share", "Missing"]
    return table(heads, rows)


def audit_truth() -> str:
    """Findings in the recorded sessions by kind and client: found, missed, false and not to be seen."""
    with tempfile.TemporaryDirectory() as folder:
        rows = truth.table(Path(folder))
    return table(
        ["Finding", "Client", "Found", "Missed", "False", "Cannot be seen"],
        [
            [f"`{one.kind}`", one.client, *map(str, (one.found, one.missed, one.false, one.unseen))]
            for one in rows
        ],
    )


BLOCKS: Mapping[str, Callable[..., str]] = {
    "audit-clients": audit_clients,
    "audit-findings": audit_findings,
    "audit-truth": audit_truth,
    "audit-rows": audit_rows,
    "audit-example": audit_example,
    "audit-fitting": audit_fitting,
    "audit-replays": audit_replays,
}
"""Block functions by name."""
