"""readroom's own contract, which has no cases but keeps the laws."""

from __future__ import annotations

import re

from tests.contracts.cases import Adapter, Answer


class NativeAdapter(Adapter):
    """Numbered lines between a header and a closing line."""

    def lines(self, answer: Answer) -> list[str]:
        found = (re.fullmatch(r"\d+\t(.*)", line, re.DOTALL) for line in answer.text.split("\n"))
        return [one[1] for one in found if one]


ADAPTER = NativeAdapter("native")
