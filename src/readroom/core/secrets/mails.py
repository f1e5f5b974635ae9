"""Secrets in the parts of mails whose text is coded."""

from __future__ import annotations

from readroom.core.secrets.codings import coded, runs
from readroom.core.secrets.judge import SecretPlace, merged, places
from readroom.core.secrets.private_keys import keys


def coded_parts(data: bytes) -> list[SecretPlace]:
    """The secrets in the parts of mails whose text is coded, each of their lines a place."""
    made: list[SecretPlace] = []
    for part in coded(data):
        for place in merged([*places(part.text), *keys(part.text)]):
            start, end = part.starts[place.start], part.ends[place.end - 1]
            made += [SecretPlace(*run, place.letter) for run in runs(data, start, end)]
    return merged(made)
