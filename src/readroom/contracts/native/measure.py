"""What the native rendering adds to what it carries."""

from __future__ import annotations

from readroom.contracts.native.listing import entry_bytes
from readroom.contracts.native.outline import row_bytes
from readroom.contracts.native.parts import heading_bytes, part_bytes
from readroom.contracts.native.render import frame_bytes, number_bytes
from readroom.contracts.native.search import file_bytes, line_bytes
from readroom.text.select import MARK_BYTES
from readroom.values import ListMeasure, Measure, OutputMeasure, PartsMeasure, ReadMeasure, SearchMeasure

MEASURE = Measure(
    frame=frame_bytes,
    read=ReadMeasure(number_bytes, row_bytes, MARK_BYTES),
    parts=PartsMeasure(heading_bytes, part_bytes),
    search=SearchMeasure(file_bytes, line_bytes),
    list=ListMeasure(entry_bytes),
    output=OutputMeasure(number_bytes),
)
