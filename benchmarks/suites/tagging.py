"""Outlines beside universal-ctags: which of the definitions that it finds in real files we have."""

from __future__ import annotations

from benchmarks.corpora import HOME
from benchmarks.measure import Record
from benchmarks.samples import SAMPLES, fetched
from benchmarks.tagging import WITNESSES, compare, files

_FILES = 300
"""Of each language."""

NEWEST = "fifth"
"""The sample that is measured; how those before it did stands in earlier runs."""

TITLES = {"c_sharp": "C#", "cpp": "C++", "php": "PHP", "javascript": "JavaScript", "typescript": "TypeScript"}


def run(record: Record) -> None:
    """Files of packages, each in turn. Unfair to both: a witness errs, and what it misses counts not.

    What ctags calls a definition and is none does not count: parameters of lambdas, locals, names that it
    makes up, what `benchmarks.tagging` lists with reasons.
    """
    _run(record, NEWEST, f"language ({NEWEST} sample)")
    sources = [f"{client}: {names}" for client, names in SAMPLES[NEWEST].items()]
    record.say("Its packages, by the client that brings them:", "", *(f"- {one}" for one in sources), "")


def _run(record: Record, sample: str, title: str) -> None:
    place = fetched(HOME / f"tagging-{sample}", sample)
    sampled, rows = files(place, _FILES), []
    for language in WITNESSES:
        paths = sampled.get(language, [])
        definitions, members = compare(language, paths)
        record.add("tagging", f"{sample} {language}", "definitions", [definitions.share], "ratio")
        record.add("tagging", f"{sample} {language}", "members", [members.share], "ratio")
        packages = {path.relative_to(place).parts[0] for path in paths}
        rows.append(
            [
                TITLES.get(language, language.capitalize()),
                f"{len(paths)} of {len(packages)} packages",
                f"{definitions.found:,} of {definitions.total:,}",
                f"{100 * definitions.share:.1f} %",
                f"{members.found:,} of {members.total:,}" if members.total else "-",
                f"{100 * members.share:.1f} %" if members.total else "-",
            ]
        )
    head = [title, "files", "functions, classes, types", "share", "fields, constants", "share"]
    record.table(head, rows)
