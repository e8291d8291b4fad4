"""JSON: the whole document, always in the same order."""

import json

from bertviewer.report.blocks import Paragraph
from bertviewer.report.document import SCHEMA, ReportDocument
from bertviewer.report.formats.formats import format_by_name
from bertviewer.report.options import Options
from tests.report.formats.documents import FOREIGN, HOSTILE, PICTURE, document_of


def json_of(document: ReportDocument) -> str:
    return format_by_name("json").write(document, Options(), "").content.decode()


def test_it_is_the_document(document: ReportDocument) -> None:
    text = json_of(document)
    read = json.loads(text)
    assert read == json.loads(json.dumps(document.to_json()))
    assert read["schema"] == SCHEMA == "bertviewer.report/1"
    assert read["pictures"]["drawing"] == PICTURE
    assert list(read) == sorted(read)
    assert text == json_of(document)


def test_texts_read_back_as_they_were_and_can_be_shown() -> None:
    texts = (*HOSTILE, *FOREIGN, "\U0001f600\ud83d", "line\u2028separator")
    text = json_of(document_of(Paragraph(texts)))
    block = json.loads(text)["chapters"][0]["blocks"][0]
    assert tuple(block["text"]) == texts
    assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(text.encode()) == json.loads(text)
    assert "注意力机制" in text
