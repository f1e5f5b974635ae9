"""Real documents, read by readroom and by other readers of their formats: which words each shows.

    python -m benchmarks.readers gather FOLDER SOURCE...   copies samples out of archives and repositories
    python -m benchmarks.readers run FOLDER OUT PANDOC PYTHON [FORMAT...]   reads them, writes results.json

Nobody has the true text of these files.  So a reader is measured against what the others agree on:
the different words that every other reader of the format shows which opens the file.  A file is read
exactly when none of these is missing, nearly when one in fifty is, else with losses.  How often a word
stands is not counted: some readers show what older saves left behind in a file once more.

Unfair to the others: they are run with the options under which they show most, but without reading their
manuals twice.  Unfair to readroom: what it counts in a note (hidden and deleted text, codes of fields)
is missing here, and words that only it shows count for nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import time
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from readroom.core.formats.kinds import recognise
from readroom.core.limits import HEAD_BYTES
from readroom.documents.formats import Encrypted, Skimmed, Unreadable, opener

MOST_BYTES = 30_000_000
TIMEOUT_S = 60
NEAR = 0.98
ENDINGS: Mapping[str, str] = {
    **dict.fromkeys(("docx", "docm", "dotx"), "docx"),
    **dict.fromkeys(("pptx", "ppsx", "potx"), "pptx"),
    **dict.fromkeys(("xlsx", "xlsm"), "xlsx"),
    **dict.fromkeys(("xls", "xlt"), "xls"),
    **dict.fromkeys(("ods", "ots"), "ods"),
    "epub": "epub",
    "pdf": "pdf",
    **dict.fromkeys(("odt", "ott"), "odt"),
    **dict.fromkeys(("odp", "otp"), "odp"),
    "rtf": "rtf",
    **dict.fromkeys(("doc", "dot"), "doc"),
    **dict.fromkeys(("ppt", "pps", "pot"), "ppt"),
    **dict.fromkeys(("eml", "mbox"), "eml"),
    "msg": "msg",
    **dict.fromkeys(("html", "htm"), "html"),
}
"""Formats by the endings of the files that are gathered."""

_WORD = re.compile(r"[^\W_]+")
_MARKS = frozenset(("pic", "picture", "image", "img", "drawing", "hyperlink"))
"""What readers write where a picture or a link is."""


def words(text: str) -> frozenset[str]:
    """The different words of a text; labels of lists, which readers write differently, are none."""
    found = _WORD.findall(unicodedata.normalize("NFKC", text).replace("\xad", "").casefold())
    return frozenset(word for word in found if len(word) > 2 and word not in _MARKS)


# --- readers ---------------------------------------------------------------------------------------------


class Refused(Exception):
    """A file that a reader does not read."""


def readroom(path: Path) -> tuple[str, str]:
    """The text of all parts, and the notes; `encrypted` where that is why it is refused."""
    data = path.read_bytes()
    found = recognise(path.name, data[:HEAD_BYTES])
    if found is None:
        raise Refused("it is not what its name says")
    try:
        document: Any = opener(found.format)(io.BytesIO(data))
        numbers = range(1, len(document.titles) + 1)
        skim = isinstance(document, Skimmed)
        parts = [document.text_part(at) if skim else document.part(at) for at in numbers]
    except Encrypted:
        raise Refused("encrypted") from None
    except Unreadable as error:
        raise Refused(error.problem) from None
    lines = [line for part in parts for line in (part.title, *part.lines)]
    if document.unit.has_rows:  # where a cell has a line end or a tab, it is written
        lines = [line.replace("\\n", "\n").replace("\\t", "\t") for line in lines]
    return "\n".join(lines), " ".join(note for part in parts for note in part.notes)


def program(*command: str, behind: Sequence[str] = ()) -> Callable[[Path], tuple[str, str]]:
    """A program that prints the text of a file, whose name stands before what is `behind`."""

    def read(path: Path) -> tuple[str, str]:
        try:
            whole = [*command, str(path), *behind]
            done = subprocess.run(whole, capture_output=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise Refused("timeout") from None
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode or not text.strip():
            raise Refused(f"ended with {done.returncode}")
        return text, ""

    return read


def module(python: str, code: str) -> Callable[[Path], tuple[str, str]]:
    """A library of Python, asked in a process that stays."""
    started: list[subprocess.Popen[str]] = []

    def read(path: Path) -> tuple[str, str]:
        if not started or started[-1].poll() is not None:
            started.append(
                subprocess.Popen(
                    [python, "-c", _LOOP.format(code=code, timeout=TIMEOUT_S)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                )
            )  # fmt: skip
        process = started[-1]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{path}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        found = json.loads(line) if line.strip() else None
        if not isinstance(found, str) or not found.strip():
            raise Refused("it raised or found nothing")
        return found, ""

    return read


_LOOP = """
import json, resource, signal, sys
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
told = sys.stdout
sys.stdout = sys.stderr
{code}
for line in sys.stdin:
    signal.alarm({timeout})
    try:
        found = read(line.rstrip(chr(10)))
    except BaseException:
        found = None
    told.write(json.dumps(found) + chr(10))
    told.flush()
