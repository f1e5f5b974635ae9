"""Records of every client's form that are made to hurt: read to their end, in memory that does not grow with
them.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.lens.audit import Options, audit
from readroom.lens.evidence.tools import PATH_CHARS
from readroom.lens.held import BRIEF_NAME_CHARS, KeptNames
from readroom.lens.limits import NAMES_BYTES
from readroom.lens.normal_form import SkippedPart
from readroom.lens.records.events import NAME_CHARS, Remembered, short_name
from readroom.lens.sessions import Audited
from tests.each import each
from tests.lens.hostile_records import FORMS
from tests.lens.making import divided
from tests.peak import REPO
from tests.suites import whole

_SUFFIX = {"opencode": ".db", "Inspect AI": ".eval", "SWE-agent": ".traj"}


def _path(form: str, folder: Path) -> Path:
    return folder / f"r{_SUFFIX.get(form, '.jsonl')}"


@each("form", FORMS)
def test_a_hostile_record_of_every_form_is_read_to_its_end(form: str, tmp_path: Path) -> None:
    """Its calls are there, and no name in a row is longer than one should be."""
    path = FORMS[form](_path(form, tmp_path), 150_000)
    parts = list(audit(path, Options(secrets=False)))
    sessions = [part for part in parts if isinstance(part, Audited)]
    assert sum(part.session.calls for part in sessions) >= 20
    assert {re.split(" for |: ", part.session.client)[0] for part in sessions} <= {
        form,
        "messages",
        "Inspect AI",
    }
    for part in sessions:
        for call in part.calls:
            assert max(map(len, (call.session, call.id, call.tool, call.server, call.time))) <= NAME_CHARS
            assert len(call.file) <= PATH_CHARS
    assert all(isinstance(part, Audited | SkippedPart) for part in parts)


@given(st.lists(st.text("abc", max_size=2), max_size=40), st.integers(1, 5))
def test_the_latest_names_are_remembered_and_others_are_told_of(names: list[str], most: int) -> None:
    """As many as there is room for, the latest that came for the first time, with the latest value."""
    known, expected, forgot = Remembered[int](most), dict[str, int](), False
    for number, name in enumerate(names):
        known.put(name, number)
        if name not in expected and len(expected) == most:
            del expected[next(iter(expected))]
            forgot = True
        expected[name] = number
    assert len(known) == len(expected) <= most
    assert {name: known.get(name) for name in expected} == expected
    assert known.all_in(expected)
    assert known.forgot == forgot


@given(st.text(max_size=80), st.text(max_size=80), st.integers(30, 60))
def test_names_that_differ_differ_when_they_are_short(left: str, right: str, most: int) -> None:
    """A name beyond its bound keeps its ends and is told from every other."""
    assert len(short_name(left, most)) <= max(most, 0)
    assert (short_name(left, most) == short_name(right, most)) == (left == right)


def test_names_of_a_session_become_brief_when_there_are_very_many() -> None:
    """What all of them take stays within its bound, and they still differ."""
    names = KeptNames()
    kept = {names.of(f"{number:08}" + "n" * 900) for number in range(NAMES_BYTES // 500)}
    assert names.bytes <= NAMES_BYTES
    assert len(kept) == NAMES_BYTES // 500
    assert min(map(len, kept)) <= BRIEF_NAME_CHARS


_MEASURE = """
import sys
import zipfile
from pathlib import Path
from readroom.lens.audit import Options, audit
from tests.lens.hostile_records import FORMS
from tests.peak import own_peak_bytes
path = FORMS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
print(sum(1 for _ in audit(path, Options(secrets=False))))
print(own_peak_bytes())
"""


@pytest.mark.long
@whole
@pytest.mark.parametrize("form", ["Claude Code", "Inspect AI"])
def test_a_hostile_record_four_times_as_large_takes_hardly_more_memory(form: str, tmp_path: Path) -> None:
    """Below 256 MB, and of 30 MB more hardly anything: lines, and a log whose samples are documents."""
    peaks = []
    for size in (10_000_000, 40_000_000):
        line = [sys.executable, "-c", _MEASURE, form, str(_path(form, tmp_path))]
        done = subprocess.run([*line, str(size)], cwd=REPO, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]))
    assert max(peaks) < 256_000_000
    assert peaks[1] - peaks[0] < 28_000_000


_BEYOND_BYTES = 160_000_000
"""A record of that size is beyond the bounds of every audit; a part of it, beyond that part of them."""


def _smaller(form: str) -> int:
    """So many times smaller than those of every audit are the bounds that a form is shown to keep to; a log
    of few documents fills them less evenly.
    """
    return 160 if form == "Inspect AI" else 640


_MORE_SAMPLES_BYTES = 400 * 1_000
"""What 400 samples more take in the directory of a log, a kilobyte each: that has a bound of its own."""


@pytest.mark.long
@whole
@pytest.mark.parametrize("form", FORMS)
def test_what_a_hostile_record_of_every_form_takes_is_its_bounds(form: str, tmp_path: Path) -> None:
    """With much smaller bounds a record of a megabyte or less is beyond them: of one that is three times as
    large hardly anything more is kept.
    """
    peaks, size = [], _BEYOND_BYTES // _smaller(form)
    for bytes_ in (size, 3 * size):
        path = FORMS[form](_path(form, tmp_path), bytes_)
        gc.collect()
        tracemalloc.start()
        try:
            for _ in audit(path, Options(secrets=False), divided(_smaller(form))):
                pass
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert max(peaks) < 3_000_000
    assert peaks[1] - peaks[0] < 2 * size / 6 + (_MORE_SAMPLES_BYTES if form == "Inspect AI" else 0)


def test_a_log_that_is_packed_to_hurt_is_told(tmp_path: Path) -> None:
    """A directory of more names than memory should hold, and a method that takes what a member asks for."""
    for name, method, count in (("lzma", zipfile.ZIP_LZMA, 1), ("names", zipfile.ZIP_STORED, 70)):
        path = tmp_path / f"{name}.eval"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("header.json", '{"eval": {"eval_id": "e"}}')
            for number in range(count):
                archive.writestr(
                    f"samples/{number}{'n' * 65_000 if count > 1 else ''}.json", '{"messages": []}'
                )
        (skipped,) = audit(path, Options(secrets=False))
        assert isinstance(skipped, SkippedPart)
        assert skipped.why in ("compressed in a way no log uses", "not a zip that can be read (OSError)")
