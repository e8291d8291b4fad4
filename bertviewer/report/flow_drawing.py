"""The flow of a module as a drawing on paper or in a web page: the one that the window draws."""

from functools import partial

from bertviewer.charts.graph.drawing import Drawing
from bertviewer.charts.graph.layout import CANVAS, draw
from bertviewer.charts.graph.svg import svg_of
from bertviewer.charts.theme import LIGHT, PAPER, SMALL, Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.util.text import printable
from bertviewer.plots.export import pdf_of
from bertviewer.plots.graph_painting import paint, text_width

LEAST_LETTERS = 6.5
"""Points that the smallest words have on paper."""
_POINTS = LEAST_LETTERS / SMALL
_POINTS_PER_MILLIMETRE = 72 / 25.4
_FINER = 8
"""So many units of a page for each pixel: letters stand between pixels."""


def flow_svg(flow: Flow, architecture: Architecture, theme: Theme = LIGHT) -> str:
    """Return a flow as SVG, as large as the window draws it; there must be an application."""
    return svg_of(drawn(flow, architecture), theme)


def flow_on_paper(
    flow: Flow, architecture: Architecture, theme: Theme = PAPER, width: float = 160.0
) -> str:
    """Return a flow as SVG for a page on which there are ``width`` millimetres for it.

    It has its size in points, with words that can be read: what would be wider goes on in another
    row. There must be an application, for its fonts.
    """
    canvas = width * _POINTS_PER_MILLIMETRE / _POINTS
    return svg_of(drawn(flow, architecture, canvas), theme, _POINTS)


def flow_pdf(flow: Flow, architecture: Architecture) -> bytes:
    """Return a flow as a PDF of one page, as large as it is; there must be an application."""
    drawing = drawn(flow, architecture)
    title = printable(" ".join(label.text for label in drawing.title))
    return pdf_of(partial(paint, drawing), drawing.width, drawing.height, title, _FINER)


def drawn(flow: Flow, architecture: Architecture, canvas: float = CANVAS) -> Drawing:
    """Return the drawing of a module's flow; there must be an application, for its fonts."""
    nodes = {node.path: node for node in architecture.modules}
    return draw(flow, text_width, nodes[flow.path].parameters, canvas)
