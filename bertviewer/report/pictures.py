"""Pictures of a report before they are drawn: charts and flows, which are plain data."""

from collections.abc import Mapping
from dataclasses import field

from bertviewer.charts.chart import GridChart, HeadsChart, LineChart
from bertviewer.charts.histogram_chart import HistogramChart
from bertviewer.charts.treemap import Area
from bertviewer.core.architecture.flow import Flow
from bertviewer.core.architecture.outline import Outline
from bertviewer.core.frozen import frozen
from bertviewer.report.blocks import Section

Drawn = LineChart | GridChart | HeadsChart | HistogramChart | Flow | Outline | Area


@frozen(eq=False)
class Picture:
    """What is drawn, at ``width`` × ``height`` pixels; a flow is as large as it needs."""

    drawn: Drawn
    width: int = 680
    height: int = 270


@frozen(eq=False)
class Drafted:
    """A chapter, and the pictures that it shows by their names."""

    section: Section
    pictures: Mapping[str, Picture] = field(default_factory=dict)
