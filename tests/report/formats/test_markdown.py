"""Markdown: what is written, and that strangers' texts are text in it."""

import re

import pytest

from bertviewer.report.blocks import (
    Break,
    Code,
    Column,
    Listing,
    Paragraph,
    Points,
    Row,
    Strong,
    Table,
)
from bertviewer.report.formats.markdown import markdown_of
from bertviewer.report.formats.writer import one_line
from tests.report.formats.conftest import FOLDER
from tests.report.formats.documents import (
    ATTENTION,
    DECIMALS,
    FOREIGN,
    HOSTILE,
    document_of,
    markdown_writer,
)
from tests.report.formats.parsing import read_markdown

ISOLATES = re.compile("[\u2066-\u2069]")


def body(*blocks: object) -> str:
    text = markdown_of(document_of(*blocks), FOLDER)  # type: ignore[arg-type]
    return text.partition("## 1 A chapter\n\n")[2].partition("\n---\n")[0].strip()


@pytest.mark.parametrize("text", HOSTILE + FOREIGN)
def test_texts_of_strangers_are_text(text: str) -> None:
    words = ISOLATES.sub("", markdown_writer().words(text))
    assert read_markdown(words) == one_line(text)
    assert "\n" not in words
    code = ISOLATES.sub("", markdown_writer().code(text))
    found = re.fullmatch(r"`([^`]*)`", code)
    if found is None:
        found = re.fullmatch("<code>(.*)</code>", code)
        assert found
        assert read_markdown(found[1]) == one_line(text)
    else:
        assert found[1] == one_line(text)
    # The cell of a table ends where it should.
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", words + code)) == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- a", r"\- a"),
        ("-a", "-a"),
        ("---", r"\---"),
        ("===", r"\==="),
        ("= 3", "= 3"),
        ("1. one", r"1\. one"),
        ("12) two", r"12\) two"),
        ("1.5", "1.5"),
        ("+ b", r"\+ b"),
    ],
)
def test_a_line_begins_with_no_list(line: str, expected: str) -> None:
    assert body(Paragraph((line,))) == expected


def test_a_table_reads_as_text_too() -> None:
    assert body(DECIMALS).replace("\u00a0", " ") == "\n".join(
        (
            "**Table 1.1.** Figures stand on their **decimal point**.",
            "",
            "| Layer                      |      Mean | Size (MB) | Holds | Share                |",
            "| -------------------------- | --------: | --------: | :---: | -------------------- |",
            "| Embeddings                 |           |           |       |                      |",
            "|   word                     |     −0.25 |        12 | ✓     | ███████████████      |",
            "|     position               | 1,012.125 |       1.5 | ✗     |                      |",
            "| **Encoder, of $L$ layers** |           |           |       | **12 in all**        |",
            "| norm                       |   **NaN** |         — |       | words<br>below       |",
            "| **Total**                  |     **3** |  **13.5** |       | ████████████████████ |",
        )
    )


def test_a_formula_has_its_source_as_a_footnote(markdown: str) -> None:
    text = body(ATTENTION, ATTENTION)
    assert text.count("takes what they have.[^1]") == 2
    assert "$$\n" + r"A_{h} = \text{softmax} \left( \frac{Q_{h} K_{h}^{\top}}" in text
    assert "| $Q_{h}$ | queries of one head                 | S × 64 |" in text
    assert markdown.endswith("\n\n[^1]: Vaswani et al. 2017, section 3.2.1\n")


def test_contents_lead_to_headings(markdown: str) -> None:
    headings = [line.lstrip("# ") for line in markdown.split("\n") if re.match("#+ [0-9]", line)]
    links = re.findall(r"^ *- \[(.*)\]\(#(.*)\)$", markdown, re.M)
    assert [title for title, _ in links] == headings
    assert [target for _, target in links] == [
        "1-what-there-is",
        "11-a-long-table",
        "12-texts-of-strangers--others",
        "2-works",
    ]


def test_lines_break_where_they_should() -> None:
    assert body(Paragraph(("a", Break(), "- b"))) == "a\\\n\\- b"
    assert body(Paragraph(("a", Break(), "b"), "quote")) == "> a\\\n> b"
    assert body(Points((("a", Break(), "b"),))) == "- a\\\n  b"
    cell = Table((Column("A"),), (Row((("a", Break(), Strong("(b)")),)),))
    assert body(cell).endswith("| a<br><b>(b)</b> |")


def test_a_listing_keeps_its_lines_whatever_they_hold() -> None:
    lines = ("````", "```", "# x  y", "a\nb")
    assert body(Listing(lines)) == "`````\n````\n```\n# x  y\na b\n`````"


def test_code_that_backquotes_cannot_hold() -> None:
    assert markdown_writer().code("a.b_c") == "`a.b_c`"
    assert markdown_writer().code("a`b|c") == r"<code>a\`b\|c</code>"
    assert markdown_writer().code("") == ""
    assert body(Paragraph((Code("שלום"),))) == "\u2068`שלום`\u2069"
