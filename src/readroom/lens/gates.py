"""What `--fail-on` asks of an audit: kinds of findings, each with the most that may be.

secrets                one finding is too many
repeated>20            more than 20 findings
repeated>5%            more than 5 % of the tokens of tool results in all requests; of what was cut away,
                       of the tokens of results and what was cut from them
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from readroom.core.errors import BadValue
from readroom.core.rows import FINDINGS, FindingKind
from readroom.lens.normal_form import CUT_AWAY, counted
from readroom.lens.report import Totals

_GATE = re.compile(r"(?P<kind>[a-z-]+)\s*(?:>\s*(?P<most>\d{1,9}(?:\.\d{1,4})?)\s*(?P<share>%)?)?")


class Gate(msgspec.Struct, frozen=True):
    """One condition: more than `most` findings of a kind, or than that share of the tokens, fail."""

    kind: FindingKind
    most: float = 0.0
    is_share: bool = False

    def failed(self, totals: Totals) -> str:
        """The excess, in words; empty if there is none."""
        sum_ = totals.kinds.get(self.kind)
        if sum_ is None:
            return ""
        if not self.is_share:
            too_much = sum_.count > self.most
            more = f" (at most {self.most:,.0f})" if self.most else ""
            return f"{self.kind}: {counted(sum_.count, 'finding')}{more}" if too_much else ""
        share = share_of(totals, self.kind)
        return f"{self.kind}: {share:.1f} % of the tokens (at most {self.most:g} %)" * (share > self.most)


def share_of(totals: Totals, kind: FindingKind) -> float:
    """The share of findings of a kind in the tokens of results, in percent."""
    sum_ = totals.kinds.get(kind)
    if sum_ is None:
        return 0.0
    if kind in CUT_AWAY:
        return 100 * sum_.tokens / max(1, totals.result_tokens + sum_.tokens)
    return 100 * sum_.carried_tokens / max(1, totals.carried_tokens)


def gates(text: str | None) -> list[Gate]:
    """The conditions in the value of `--fail-on`. Raises BadValue."""
    named = [name.strip() for name in (text or "").split(",") if name.strip()]
    advice = f"Use some of {', '.join(FINDINGS)}, or any; with a limit: repeated>20 or repeated>5%."
    if text is not None and not named:  # an empty variable of a pipeline must not pass for a check
        raise BadValue("--fail-on", text, "names no kind of finding", advice)
    found: list[Gate] = []
    for name in named:
        match = _GATE.fullmatch(name)
        kinds = list(_kinds(match["kind"])) if match else []
        if match is None or not kinds:
            raise BadValue("--fail-on", name, "is not a kind of finding", advice)
        found += [Gate(kind, float(match["most"] or 0), bool(match["share"])) for kind in kinds]
    return found


def _kinds(name: str) -> Iterator[FindingKind]:
    return (kind for kind in FINDINGS if name in (kind, "any"))
