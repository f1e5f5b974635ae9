"""An evaluation of Inspect with its `mockllm`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelOutput, get_model
from inspect_ai.solver import generate, use_tools

from readroom import Workspace
from readroom.adapters.inspect_ai import files, read_file
from tests.adapters.calls import Call, Seen
from tests.adapters.vocabulary import write_vocabulary


def run(workspace: Workspace, calls: Sequence[Call], contract_name: str) -> list[Seen]:
    """What the model was shown; the files are the sample's own."""
    outputs = [ModelOutput.for_tool_call("mockllm", name, given) for name, given in calls]
    model = get_model("mockllm/model", custom_outputs=[*outputs, ModelOutput.from_content("mockllm", ".")])
    task = inspect_ai.Task(
        dataset=[Sample(input="Follow the script.")],
        solver=[use_tools(read_file(), files()), generate()],
    )
    with TemporaryDirectory() as folder:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(write_vocabulary(Path(folder)))
        try:
            (log,) = inspect_ai.eval(task, model=model, log_dir=folder, display="none")
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        assert log.status == "success", log.error
        assert log.samples
        messages = [one for one in log.samples[0].messages if isinstance(one, ChatMessageTool)]
        return [
            Seen(one.error.message if one.error else one.text, failed=bool(one.error)) for one in messages
        ]
