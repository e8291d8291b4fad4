"""The document of all kinds of blocks."""

import pytest

from bertviewer.report.document import ReportDocument
from tests.report.formats.documents import full_document

FOLDER = "report-figures"


@pytest.fixture(scope="package")
def document() -> ReportDocument:
    return full_document()
