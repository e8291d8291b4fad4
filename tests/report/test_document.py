"""The document of a report: chapters, numbers, the title, and the counts of known models."""

import json
import re
from collections.abc import Callable
from datetime import date

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer import __version__
from bertviewer.core.sources.presets import DEMO_SHA256
from bertviewer.core.util.errors import UserError
from bertviewer.report.blocks import Figure, Section, See, Table, strings_in
from bertviewer.report.catalogue import CHAPTERS, REPRODUCIBILITY
from bertviewer.report.document import ReportDocument
from bertviewer.report.draft import draft_report
from bertviewer.report.formats.markdown import markdown_of
from bertviewer.report.options import layer_numbers, parse_layers, today
from bertviewer.report.subject import Subject
from tests.core.opened import derived
from tests.report.conftest import DAY, OPTIONS, document_of
from tests.report.reading import squeezed, with_texts, words


def names(chapters: tuple[Section, ...]) -> list[str]:
    return [chapter.name for chapter in chapters]


def test_the_chapters_on_bert_base(qapp: QApplication, golden: Callable[[str, str], None]) -> None:
    # Versions depend on the installation.
    names = tuple(chapter.name for chapter in CHAPTERS if chapter.name != REPRODUCIBILITY)
    options = replace(OPTIONS, sections=names)
    document = document_of(Subject(derived("bert-base-uncased")), options)
    document = replace(document, front=replace(document.front, program="bertviewer"))
    text = re.sub(
        r"Version \S+\.( <|$)", r"Version 0.\1", markdown_of(document, "figures"), flags=re.M
    )
    golden("bert-base-report.md", text)


def test_pictures_are_drawn_and_shown(document: ReportDocument) -> None:
    text = json.dumps(document.to_json()["chapters"], allow_nan=False)
    for name, drawing in document.pictures.items():
        assert name == document.front.picture or f'"picture": "{name}"' in text
        assert drawing.lstrip().startswith(("<svg", "<?xml"))


def test_references_have_numbers(document: ReportDocument) -> None:
    """All figures and tables are mentioned."""
    seen = set()

    def check(value: object) -> None:
        if isinstance(value, See):
            assert value.name in document.numbers
            seen.add(value.name)
        elif isinstance(value, tuple):
            for one in value:
                check(one)
        elif hasattr(value, "__slots__"):
            for name in value.__slots__:
                check(getattr(value, name))

    check(document.chapters)
    assert {name for name in document.numbers if name.startswith(("figure:", "table:"))} <= seen


def test_title_and_metadata(document: ReportDocument) -> None:
    front = document.front
    assert (front.title, front.subtitle) == ("demo", "BertModel · Base model, no head")
    assert (front.author, front.date) == ("A. Student", date(2026, 1, 31))
    facts = {name: words(text) for name, text in front.facts}
    assert facts["Model"].endswith("· pretrained weights")
    assert facts["SHA-256"].startswith(DEMO_SHA256)
    assert facts["Licence"].startswith("Apache 2.0")
    assert facts["Versions"].startswith(f"bertviewer {__version__}, torch ")
    assert facts["Device"] == "cpu"
    assert facts["Command"] == "bertviewer report demo"
    assert front.program == f"bertviewer {__version__}"
    assert (front.warning, front.running_warning) == ("", "")
    assert front.subject.endswith(
        "parameters, computational cost and forward pass, with one sentence"
    )
    assert front.keywords[:3] == ("BertModel", "bert", "Base model, no head")
    (reproducibility,) = (one for one in document.chapters if one.name == REPRODUCIBILITY)
    assert all(
        each in words(reproducibility) for each in (*facts, *facts.values()) if each != "Command"
    )


def test_chapters_that_apply_are_in_order(document: ReportDocument, demo: Subject) -> None:
    without = ("predictions", "vectors", "runs", "models", "corpus")
    assert names(document.chapters) == [
        chapter.name for chapter in CHAPTERS if chapter.name not in without
    ]
    plain = draft_report(Subject(demo.architecture), OPTIONS, DAY)
    assert not {each.name for each in CHAPTERS if each.needs_run} & set(names(plain.chapters))


def test_chosen_chapters(demo: Subject) -> None:
    some = replace(OPTIONS, sections=("checks", "walk"), title="A title")
    chosen = document_of(demo, some)
    assert names(chosen.chapters) == ["walk", "checks"]
    assert chosen.pictures.keys() == {"stack"}
    assert chosen.front.title == "A title"
    with pytest.raises(UserError, match="unknown section wlak: choose from summary, model"):
        draft_report(demo, replace(OPTIONS, sections=("wlak",)), DAY)


