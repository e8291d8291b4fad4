"""Links to modules and tensors, alone and in explanations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import MAX_LINKS, Link, PathLink, RichLabel, links, rich_html
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import activate, find


@pytest.fixture
def bert(workspace: Workspace) -> Workspace:
    show_architecture(workspace, plain("bert-base-uncased"))
    return workspace


def shown(found: list[Link], workspace: Workspace, qtbot: QtBot, after: str = "") -> QWidget:
    widget = links(found, workspace, after)
    qtbot.addWidget(widget)
    widget.resize(300, 200)
    widget.show()
    return widget


def test_clicks_and_keys_select_the_module(bert: Workspace, qtbot: QtBot) -> None:
    widget = shown([Link("the pooler", "pooler"), Link("up", "")], bert, qtbot)
    pooler, root = widget.findChildren(PathLink)
    activate(widget, qtbot)
    qtbot.mouseClick(pooler, Qt.MouseButton.LeftButton)
    assert bert.selection.place.path == "pooler"
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
        bert.selection.select("encoder")
        root.setFocus()
        qtbot.keyClick(root, key)
        assert bert.selection.place.path == ""


@pytest.mark.parametrize("name", ["<b>bold</b>", "a\0b\nc", "ש" * 30, "x" * 10_000, "R&D"])
def test_any_name_is_shown_as_it_is(bert: Workspace, qtbot: QtBot, name: str) -> None:
    widget = shown([Link(name, name)], bert, qtbot)
    link = find(widget, PathLink)
    assert link.width() <= widget.width()
    assert "\n" not in link.text()
    assert len(link.toolTip()) < 1000
    assert "<b>" not in link.toolTip().removeprefix("<p>")
    assert not link.grab().isNull()


def test_links_are_wrapped_and_counted_if_there_are_many(bert: Workspace, qtbot: QtBot) -> None:
    found = [Link(f"layer {n}", f"encoder.layer.{n % 12}") for n in range(MAX_LINKS + 7)]
    widget = shown(found, bert, qtbot, "(here)")
    assert len(widget.findChildren(PathLink)) == MAX_LINKS
    assert find(widget, QLabel).text() == "and 7 more (here)"
    few = shown(found[:12], bert, qtbot)
    places = [link.geometry() for link in few.findChildren(PathLink)]
    assert len({place.y() for place in places}) > 1
    assert all(few.rect().contains(place) for place in places)
    assert not any(a.intersects(b) for n, a in enumerate(places) for b in places[:n])
    height = few.heightForWidth(300)
    assert max(place.bottom() for place in places) < height
    assert few.heightForWidth(2000) < height


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("of W_Q, d_k = 32", "of <i>W</i><sub>Q</sub>, <i>d</i><sub>k</sub> = 32"),
        ("1 / sqrt(d_k)", "1 / √<i>d</i><sub>k</sub>"),
        ("q_norm and q_lin of c_attn.weight", "q_norm and q_lin of c_attn.weight"),
        ("a.b_c and x_s.", "a.b_c and <i>x</i><sub>s</sub>."),
        ("<b>W_K</b>", "&lt;b&gt;<i>W</i><sub>K</sub>&lt;/b&gt;"),
        ("in pooler.dense, pooler.d", 'in <a href="pooler.dense">pooler.dense</a>, pooler.d'),
        ("one\ntwo", "one<br>two"),
    ],
)
def test_symbols_roots_and_paths_in_explanations(text: str, html: str) -> None:
    assert rich_html(text, {"pooler.dense"}) == f"<p>{html}</p>"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])))
def test_other_text_is_escaped(text: str) -> None:
    shown = QTextDocumentFragment.fromHtml(rich_html(text)).toPlainText()
    assert shown.replace("√", "") == text.replace("√", "") or "_" in text or "sqrt(" in text


def test_a_link_in_an_explanation_selects_a_module_or_shows_a_tensor(
    bert: Workspace, qtbot: QtBot
) -> None:
    text = "encoder.layer.3.attention.self: it failed, as <i>pooler.dense</i> did"
    label = RichLabel(text, bert)
    qtbot.addWidget(label)
    assert label.text().count("<a ") == 2
    assert "&lt;i&gt;" in label.text()
    label.show()
    label.activateWindow()
    label.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(label, Qt.Key.Key_Tab)  # to the first link
    qtbot.keyClick(label, Qt.Key.Key_Return)
    assert bert.selection.place.path == "encoder.layer.3.attention.self"
    with qtbot.waitSignal(bert.page_requested) as requested:
        label.linkActivated.emit("pooler.dense.bias")
    assert requested.args == [Page.TENSORS, "pooler.dense.bias"]
    assert bert.selection.place.path == "pooler.dense"
    label.show_text("without links")
    assert label.focusPolicy() == Qt.FocusPolicy.NoFocus
