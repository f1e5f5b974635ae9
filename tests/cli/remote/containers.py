"""Real containers of the machine's own files, for docker and podman: nothing is downloaded."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAME = "readroom-test"
# The limits of an account that may raise none.
_RUN = ("--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")


class Cannot(Exception):
    """Why there is no container of this kind here."""


class Containers:
    """A runtime of this test's own, and a container in which readroom is found.

    Attributes:
        program: docker or podman.
        environment: For processes that are to use it.
    """

    def __init__(self, program: str, environment: Mapping[str, str]) -> None:
        self.program = program
        self.environment = {**os.environ, **environment}

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *words], env=self.environment, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip

    def start(self, folder: Path, shared: Path) -> None:
        """Start the container, with a folder of this machine as /srv. Raises Cannot."""
        image = _image(folder)
        made = self("import", str(image), NAME)
        same = {"/usr", str(ROOT), os.path.realpath(sys.base_prefix)}
        mounts = [word for path in sorted(same) for word in ("-v", f"{path}:{path}:ro")]
        begun = self(
            "run", "-d", "--name", NAME, *_RUN, *mounts, "-v", f"{shared}:/srv", NAME, "sleep", "100000"
        )
        if made.returncode or begun.returncode:
            raise Cannot((made.stderr + begun.stderr).strip().split("\n")[-1])


def _image(folder: Path) -> Path:
    """An image with nothing in it but an account, and readroom where a user has it."""
    root = folder / "image"
    for name in ("etc", "usr", "tmp", "root/.local/bin", "srv"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/tmp:/bin/sh\n")
    program = root / "root/.local/bin/readroom"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m readroom "$@"\n')
    program.chmod(0o755)
    with tarfile.open(folder / "image.tar", "w") as archive:
        archive.add(root, arcname="")
    return folder / "image.tar"


@contextmanager
def docker(folder: Path) -> Iterator[Containers]:
    """A daemon of its own, without a network. Raises Cannot."""
    daemon = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin")
    if daemon is None or shutil.which("docker") is None:
        raise Cannot("dockerd (the package docker.io) is not installed")
    address = f"unix://{folder}/socket"
    log = open(folder / "log", "wb")  # noqa: SIM115  # as long as the daemon
    process = subprocess.Popen(
        [daemon, "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs",
         "-H", address, "--data-root", str(folder / "data"), "--exec-root", str(folder / "run"),
         "--pidfile", str(folder / "pid")],
        stdout=log, stderr=log,
    )  # fmt: skip
    log.close()
    found = Containers("docker", {"DOCKER_HOST": address})
    try:
        for _ in range(1200):
            if process.poll() is not None:
                raise Cannot((folder / "log").read_text().strip().split("\n")[-1])
            if found("version").returncode == 0:
                break
            select.select([], [], [], 0.1)
        yield found
    finally:
        if process.poll() is None:
            found("rm", "-f", NAME)
            process.terminate()
        process.wait(60)


@contextmanager
def podman(folder: Path) -> Iterator[Containers]:
    """Storage of its own. Raises Cannot."""
    if shutil.which("podman") is None:
        raise Cannot("podman is not installed")
    settings = folder / "storage.conf"
    settings.write_text(f'[storage]\ndriver = "vfs"\nrunroot = "{folder}/run"\ngraphroot = "{folder}/data"\n')
    runtime = folder / "containers.conf"
    # crun does not take the groups of some machines; runc does.
    runtime.write_text('[engine]\nruntime = "runc"\n' if shutil.which("runc") else "")
    found = Containers("podman", {"CONTAINERS_STORAGE_CONF": str(settings), "CONTAINERS_CONF": str(runtime)})
    try:
        yield found
    finally:
        with suppress(subprocess.TimeoutExpired):
            found("rm", "-f", "-t", "0", NAME)
