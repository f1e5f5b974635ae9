"""Errors of changes that meet masked places.

Whichever is raised, the file is as it was before the call, and it is the same whatever the secret is.
"""

from __future__ import annotations

from readroom.core.errors import base
from readroom.core.values import ReadRequest


class MaskedPlace(base.RefusedError):
    """A change would touch a place whose text is masked, or let that text be seen."""

    message = "{path} has secrets that are masked, and this change {effect}"
    advice = "Change other lines with edit_file, or ask the user to change this place."
    path: base.Name
    line: int | None  # the first masked place that matters, if one is meant
    places: int | None  # how many the file has, if they were counted
    _: base.KW_ONLY
    uncovered: base.Aside[bool] = False
    effect: base.Aside[str] = ""

    def _fill(self) -> None:
        self.effect = "would let one be seen" if self.uncovered else "touches one"
        self.next = self.next or ReadRequest(self.path)


class MaskReturned(base.UsageError):
    """A text of the call has a label that stands for a masked secret in replies."""

    message = "{label} stands for a secret in replies and is not in the file"
    advice = "Send only text around it; the secret stays as it is."
    label: base.Brief
