"""Write the generated parts of the documentation, or say which are stale.

python -m scripts.docs            write them
python -m scripts.docs --check    change nothing; exit with 1 when something is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts import manpage, methods, prepared
from scripts.docs import charts, contracts
from scripts.docs.pages import ROOT, generated, stale, text_of


def main(arguments: list[str]) -> int:
    missing = dict(contracts.missing_pages())
    if "--check" not in arguments:
        for page, text in missing.items():
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
    drawn = charts.stale()
    if not manpage.PAGE.exists() or text_of(manpage.PAGE) != manpage.text():
        drawn[manpage.PAGE] = manpage.text()
    drawn |= methods.stale()
    if "--check" not in arguments:
        for chart, text in drawn.items():
            print(f"writing {chart.name}")
            chart.parent.mkdir(exist_ok=True)
            chart.write_text(text, encoding="utf-8")
        drawn = {}
    found = [*(missing if "--check" in arguments else ()), *drawn, *stale()]
    for page in found:
        print(f"stale: {page.relative_to(ROOT)}" if "--check" in arguments else f"writing {page.name}")
        if "--check" not in arguments:
            whole = page == Path(prepared.PREPARED)
            page.write_text(prepared.text() if whole else generated(text_of(page)), encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
