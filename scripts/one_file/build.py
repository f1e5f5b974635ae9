"""Build the one file for a platform: python -m scripts.one_file.build WHEEL FOLDER

The wheels come from the package index through pip, all of them in the same versions for each Python. The same
wheels give the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

HERE = Path(__file__).parent
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
EXTRAS: Final = "terminal"
"""Small, and what a person at a terminal sees; the others are several times as large as all of the rest."""

GLIBC: Final = "2.28"
PLATFORMS: Mapping[str, Sequence[str]] = {
    "linux-x86_64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64"),
    "linux-aarch64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64"),
    "darwin-aarch64": ("macosx_14_0_arm64",),
    "darwin-x86_64": ("macosx_14_0_x86_64",),
}
"""What pip calls them; glibc is that of Debian 10, RHEL 8 and Ubuntu 18.10, and newer."""

_MADE = (1980, 1, 1, 0, 0, 0)


def here() -> str:
    """The platform of this machine."""
    system = os.uname()
    return f"{system.sysname.lower()}-{system.machine.replace('arm64', 'aarch64')}"


def wheels(wheel: Path, platform: str, extras: str, folder: Path) -> Mapping[str, Sequence[str]]:
    """Download all that a wheel needs into a folder; the names of the wheels, and the tags for each."""
    first, *others = PYTHONS
    what = f"{wheel}[{extras}]" if extras else str(wheel)
    (folder / first).mkdir()
    _download(platform, first, folder / first, what)
    pinned = {}
    for path in (folder / first).glob("*.whl"):
        name, version, _, _ = parse_wheel_filename(path.name)
        pinned[name] = f"{name}=={version}"
    (folder / first / wheel.name).unlink(missing_ok=True)
    pinned.pop(canonicalize_name("readroom"))
    for python in others:
        (folder / python).mkdir()
        needed = [line for name, line in pinned.items() if name not in _without(wheel, python)]
        _download(platform, python, folder / python, "--no-deps", *needed)
    taken: dict[str, list[str]] = {}
    for python in PYTHONS:
        for path in sorted((folder / python).glob("*.whl")):
            path.replace(folder / path.name)
            taken.setdefault(path.name, []).append(f"cp{python.replace('.', '')}")
    (folder / wheel.name).write_bytes(wheel.read_bytes())
    return {**taken, wheel.name: [f"cp{python.replace('.', '')}" for python in PYTHONS]}


def _download(platform: str, python: str, folder: Path, *what: str) -> None:
    places = [word for name in PLATFORMS[platform] for word in ("--platform", name)]
    # pip reads markers for the Python that it runs in: `_without` leaves out the packages of others.
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
         "--only-binary=:all:", "--implementation", "cp", "--python-version", python, *places,
         "--dest", str(folder), *what],
        check=True, stderr=subprocess.DEVNULL if os.environ.get("QUIET") else None,
    )  # fmt: skip


def _without(wheel: Path, python: str) -> Set[str]:
    """Packages that this Python does not need, as the metadata of the wheel says."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    needs = [Requirement(line) for line in re.findall(r"^Requires-Dist: (.*)$", text, re.MULTILINE)]
    here = {"python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    return {canonicalize_name(one.name) for one in needs if one.marker and not one.marker.evaluate(here)} - {
        canonicalize_name(one.name) for one in needs if one.marker is None or "extra" in str(one.marker)
    }


def build(taken: Mapping[str, Sequence[str]], folder: Path, platform: str, out: Path) -> None:
    """Write the file from wheels in a folder."""
    lines = []
    for name in sorted(taken):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        lines.append(f"{','.join(taken[name])} {digest} {name}")
    listing = "\n".join(lines)
    own = ("__init__.py", "boot.py", "unpack.py")
    parts = {f"one_file/{name}": (HERE / name).read_text(encoding="utf-8") for name in own}
    parts["__main__.py"] = (HERE / "main.py").read_text(encoding="utf-8")
    pythons = sorted({tag for tags in taken.values() for tag in tags})
    digest = hashlib.sha256("\n".join([listing, *map(str, sorted(parts.items()))]).encode()).hexdigest()
    facts = {
        "digest": digest, "platform": platform, "glibc": GLIBC, "pythons": " ".join(pythons),
        "versions": f"{PYTHONS[0]} to {PYTHONS[-1]}",
    }  # fmt: skip
    parts |= {"facts": "".join(f"{key}={value}\n" for key, value in facts.items()), "wheels": listing}
    with open(out, "wb") as file:
        file.write((HERE / "start.sh").read_bytes())
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in sorted(parts.items()):
                archive.writestr(_member(name, zipfile.ZIP_DEFLATED), text)
            for name in sorted(taken):  # they are compressed already
                archive.writestr(_member(f"wheels/{name}", zipfile.ZIP_STORED), (folder / name).read_bytes())
    out.chmod(0o755)


def _member(name: str, kind: int) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _MADE)
    member.compress_type = kind
    member.external_attr = 0o644 << 16
    return member


def main(arguments: Sequence[str]) -> None:
    """Build it twice, and compare."""
    parser = ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--platform", default=here())
    parser.add_argument("--extras", default=EXTRAS)
    given = parser.parse_args(arguments)
    wheel, out, platform = given.wheel.resolve(), given.out, given.platform
    if platform not in PLATFORMS:
        sys.exit(f"one_file: {platform} has no wheels of everything; those that have: {', '.join(PLATFORMS)}")
    version = parse_wheel_filename(wheel.name)[1]
    name = out / f"readroom-{version}-{platform}.pyz"
    with TemporaryDirectory() as work:
        folder = Path(work)
        taken = wheels(wheel, platform, given.extras, folder)
        build(taken, folder, platform, name)
        build(taken, folder, platform, folder / "again")
        if (folder / "again").read_bytes() != name.read_bytes():
            sys.exit(f"one_file: {name.name} is not reproducible")
    print(
        f"{name.name}: {name.stat().st_size / 1e6:.1f} MB, {len(taken)} wheels, "
        f"Python {PYTHONS[0]} to {PYTHONS[-1]}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
