"""The chart library is the file of its npm package, as it was written down when it was fetched."""

from __future__ import annotations

import json

from scripts.vendor_charts import FILES, RECORD, record


def test_what_is_kept_of_the_package_is_unchanged_and_has_its_licence() -> None:
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    assert kept == record(kept["version"])
    assert {"echarts.min.js", "echarts.LICENSE", "echarts.NOTICE"} == set(FILES.values())
