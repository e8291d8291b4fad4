"""The palette in the window: what is found, and what choosing it does."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QListView,
    QTableView,
    QTabWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from bertviewer.ui.help.guide import GuideDialog, GuidePage
from bertviewer.ui.help.guide_sections import VIEWS_CHAPTER, table_rows
from bertviewer.ui.palette.palette import PaletteField
from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.palette.results import ROW_ROLE, HitRow
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import RUN_PAGES
from bertviewer.ui.theme.appearance import stored_appearance
from tests.ui.finding import activate, find, is_drawn

Search = Callable[[str], list[HitRow]]


def searching(window: MainWindow, qtbot: QtBot) -> Search:
    """Return a function that opens the palette, types a text and returns the results."""
    activate(window, qtbot)

    def search(text: str) -> list[HitRow]:
        window.finder.open(text)
        qtbot.waitUntil(lambda: not find(window, PalettePopup).is_searching)
        model = find(window, QListView, "paletteHits").model()
        return [model.index(n, 0).data(ROW_ROLE) for n in range(model.rowCount())]

    return search


@pytest.fixture
def search(demo_window: MainWindow, qtbot: QtBot) -> Search:
    return searching(demo_window, qtbot)


def press(window: MainWindow, qtbot: QtBot, *keys: Qt.Key) -> None:
    for key in keys:
        qtbot.keyClick(find(window, QLineEdit, "paletteEdit"), key)


def page(window: MainWindow) -> str:
    tabs = find(window, QTabWidget, "detailTabs")
    return tabs.tabText(tabs.currentIndex())


FIRST = {
    "layer 3 query": ("Modules", "encoder.layer.3.attention.self.query, Linear"),
    "bertpooler": ("Modules", "pooler, BertPooler"),
    "#word 30522x384": ("Tensors", "embeddings.word_embeddings.weight, 30522×384"),
    "dark": ("Settings", "Appearance: Dark"),
    "gpt2": ("Models", "gpt2"),
    "head 5": ("Heads", "layer 0, head 5, encoder.layer.0.attention.self"),
    "layer 3 head 5": ("Heads", "layer 3, head 5, encoder.layer.3.attention.self"),
    "hidden_size": ("Configuration", "hidden_size, 384, hidden size (features per token)"),
    "hidden_act": ("Configuration", "hidden_act"),
    "W_Q": ("Formula symbols", "W_Q, weight of the query projection"),
    "b_V": ("Formula symbols", "b_V, bias of the value projection"),
    "D": ("Formula symbols", "D, hidden_size = 384"),
    "epsilon": ("Formula symbols", "epsilon, small constant"),
    "parameters": ("Totals", "parameters, 22,713,216"),
    "why CLS": ("Questions", "What is [CLS] for?"),
    "why divide": ("Questions", "Why divide by √32?"),
    "baseline": ("User guide", "Baseline, Run A: a run that is kept"),
    "outlier feature": ("User guide", "Outlier feature, A feature of the hidden states"),
    "flops": ("User guide", "Multiply-adds and FLOPs, One multiply-add"),
    "how many parameters": ("Totals", "parameters, 22,713,216"),
    "how many layers": ("Configuration", "num_hidden_layers, 6, layers"),
    "parameters of one head": ("Totals", "one attention head, size 32, 36,960 parameters"),
    "head size": ("Totals", "one attention head, size 32"),
    "most expensive": ("Totals", "most expensive part, encoder.layer.0–5.intermediate.dense"),
    "context length": ("Totals", "context length, at most 512 tokens"),
    "is this model causal?": ("Totals", "causal attention, no: each token"),
    "float16": ("Totals", "memory of the weights, float32: 90.85 MB"),
    "why causal": ("User guide", "Causal model"),
    "token norms": ("User guide", "Views"),
    "tied weights": ("User guide", "Tied weights"),
    "ffn": ("Questions", "Why is the feed-forward network four times"),
    "wordpiece": ("User guide", "Tokenizer"),
    "mean over heads": ("User guide", "Mean over heads"),
    "attention without SEP": ("User guide", "Mean over heads"),
    "two senses of bank": ("User guide", "Two runs"),
}
"""The first kind and result for what users type."""


def test_results_for_what_users_type(search: Search) -> None:
    first = {typed: (rows[0].heading, rows[1].text) for typed in FIRST if (rows := search(typed))}
    for typed, (heading, text) in FIRST.items():
        assert first[typed][0] == heading, typed
        assert first[typed][1].startswith(text), typed
    # Stems, and most of the words.
    for typed, part in (
        ("embedding dimension", "word_embeddings"),
        ("multi-head attention", "attention"),
        ("why divide by sqrt", "Why divide by √32?"),
        ("dropouts", "dropout"),
    ):
        assert any(part in row.text for row in search(typed)), typed
    # Letters that are scattered over sentences, other numbers and parts of words do not match.
    for typed in ("head 5", "why CLS", "hidden_size", "W_Q"):
        headings = {row.heading for row in search(typed) if row.hit is None}
        assert headings.isdisjoint({"Models", "Compare with"}), typed
    assert not any("layer 0" in row.text for row in search("zzz head 12"))
    assert search("?vocabular")
    assert not search("?ocabular")
    (baseline,) = [row.item for row in search(">set as baseline")[1:2]]
    assert baseline is not None
    assert baseline.keys == "Ctrl+Shift+K"
    assert baseline.disabled_reason == "No sentence has been run yet"


def test_tokens_and_views_of_a_run(demo_window: MainWindow, search: Search, qtbot: QtBot) -> None:
    assert all(table_rows(VIEWS_CHAPTER).get(title) for title in RUN_PAGES)
    demo_window.set_sentence("The bank by the river bank", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    rows = search("@bank")
    assert [row.text for row in rows] == ["Tokens", "bank, token 2", "bank, token 6"]
    press(demo_window, qtbot, Qt.Key.Key_Down, Qt.Key.Key_Enter)
    assert demo_window.workspace.selection.token == 6
    for typed, view in (
        ("token norms", "Layers"),
        ("same word two sentences", "Similarity"),
        ("probable tokens", "Predictions"),
        ("mean of heads without CLS", "Attention"),
    ):
        rows = search(typed)
        assert rows[0].heading == "Run views", typed
        assert rows[1].text.startswith(view), typed


def test_each_kind_of_result_can_be_chosen(
    demo_window: MainWindow, search: Search, qtbot: QtBot
) -> None:
    selection = demo_window.workspace.selection

    def choose(text: str) -> None:
        search(text)
        popup = find(demo_window, PalettePopup)
        assert popup.isVisible()
        press(demo_window, qtbot, Qt.Key.Key_Return)
        assert not popup.isVisible()

    choose("layer 3 query")
    assert selection.place.path == "encoder.layer.3.attention.self.query"
    for typed, path, name in (
        ("#word 30522x384", "embeddings.word_embeddings", "weight"),
        ("#query.bias 5", "encoder.layer.5.attention.self.query", "bias"),
    ):
        choose(typed)
        assert (page(demo_window), selection.place.path) == ("Tensors", path)
        current = find(demo_window, QTableView, "tensorTable").currentIndex()
        assert current.siblingAtColumn(0).data() == name
    choose("layer 4 head 7")
    assert selection.place.path == "encoder.layer.4.attention.self"
    assert selection.place.head == 7
    # The heads of the selected attention come first.
    assert search("head 2")[1].text.startswith("layer 4, head 2")
    for typed, key in (
        ("hidden_dropout_prob", "hidden_dropout_prob"),
        ("A", "num_attention_heads"),
    ):
        choose(typed)
        assert page(demo_window) == "Configuration"
        current = find(demo_window, QTableView, "configurationTable").currentIndex()
        assert current.siblingAtColumn(0).data() == key
    choose("W_K")
    assert page(demo_window) == "Formula"
    assert selection.place.path == "encoder.layer.0.attention.self"
    demo_window.panes.toggle("module")
    choose("layer normalisation")
    assert demo_window.panes.dock("module").isVisible()
    assert selection.place.path == "embeddings.LayerNorm"
    names = {each.objectName(): each for each in demo_window.findChildren(QWidget)}
    (answer,) = (names[n] for n in names if n.startswith("question-") and n.endswith("-answer"))
    assert not answer.isHidden()
    choose("dark")
    assert stored_appearance() == "dark"
    chosen = [row.text for row in search("appearance") if row.item and row.item.is_chosen]
    assert chosen == ["Appearance: Dark"]
    demo_window.set_appearance("light")
    rows = [row.text for row in search("")]
    assert rows[:4] == ["Recent", *(rows[1:4])]
    assert rows[1] == "encoder.layer.0.attention.self"
    assert "Commands" in rows
    opened: list[str] = []
    demo_window.opening.began.connect(opened.append)
    choose("gpt2")
    assert opened == ["gpt2"]


def test_the_guide_opens_at_a_section(
    demo_window: MainWindow, search: Search, qtbot: QtBot
) -> None:
    search("?multiply-adds and FLOPs")
    press(demo_window, qtbot, Qt.Key.Key_Return)
    guide = find(demo_window, GuideDialog)
    assert guide.isVisible()
    assert find(guide, GuidePage).source().toString() == "glossary.md#multiply-adds-and-flops"
    guide.close()


def test_the_focus_returns(demo_window: MainWindow, search: Search, qtbot: QtBot) -> None:
    sentence = find(demo_window, QLineEdit, "sentenceEdit")
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        sentence.setFocus()
        search("pooler")
        press(demo_window, qtbot, key)
        assert QApplication.focusWidget() is sentence
    # The widget that had the focus may be deleted meanwhile.
    lone = QLineEdit(demo_window)
    lone.show()
    lone.setFocus()
    search("pooler")
    delete(lone)
    press(demo_window, qtbot, Qt.Key.Key_Escape)
    assert not find(demo_window, PalettePopup).isVisible()


def test_the_field_opens_the_palette_over_it(window: MainWindow, qtbot: QtBot) -> None:
    activate(window, qtbot)
    field = find(window, PaletteField)
    assert field.accessibleName() == "Search modules, tensors, commands"
    assert field.toolTip().endswith("(Ctrl+K)")
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    popup = find(window, PalettePopup)
    place = QRect(field.mapTo(window, QPoint(0, 0)), field.size())
    assert popup.geometry().contains(place)
    assert window.rect().contains(popup.geometry())
    popup.dismiss()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
        field.setFocus()
        qtbot.keyClick(field, key)
        assert popup.isVisible()
        popup.dismiss()
    field.setFocus()
    qtbot.keyClicks(field, "g")
    edit = find(window, QLineEdit, "paletteEdit")
    assert edit.hasFocus()
    assert edit.text() == "g"
    press(window, qtbot, Qt.Key.Key_Escape)
    assert field.hasFocus()
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(edit, "gpt2")
    qtbot.waitUntil(lambda: not popup.is_searching)
    row: HitRow = find(window, QListView, "paletteHits").currentIndex().data(ROW_ROLE)
    assert row.text.startswith("gpt2")
    popup.dismiss()
