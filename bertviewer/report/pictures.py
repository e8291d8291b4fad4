"""Pictures of a report before they are drawn: charts and flows, which are plain data."""

from collections.abc import Mapping

from msgspec import Struct, field

from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.charts.map.treemap import Area
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.outline import Outline
from bertviewer.report.blocks import Figure, Section, Text

Drawn = LineChart | GridChart | HeadsChart | HistogramChart | Flow | Outline | Area


class Picture(Struct, frozen=True, eq=False):
    """What is drawn, at ``width`` × ``height`` pixels; a flow is as large as it needs."""

    drawn: Drawn
    width: int = 680
    height: int = 270


class Pictures(dict[str, Picture]):
    """Pictures by their names, which grow with the figures that show them."""

    def figure(
        self, name: str, picture: Picture | Drawn, caption: str | Text, alt: str, width: float = 1.0
    ) -> Figure:
        """Return the figure ``figure:name`` that shows a picture."""
        self[name] = picture if isinstance(picture, Picture) else Picture(picture)
        said = (caption,) if isinstance(caption, str) else caption
        return Figure(name, f"figure:{name}", said, alt, width)


class Drafted(Struct, frozen=True, eq=False):
    """A chapter, and the pictures that it shows by their names."""

    section: Section
    pictures: Mapping[str, Picture] = field(default_factory=dict)
