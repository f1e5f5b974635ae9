"""The words of charts and diagrams of Office documents, which stand in parts of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from readroom.formats.documents import Unreadable
from readroom.formats.documents.elements import Element, local
from readroom.formats.documents.ooxml import Package, text_of
from readroom.limits.documents import DRAWING_WORDS, TABLE_LINE_CHARS


def lines(package: Package, part: str, relation: str, kind: str) -> list[str]:
    """What the chart or diagram says that `part` refers to by the id `relation`; its beginning without words.

    `kind` is chart or diagram.
    """
    target = package.relations(part).get(relation)
    if target is None or target.external or target.target not in package.archive.members:
        return [f"[{kind}]"]
    try:
        root = package.root(target.target)
    except Unreadable as error:
        return [f"[{kind} that cannot be read: {error.problem}]"]
    return written(kind, list(_diagram(root) if kind == "diagram" else _chart(root)))


def written(kind: str, words: Sequence[str]) -> list[str]:
    """The words of a chart or diagram in brackets: one line where it fits."""
    left = len(words) - DRAWING_WORDS
    listed = [*words[:DRAWING_WORDS]] + ([f"({left:,} more of its words are not shown)"] if left > 0 else [])
    line = f"[{kind}: {'; '.join(listed)}]" if listed else f"[{kind}]"
    if len(line) <= TABLE_LINE_CHARS:
        return [line]
    return [f"[{kind}: {listed[0]}", *(f"  {word}" for word in listed[1:]), f"[end of {kind}]"]


def _diagram(root: Element) -> Iterator[str]:
    for point in root.iter():
        if local(point) == "pt":
            words = " ".join(text_of(point, "t").split())
            if words:
                yield words


def _chart(root: Element) -> Iterator[str]:
    """Titles, then each series with its labels and values, as they were stored when it was drawn."""
    for element in root.iter():
        name = local(element)
        if name == "title":
            words = " ".join(text_of(element, "t").split())
            if words:
                yield words
        elif name in ("ser", "series"):
            yield from _series(element)
        elif name == "strDim" or name == "numDim":  # of the newer kinds of charts
            yield from (" ".join((at.text or "").split()) for at in element.iter() if local(at) == "pt")


def _series(series: Element) -> Iterator[str]:
    name, labels, values = "", [], []
    for element in series:
        at = local(element)
        if at == "tx":
            name = " ".join(text_of(element, "v").split()) or " ".join(text_of(element, "t").split())
        elif at in ("cat", "xVal"):
            labels = list(_cached(element))
        elif at in ("val", "yVal", "bubbleSize"):
            values += list(_cached(element))
        elif at == "dLbls":
            labels_of = " ".join(text_of(element, "t").split())
            if labels_of:
                yield labels_of
    pairs = [f"{label}: {value}" for label, value in zip(labels, values, strict=False)]
    rest = labels[len(pairs) :] + values[len(pairs) :]
    words = ", ".join([*pairs, *rest])
    if name or words:
        yield f"{name} ({words})" if name and words else name or words


def _cached(element: Element) -> Iterator[str]:
    for point in element.iter():
        if local(point) == "pt":
            yield " ".join(text_of(point, "v").split())
