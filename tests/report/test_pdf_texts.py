"""Texts of strangers in the report: literal, and never a reason to fail."""

import io

import pypdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QFontDatabase

from bertviewer.report.document import ReportDocument
from bertviewer.report.typesetting import report_pdf
from tests.report.reading import Report, changed, squeezed

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


def test_markup_in_texts_is_text(document: ReportDocument) -> None:
    sentence = " ; ".join(HOSTILE)
    tokens = [[str(number), text, "0"] for number, text in enumerate(HOSTILE)]
    title = "#title() $y$ *t*"
    hostile = changed(
        document,
        {"text": sentence, "pair": f"second {sentence}", "tokens": tokens},
        title=title,
        config=[["key", text] for text in HOSTILE],
    )
    report = Report.of(report_pdf(hostile.data, hostile.plots))
    found = squeezed(report.text)
    for number, text in enumerate(HOSTILE):
        # In the configuration, in both sentences, and as a token.
        assert found.count(squeezed(text)) == 4, text
        assert f"{number} · 0" in report.text
    metadata = report.reader.metadata
    assert metadata is not None
    assert metadata.title == f"bertviewer: {title}"
    assert report.pages[0].startswith(f"{title} BertModel")
    assert report.pages[1].startswith(f"{title} BertModel")
    report.check_pages()


@pytest.mark.parametrize(
    ("text", "fonts"), [("注意力机制", "CJK"), ("Ω λ ж é ß", ""), ("😀 → ∀", "DejaVu Sans")]
)
def test_other_scripts(document: ReportDocument, text: str, fonts: str) -> None:
    if not any(fonts in family for family in QFontDatabase.families()):
        pytest.skip(f"no {fonts} font on this machine")
    other = changed(document, {"text": text, "tokens": [["7", text, "1"]]})
    report = Report.of(report_pdf(other.data, other.plots))
    assert report.text.count(text) == 2
    report.check_pages()


def test_any_text_can_be_set(document: ReportDocument) -> None:
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(
        text=st.text(),
        pair=st.none() | st.text(),
        title=st.text(),
        tokens=st.lists(st.text(), max_size=12),
    )
    def check(text: str, pair: str | None, title: str, tokens: list[str]) -> None:
        rows = [[str(number), token, "0"] for number, token in enumerate(tokens)]
        other = changed(
            document,
            {"text": text, "pair": pair, "tokens": rows},
            title=title,
            provenance=text,
            config=[[title, text]],
        )
        reader = pypdf.PdfReader(io.BytesIO(report_pdf(other.data, other.plots)))
        assert len(reader.pages) >= 2
        assert reader.outline

    check()


def test_a_very_long_token_and_a_very_long_sentence(document: ReportDocument) -> None:
    rows = [[str(number), "word", "0"] for number in range(200)]
    run = {"text": "word " * 1000, "tokens": [["0", "x" * 1000, "0"], *rows]}
    long = changed(document, run)
    report = Report.of(report_pdf(long.data, long.plots))
    assert report.text.count("word") >= 1200
    assert "199 · 0" in report.text
    report.check_pages()


def test_a_folder_with_a_name_that_is_not_unicode(document: ReportDocument) -> None:
    # What Python makes of such a name on Linux.
    odd = changed(document, {}, title="/tmp/\udcff", provenance="Folder /tmp/\udcff")
    report = Report.of(report_pdf(odd.data, odd.plots))
    assert "Folder /tmp/" in report.pages[0]
