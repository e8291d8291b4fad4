"""The flow of a module as a drawing on paper or in a web page: the one that the window draws."""

from bertviewer.charts.flow.drawing import Drawing
from bertviewer.charts.flow.layout import draw
from bertviewer.charts.flow.svg import svg_of
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flow import Flow
from bertviewer.plots.flow_page import pdf_of
from bertviewer.plots.flow_painting import text_width
from bertviewer.plots.paper import windowless_application


def flow_svg(flow: Flow, architecture: Architecture) -> str:
    """Return a flow as SVG."""
    application = windowless_application()
    result = svg_of(drawn(flow, architecture))
    application.processEvents()
    return result


def flow_pdf(flow: Flow, architecture: Architecture) -> bytes:
    """Return a flow as a PDF of one page, as large as the drawing."""
    application = windowless_application()
    result = pdf_of(drawn(flow, architecture))
    application.processEvents()
    return result


def drawn(flow: Flow, architecture: Architecture) -> Drawing:
    """Return the drawing of a module's flow; there must be an application, for its fonts."""
    nodes = {node.path: node for node in architecture.modules}
    return draw(flow, text_width, nodes[flow.path].parameters)