"""

STRIPRTF = """
from striprtf.striprtf import rtf_to_text
def read(path): return rtf_to_text(open(path, encoding="latin-1").read(), errors="ignore")
"""
OXMSG = """
from oxmsg import Message
def read(path):
    found = Message.load(path)
    return chr(10).join(filter(None, (found.subject, found.sender, found.body or found.html_body)))
"""
STDLIB = """
import email, email.policy
def read(path):
    found = email.message_from_bytes(open(path, "rb").read(), policy=email.policy.default)
    body = found.get_body(("plain",))
    return chr(10).join((str(found["subject"]), str(found["from"]), body.get_content() if body else ""))
"""
PYPDF = """
import pypdf
def read(path): return chr(10).join(page.extract_text() for page in pypdf.PdfReader(path).pages)
"""
CALAMINE = """
import python_calamine
def read(path):
    book = python_calamine.CalamineWorkbook.from_path(path)
    cells = [str(cell) for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python()
             for cell in row if isinstance(cell, str)]
    return " ".join([*book.sheet_names, *cells])
"""
MARKITDOWN = """
import re
from markitdown import MarkItDown
converter = MarkItDown()
def read(path):
    text = converter.convert(path).text_content
    text = re.sub(r"<!--.*?-->|!\\[.*?\\]\\(.*?\\)|### Notes:|[|] Category [|]", "", text)  # its own marks
    stored = open(path, "rb").read().decode("utf-8", "replace")
    return None if text.split()[:50] == stored.split()[:50] else text  # the source, unread
