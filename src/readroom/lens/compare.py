"""Two audits side by side: the one before, as `--json` wrote it, and this one.

Two times have not the same number of sessions, so counts are also given for 100 calls, and tokens for a
request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from readroom.core.errors import BadValue
from readroom.core.rows import FINDINGS, FindingKind
from readroom.lens.report import Sum, Totals

_FILE_BYTES = 1024 * 1024 * 1024


class Before(msgspec.Struct):
    """The sums of an audit before."""

    findings: dict[FindingKind, Sum]
    result_tokens: int
    carried_tokens: int
    calls: int = 0
    turns: int = 0
    money: float | None = None


class _Session(msgspec.Struct):
    calls: int = 0
    turns: int = 0


class _Written(msgspec.Struct):
    form: int
    findings: dict[FindingKind, Sum]
    result_tokens: int
    carried_tokens: int
    sessions: list[_Session] = []
    money: dict[str, Any] = {}


def before(path: str) -> Before:
    """The sums in a file that `readroom audit --json` wrote. Raises BadValue."""
    advice = "Write the one before with `readroom audit --json > OLD`."
    try:
        with open(path, "rb") as stream:
            found = msgspec.json.decode(stream.read(_FILE_BYTES), type=_Written)
    except OSError as error:
        raise BadValue("--compare", path, f"cannot be read: {error.strerror}", advice) from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadValue("--compare", path, f"is not an audit: {error}", advice) from None
    calls = sum(one.calls for one in found.sessions)
    turns = sum(one.turns for one in found.sessions)
    cost = found.money.get("cost")
    return Before(
        found.findings, found.result_tokens, found.carried_tokens, calls, turns,
        cost if isinstance(cost, float) else None,
    )  # fmt: skip


def compared(old: Before, now: Totals) -> Iterator[str]:
    """The lines of a comparison, for 80 columns."""
    yield f"{'compared with before':<40}{'before':>13}{'now':>13}{'change':>11}"
    figures: list[tuple[str, float, float, str]] = [
        ("requests", old.turns, now.turns, ",.0f"), ("calls", old.calls, now.calls, ",.0f"),
        (
            "tokens of results for a request", old.carried_tokens / max(1, old.turns),
            now.carried_tokens / max(1, now.turns), ",.0f",
        ),
    ]  # fmt: skip
    if old.money is not None and now.spending.whole.is_known:
        figures += [
            ("money, in US dollars", old.money, now.spending.whole.cost, ",.2f"),
            (
                "money for 100 requests", 100 * old.money / max(1, old.turns),
                100 * now.spending.whole.cost / max(1, now.turns), ",.2f",
            ),
        ]  # fmt: skip
    for kind in FINDINGS:
        was, is_now = old.findings.get(kind, Sum()).count, now.kinds.get(kind, Sum()).count
        if was or is_now:
            rates = (100 * was / max(1, old.calls), 100 * is_now / max(1, now.calls))
            figures.append((f"{kind}, for 100 calls", *rates, ",.1f"))
    for name, one, other, form in figures:
        change = f"{100 * (other - one) / one:+.0f} %" if one else "new" if other else ""
        yield f"{name:<40}{one:>13{form}}{other:>13{form}}{change:>11}"
