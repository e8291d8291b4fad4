"""SVG drawings inside an HTML page, limited to elements that draw."""

import re
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree

from bertviewer.report.formats.writer import visible

_SVG = "{http://www.w3.org/2000/svg}"
_XML = "{http://www.w3.org/XML/1998/namespace}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_DRAWING = frozenset(
    (
        *("svg", "g", "defs", "title", "desc", "use", "symbol", "image", "text", "tspan"),
        *("path", "rect", "line", "polyline", "polygon", "circle", "ellipse", "marker"),
        *("clipPath", "mask", "linearGradient", "radialGradient", "stop", "pattern"),
    )
)
_DATA = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"url\(\s*(['\"]?)#([^)'\"]*)\1\s*\)")
# They have another meaning in a page, or none.
_OMITTED = frozenset({"class", "version", "baseProfile"})


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return an SVG document as an element of an HTML page.

    Args:
        svg: the drawing.
        name: prefix of its ids, unique in the page.
        alt: alternative text.

    Raises:
        ValueError: it has scripts, styles, or references to other files.
    """
    root = ElementTree.fromstring(svg)
    size = root.get("viewBox") or f"0 0 {_pixels(root, 'width')} {_pixels(root, 'height')}"
    for known in ("width", "height", "viewBox", "role", "aria-label"):
        root.attrib.pop(known, None)
    label = f' viewBox={_quoted(size)} role="img" aria-label={_quoted(alt)}'
    return "".join(_element(root, f"{name}-", label))


def _element(element: ElementTree.Element, prefix: str, more: str = "") -> Iterator[str]:
    name = element.tag.removeprefix(_SVG)
    if name not in _DRAWING:
        raise ValueError(f"a drawing has no element {name}")
    yield f"<{name}{more}"
    for key, value in element.attrib.items():
        yield from _attribute(key, value, prefix)
    yield ">"
    yield escape(visible(element.text or ""), quote=False)
    for child in element:
        yield from _element(child, prefix)
        yield escape(visible(child.tail or ""), quote=False)
    yield f"</{name}>"


def _attribute(key: str, value: str, prefix: str) -> Iterator[str]:
    key = key.removeprefix(_XLINK).replace(_XML, "xml:")
    if key.startswith("data-") or key in _OMITTED:
        return
    if key.startswith(("on", "{")) or ("url(" in value and not _LINK.search(value)):
        raise ValueError(f"a drawing has no attribute {key}: {value}")
    if key == "id":
        value = prefix + value
    elif key == "href":
        if not value.startswith("#") and not _DATA.fullmatch(value):
            raise ValueError(f"a drawing has nothing from elsewhere: {value}")
        value = f"#{prefix}{value[1:]}" if value.startswith("#") else value
    elif "url(" in value:
        value = _LINK.sub(lambda link: f"url(#{prefix}{link[2]})", value)
    yield f" {key}={_quoted(value)}"


def _pixels(root: ElementTree.Element, side: str) -> str:
    return root.attrib[side].removesuffix("px")


def _quoted(value: str) -> str:
    return f'"{escape(visible(value))}"'
