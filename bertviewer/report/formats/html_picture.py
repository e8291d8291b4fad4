"""Drawings as part of a page: of SVG's elements those that draw, and nothing from elsewhere."""

import re
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree

from bertviewer.report.formats.html_text import attribute
from bertviewer.report.formats.plain import shown

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
# They would mean something else in the page, or nothing.
_LEFT_OUT = frozenset({"class", "version", "baseProfile"})


def inline_svg(svg: str, name: str, alt: str) -> str:
    """Return a whole SVG as an element of an HTML page.

    Args:
        svg: the drawing.
        name: what its ids start with, which no other drawing of the page has.
        alt: what it shows.

    Raises:
        ValueError: it is no drawing alone, but has scripts, styles or something from elsewhere.
    """
    root = ElementTree.fromstring(svg)
    size = root.get("viewBox") or f"0 0 {_pixels(root, 'width')} {_pixels(root, 'height')}"
    for known in ("width", "height", "viewBox", "role", "aria-label"):
        root.attrib.pop(known, None)
    label = f' viewBox={attribute(size)} role="img" aria-label={attribute(alt)}'
    return "".join(_element(root, f"{name}-", label))


def _element(element: ElementTree.Element, prefix: str, more: str = "") -> Iterator[str]:
    name = element.tag.removeprefix(_SVG)
    if name not in _DRAWING:
        raise ValueError(f"a drawing has no element {name}")
    yield f"<{name}{more}"
    for key, value in element.attrib.items():
        yield from _attribute(key, value, prefix)
    yield ">"
    yield escape(shown(element.text or ""), quote=False)
    for child in element:
        yield from _element(child, prefix)
        yield escape(shown(child.tail or ""), quote=False)
    yield f"</{name}>"


def _attribute(key: str, value: str, prefix: str) -> Iterator[str]:
    key = key.removeprefix(_XLINK).replace(_XML, "xml:")
    if key.startswith("data-") or key in _LEFT_OUT:
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
    yield f" {key}={attribute(value)}"


def _pixels(root: ElementTree.Element, side: str) -> str:
    return root.attrib[side].removesuffix("px")
