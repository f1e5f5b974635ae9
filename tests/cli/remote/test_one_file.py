"""The one file of `scripts/package`: what it unpacks, and what it runs after somebody has been there.

A wheel of a few lines is in the place of readroom, so that this is about the file; `scripts/package` tries
the real one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from scripts.one_file import build
from tests.each import each

TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
MAIN = """import sys
def main():
    import helper_of_readroom
    print(helper_of_readroom.WORD, *sys.argv[1:])
    return 3
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or build.here() not in build.PLATFORMS,
    reason="the one file is not made for this system",
)


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def one_file(tmp_path: Path) -> Path:
    return made(tmp_path)


def made(
    folder: Path, *, tag: str = TAG, platform: str | None = None, extra: Mapping[str, str] | None = None
) -> Path:
    """The one file of two small wheels."""
    work = folder / "wheels"
    work.mkdir(exist_ok=True)
    wheel(work / "readroom-0.1.0-py3-none-any.whl", {
        "readroom/__init__.py": "", "readroom/cli/__init__.py": "", "readroom/cli/main.py": MAIN,
        "readroom-0.1.0.data/scripts/rg": "#!/bin/sh\necho rg\n", **(extra or {}),
    })  # fmt: skip
    # Its own bytes: the last place to unpack into, in /tmp, is that of all tests.
    wheel(work / "helper-1-py3-none-any.whl", {"helper_of_readroom.py": f"WORD = 'right'\n# {folder}\n"})
    out = folder / "readroom.pyz"
    taken = {"readroom-0.1.0-py3-none-any.whl": [tag], "helper-1-py3-none-any.whl": [tag]}
    build.build(taken, work, platform or build.here(), out)
    return out


