"""A flow's drawing for a page: as wide as there is room, with words that can be read."""

import xml.etree.ElementTree as ET

import pytest

from bertviewer.charts.theme import GREY, LIGHT, PAPER, Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.report.drawing import draw_pictures, picture_file
from bertviewer.report.pictures import Picture
from tests.core.walkthrough.small_walkthroughs import small

SVG = "{http://www.w3.org/2000/svg}"
POINTS = 72 / 25.4

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.fixture(scope="module", params=["bert", "gpt2", "t5", "mixtral"])
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return small(request.param)


def flows_of(architecture: Architecture) -> list[Flow]:
    """Return the flows of a model and of all modules that have one."""
    assert architecture.flows is not None
    found = (architecture.flows.flow(node.path) for node in architecture.modules)
    return [flow for flow in found if flow is not None]


def drawn(flow: Flow, architecture: Architecture, theme: Theme) -> ET.Element:
    ((_, svg),) = draw_pictures({"": Picture(flow)}, architecture, theme)
    return ET.fromstring(svg)


def points(root: ET.Element, name: str) -> float:
    return float(root.get(name, "").removesuffix("pt"))


def test_it_has_room_on_a_page_and_can_be_read(architecture: Architecture) -> None:
    flows = flows_of(architecture)
    assert len(flows) > 3
    for flow in flows:
        for theme in (PAPER, GREY):
            root = drawn(flow, architecture, theme)
            assert points(root, "width") <= 160 * POINTS, flow.path
            assert points(root, "height") <= 230 * POINTS, flow.path
            unit = points(root, "width") / float(root.get("viewBox", "").split()[2])
            sizes = [float(text.get("font-size", 0)) for text in root.iter(f"{SVG}text")]
            # Letters below the line are smaller, as they are everywhere.
            words = [size * unit for size in sizes if size != 8.64]
            assert min(words, default=6.5) >= 6.49, flow.path


def test_the_drawing_in_pixels_has_the_themes_colours(architecture: Architecture) -> None:
    flow = flows_of(architecture)[0]
    light = picture_file(Picture(flow), architecture, "svg").decode()
    assert LIGHT.flow in light
    assert "pt" not in ET.fromstring(light).get("width", "")
    assert picture_file(Picture(flow), architecture, "pdf").startswith(b"%PDF")
