"""Untrusted texts in a PDF are literal and stay within the margins."""

import re

import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QFontDatabase

from bertviewer.report.blocks import (
    Code,
    Column,
    Letters,
    Paragraph,
    Row,
    Section,
    Table,
    TokenBox,
    Tokens,
)
from bertviewer.report.document import ReportDocument
from bertviewer.report.typesetting import TypesetReport, report_pdf
from tests.report.reading import PIXELS_PER_POINT, Report, inked, squeezed, with_texts

HOSTILE = (
    "#eval(sys)",
    "#panic()",
    "$x^2$ $ $",
    "*b* _i_ `c`",
    "<img src=x onerror=alert(1)>",
    "\\ \\n \\u{41} C:\\path",
    "\"double\" 'single' “curly”",
    "= heading",
    "@label <label> // not a comment /* neither */",
    "{{{ }}} [[[ ]]] ((( )))",
    "--- -- ... ~ http://example.org",
)


def section_of(*texts: str) -> Section:
    """Return a chapter with each text four times: quoted, in a cell, as code and as a token."""
    rows = tuple(Row(((text,), (Code(text),))) for text in texts)
    boxes = tuple(TokenBox(text, str(number)) for number, text in enumerate(texts))
    columns = (Column("", share=1), Column("", share=1))
    return Section(
        "texts", "Texts", (Paragraph(texts, "quote"), Table(columns, rows), Tokens(boxes))
    )


def report_with(document: ReportDocument, *texts: str, title: str = "t") -> Report:
    return Report.of(report_pdf(with_texts(document, section_of(*texts), title=title)))


def test_markup_is_printed_literally(document: ReportDocument) -> None:
    title = "#title() $y$ *t*"
    report = report_with(document, *HOSTILE, title=title)
    found = squeezed(report.text)
    for text in HOSTILE:
        assert found.count(squeezed(text)) == 4, text
    metadata = report.reader.metadata
    assert metadata is not None
    assert metadata.title == title
    assert report.pages[0].startswith(f"{title} BertModel")
    report.check_pages()


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (["Ω λ ж é ß"], ["Ω λ ж é ß"]),
        (["→ ∀ ✓ ∑"], ["→ ∀ ✓ ∑"]),
        (["注意力机制"], ["注意力机制"]),
        # Characters without a glyph are printed as their code points.
        (["a \U00013000 b \x00 c \udcff d"], ["a ‹U+13000› b ‹U+0000› c ‹U+DCFF› d"]),
        # So are those that reverse the text after them.
        (
            ["a \u202e b", "c \u2067 d", "e \u2067f\u2069 g"],
            ["a ‹U+202E› b", "c ‹U+2067› d", "e f g"],
        ),
    ],
)
def test_other_scripts(document: ReportDocument, texts: list[str], printed: list[str]) -> None:
    if "注" in texts[0] and "Noto Serif CJK SC" not in QFontDatabase.families():
        pytest.skip("no Noto Serif CJK SC on this machine")
    report = report_with(document, *texts)
    for text in printed:
        assert squeezed(report.text).count(squeezed(text)) >= 3, text
    assert "U+2069" not in report.text
    report.check_pages()


def test_any_text_can_be_typeset(document: ReportDocument) -> None:
    @settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)
    @given(texts=st.lists(st.text(), max_size=12), title=st.text())
    def check(texts: list[str], title: str) -> None:
        metadata = report_with(document, *texts, title=title).reader.metadata
        assert metadata is not None
        # A title of spaces is replaced.
        assert title.strip() or metadata.title == document.front.program

    check()


def test_long_texts_stay_within_the_margins(document: ReportDocument) -> None:
    words = ("x" * 1000, "e\u0301" * 300, "/a_b.C" * 200, "ש" * 400, "word " * 1000)
    sums = Letters("D·A+relative_attention_num_buckets·" * 5 + "N_e")
    columns = (*(Column("", share=1) for _ in range(5)), Column("", "right"))
    table = Table(columns, (Row(((), (), (), (), (sums,), ("1,048,832",))),))
    long = with_texts(
        document,
        section_of(*words),
        Section("sums", "Sums", (table,)),
        title="t" * 500,
        author="a" * 300,
        facts=(("Command", (Code(words[0]), words[1])),),
    )
    margin = round(23 / 25.4 * 72 * PIXELS_PER_POINT)
    pages = TypesetReport(long)
    for page in pages.pages():
        ink = inked(page)
        assert not ink[:, :margin].any()
        assert not ink[:, -margin:].any()
    report = Report.of(pages.pdf())
    assert report.text.count("word") >= 3000
    report.check_pages()


@pytest.mark.parametrize(
    "path",
    ["encoder.layer.0.attention.output.LayerNorm", "decoder.layers.11.encoder_attn_layer_norm"],
)
def test_a_path_in_a_narrow_column_breaks_after_dots(document: ReportDocument, path: str) -> None:
    columns = (Column("", share=1), *(Column("", share=2) for _ in range(3)))
    row = Row(((Code(path),), *(("word " * 20,) for _ in range(3))))
    section = Section("texts", "Texts", (Table(columns, (row,)),))
    with pypdfium2.PdfDocument(report_pdf(with_texts(document, section))) as pdf:
        text = "".join(page.get_textpage().get_text_range() for page in pdf)
    assert "\u200b" not in text
    found = re.search(r"\.\s*".join(map(re.escape, path.split("."))), text)
    assert found is not None
    assert len(found[0].split()) > 1


def test_right_to_left_text_starts_at_the_right(document: ReportDocument) -> None:
    latin, hebrew = (
        inked(TypesetReport(with_texts(document, Section("a", "A", (paragraph,)))).pages()[0])
        for paragraph in (Paragraph((text,), "quote") for text in ("abc", "אבג"))
    )
    middle = latin.shape[1] // 2
    rows = slice(round(100 * PIXELS_PER_POINT), round(700 * PIXELS_PER_POINT))
    assert not latin[rows, middle:].any()
    assert hebrew[rows, middle:].any()
