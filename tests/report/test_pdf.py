"""The PDF of a report has all texts of the document, is accessible, and can be archived.

Typst fails if a page violates PDF/A-2a or PDF/UA-1; a part of these is checked here.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdf
import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.core.building.backend import torch
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import (
    Code,
    Facts,
    Figure,
    FormulaBlock,
    Letters,
    Listing,
    Muted,
    Paragraph,
    Section,
    Strong,
    Sum,
    Table,
    Text,
    Tokens,
)
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.writer import split_indices
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import report_pdf
from tests.core.checks.small_models import small_model
from tests.report.conftest import document_of, subject_of
from tests.report.reading import Report, squeezed

RANDOM_NOTE = "The activations in this report come from random weights."


def report_of(subject: Subject) -> Report:
    return Report.of(report_pdf(document_of(subject)))


def test_title_and_metadata(report: Report) -> None:
    metadata = report.reader.metadata
    assert metadata is not None
    assert (metadata.title, metadata.author) == ("demo", "A. Student")
    assert str(metadata.subject).startswith("BertModel · Base model, no head: parameters")
    assert str(metadata["/Keywords"]).startswith("BertModel, bert, ")
    title = (
        "demo BertModel · Base model, no head A. Student, 31 January 2026 Summary BertModel maps"
    )
    assert report.pages[0].startswith(title)
    assert report.pages[1].startswith("demo BertModel · Base model, no head Contents 1 The model")
    report.check_pages()
    for text in report.pages[1:]:
        assert text.startswith("demo BertModel ")
    assert "random weights" not in report.text


def test_the_file_declares_its_standards(report: Report) -> None:
    catalog: Any = report.reader.root_object
    xmp = catalog["/Metadata"].get_object().get_data().decode()
    for expected in (
        "<pdfaid:part>2</pdfaid:part>",
        "<pdfaid:conformance>A</pdfaid:conformance>",
        "<pdfuaid:part>1</pdfuaid:part>",
        '<dc:title><rdf:Alt><rdf:li xml:lang="x-default">demo</rdf:li></rdf:Alt></dc:title>',
        "<rdf:li>A. Student</rdf:li>",
    ):
        assert expected in xmp
    assert catalog["/Lang"] == "en"
    fonts = {str(font["/BaseFont"]) for font in objects(report) if font.get("/Type") == "/Font"}
    known = ("Libertinus", "Inter", "JetBrainsMono", "NewCM", "DejaVuSansMono")
    assert all(re.match(rf"/[A-Z]{{6}}\+({'|'.join(known)})", name) for name in fonts), fonts


def objects(report: Report) -> list[dict[str, Any]]:
    """Return all dictionaries of the file."""
    reader = report.reader
    numbers = {number for table in reader.xref.values() for number in table}
    found: list[Any] = [reader.get_object(n) for n in sorted({*numbers, *reader.xref_objStm}) if n]
    return [each for each in found if isinstance(each, dict)]


def elements(report: Report, kind: str) -> list[dict[str, Any]]:
    """Return the elements of a kind in the structure tree."""
    return [each for each in objects(report) if each.get("/S") == kind and "/P" in each]


def kids(element: dict[str, Any]) -> list[dict[str, Any]]:
    found: Any = element.get("/K", pypdf.generic.ArrayObject())
    every = (kid.get_object() for kid in (found if isinstance(found, list) else [found]))
    return [kid for kid in every if isinstance(kid, dict) and "/S" in kid]


def test_figures_formulas_tables_and_links_are_accessible(report: Report) -> None:
    figures, formulas = elements(report, "/Figure"), elements(report, "/Formula")
    assert len(figures) > 8
    assert all(len(figure["/Alt"]) > 10 for figure in figures)
    assert len(formulas) > 30
    alternatives = [formula["/Alt"] for formula in formulas]
    assert [words for words in alternatives if re.search(r"[][(){}_^=+*/\\]", words)] == []
    assert "GELU of x equals x Phi of x" in " ".join(alternatives)
    tables = elements(report, "/Table")
    assert len(tables) > 10
    for table in tables:
        head, *_ = (part for part in kids(table) if part["/S"] == "/THead")
        (row,) = kids(head)
        assert any(cell["/S"] == "/TH" for cell in kids(row))
    assert elements(report, "/H2")
    assert not elements(report, "/H3")
    links = [note.get_object() for page in report.reader.pages for note in page.get("/Annots", ())]
    # The contents, and every reference to a table or a figure.
    assert len(links) > 30
    for link in links:
        assert link["/Contents"]
        target = link.get("/A", {"/S": "/GoTo"})
        assert target["/S"] == "/GoTo" or target["/URI"].startswith("https://")


def strings(text: Text) -> Iterator[str]:
    """Yield the parts of a text as they are printed; signs and references are left out."""
    for span in text:
        match span:
            case Letters(letters):
                yield "".join(split_indices(letters))
            case str(string) | Code(string) | Strong(string) | Muted(string):
                yield string


def printed(section: Section) -> Iterator[str]:
    """Yield the texts of a section that the PDF must have."""
    yield section.title
    for block in section.blocks:
        match block:
            case Paragraph(text):
                yield from strings(text)
            case Table():
                for text in (block.caption, *(cell for row in block.rows for cell in row.cells)):
                    yield from strings(text)
                yield from (column.title for column in block.columns)
            case Facts():
                for name, text in block.pairs:
                    yield from (name, *strings(text))
            case Figure():
                yield from strings(block.caption)
            case Sum():
                for term in block.terms:
                    texts = (term.letters, term.numbers)
                    yield from ("".join(split_indices(each)) for each in texts)
                yield block.result
            case Tokens():
                yield from (part for box in block.tokens for part in (box.text, box.under))
            case Listing():
                yield from block.lines
    for inner in section.sections:
        yield from printed(inner)


def test_all_texts_of_the_document_are_printed(document: ReportDocument, report: Report) -> None:
    front = document.front
    header = squeezed(f"{front.title} {front.subtitle}")
    text = "".join(squeezed(body).removeprefix(header) for body in report.bodies)
    expected = {string for chapter in document.chapters for string in printed(chapter)}
    assert len(expected) > 700
    assert [string for string in expected if squeezed(string) not in text] == []


def test_names_can_be_copied(report: Report, demo: Subject) -> None:
    """A line may end after a dot of a module's name; nothing else is added to it."""
    every = (parameter.name for parameter in demo.architecture.parameters)
    names = {name for name in every if not re.match(r"encoder\.layer\.[1-9]", name)}
    assert len(names) == 5 + 16 + 2
    for text in ("\n".join(page.extract_text() for page in report.reader.pages), report.text):
        lines = re.sub(r"(?<=\.)\s", "", text)
        assert [name for name in names if name not in lines] == []


