"""The report's document: its JSON, its first page, what of it is chosen."""

import json
from datetime import date

import pytest
from msgspec.structs import replace

from bertviewer import __version__
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError
from bertviewer.report.blocks import Figure, Section, See, Table
from bertviewer.report.catalogue import CHAPTERS
from bertviewer.report.document import ReportDocument
from bertviewer.report.draft import draft_report
from bertviewer.report.options import today
from bertviewer.report.subject import Subject
from tests.report.conftest import DAY, OPTIONS, document_of
from tests.report.reading import said, with_texts


def names(chapters: tuple[Section, ...]) -> list[str]:
    return [chapter.name for chapter in chapters]


def test_the_document_is_json_and_says_what_each_part_of_it_is(document: ReportDocument) -> None:
    data = document.to_json()
    assert data["schema"] == "bertviewer.report/1"
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text) == json.loads(json.dumps(json.loads(text)))
    kinds = set()

    def look(value: object) -> None:
        if isinstance(value, dict):
            if "kind" in value:
                kinds.add(value["kind"])
            for one in value.values():
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)
        else:
            assert value is None or isinstance(value, str | int | float | bool)

    look(data)
    assert {"section", "paragraph", "table", "figure", "formula-block", "sum", "tokens"} <= kinds
    assert {"code", "maths", "strong", "muted", "see", "tick", "bar", "break"} <= kinds


def test_every_picture_is_drawn_and_shown(document: ReportDocument) -> None:
    text = json.dumps(document.to_json()["chapters"])
    for name, drawing in document.pictures.items():
        assert name == document.front.picture or f'"picture": "{name}"' in text
        assert drawing.lstrip().startswith(("<svg", "<?xml"))


def test_every_reference_has_a_number(document: ReportDocument) -> None:
    numbers = document.numbers

    def references(value: object) -> None:
        if isinstance(value, See):
            assert value.name in numbers
        elif isinstance(value, tuple):
            for one in value:
                references(one)
        elif hasattr(value, "__slots__"):
            for name in value.__slots__:
                references(getattr(value, name))

    references(document.chapters)


def test_the_first_page(document: ReportDocument) -> None:
    front = document.front
    assert (front.title, front.subtitle) == ("demo", "BertModel · Base model, no head")
    assert (front.author, front.date) == ("A. Student", date(2026, 1, 31))
    facts = {name: said(text) for name, text in front.facts}
    assert facts["Model"].endswith("· pretrained weights")
    assert facts["SHA-256"].startswith(DEMO_SHA256)
    assert facts["Licence"].startswith("Apache 2.0")
    assert facts["Versions"].startswith("torch ")
    assert facts["Device"] == "cpu"
    assert facts["Command"] == "bertviewer report demo"
    assert front.program == f"bertviewer {__version__}"
    assert (front.warning, front.running_warning) == ("", "")


def test_chapters_come_in_one_order_and_only_where_there_is_something_to_tell(
    document: ReportDocument, demo: Subject
) -> None:
    order = [chapter.name for chapter in CHAPTERS]
    assert names(document.chapters) == [
        name for name in order if name not in ("predictions", "vectors", "runs", "models", "corpus")
    ]
    plain = draft_report(Subject(demo.architecture), OPTIONS, DAY)
    run_chapters = {chapter.name for chapter in CHAPTERS if chapter.needs_run}
    assert not run_chapters & set(names(plain.chapters))


def test_only_what_was_chosen_is_there(demo: Subject) -> None:
    some = replace(OPTIONS, sections=("checks", "walk"), title="A title")
    chosen = document_of(demo, some)
    assert names(chosen.chapters) == ["walk", "checks"]
    assert chosen.pictures.keys() == {"stack"}
    assert chosen.front.title == "A title"
    with pytest.raises(UserError, match="unknown section wlak: choose from model, parameters"):
        draft_report(demo, replace(OPTIONS, sections=("wlak",)), DAY)


def test_the_day_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert today() == date(2001, 9, 9)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert today() >= date(2026, 1, 1)


def a_table(name: str) -> Table:
    return Table((), (), name)


def a_figure(name: str) -> Figure:
    return Figure(name, name, (), "")


def test_each_kind_is_numbered_by_chapter_whatever_section_it_is_in(
    document: ReportDocument,
) -> None:
    chapters = (
        Section(
            "a", "A", (a_table("t1"),), (Section("a1", "A1", (a_table("t2"), a_figure("f1"))),)
        ),
        Section("b", "B", (a_figure("f2"), Table((), ()), a_table("t3"))),
    )
    numbers = {name: found.text for name, found in with_texts(document, *chapters).numbers.items()}
    assert numbers == {
        "a": "Chapter 1",
        "a1": "Section 1.1",
        "b": "Chapter 2",
        "t1": "Table 1.1",
        "t2": "Table 1.2",
        "f1": "Figure 1.1",
        "f2": "Figure 2.1",
        "t3": "Table 2.1",
    }


def test_two_things_of_one_name_are_an_error(document: ReportDocument) -> None:
    with pytest.raises(ValueError, match="named t"):
        assert with_texts(document, Section("a", "A", (a_table("t"), a_table("t")))).numbers
