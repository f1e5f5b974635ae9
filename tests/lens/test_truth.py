"""Findings are true: what is found, missed and false in every recorded session, as the documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.each import each
from tests.lens.ground_truth import SESSIONS
from tests.lens.truth import KINDS, WHOLE_NOT_KEPT, judged

FALSE_OF_FOUND = 1 / 50
"""The most that may be false of what is found, of the kinds on which checks of people rest."""


@each("session", SESSIONS)
def test_every_finding_is_in_the_truth_and_nothing_of_it_is_missed(session: str, tmp_path: Path) -> None:
    for kind, (found, true) in judged(session, tmp_path).items():
        assert found - true == set(), f"{kind}: false"
        unknowable = kind == "lost-errors" and session in WHOLE_NOT_KEPT
        assert (true - found == set()) is not unknowable, f"{kind}: missed"


@pytest.mark.parametrize("kind", ["secrets", "lost-errors", "repeated"])
def test_at_most_one_of_fifty_is_false(kind: str, tmp_path: Path) -> None:
    """Over all sessions; there are some to be found of each kind."""
    found = false = 0
    for session in SESSIONS:
        known, true = judged(session, tmp_path / session).get(kind, (set(), set()))
        found += len(known)
        false += len(known - true)
    assert found >= (2 if kind == "lost-errors" else 40)
    assert false <= found * FALSE_OF_FOUND


def test_every_kind_is_in_some_session(tmp_path: Path) -> None:
    """A truth that never speaks of a kind would agree with everything."""
    true = {
        kind
        for session in SESSIONS
        for kind, (_, facts) in judged(session, tmp_path / session).items()
        if facts
    }
    assert true == set(KINDS)
