"""The LaTeX file compiles; its numbers and column widths."""

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from bertviewer.charts.theme import GREY
from bertviewer.report.blocks import Code, Column, Row, Table
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import format_by_name
from bertviewer.report.formats.latex import latex_of
from bertviewer.report.formats.latex_columns import GAP, LatexColumns
from bertviewer.report.options import Options
from bertviewer.report.typesetting import report_pdf
from tests.report.formats.conftest import FOLDER
from tests.report.formats.documents import LONG, SIGNS
from tests.report.reading import squeezed
from tests.tools.pdf_text import page_texts

ROOM = 455.0
ENGINES = ("xelatex", "pdflatex")


def test_latex_counts_to_the_numbers_of_the_document(document: ReportDocument) -> None:
    command = (
        r"\\(chapter|section|tablecaption|drawing)\b.*?\n?.*?(?:\\label)?\{(\w+)\}$"
        r"|\\(formula)\[(\w+)\]"
    )
    # LaTeX counts the chapters before the appendix, the others it gives letters or no numbers.
    chapters, appendix = latex_of(document, FOLDER).split(r"\appendix")
    assert r"\chapter{More}\label{second}" in appendix
    found = re.findall(command, chapters, re.M)
    places = [(kind or "formula", name or label) for kind, name, _, label in found]
    places = [place for place in places if place[1] in document.numbers]
    counts: dict[str, int] = {}
    counted = [name for name, found in document.numbers.items() if found.number[:1].isdecimal()]
    assert len(places) == len(counted)
    for kind, name in places:
        if kind == "chapter":
            counts = {"chapter": counts.get("chapter", 0)}
        counts[kind] = counts.get(kind, 0) + 1
        number = f"{counts['chapter']}" + (f".{counts[kind]}" if kind != "chapter" else "")
        assert document.numbers[name].number == number


def test_columns_fit_into_the_page() -> None:
    columns = LatexColumns.of(LONG, ROOM)
    assert columns.is_full
    assert sum(columns.widths) < ROOM - 3 * GAP
    # A cell that is wider than the page is broken into lines.
    long = Table(
        (Column("Key"), Column("Value"), Column("Number", "right")),
        (Row((("a",), (Code("x" * 3000),), ("1,000",))),),
    )
    widths = LatexColumns.of(long, ROOM).widths
    assert widths[0] == widths[2] == 0.0
    assert 300 < widths[1] < ROOM - 2 * GAP
    # A small table is as wide as its text.
    small = Table((Column("A"), Column("B", "decimal")), (Row((("word",), ("1.5",))),))
    columns = LatexColumns.of(small, ROOM)
    assert columns.widths == (0.0, 0.0)
    assert columns.preamble == "@{}lr@{}"


def test_paper_and_colours_can_be_chosen(document: ReportDocument) -> None:
    letter = latex_of(document, FOLDER, "letter", GREY)
    assert letter.startswith(r"\documentclass[10pt,letterpaper]{report}")
    assert rf"\definecolor{{accent}}{{HTML}}{{{GREY.accent[1:].upper()}}}" in letter


@pytest.mark.parametrize("engine", ENGINES)
def test_it_compiles(engine: str, document: ReportDocument, tmp_path: Path) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine} on this machine")
    (tmp_path / FOLDER).mkdir()
    exported = format_by_name("latex").write(document, Options(), FOLDER)
    for name, content in exported.files.items():
        (tmp_path / FOLDER / name).write_bytes(content)
    (tmp_path / "report.tex").write_bytes(exported.content)
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    for _ in range(3):
        done = subprocess.run(
            [*command, "report.tex"], cwd=tmp_path, capture_output=True, check=False, timeout=300
        )
        log = (tmp_path / "report.log").read_text(encoding="utf-8", errors="replace")
        assert done.returncode == 0, log[-3000:]
    overfull = [float(size) for size in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert [size for size in overfull if size > 5] == []
    assert "undefined" not in log.replace("\n", "").split("(./report.aux)")[-1]
    assert "Missing character" not in log
    numbers = dict(
        re.findall(
            r"\\newlabel\{(\w+)\}\{\{([A-Z\d.]+)\}", (tmp_path / "report.aux").read_text("utf-8")
        )
    )
    expected = {name: found.number for name, found in document.numbers.items() if found.number}
    assert numbers.items() >= expected.items()
    # The texts are those of the PDF.
    written = (tmp_path / "report.pdf").read_bytes()
    for pdf in (written, report_pdf(document)):
        text = unicodedata.normalize("NFKC", squeezed("".join(page_texts(pdf))))
        for string in (SIGNS, "(1.1)", "Equation 1.1", "Table 1.1. Numbers", "Vaswani et al. 2017"):
            assert unicodedata.normalize("NFKC", squeezed(string)) in text
