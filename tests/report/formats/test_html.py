"""The page: what is in it, that it needs nothing else, and that it is sound HTML."""

import re
from itertools import pairwise

import pytest

from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.report.blocks import Code, Figure, Maths, Paragraph, TokenBox, Tokens
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.html import html_of, style_sheet
from bertviewer.report.formats.inline_svg import inline_svg
from bertviewer.report.formats.writer import visible
from tests.report.formats.documents import (
    ATTENTION,
    DECIMALS,
    FOREIGN,
    HOSTILE,
    PICTURE,
    document_of,
)
from tests.report.formats.parsing import Node, read_html


@pytest.fixture(scope="module")
def html(page: str) -> Node:
    return read_html(page)


def test_the_page_has_no_scripts_and_nothing_from_elsewhere(html: Node) -> None:
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


def test_every_link_has_a_target_and_every_id_is_once(html: Node) -> None:
    ids = [node.attributes["id"] for node in html.everything if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    inner = [node.attributes.get("href", "") for node in html.everything]
    assert {link[1:] for link in inner if link.startswith("#")} <= set(ids)
    named = {n.attributes["aria-labelledby"] for n in html.everything if n.name in ("nav", "div")
             and "aria-labelledby" in n.attributes}  # fmt: skip
    assert named <= set(ids)
    # Both drawings of the page have a gradient of their own.
    fills = {n.attributes["fill"] for n in html.all("rect")}
    assert fills == {"url(#cover-shade)", "url(#picture-shade)"}


def test_headings_go_down_one_level_at_a_time(html: Node) -> None:
    levels = [int(n.name[1]) for n in html.everything if re.fullmatch("h[1-6]", n.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert html.attributes["lang"] == "en"
    assert html.one("head").one("title").text == "bert-base-uncased"
    assert html.one("time").attributes["datetime"] == "2026-03-04"
    assert html.one("time").text == "4 March 2026"


def test_contents_and_references_have_the_documents_numbers(
    html: Node, document: ReportDocument
) -> None:
    contents = [link.text for link in html.one("nav").all("a")]
    assert contents == [
        "1 What there is",
        "1.1 A long table",
        "1.2 Texts of <strangers> & others",
        "2 Works",
    ]
    first = html.one("main").all("p")[0]
    assert [link.text for link in first.all("a")] == ["Table 1.1", "Figure 1.1", "Chapter 2"]
    captions = [caption.one("b").text for caption in html.all("caption")]
    assert captions == [f"Table 1.{number}" for number in (1, 2, 3)]
    assert html.one("figcaption").text == "Figure 1.1 What is drawn."


def test_a_table_has_heads_groups_and_numbers_on_their_point() -> None:
    table = read_html(html_of(document_of(DECIMALS))).one("table")
    assert [head.text for head in table.one("thead").all("th")] == [
        "Layer", "Mean", "Size MB", "Holds", "Share",
    ]  # fmt: skip
    assert {head.attributes["scope"] for head in table.one("thead").all("th")} == {"col"}
    bodies = table.all("tbody")
    assert [len(body.all("tr")) for body in bodies] == [3, 3]
    head = bodies[1].all("tr")[0].all("th")[0]
    assert (head.attributes["colspan"], head.attributes["scope"]) == ("4", "rowgroup")
    word = bodies[0].all("tr")[1]
    assert word.all("th")[0].attributes["scope"] == "row"
    assert word.all("td")[0].text == "−0.25"
    fractions = [
        (row.all("td")[0].text, span.text, span.attributes["style"])
        for body in bodies
        for row in body.all("tr")
        for span in row.with_class("fraction")[:1]
        if row.all("td")[0].text
    ]
    assert fractions == [
        ("−0.25", ".25", "width:4ch"),
        ("1,012.125", ".125", "width:4ch"),
        ("NaN", "", "width:4ch"),
        ("3", "", "width:4ch"),
    ]
    assert [svg.attributes["aria-label"] for svg in word.all("svg")] == ["yes"]
    assert word.with_class("bar")[0].attributes["aria-label"] == "75%"


def test_formulas_are_mathml() -> None:
    main = read_html(html_of(document_of(Paragraph((Maths("d_k"),)), ATTENTION))).one("main")
    inline, *blocks = main.all("math")
    assert "display" not in inline.attributes
    assert inline.text == "𝑑𝑘"
    assert [m.attributes.get("display") for m in blocks] == ["block"] * 3 + [None] * 3
    terms = [[part.text for part in term.everything[1:] if part.name in ("dt", "dd")]
             for term in main.one("dl").all("div")]  # fmt: skip
    assert terms == [
        ["𝑄ℎ", "queries of one head", "S × 64"],
        ["𝑑𝑘", "width of a head", "64"],
        ["𝑀", "the mask: 0, or a very small number"],
    ]
    assert "Source: Vaswani et al. 2017, section 3.2.1" in main.text


def test_texts_of_strangers_are_text(html: Node) -> None:
    strange = next(s for s in html.all("section") if s.attributes["id"] == "strange")
    texts = [visible(text) for text in (*HOSTILE, *FOREIGN)]
    assert [item.text for item in strange.one("ul").all("li")] == texts
    rows = strange.one("tbody").all("tr")
    assert [row.all("td")[0].text for row in rows] == texts
    assert [row.one("code").text for row in rows] == texts
    assert [b.text for b in strange.one("ol").all("b")] == texts
    assert strange.one("pre").text == "\n".join(texts)


def test_what_runs_from_right_to_left_is_isolated() -> None:
    blocks = (Paragraph(("see שלום (12)", Code("שלום"))), Tokens((TokenBox("שלום", ""),)))
    main = read_html(html_of(document_of(*blocks))).one("main")
    assert main.one("p").attributes["dir"] == "auto"
    assert main.one("p").one("bdi").text == "see שלום (12)"
    assert main.one("code").attributes["dir"] == main.one("b").attributes["dir"] == "auto"


def test_a_drawing_says_what_it_shows_and_keeps_strangers_texts() -> None:
    figure = Figure("drawing", "name:1", ("x",), 'a "b" <c>')
    main = read_html(html_of(document_of(figure, pictures={"drawing": PICTURE}))).one("main")
    svg = main.one("svg")
    assert svg.attributes["aria-label"] == 'a "b" <c>'
    assert svg.attributes["viewbox"] == "0 0 400 120"
    assert svg.one("text").text == "a <b> & 注意 c"
    assert main.one("figure").attributes["id"] == "name:1"


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
def test_a_drawing_with_more_than_a_drawing_is_refused(inside: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">{inside}</svg>'
    with pytest.raises(ValueError, match="a drawing has no"):
        inline_svg(svg, "a", "")


def _contrast(one: str, other: str) -> float:
    def light(color: str) -> float:
        parts = (value / 255 for value in bytes.fromhex(color[1:]))
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_words_are_read_on_all_that_is_behind_them(theme: Theme) -> None:
    rules = style_sheet(LIGHT)
    root = rules if theme is LIGHT else rules[rules.index("@media screen") :]
    names = ("surface", "text", "muted", "accent", "right", "warning", "field", "second")
    colors = {name: re.findall(rf"--{name}:(#[0-9a-f]{{6}});", root)[0] for name in names}
    for words in ("text", "muted", "accent", "warning"):
        assert _contrast(colors[words], colors["surface"]) >= 4.5
    assert _contrast(colors["text"], colors["field"]) >= 4.5
    assert _contrast(colors["muted"], colors["second"]) >= 4.5
