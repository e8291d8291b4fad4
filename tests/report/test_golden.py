"""One report as a text that a person has read: what changes in it is seen."""

from collections.abc import Callable

from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.formats.markdown import markdown_of
from bertviewer.report.subject import Subject
from tests.report.conftest import OPTIONS, document_of


def test_the_report_of_bert_base_is_the_one_that_was_read(
    qapp: QApplication, golden: Callable[[str, str], None]
) -> None:
    model = open_model(parse_source("bert-base-uncased"))
    document = document_of(Subject(model.with_formulas()), OPTIONS)
    # Versions are those of the machine.
    document = replace(document, front=replace(document.front, facts=(), program="bertviewer"))
    golden("bert-base-report.md", markdown_of(document, "figures"))
