"""The document of all kinds of blocks, and how each format reads it."""

import pytest

from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.html import html_of
from bertviewer.report.formats.latex import latex_of
from bertviewer.report.formats.markdown import markdown_of
from tests.report.formats.documents import full_document

FOLDER = "report-figures"


@pytest.fixture(scope="package")
def document() -> ReportDocument:
    return full_document()


@pytest.fixture(scope="package")
def page(document: ReportDocument) -> str:
    return html_of(document)


@pytest.fixture(scope="package")
def latex(document: ReportDocument) -> str:
    return latex_of(document, FOLDER)


@pytest.fixture(scope="package")
def markdown(document: ReportDocument) -> str:
    return markdown_of(document, FOLDER)
