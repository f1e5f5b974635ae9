"""The description is true: a program made from it meets nothing that it does not say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.server.http.serving import open_agent
from tests.suites import daily


@daily(1, ("phases", "examples"), [("fuzzing", 1), ("examples,coverage,fuzzing,stateful", 10)])
def test_generated_requests_meet_what_the_description_says(
    tmp_path: Path, phases: str, examples: int
) -> None:
    """schemathesis: no server error, no undocumented status, type or form of an answer.

    Good input can be refused, as a path that fits its schema may be denied.  Bad input can be taken: null
    for what is not given, "10" for 10 and 0 for false, as models send them.
    """
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    with open_agent(tmp_path / "state", str(root)) as found:
        done = subprocess.run(
            [
                *(
                    str(Path(sys.executable).parent / "st"),
                    "run",
                    f"http://127.0.0.1:{found.port}/openapi.json",
                ),
                *("--max-examples", str(examples), "--generation-deterministic", "--no-color"),
                # The second time whatever a schema can have wrong: 1,800 requests.
                *("--phases", phases),
                *("--exclude-checks", "positive_data_acceptance,negative_data_rejection,ignored_auth"),
            ],
            capture_output=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout.decode()
        assert found.request("GET", "/healthz").status == 200
