"""Texts of strangers in the report: literal, and never a reason to fail."""

import io
import re

import pypdf
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
from tests.report.inked import SIZE, inked
from tests.report.reading import Report, squeezed, with_texts

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
    """A chapter with each text as words, as code, and as a token."""
    rows = tuple(Row(((text,), (Code(text),))) for text in texts)
    boxes = tuple(TokenBox(text, str(number)) for number, text in enumerate(texts))
    blocks = (
        Paragraph(texts, "quote"),
        Table((Column("", share=1), Column("", share=1)), rows),
        Tokens(boxes),
    )
    return Section("texts", "Texts", blocks)


def pages_of(document: ReportDocument, *texts: str, title: str = "t") -> Report:
    return Report.of(report_pdf(with_texts(document, section_of(*texts), title=title)))


@pytest.mark.parametrize(
    "path",
    [
        "encoder.layer.0.attention.output.LayerNorm",
        "decoder.layers.11.encoder_attn_layer_norm",
        "model.vision_tower.blocks.3.attn.qkv_projection",
    ],
)
def test_a_path_in_a_narrow_column_breaks_after_dots_alone(
    document: ReportDocument, path: str
) -> None:
    columns = (Column("", share=1), *(Column("", share=2) for _ in range(3)))
    row = Row(((Code(path),), *(("word " * 20,) for _ in range(3))))
    section = Section("texts", "Texts", (Table(columns, (row,)),))
    data = report_pdf(with_texts(document, section))
    with pypdfium2.PdfDocument(data) as pdf:
        text = "".join(page.get_textpage().get_text_range() for page in pdf)
    assert "\u200b" not in text
    found = re.search(r"\.\s*".join(map(re.escape, path.split("."))), text)
    assert found is not None
    assert len(found[0].split()) > 1


def test_markup_in_texts_is_text(document: ReportDocument) -> None:
    title = "#title() $y$ *t*"
    report = pages_of(document, *HOSTILE, title=title)
    found = squeezed(report.text)
    for text in HOSTILE:
        assert found.count(squeezed(text)) == 4, text
    metadata = report.reader.metadata
    assert metadata is not None
    assert metadata.title == title
    assert report.pages[0].startswith(f"{title} BertModel")
    report.check_pages()


@pytest.mark.parametrize(
    ("text", "fonts"),
    [("注意力机制", "Noto Serif CJK SC"), ("Ω λ ж é ß", ""), ("→ ∀ ✓ ∑", ""), ("שלום", "")],
)
def test_other_scripts(document: ReportDocument, text: str, fonts: str) -> None:
    if fonts and fonts not in QFontDatabase.families():
        pytest.skip(f"no {fonts} on this machine")
    report = pages_of(document, text)
    assert squeezed(report.text).count(squeezed(text)) >= 3
    report.check_pages()


def test_what_no_font_has_is_printed_as_its_code(document: ReportDocument) -> None:
    report = pages_of(document, "a \U00013000 b \x00 c \udcff d")
    assert report.text.count("a ‹U+13000› b ‹U+0000› c ‹U+DCFF› d") == 4


def test_any_text_can_be_set(document: ReportDocument) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
    @given(texts=st.lists(st.text(), max_size=12), title=st.text())
    def check(texts: list[str], title: str) -> None:
        pdf = report_pdf(with_texts(document, section_of(*texts), title=title))
        assert len(pypdf.PdfReader(io.BytesIO(pdf)).pages) >= 3

    check()


def test_nothing_is_printed_beyond_the_margins(document: ReportDocument) -> None:
    words = ("x" * 1000, "e\u0301" * 300, "/a_b.C" * 200, "ש" * 400)
    command = ("Command", (Code(words[0]), words[1]))
    sums = Letters("D·A+relative_attention_num_buckets·" * 5 + "N_e")
    columns = (*(Column("", share=1) for _ in range(5)), Column("", "right"))
    table = Table(columns, (Row(((), (), (), (), (sums,), ("1,048,832",))),))
    long = with_texts(
        document,
        section_of(*words),
        Section("sums", "Sums", (table,)),
        title="t" * 500,
        author="a" * 300,
        facts=(command,),
    )
    margin = round(23 / 25.4 * 72 * SIZE)
    pages = TypesetReport(long).pages()
    assert len(pages) > 3
    for page in pages:
        ink = inked(page)
        assert not ink[:, :margin].any()
        assert not ink[:, -margin:].any()


def test_what_turns_the_words_after_it_is_printed_as_its_code(document: ReportDocument) -> None:
    report = pages_of(document, "a \u202e b", "c \u2067 d", "e \u2067f\u2069 g")
    assert report.text.count("a ‹U+202E› b") == 4
    assert report.text.count("c ‹U+2067› d") == 4
    assert "U+2069" not in report.text


def test_a_text_from_right_to_left_starts_at_the_right(document: ReportDocument) -> None:
    from_left, from_right = (
        inked(
            TypesetReport(
                with_texts(document, Section("a", "A", (Paragraph((text,), "quote"),)))
            ).pages()[2]
        )
        for text in ("abc", "אבג")
    )
    middle = from_left.shape[1] // 2
    rows = slice(round(100 * SIZE), round(200 * SIZE))
    assert not from_left[rows, middle:].any()
    assert from_right[rows, middle:].any()


def test_without_a_title_the_file_has_one(document: ReportDocument) -> None:
    metadata = pages_of(document, "a", title=" ").reader.metadata
    assert metadata is not None
    assert metadata.title == document.front.program


def test_a_very_long_token_and_a_very_long_sentence(document: ReportDocument) -> None:
    report = pages_of(document, "x" * 1000, "word " * 1000)
    assert report.text.count("word") >= 3000
    report.check_pages()
