"""SVG of a drawing, without Qt."""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from bertviewer.charts.graph.draw_items import DrawItem, Shape, draw_items, handles
from bertviewer.charts.graph.drawing import MIDDLE, Drawing, Label
from bertviewer.charts.theme import FONTS, LIGHT, MONO_FONTS, STRONG, Theme, css_family, css_weight
from bertviewer.core.util.text import printable


def svg_of(drawing: Drawing, theme: Theme = LIGHT, points: float | None = None) -> str:
    """Return a drawing as a self-contained SVG with tooltips on nodes and edges.

    ``points`` is the length of a unit of the drawing in points; ``None`` for a pixel.
    """
    width, height = _number(drawing.width), _number(drawing.height)
    size = f'width="{width}" height="{height}"'
    if points is not None:
        across, down = _number(drawing.width * points), _number(drawing.height * points)
        size = f'width="{across}pt" height="{down}pt"'
    title = " ".join(label.text for label in drawing.title)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {width} {height}" font-family={quoteattr(css_family(FONTS))}>',
            f"<title>{_text(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="{theme.surface}"/>',
            *(line for mark in draw_items(drawing, theme) for line in _mark_lines(mark)),
            "</svg>",
            "",
        )
    )


def _mark_lines(mark: DrawItem) -> Iterator[str]:
    key = f" data-id={quoteattr(printable(mark.key))}" if mark.key else ""
    yield f'<g class="{mark.kind}"{key}>'
    if mark.tip:
        yield "<title>" + "\n".join(map(_text, mark.tip.split("\n"))) + "</title>"
    for shape in mark.shapes:
        yield _path(shape)
    for text in mark.texts:
        yield _text_line(text.label, text.color)
    yield "</g>"


def _path(shape: Shape) -> str:
    steps = []
    for place, (begin, corner, end) in enumerate(shape.corners()):
        steps.append(f"{'L' if place else 'M'}{_point(*begin)}")
        if begin != end:
            one, other = handles(begin, corner, end)
            steps.append(f"C{_point(*one)} {_point(*other)} {_point(*end)}")
    if shape.is_closed:
        steps.append("Z")
    stroke = ""
    if shape.stroke:
        stroke = f' stroke="{shape.stroke}" stroke-width="{_number(shape.width)}"'
        if shape.is_dashed:
            stroke += ' stroke-dasharray="4 3"'
    return f'<path d="{"".join(steps)}" fill="{shape.fill or "none"}"{stroke}/>'


def _text_line(label: Label, color: str) -> str:
    x, y = _number(label.x), _number(label.y + label.size * MIDDLE)
    turn = ""
    if label.is_turned:
        x, y = "0", _number(label.size * MIDDLE)
        turn = f' transform="translate({_point(label.x, label.y)}) rotate(-90)"'
    anchor = "" if label.anchor == "start" else f' text-anchor="{label.anchor}"'
    return (
        f'<text x="{x}" y="{y}" font-size="{_number(label.size)}" fill="{color}"'
        f'{_style(label)}{anchor}{turn} xml:space="preserve">{_text(label.text)}</text>'
    )


def _style(label: Label) -> str:
    if label.style == "strong":
        return f' font-weight="{css_weight(STRONG)}"'
    if label.style == "mono":
        return f" font-family={quoteattr(css_family(MONO_FONTS))}"
    return ""


def _text(text: str) -> str:
    return escape(printable(text))


def _point(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e4 else f"{value:.2f}"
