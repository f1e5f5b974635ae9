"""A folder read by several tasks at once.  python docs_src/asynchronous.py FOLDER"""

from __future__ import annotations

import asyncio
import sys

from readroom import AsyncWorkspace


async def main(folder: str) -> None:
    async with AsyncWorkspace(folder) as workspace:
        read, found = await asyncio.gather(
            workspace.read("README.md", limit=1),
            workspace.grep("shipping", output="count"),
        )
        print(read.text)
        print(found.text)
        async for page in (await workspace.grep("shipping", limit=2)).pages():
            print(page.text.splitlines()[-1])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
