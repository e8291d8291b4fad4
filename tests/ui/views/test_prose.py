"""Words to read, with symbols and links in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocumentFragment
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import RichLabel, rich_html
from tests.core.opened import plain


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
)  # fmt: skip
def test_symbols_and_paths_are_set_and_nothing_else(text: str, html: str) -> None:
    assert rich_html(text, {"pooler.dense"}) == f"<p>{html}</p>"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])))
def test_what_strangers_write_is_shown_as_it_is(text: str) -> None:
    shown = QTextDocumentFragment.fromHtml(rich_html(text)).toPlainText()
    assert shown.replace("√", "") == text.replace("√", "") or "_" in text or "sqrt(" in text


def test_a_link_goes_to_its_module(worker: Worker, qtbot: QtBot) -> None:
    workspace = Workspace(worker)
    workspace.architecture = plain("bert-base-uncased")
    workspace.selection.set_tree(fold(workspace.architecture))
    label = RichLabel(
        "encoder.layer.3.attention.self: it failed, as <i>pooler.dense</i> did", workspace
    )
    qtbot.addWidget(label)
    assert label.text().count("<a ") == 2
    assert "&lt;i&gt;" in label.text()
    assert label.focusPolicy() == Qt.FocusPolicy.StrongFocus
    label.show()
    label.activateWindow()
    label.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(label, Qt.Key.Key_Tab)  # to the first of the links
    qtbot.keyClick(label, Qt.Key.Key_Return)
    assert workspace.selection.place.path == "encoder.layer.3.attention.self"
    with qtbot.waitSignal(workspace.page_requested) as wanted:
        label.linkActivated.emit("pooler.dense.bias")
    assert wanted.args == [Page.TENSORS, "pooler.dense.bias"]
    label.show_text("nothing to go to")
    assert label.focusPolicy() == Qt.FocusPolicy.NoFocus
