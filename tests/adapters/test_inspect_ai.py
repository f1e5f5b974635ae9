"""The tools of inspect_agents in real evaluations of Inspect, with a model that says what it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.adapters.vocabulary import write_vocabulary

if TYPE_CHECKING:
    # To import Inspect takes a second and a half: only the process that runs these tests does.
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageTool

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]  # those of a framework are not ours


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vocabulary(tmp_path_factory.mktemp("tiktoken"))


Call = tuple[str, dict[str, Any]]


class Evaluation:
    """One sample of an evaluation in which the model makes some calls."""

    def __init__(self, logs: Path, *, sandbox: str | None, given: dict[str, str] | None = None) -> None:
        self._logs = logs
        self._sandbox = sandbox
        self._files = given

    def sample(self, calls: Sequence[Call]) -> EvalSample:
        import inspect_ai
        from inspect_ai.dataset import Sample
        from inspect_ai.model import ModelOutput, get_model
        from inspect_ai.solver import generate, use_tools

        from readroom.adapters.inspect_ai import files, read_file

        outputs = [ModelOutput.for_tool_call("mockllm", name, arguments) for name, arguments in calls]
        model = get_model(
            "mockllm/model", custom_outputs=[*outputs, ModelOutput.from_content("mockllm", ".")]
        )
        task = inspect_ai.Task(
            dataset=[Sample(input="go", files=self._files)],
            solver=[use_tools(read_file(), files()), generate()],
            sandbox=self._sandbox,
        )
        (log,) = inspect_ai.eval(task, model=model, log_dir=str(self._logs), display="none")
        assert log.status == "success", log.error
        found: list[EvalSample] | None = log.samples
        assert found
        return found[0]

    def answers(self, calls: Sequence[Call]) -> list[str]:
        """What each call was answered; failures as the model sees them."""
        return [one.error.message if one.error else one.text for one in shown(self.sample(calls))]


def shown(sample: EvalSample) -> list[ChatMessageTool]:
    """What tools answered in it."""
    from inspect_ai.model import ChatMessageTool

    return [one for one in sample.messages if isinstance(one, ChatMessageTool)]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, vocabulary: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(vocabulary))
    return monkeypatch


def do(command: str, **given: Any) -> Call:
    return ("files", {"params": {"command": command, **given}})


def test_files_of_the_store_are_read_and_changed_and_stand_in_the_log(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("INSPECT_AGENTS_FS_MODE", "store")
    sample = Evaluation(tmp_path, sandbox=None).sample(
        [
            do("write", file_path="/etc/passwd", content="one\ntwo\n"),
            ("read_file", {"file_path": "/etc/passwd", "offset": 1}),
            do("write", file_path="b", content="x", instance="other"),
            ("read_file", {"file_path": "b"}),
            do("edit", file_path="/etc/passwd", old_string="two", new_string="2"),
            do("ls"),
        ]
    )
    tools = shown(sample)
    assert [one.text for one in tools if one.error is None] == [
        "Updated file /etc/passwd",
        "     2\ttwo",
        "Updated file b",
        "Updated file /etc/passwd",
        '["/etc/passwd"]',
    ]
    assert [one.error.message for one in tools if one.error] == [
        "File 'b' not found. Please check the file path and ensure the file exists."
    ]
    assert "one\\n2\\n" in json.dumps(sample.store)


def test_results_are_typed_where_that_is_asked_for(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("INSPECT_AGENTS_TYPED_RESULTS", "1")
    calls = [do("write", file_path="a", content="x"), ("read_file", {"file_path": "a"})]
    written, read = Evaluation(tmp_path, sandbox=None).answers(calls)
    assert json.loads(written) == {"path": "a", "summary": "Updated file a"}
    assert json.loads(read)["lines"] == ["     1\tx"]


def test_files_of_the_local_sandbox_are_read_and_changed(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("INSPECT_AGENTS_FS_MODE", "sandbox")
    evaluation = Evaluation(tmp_path, sandbox="local", given={"docs/a.txt": "one\r\ntwo\r\n", "b": "x"})
    answers = evaluation.answers(
        [
            ("read_file", {"file_path": "docs/a.txt"}),
            ("read_file", {"file_path": "/repo/docs/a.txt", "offset": 1}),
            do("edit", file_path="docs/a.txt", old_string="one\ntwo", new_string="1\n2"),
            do("stat", path="docs/a.txt"),
            do("move", src_path="docs/a.txt", dst_path="new/c.txt"),
            ("read_file", {"file_path": "new/c.txt"}),
            do("mkdir", dir_path="empty"),
            do("stat", path="empty"),
            do("ls"),
        ]
    )
    assert answers == [
        "     1\tone\n     2\ttwo",
        "     2\ttwo",
        "Updated file docs/a.txt",
        "docs/a.txt: file (6 bytes)",
        "Moved docs/a.txt -> new/c.txt",
        "     1\t1\n     2\t2",
        "Created directory empty",
        "empty: dir",
        '["b","docs","empty","new"]',
    ]


def test_nothing_outside_the_sandbox_is_reached(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("INSPECT_AGENTS_FS_MODE", "sandbox")
    secret = tmp_path / "secret"
    secret.write_text("password")
    answers = Evaluation(tmp_path / "logs", sandbox="local", given={"a": "x"}).answers(
        [
            ("read_file", {"file_path": str(secret)}),
            ("read_file", {"file_path": "../../etc/passwd"}),
            ("read_file", {"file_path": ".env"}),
            do("write", file_path="../b", content="x"),
            do("delete", file_path="a"),
            ("read_file", {"file_path": "missing"}),
        ]
    )
    assert [text.split(":")[0] for text in answers[:4]] == [
        "Access denied",
        "Access denied",
        "PolicyDenied",
        "Access denied",
    ]
    assert answers[4].startswith("delete is disabled in sandbox mode")
    assert answers[5].startswith("File 'missing' not found")


@pytest.mark.parametrize(
    ("preflight", "answered"), [("auto", "Updated file a"), ("force", "There is no sandbox")]
)
def test_without_a_sandbox_the_store_answers_unless_that_is_ruled_out(
    environment: pytest.MonkeyPatch, tmp_path: Path, preflight: str, answered: str
) -> None:
    environment.setenv("INSPECT_AGENTS_FS_MODE", "sandbox")
    environment.setenv("INSPECT_SANDBOX_PREFLIGHT", preflight)
    (text,) = Evaluation(tmp_path, sandbox=None).answers([do("write", file_path="a", content="x")])
    assert text.startswith(answered)
