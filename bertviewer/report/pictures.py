"""Pictures of a report before they are drawn: charts and flows, which are plain data."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.charts.chart import GridChart, HeadsChart, LineChart
from bertviewer.charts.histogram_chart import HistogramChart
from bertviewer.charts.treemap import Area
from bertviewer.core.architecture.flow import Flow
from bertviewer.core.architecture.outline import Outline
from bertviewer.core.frozen import frozen
from bertviewer.report.blocks import Figure, Section, Text

Drawn = LineChart | GridChart | HeadsChart | HistogramChart | Flow | Outline | Area


@frozen(eq=False)
class Picture:
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


@frozen(eq=False)
class Drafted:
    """A chapter, and the pictures that it shows by their names."""

    section: Section
    pictures: Mapping[str, Picture] = field(default_factory=dict)
