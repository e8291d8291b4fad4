"""Pictures of a report before they are drawn, and the draft of a chapter with its pictures."""

from collections.abc import Mapping

from msgspec import Struct, field

from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.charts.map.treemap import Area
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.outline import Outline
from bertviewer.report.blocks import Figure, Section, Text

Drawable = LineChart | GridChart | HeadsChart | HistogramChart | Flow | Outline | Area


class Picture(Struct, frozen=True, eq=False):
    """A chart or a data-flow graph and its size in pixels; a graph has its own size."""

    drawn: Drawable
    width: int = 680
    height: int = 270


_HEADS_PER_ROW, _HEAD_HEIGHT, _MARGIN, _LABEL_HEIGHT = 6, 128, 24, 24
_MAX_NAMED = 11
"""Labels of more tokens do not fit next to so small maps."""


def heads_picture(chart: HeadsChart) -> Picture:
    """Return the picture of all heads of a layer; two layers of 12 heads fit on one page."""
    rows = -(-len(chart.captions) // _HEADS_PER_ROW)
    has_labels = max(len(chart.queries), len(chart.keys)) <= _MAX_NAMED
    return Picture(chart, height=_MARGIN + _HEAD_HEIGHT * rows + has_labels * _LABEL_HEIGHT)


class Pictures(dict[str, Picture]):
    """Pictures by name; each figure adds one."""

    def figure(
        self,
        name: str,
        picture: Picture | Drawable,
        caption: str | Text,
        alt: str,
        width: float = 1.0,
    ) -> Figure:
        """Add a picture and return the figure ``figure:name`` that shows it."""
        self[name] = picture if isinstance(picture, Picture) else Picture(picture)
        text = (caption,) if isinstance(caption, str) else caption
        return Figure(name, f"figure:{name}", text, alt, width)


class ChapterDraft(Struct, frozen=True, eq=False):
    """A chapter and the pictures of its figures, by name."""

    section: Section
    pictures: Mapping[str, Picture] = field(default_factory=dict)
