"""Heads, symbols, configuration keys, questions, totals and sections of the guide are found."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QListView, QTableView, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.help.guide import GuideDialog, GuidePage
from bertviewer.ui.help.guide_sections import VIEWS_CHAPTER, table_rows
from bertviewer.ui.palette import topics
from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.palette.results import ROW_ROLE, HitRow
from bertviewer.ui.palette.topics import plain_symbol
from bertviewer.ui.run import views
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import RUN_PAGES
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import derived
from tests.ui.finding import activate, find, is_drawn

Search = Callable[[str], list[HitRow]]


@pytest.fixture
def search(demo_window: MainWindow, qtbot: QtBot) -> Search:
    """Return what types into the palette and gives its lines."""
    activate(demo_window, qtbot)

    def search(text: str) -> list[HitRow]:
        demo_window.finder.open(text)
        qtbot.waitUntil(lambda: not find(demo_window, PalettePopup).is_searching)
        model = find(demo_window, QListView, "paletteHits").model()
        return [model.index(n, 0).data(ROW_ROLE) for n in range(model.rowCount())]

    return search


def choose(window: MainWindow, qtbot: QtBot) -> None:
    qtbot.keyClick(find(window, QLineEdit, "paletteEdit"), Qt.Key.Key_Return)


def page(window: MainWindow) -> str:
    tabs = find(window, QTabWidget, "detailTabs")
    return tabs.tabText(tabs.currentIndex())


def test_what_is_typed_is_found_first(search: Search) -> None:
    for typed, heading, first in (
        ("head 5", "Heads", "layer 0, head 5, encoder.layer.0.attention.self"),
        ("layer 3 head 5", "Heads", "layer 3, head 5, encoder.layer.3.attention.self"),
        ("hidden_size", "Configuration", "hidden_size, 384, hidden size (features per token)"),
        ("hidden_act", "Configuration", "hidden_act"),
        ("W_Q", "Formula symbols", "W_Q, weight of the query projection"),
        ("b_V", "Formula symbols", "b_V, bias of the value projection"),
        ("D", "Formula symbols", "D, hidden_size = 384"),
        ("epsilon", "Formula symbols", "epsilon, small constant"),
        ("parameters", "Totals", "parameters, 22,713,216"),
        ("why CLS", "Questions", "What is [CLS] for?"),
        ("why divide", "Questions", "Why divide by √32?"),
        ("baseline", "User guide", "Baseline, Run A: a run that is kept"),
        ("outlier feature", "User guide", "Outlier feature, A feature of the hidden states"),
        ("flops", "User guide", "Multiply-adds and FLOPs, One multiply-add"),
        ("how many parameters", "Totals", "parameters, 22,713,216"),
        ("how many layers", "Configuration", "num_hidden_layers, 6, layers"),
        ("parameters of one head", "Totals", "one attention head, size 32, 36,960 parameters"),
        ("head size", "Totals", "one attention head, size 32"),
        ("most expensive", "Totals", "most expensive part, encoder.layer.0–5.intermediate.dense"),
        ("context length", "Totals", "context length, at most 512 tokens"),
        ("is this model causal?", "Totals", "causal attention, no: each token"),
        ("float16", "Totals", "memory of the weights, float32: 90.85 MB"),
        ("why causal", "User guide", "Causal model"),
        ("token norms", "User guide", "Views"),
        ("tied weights", "User guide", "Tied weights"),
        ("ffn", "Questions", "Why is the feed-forward network four times"),
        ("wordpiece", "User guide", "Tokenizer"),
        ("mean over heads", "User guide", "Mean over heads"),
        ("attention without SEP", "User guide", "Mean over heads"),
        ("two senses of bank", "User guide", "Two runs"),
    ):
        rows = search(typed)
        assert rows[0].heading == heading, typed
        assert rows[1].text.startswith(first), typed


def test_other_forms_and_most_words_are_found(search: Search) -> None:
    for typed, part in (
        ("embedding dimension", "word_embeddings"),
        ("multi-head attention", "attention"),
        ("why divide by sqrt", "Why divide by √32?"),
        ("dropouts", "dropout"),
    ):
        assert any(part in row.text for row in search(typed)), typed


def test_a_number_that_is_not_there_is_not_another_one(search: Search) -> None:
    assert not any("layer 0" in row.text for row in search("zzz head 12"))


def test_short_words_are_not_found_in_the_middle_of_sentences(search: Search) -> None:
    assert search("?vocabular")
    assert not search("?ocabular")


def test_views_are_found_by_what_they_show(
    demo_window: MainWindow, search: Search, qtbot: QtBot
) -> None:
    assert all(table_rows(VIEWS_CHAPTER).get(title) for title in RUN_PAGES)
    demo_window.set_sentence("The bank", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    for typed, view in (
        ("token norms", "Layers"),
        ("same word two sentences", "Similarity"),
        ("probable tokens", "Predictions"),
        ("mean of heads without CLS", "Attention"),
    ):
        rows = search(typed)
        assert rows[0].heading == "Run views", typed
        assert rows[1].text.startswith(view), typed


def test_what_is_still_derived_is_found(
    demo_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = demo_window.workspace
    assert workspace.architecture is not None
    early = replace(workspace.architecture, costs=None, flows=None)
    monkeypatch.setattr(Workspace, "is_deriving", True)
    found = {topic.name: topic.about for topic in topics.figures(early, None, workspace)}
    assert found["most expensive part"] == found["causal attention"] == "being derived…"


def test_each_stack_says_whether_it_is_causal(demo_window: MainWindow) -> None:
    for name, causal in (("gpt2", ["yes"]), ("transformer-base", ["no", "yes"])):
        found = topics.figures(derived(name), None, demo_window.workspace)
        about = [topic.about for topic in found if topic.name == "causal attention"]
        assert [each.partition(":")[0] for each in about] == causal


def test_letters_scattered_over_sentences_find_nothing(search: Search) -> None:
    for typed in ("head 5", "why CLS", "hidden_size", "W_Q"):
        headings = {row.heading for row in search(typed) if row.hit is None}
        assert headings.isdisjoint({"Models", "Compare with"}), typed


def test_a_head_is_selected(demo_window: MainWindow, search: Search, qtbot: QtBot) -> None:
    search("layer 4 head 7")
    choose(demo_window, qtbot)
    place = demo_window.workspace.selection.place
    assert (place.path, place.head) == ("encoder.layer.4.attention.self", 7)
    # Those of the selected attention are the first now.
    assert search("head 2")[1].text.startswith("layer 4, head 2")


def test_a_key_is_shown(demo_window: MainWindow, search: Search, qtbot: QtBot) -> None:
    for typed, key in (
        ("hidden_dropout_prob", "hidden_dropout_prob"),
        ("A", "num_attention_heads"),
    ):
        search(typed)
        choose(demo_window, qtbot)
        assert page(demo_window) == "Configuration"
        current = find(demo_window, QTableView, "configurationTable").currentIndex()
        assert current.siblingAtColumn(0).data() == key


def test_a_formula_and_a_question_are_shown(
    demo_window: MainWindow, search: Search, qtbot: QtBot
) -> None:
    search("W_K")
    choose(demo_window, qtbot)
    assert page(demo_window) == "Formula"
    assert demo_window.workspace.selection.place.path == "encoder.layer.0.attention.self"
    demo_window.panes.toggle("module")
    assert not demo_window.panes.dock("module").isVisible()
    search("layer normalisation")
    choose(demo_window, qtbot)
    assert demo_window.panes.dock("module").isVisible()
    assert demo_window.workspace.selection.place.path == "embeddings.LayerNorm"
    (answer,) = [
        each
        for each in demo_window.findChildren(QWidget)
        if each.objectName().startswith("question-") and each.objectName().endswith("-answer")
    ]
    assert not answer.isHidden()


def test_the_guide_opens_at_a_section(
    demo_window: MainWindow, search: Search, qtbot: QtBot
) -> None:
    search("?multiply-adds and FLOPs")
    choose(demo_window, qtbot)
    guide = find(demo_window, GuideDialog)
    assert guide.isVisible()
    page = find(guide, GuidePage)
    assert page.source().toString() == "glossary.md#multiply-adds-and-flops"
    guide.close()


def test_all_views_of_a_run_are_found() -> None:
    assert tuple(kind.title for kind in views.VIEWS) == RUN_PAGES


def test_symbols_are_searched_as_they_are_typed() -> None:
    assert plain_symbol('W_"word"') == "W_word"
    assert plain_symbol('op("GELU"_"tanh")') == "GELU_tanh"
    assert plain_symbol("W_Q^top") == "W_Qᵀ"