def test_the_date_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert today() == date(2001, 9, 9)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    assert today() >= date(2026, 1, 1)


def a_table(name: str) -> Table:
    return Table((), (), name)


def a_figure(name: str) -> Figure:
    return Figure(name, name, (), "")


def test_tables_and_figures_are_numbered_by_chapter(document: ReportDocument) -> None:
    inner = Section("a1", "A1", (a_table("t2"), a_figure("f1")))
    chapters = (
        Section("a", "A", (a_table("t1"),), (inner,)),
        Section("b", "B", (a_figure("f2"), a_table(""), a_table("t3"))),
        Section("c", "C", (a_table("t4"),), (Section("c1", "C1"),), numbering="appendix"),
        Section("d", "A title", numbering="none"),
    )
    numbers = with_texts(document, *chapters).numbers
    assert {name: found.text for name, found in numbers.items()} == {
        "a": "Chapter 1",
        "a1": "Section 1.1",
        "c": "Appendix A",
        "c1": "Section A.1",
        "t4": "Table A.1",
        "d": "A title",
        "b": "Chapter 2",
        "t1": "Table 1.1",
        "t2": "Table 1.2",
        "f1": "Figure 1.1",
        "f2": "Figure 2.1",
        "t3": "Table 2.1",
    }
    with pytest.raises(ValueError, match="named t"):
        assert with_texts(document, Section("a", "A", (a_table("t"), a_table("t")))).numbers


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("", None),
        (" First and last ", None),
        ("all", (0, 1, 2, 3, 4, 5)),
        ("0, 5", (0, 5)),
        ("5;0,5", (0, 5)),
        ("2-4", (2, 3, 4)),
        ("2 – 4, 0", (0, 2, 3, 4)),
    ],
)
def test_layers_as_users_write_them(text: str, layers: tuple[int, ...] | None) -> None:
    assert layer_numbers(text, 6) == layers


def test_wrong_layers() -> None:
    for text in ("6", "0, 6", "4-2", "1-9"):
        with pytest.raises(UserError, match="this model has layers 0 to 5"):
            layer_numbers(text, 6)
    with pytest.raises(UserError, match="this model has only layer 0"):
        layer_numbers("1", 1)
    for text in ("last", "0,,1", "-1", "1.5", "9" * 30):
        with pytest.raises(UserError, match="write layer numbers"):
            parse_layers(text)


COUNTS = replace(OPTIONS, sections=("model", "parameters", "costs", "walk", "modules", "tensors"))


@pytest.mark.parametrize(
    ("name", "task", "numbers"),
    [
        (
            "bert-base-uncased",
            "base",
            (
                *("109,482,240", "199", "21.77%", "77.69%", "0.54%", "(0-11): 12 x BertLayer"),
                *("for B = 1, S = 128", "22,348,431,360 FLOPs", "11,174,215,680 multiply-adds"),
                *("12 × 16 tensors", "embeddings 5 tensors", "pooler 2 tensors"),
            ),
        ),
        (
            "bert-base-chinese",
            "masked-lm",
            (
                *("16,622,592", "85,054,464", "102,290,312", "202", "N·(12·D² + 13·D)"),
                *("V·D + 2·D + L·D + 2·D", "21128"),
                "tied to bert.embeddings.word_embeddings.weight",
            ),
        ),
        (
            "bert-large-chinese",
            "base",
            (
                *("21,635,072", "2,048", "524,288", "4,198,400", "8,393,728", "12,596,224"),
                *("22,163,456", "324,472,832", "325,522,432", "1,049,600", "(N−1)"),
                *("1 Token IDs", "2 Segment IDs", "5 Add", "9 Multi-head self-attention"),
                *("16 Norm", "17 Layers 1–23"),
            ),
        ),
        ("bert-base-uncased", "sequence-classification", ("109,483,778", "1,538")),
        ("bert-base-uncased", "masked-lm", ("109,514,298",)),
        ("bert-base-uncased", "pretraining", ("110,106,428",)),
        ("bert-large-uncased", "base", ("335,141,888",)),
        ("roberta-base", "base", ("124,645,632",)),
        ("distilbert-base-uncased", "base", ("66,362,880",)),
        ("gpt2", "base", ("124,439,808", "Total 148 tensors")),
        ("albert-base-v2", "base", ("11,683,584",)),
        ("transformer-base", "base", ("44,140,544", "63,084,544")),
    ],
)
def test_counts_that_are_known_from_study_notes(
    name: str, task: str, numbers: tuple[str, ...]
) -> None:
    draft = draft_report(Subject(derived(name, task)), COUNTS, DAY)
    text = squeezed("".join(strings_in(draft.chapters)))
    for number in numbers:
        assert squeezed(number) in text, number
