"""A server that parses each request and sends an answer from memory: what starlette and uvicorn can do here.

`python -m benchmarks.http_floor FILE --port PORT`, where the file has the answers as a JSON object by tool.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def app(answers: dict[str, object]) -> Starlette:
    """Answers every tool with the same."""

    async def call(request: Request) -> Response:
        msgspec.json.decode(await request.body())
        answer = answers[request.path_params["tool"]]
        return Response(msgspec.json.encode(answer), media_type="application/json")

    return Starlette(routes=[Route("/v1/native/{tool}", call, methods=["POST"])])


if __name__ == "__main__":
    served = app(msgspec.json.decode(Path(sys.argv[1]).read_bytes()))
    uvicorn.run(served, port=int(sys.argv[3]), http="httptools", ws="none", log_config=None, access_log=False)
