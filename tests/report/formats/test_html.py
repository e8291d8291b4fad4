"""The HTML page is valid, self-contained and accessible."""

import re
from itertools import pairwise

import pytest

from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.report.blocks import Figure
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.html import html_of, style_sheet
from bertviewer.report.formats.inline_svg import inline_svg
from tests.report.formats.documents import PICTURE, document_of
from tests.report.formats.parsing import Node, read_html


@pytest.fixture(scope="module")
def html(document: ReportDocument) -> Node:
    return read_html(html_of(document))


def test_nothing_is_loaded_or_executed(html: Node) -> None:
    assert html.all("script") == html.all("link") == html.all("iframe") == []
    policy = next(m for m in html.all("meta") if "http-equiv" in m.attributes)
    assert policy.attributes["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    for node in html.everything:
        assert not any(name.startswith("on") for name in node.attributes)
        assert "src" not in node.attributes
        if "href" in node.attributes and not node.attributes["href"].startswith("#"):
            assert node.name == "a"
            assert node.attributes["href"] == "https://arxiv.org/abs/1706.03762"
    assert "url(" not in html.one("style").text
    assert "@import" not in html.one("style").text


def test_ids_are_unique_and_links_have_targets(html: Node) -> None:
    attributes = [node.attributes for node in html.everything]
    ids = [each["id"] for each in attributes if "id" in each]
    assert len(ids) == len(set(ids))
    links = [each.get("href", "") for each in attributes]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert {each["aria-labelledby"] for each in attributes if "aria-labelledby" in each} <= set(ids)
    # Both drawings have a gradient with the same id in their files.
    fills = {node.attributes["fill"] for node in html.all("rect")}
    assert fills == {"url(#cover-shade)", "url(#picture-shade)"}


def test_headings_go_down_one_level_at_a_time(html: Node) -> None:
    levels = [int(n.name[1]) for n in html.everything if re.fullmatch("h[1-6]", n.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert html.attributes["lang"] == "en"


def test_a_drawing_has_its_alternative_text_and_keeps_its_texts() -> None:
    figure = Figure("drawing", "name:1", ("x",), 'a "b" <c>')
    main = read_html(html_of(document_of(figure, pictures={"drawing": PICTURE}))).one("main")
    svg = main.one("svg")
    assert svg.attributes["aria-label"] == 'a "b" <c>'
    assert svg.attributes["viewbox"] == "0 0 400 120"
    assert svg.one("text").text == "a <b> & 注意 c"


@pytest.mark.parametrize(
    "inside",
    [
        "<script>1</script>",
        "<foreignObject/>",
        "<style>p{}</style>",
        '<rect onload="x()"/>',
        '<image href="http://x.org/a.png"/>',
        '<use href="other.svg#a"/>',
        '<rect fill="url(http://x.org)"/>',
        '<a href="http://x.org"><text>x</text></a>',
    ],
)
def test_active_elements_and_foreign_links_are_refused(inside: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">{inside}</svg>'
    with pytest.raises(ValueError, match="a drawing has no"):
        inline_svg(svg, "a", "")


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2."""

    def luminance(color: str) -> float:
        parts = (value / 255 for value in bytes.fromhex(color[1:]))
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_has_the_contrast_that_wcag_requires(theme: Theme) -> None:
    rules = style_sheet(LIGHT)
    root = rules if theme is LIGHT else rules[rules.index("@media screen") :]
    colors = dict(re.findall(r"--([a-z]+):(#[0-9a-f]{6});", root.partition("}")[0]))
    for text in ("text", "muted", "accent", "warning"):
        assert contrast(colors[text], colors["surface"]) >= 4.5
    assert contrast(colors["text"], colors["field"]) >= 4.5
    assert contrast(colors["muted"], colors["second"]) >= 4.5
