"""One picture as a file's bytes: of a chart, or of a flow."""

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.plots.export import IMAGE_FORMATS
from bertviewer.report.drawing import plot_of
from bertviewer.report.flow_drawing import flow_pdf, flow_svg
from bertviewer.report.pictures import Picture


def picture_bytes(picture: Picture, architecture: Architecture, kind: str) -> bytes:
    """Return a picture as ``svg``, ``pdf`` or, of a chart, ``png``.

    A ``QApplication`` must exist, and this must be its thread.
    """
    if isinstance(picture.drawn, Flow):
        if kind == "pdf":
            return flow_pdf(picture.drawn, architecture)
        return flow_svg(picture.drawn, architecture).encode()
    content = next(each.content for each in IMAGE_FORMATS if each.name.lower() == kind)
    plot = plot_of(picture)
    plot.resize(picture.width, picture.height)
    try:
        return content(plot, "")
    finally:
        plot.close()
        plot.deleteLater()
