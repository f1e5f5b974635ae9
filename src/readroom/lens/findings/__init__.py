"""What sessions lost, repeated, leaked or wasted: one detector for each kind of finding.

Knows: what is written in results and what the model wrote afterwards, each seen once as it passes.
Does not know: records, reports, or what a text means: no model judges.
May be touched: a new kind is a class with the methods of `Detector` and a word in `normal_form.FINDINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.findings.content import Cuts, Denied, Hidden, Instructions, KeptText, Secrets
from readroom.lens.findings.secrets import SecretScanner
from readroom.lens.findings.use import FailedEdits, Floods, Repeats, Use
from readroom.lens.sessions import Detector
from readroom.policy.rules import Rules

__all__ = ["detectors"]


def detectors(
    rules: Rules, kept_text: KeptText, scanner: SecretScanner | None, bounds: Bounds = BOUNDS
) -> Callable[[str], Sequence[Detector]]:
    """What makes the detectors of a session.

    Args:
        rules: The policy of today.
        kept_text: What a client kept of whole outputs beside its record.
        scanner: What finds secrets; None leaves that kind out.
        bounds: How much of a session they keep.
    """

    def make(session: str) -> Sequence[Detector]:
        made: list[Detector] = [
            Denied(rules, bounds), Cuts(kept_text, bounds), Repeats(bounds), Use(bounds),
            FailedEdits(bounds), Floods(bounds), Hidden(bounds), Instructions(bounds),
        ]  # fmt: skip
        return [Secrets(scanner, bounds), *made] if scanner is not None else made

    return make