def test_citations_link_to_the_bibliography(report: Report) -> None:
    links = [note.get_object() for page in report.reader.pages for note in page.get("/Annots", ())]
    targets = [link["/Dest"] for link in links if "/Dest" in link]
    places = [target for target in targets if isinstance(target, list)]
    bibliography: Any = report.reader.outline[-1]
    assert bibliography.title == "Bibliography"
    start = report.reader.get_destination_page_number(bibliography)
    pages = list(report.reader.pages[start:])
    assert len([place for place in places if place[0].get_object() in pages]) > 20


def test_plots_have_their_texts(report: Report) -> None:
    texts = {"Norm", "Token", "Layer", "emb", "[CLS]", "##12", "[SEP]"}
    (page,) = (text for text in report.pages if texts <= set(text.split()))
    assert "The norm of each token" in page


def test_outline_and_contents(report: Report, document: ReportDocument) -> None:
    def titles(sections: Sequence[Section]) -> Iterator[str]:
        for section in sections:
            yield f"{document.numbers[section.name].number} {section.title}".strip()
            yield from (block.title for block in section.blocks if isinstance(block, FormulaBlock))
            yield from titles(section.sections)

    summary, *others = titles(document.chapters)
    assert report.headings() == [summary, *others]
    assert all(title in report.pages[1] for title in others)
    assert others[-3:] == ["C All parameters", "D Reproducibility", "Bibliography"]
    for entry in report.reader.outline:
        if not isinstance(entry, list):
            number = report.reader.get_destination_page_number(entry)
            assert number is not None
            assert str(entry.title) in report.pages[number]


def test_negative_numbers_have_a_minus_sign(report: Report) -> None:
    run = report.text.rpartition("6 The sentence")[2].partition("A Configuration")[0]
    code = run.rpartition("7 Inside layer 0")[2].partition("Table 7.1.")[0]
    run = run.replace(code, "")
    assert "−" in run
    assert not re.search(r"(^|\s)-\d|\de-\d", run)
    assert "from −1 to 1" in report.text


def test_paper(document: ReportDocument) -> None:
    letter = Report.of(report_pdf(document, "letter"))
    assert [round(float(x)) for x in letter.reader.pages[0].mediabox[2:]] == [612, 792]


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("family", ["gpt2", "albert", "bart"])
def test_random_weights_are_named_on_every_page(family: str) -> None:
    model = small_model(family)
    report = report_of(subject_of(model, Sentence("one two", "three four"), random=True))
    assert "randomly initialised weights (seed 0); no value reflects training" in report.text
    assert "The weights are random, so" in report.pages[0]
    assert RANDOM_NOTE in report.pages[0]
    for text in report.pages[1:]:
        assert text.startswith(f"tiny-{family} random weights ")
    assert "placeholder tokenizer" in report.text
    assert any("What this run shows" in heading for heading in report.headings())
    assert not any("Sentence vectors" in heading for heading in report.headings())
    report.check_pages()


def test_random_tensors_are_counted_on_every_page(masked: Subject, qapp: QApplication) -> None:
    report = report_of(masked)
    some = "5 of 42 tensors are missing from the checkpoint and were initialised randomly: results"
    assert some in report.pages[0]
    assert RANDOM_NOTE not in report.text
    for text in report.pages[1:]:
        assert "5 of 42 tensors random " in text


@pytest.mark.usefixtures("nothing_was_seen", "qapp")
def test_a_model_without_formulas(tiny_bert_folder: Path) -> None:
    report = report_of(Subject(open_model(parse_source(str(tiny_bert_folder))).architecture))
    assert "No counting formula was found" in report.text
    report.check_pages()


@pytest.mark.usefixtures("qapp")
def test_a_run_full_of_nan(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder)))
    layer = model.module(random_weights=False).get_submodule("encoder.layer.0.output.dense")
    with torch.inference_mode():
        layer.get_parameter("bias")[0] = float("nan")
    report = report_of(subject_of(model, Sentence("the cat")))
    nan = r"All modules together produced [1-9][\d,]* NaNs and 0 infinite values"
    assert re.search(nan, report.text)
