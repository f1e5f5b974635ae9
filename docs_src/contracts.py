"""The tools of a contract in a program of your own: list them for the model, answer its calls.

python docs_src/contracts.py FOLDER
"""

from __future__ import annotations

import json
import sys

from readroom import Workspace


def main(folder: str) -> None:
    with Workspace(folder) as workspace:
        tools = {tool.name: tool for tool in workspace.tools("rnd")}

        # These fields go to the API of a model.
        for tool in tools.values():
            print(tool.name, json.dumps(tool.input_schema["required"]))

        # A model sends back a name, and arguments as JSON.
        for name, arguments in [
            ("read", '{"path": "README.md"}'),
            ("read", '{"path": ".env"}'),
        ]:
            print(tools[name].handler(**json.loads(arguments)).text)


if __name__ == "__main__":
    main(sys.argv[1])