"""
KREUZBERG = """
import kreuzberg
def read(path): return kreuzberg.extract_file_sync(path).content.replace("### Notes:", "")  # its own mark
"""


def readers(pandoc: str, others: str) -> Mapping[str, Mapping[str, Callable[[Path], tuple[str, str]]]]:
    """The readers of each format; `others` is a Python that has those that come as packages."""

    def converted(form: str) -> Callable[[Path], tuple[str, str]]:
        return program(pandoc, "-f", form, "-t", "plain", "--wrap=none")

    markitdown, kreuzberg = module(others, MARKITDOWN), module(others, KREUZBERG)
    found: dict[str, dict[str, Callable[[Path], tuple[str, str]]]] = {
        "docx": {"pandoc": converted("docx")},
        "pdf": {
            "pdftotext": program("pdftotext", "-q", "-enc", "UTF-8", behind=["-"]),
            "pypdf": module(sys.executable, PYPDF),
        },
        "pptx": {},
        "xlsx": {"python-calamine": module(sys.executable, CALAMINE)},
        "xls": {"python-calamine": module(sys.executable, CALAMINE)},
        "ods": {"python-calamine": module(sys.executable, CALAMINE)},
        "epub": {"pandoc": converted("epub")},
        "odt": {"pandoc": converted("odt"), "odt2txt": program("odt2txt")},
        "odp": {"odt2txt": program("odt2txt")},
        "rtf": {"pandoc": converted("rtf"), "striprtf": module(others, STRIPRTF)},
        "doc": {
            "antiword": program("antiword", "-w", "0", "-m", "UTF-8.txt"),
            "catdoc": program("catdoc", "-d", "utf-8", "-w"),
        },
        "ppt": {"catppt": program("catppt", "-d", "utf-8")},
        "eml": {"email": module(sys.executable, STDLIB)},
        "msg": {"python-oxmsg": module(others, OXMSG)},
        "html": {"pandoc": converted("html")},
    }
    rest = {"markitdown": markitdown, "kreuzberg": kreuzberg}
    return {form: {"readroom": readroom, **own, **rest} for form, own in found.items()}


# --- the run ----------------------------------------------------------------------------------------------


def outcome(own: frozenset[str], others: Sequence[frozenset[str]]) -> str:
    """How much of what the others agree on a reader shows."""
    if not others:
        return "alone"
    agreed = frozenset.intersection(*others)
    if agreed <= own:
        return "exact"
    return "near" if len(agreed & own) >= NEAR * len(agreed) else "lossy"


def judge(path: Path, candidates: Mapping[str, Callable[[Path], tuple[str, str]]]) -> dict[str, object]:
    """The outcome of each reader, and why readroom refused the file or what it says is not shown."""
    shown: dict[str, frozenset[str]] = {}
    notes, why = "", ""
    for name, read in candidates.items():
        try:
            text, said = read(path)
        except Refused as error:
            why = str(error) if name == "readroom" else why
            continue
        shown[name] = words(text)
        notes = notes or said
    result: dict[str, object] = {}
    for name in candidates:
        others = [found for other, found in shown.items() if other != name]
        result[name] = outcome(shown[name], others) if name in shown else "refused"
    is_lossy = result["readroom"] in ("near", "lossy")
    return {
        "file": path.name,
        "outcomes": result,
        **({"why": why} if why else {}),
        **({"counted": any(kind in notes for kind in _COUNTED)} if is_lossy else {}),
    }


_COUNTED = (
    "hidden", "tracked deletion", "other form of the text", "layouts", "field code", "other header",
    "other propert", "link target",
)  # fmt: skip


def run(folder: Path, out: Path, pandoc: str, others: str, forms: Sequence[str]) -> None:
    """Read every file with every reader of its format; of some formats only, beside what is there."""
    place = out / "results.json"
    found: dict[str, list[dict[str, object]]] = {}
    if forms and place.exists():
        found = json.loads(place.read_text(encoding="utf-8"))["formats"]
    for form, candidates in readers(pandoc, others).items():
        if forms and form not in forms:
            continue
        files = sorted(path for path in (folder / form).glob("*") if path.is_file())
        start = time.monotonic()
        found[form] = [judge(path, candidates) for path in files]
        print(form, len(files), "files", f"{time.monotonic() - start:.0f} s", flush=True)
    sources = json.loads((folder / "sources.json").read_text(encoding="utf-8"))
    result = {"date": time.strftime("%Y-%m-%d"), "sources": sources, "formats": found}
    out.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# --- the files ---------------------------------------------------------------------------------------------


def gather(folder: Path, sources: Sequence[Path]) -> None:
    """Copy every sample once, named by its source; sources are archives or repositories of git."""
    seen: set[str] = set()
    counts: dict[str, dict[str, int]] = {}
    for source in sources:
        label = source.parent.name if source.is_dir() else re.sub(r"(\.tar\.gz|\.zip)$", "", source.name)
        for name, data in _members(source):
            form = ENDINGS.get(name.rpartition(".")[2].lower())
            digest = hashlib.sha256(data).hexdigest()
            if form is None or not data or len(data) > MOST_BYTES or digest in seen:
                continue
            seen.add(digest)
            plain = name.rpartition("/")[2].replace(" ", "_")
            target = folder / form / f"{label}__{digest[:4]}__{plain}"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            own = counts.setdefault(label, {})
            own[form] = own.get(form, 0) + 1
    (folder / "sources.json").write_text(json.dumps(counts, indent=1, sort_keys=True), encoding="utf-8")


def _members(source: Path) -> Iterator[tuple[str, bytes]]:
    if source.is_dir():
        listing = subprocess.run(
            ["git", "-C", str(source), "ls-tree", "-r", "HEAD"], capture_output=True, text=True, check=True
        ).stdout
        for line in listing.splitlines():
            about, _, name = line.partition("\t")
            if "test" in name.lower() and name.rpartition(".")[2].lower() in ENDINGS:
                command = ["git", "-C", str(source), "cat-file", "blob", about.split()[2]]
                yield name, subprocess.run(command, capture_output=True, check=False).stdout
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist() if not name.endswith("/"))
    else:
        with tarfile.open(source) as packed:
            for member in packed:
                file = packed.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member.name, file.read()


def main() -> None:
    """As the first lines of this module say."""
    what, folder, *rest = sys.argv[1:]
    if what == "gather":
        gather(Path(folder), [Path(name) for name in rest])
    else:
        out, pandoc, others, *forms = rest
        run(Path(folder), Path(out), pandoc, others, forms)


if __name__ == "__main__":
    main()