@contextmanager
def last_place(*, alone: bool = False) -> Iterator[None]:
    """While the last place to unpack into stays as it is, for this test alone or beside others.

    All tests of an account have the same one, in whatever run of pytest.
    """
    with open(f"{tempfile.gettempdir()}/readroom-tests-{os.geteuid()}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def run(
    file: Path,
    *words: str,
    home: Path | None = None,
    python: str | None = None,
    alone: bool = False,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Start it as a person does, on a PATH that has this Python; or with a Python.

    `alone` is for a caller that has the last place for itself.
    """
    home = home or file.parent / "home"
    home.mkdir(exist_ok=True)
    programs = file.parent / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "python3").exists():
        (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    environment = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", **variables}
    command = [str(file)] if python is None else [python, str(file)]
    with nullcontext() if alone else last_place():
        return subprocess.run(
            [*command, *words], env=environment, capture_output=True, text=True, timeout=300, check=False
        )


def unpacked(file: Path) -> Path:
    return next(path for path in (file.parent / "home/.cache/readroom/one-file").iterdir() if path.is_dir())


def test_it_runs_with_the_arguments_and_the_exit_code(one_file: Path) -> None:
    for _ in range(2):
        done = run(one_file, "a b", "$x", "")
        assert (done.returncode, done.stdout, done.stderr) == (3, "right a b $x \n", "")
    assert run(one_file, "x", python=sys.executable).stdout == "right x\n"


def test_what_is_unpacked_belongs_to_this_account_alone(one_file: Path) -> None:
    run(one_file)
    assert (unpacked(one_file) / "bin/rg").stat().st_mode & 0o100
    for path in [unpacked(one_file), *unpacked(one_file).rglob("*")]:
        mode = path.lstat().st_mode
        assert stat.S_ISLNK(mode) or not mode & 0o022, path
    folder = one_file.parent / "home/.cache/readroom"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.glob("one-file/.*")] == []


def _append(place: Path) -> None:
    (
        place / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/helper_of_readroom.py"
    ).write_text("WORD = 'wrong'\n")


def _same_size_and_time(place: Path) -> None:
    module = next(place.rglob("helper_of_readroom.py"))
    state = module.stat()
    module.write_text("WORD = 'wrong'\n")
    os.utime(module, ns=(state.st_atime_ns, state.st_mtime_ns))


def _compiled(place: Path) -> None:
    module = next(place.rglob("helper_of_readroom.*.pyc"))
    module.write_bytes(module.read_bytes().replace(b"right", b"wrong"))


def _added(place: Path) -> None:
    packages = next(place.rglob("helper_of_readroom.py")).parent
    (packages / "evil.pth").write_text("import sys; sys.exit('wrong')\n")


def _replaced(place: Path) -> None:
    module = next(place.rglob("helper_of_readroom.py"))
    module.unlink()
    module.symlink_to("/dev/null")


def _program(place: Path) -> None:
    (place / "bin/readroom").write_text("print('wrong')\n")


def _settings(place: Path) -> None:
    (place / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = true\n")


def _removed(place: Path) -> None:
    shutil.rmtree(next(path for path in place.rglob("readroom") if path.is_dir()))


def _recorded(place: Path) -> None:
    Path(f"{place}.record").write_text("")


@each(
    "change",
    [_append, _same_size_and_time, _compiled, _added, _replaced, _program, _settings, _removed, _recorded],
)
def test_what_somebody_changed_is_unpacked_anew(change: Callable[[Path], None], tmp_path: Path) -> None:
    file = made(tmp_path)
    assert run(file).stdout == "right\n"
    change(unpacked(file))
    done = run(file)
    assert (done.returncode, done.stdout, done.stderr) == (3, "right\n", "")
    assert run(file).stdout == "right\n"


def _link(cache: Path) -> None:
    other = cache.parent / "other"
    other.mkdir()
    (cache / "readroom").symlink_to(other)


def _open_to_all(cache: Path) -> None:
    (cache / "readroom").mkdir()
    (cache / "readroom").chmod(0o777)


def _open_cache(cache: Path) -> None:
    cache.chmod(0o777)


def _file(cache: Path) -> None:
    (cache / "readroom").write_text("")


@each("prepare", [_link, _open_to_all, _open_cache, _file])
def test_a_folder_that_others_can_write_to_is_passed_over(
    prepare: Callable[[Path], None], tmp_path: Path
) -> None:
    """There is a next place, which is this account's own; nothing is put into this one."""
    file = made(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    prepare(cache)
    before = sorted(cache.rglob("*"))
    done = run(file, XDG_CACHE_HOME=str(cache))
    assert done.stdout == "right\n", done
    assert sorted(cache.rglob("*")) == before
    assert unpacked(file).is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_home_of_another_account_is_passed_over(one_file: Path) -> None:
    """As with sudo, which may leave HOME as it was."""
    cache = one_file.parent / "home/.cache"
    cache.mkdir(parents=True)
    os.chown(cache, 65534, 65534)
    own = one_file.parent / "own"
    own.mkdir()
    assert run(one_file, XDG_CACHE_HOME=str(own)).stdout == "right\n"
    done = run(one_file)
    assert list(cache.iterdir()) == []
    assert done.stdout == "right\n"


def test_no_place_at_all_is_said_with_every_reason(one_file: Path) -> None:
    cache = one_file.parent / "cache"
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    blocked = one_file.parent / "blocked"
    blocked.write_text("")
    held = Path(f"/tmp/readroom-{os.geteuid()}")
    with last_place(alone=True):
        if held.exists():
            return  # a place that this account has used before is as good
        held.symlink_to(blocked)
        try:
            home = one_file.parent / "home"
            done = run(one_file, home=home, alone=True, XDG_CACHE_HOME=str(cache), HOME=str(blocked))
        finally:
            held.unlink()
    assert done.returncode == 5
    assert "other accounts can write to" in done.stderr
    assert "Set XDG_CACHE_HOME" in done.stderr


def test_starts_at_the_same_time_end_with_one_place(one_file: Path) -> None:
    (one_file.parent / "home").mkdir()
    programs = one_file.parent / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    environment = {"HOME": str(one_file.parent / "home"), "PATH": f"{programs}:/usr/bin:/bin"}
    several = [
        subprocess.Popen([one_file, str(number)], env=environment, stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    assert sorted(one.communicate()[0] for one in several) == [f"right {number}\n" for number in range(4)]
    assert len(list(unpacked(one_file).parent.iterdir())) == 2  # it, and its record


@each("what", ["python", "platform"])
def test_another_machine_is_refused_by_a_sentence(what: str, tmp_path: Path) -> None:
    file = made(tmp_path, tag="cp399") if what == "python" else made(tmp_path, platform="linux-s390x")
    done = run(file)
    assert done.returncode == 5
    expected = "is for CPython" if what == "python" else "is for linux-s390x, and this machine is"
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_a_path_without_a_python_is_refused_by_a_sentence(one_file: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        ["/bin/sh", str(one_file)], env={"PATH": str(empty)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert "needs Python 3.11 to 3.14, and none is on the PATH" in done.stderr


@each("name", ["../../outside.py", "/tmp/outside.py", "a//b.py", "a/../../b.py", "a\\..\\b.py"])
def test_a_wheel_that_leads_elsewhere_is_not_unpacked(name: str, tmp_path: Path) -> None:
    done = run(made(tmp_path, extra={name: "x = 1\n"}))
    assert done.returncode == 5
    assert "is no name for a file of a wheel" in done.stderr
    assert [path for path in tmp_path.rglob("outside.py") if "wheels" not in path.parts] == []


def test_a_copy_that_was_damaged_is_not_run(one_file: Path) -> None:
    data = one_file.read_bytes()
    one_file.write_bytes(data.replace(b"WORD = 'right'", b"WORD = 'wrong'"))
    done = run(one_file)
    assert (done.returncode, done.stdout) == (5, "")
    assert "was damaged on its way" in done.stderr
    one_file.write_bytes(data[: len(data) // 2])
    assert run(one_file).returncode != 0


def test_the_same_wheels_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    one, other = made(first), tmp_path / "other.pyz"
    taken = {path.name: [TAG] for path in (first / "wheels").iterdir()}
    build.build(taken, first / "wheels", build.here(), other)
    assert one.read_bytes() == other.read_bytes()
